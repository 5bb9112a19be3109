"""``asked``: a function of Python's and code by turns, in LLVM's text.

Before each part of the code Python is asked: its function is called with a time and two arrays, which become
read-only, and answers an array that the code takes. What the code gives is told in the next question. An answer that
is no plain array goes through a function that makes one of it, or raises; so does every error of Python's.
"""

from __future__ import annotations

from linkwork.engine.emit.builtin import Builtin
from linkwork.engine.emit.python_calls import (
    ALIGNED,
    ASKED,
    AXES,
    CONTIGUOUS,
    DATA,
    DTYPE,
    FLAGS,
    LENGTHS,
    MOST_ARRAYS,
    MOST_VALUES,
    PART,
    WRITEABLE,
)
from linkwork.engine.emit.writer import Value

_TOLD = 3
"""Numbers of arguments of the function: t, q and v."""
_SPARE = -(2**63)
"""The flag of vectorcall that the place before the arguments may be written."""


class Asked(Builtin):
    """Writes ptr asked(self, objects, count), a METH_FASTCALL function of the holder of an ``ASKED``, the function, the
    one that checks its answers, and arrays. It returns what the last part gives; the last answer, if the code does not
    go on from there; None if nothing was done.
    """

    def text(self) -> str:
        self.values, self.owned = (self.let(f"alloca [{MOST_VALUES} x ptr], align 8") for _ in range(2))
        self.inputs = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.told = self.let(f"alloca [{_TOLD + 1} x ptr], align 8")
        self.taken, self.reply = self.variable("i64", 0), self.variable("ptr", "null")
        self.setting = self.setting_of("%self")
        self.may_serve()
        capsule = self.call("PyTuple_GetItem", ("ptr", self.item("%objects", 0)), ("i64", 0))
        self.record = self.call("PyCapsule_GetPointer", ("ptr", capsule), ("ptr", "null"))
        with self.each("%count", 3) as k:
            self.store(self.item("%objects", k), self.at(self.values, self.sub(k, 3), "ptr"), "ptr")
        self.now = [self.variable("ptr", self.item(self.values, self.word(name))) for name in ("t", "q", "v")]
        last = self.sub(self.word("parts"), 1)
        with self.each(self.word("parts")) as k:
            answer = self.own(self.question())
            self.store(answer, self.at(self.values, self.add(self.word("answer"), k), "ptr"), "ptr")
            self.own(self.part(k, answer))
            with self.when(self.compare("slt", k, last)):
                self.store(self.given(0), self.at(self.values, self.word("carried"), "ptr"), "ptr")
                for place, number in zip(self.now, (1, 2, 3), strict=True):
                    self.store(self.given(number), place, "ptr")
        self.leave(self.last_taken(1))
        self.begin("otherwise")
        self.leave(self.python("none"))
        self.begin("failed")
        self.call("forget", ("ptr", self.owned), ("i64", self.load(self.taken, "i64")))
        self.do("ret ptr null")
        return self.function("ptr @asked(ptr %self, ptr %objects, i64 %count)")

    def word(self, name: str) -> str:
        return ASKED.get(self, self.record, name)

    def own(self, item: str) -> str:
        """Keep an object until the end."""
        count = self.load(self.taken, "i64")
        self.store(item, self.at(self.owned, count, "ptr"), "ptr")
        self.store(self.add(count, 1), self.taken, "i64")
        return item

    def last_taken(self, back: int) -> str:
        """What was kept last, or before."""
        return self.item(self.owned, self.sub(self.load(self.taken, "i64"), back))

    def given(self, k: int) -> str:
        """Array k of what the code has just given."""
        return self.call("PyTuple_GetItem", ("ptr", self.last_taken(1)), ("i64", k))

    def leave(self, answer: str) -> None:
        """Return an object, and let go of the others."""
        self.call("Py_IncRef", ("ptr", answer))
        self.call("forget", ("ptr", self.owned), ("i64", self.load(self.taken, "i64")))
        self.do(f"ret ptr {answer}")

    def question(self) -> str:
        """What Python answers, a plain array if it can be made one."""
        t, q, v = (self.load(place, "ptr") for place in self.now)
        moment = self.call("PyFloat_FromDouble", ("double", self.load(self.field(t, DATA, "ptr"), "double")))
        self.leave_if(self.null(moment), "failed")
        for array in (q, v):
            flags = self.let(f"and i32 {self.field(array, FLAGS, 'i32')}, {~WRITEABLE}")
            self.store(flags, self.at(array, FLAGS, "i8"), "i32", 4)
        for k, item in enumerate((moment, q, v)):
            self.store(item, self.at(self.told, k + 1, "ptr"), "ptr")
        raw = self.asked_of("%objects", 1, self.at(self.told, 1, "ptr"), _TOLD + _SPARE)
        self.call("Py_DecRef", ("ptr", moment))
        self.leave_if(self.null(raw), "failed")
        self.store(raw, self.reply, "ptr")
        other, known = self.block("other"), self.block("known")
        self.if_plain(raw, known, other)
        self.begin(other)
        made = self.asked_of("%objects", 2, self.reply, 1)
        self.call("Py_DecRef", ("ptr", raw))
        self.leave_if(self.null(made), "failed")
        self.store(made, self.reply, "ptr")
        self.jump(known)
        self.begin(known)
        return self.load(self.reply, "ptr")

    def asked_of(self, objects: str, which: int, arguments: str, count: int) -> str:
        """What a function returns."""
        given = ("ptr", arguments), ("i64", count), ("ptr", "null")
        return self.call("PyObject_Vectorcall", ("ptr", self.item(objects, which)), *given)

    def if_plain(self, target: str, yes: str, no: str) -> None:
        """Go on where an object is a plain array of as many numbers as an answer has."""
        self.leave_if(self.compare("eq", self.has_type(target, self.python("array")), 0, "i1"), no)
        flags = CONTIGUOUS | ALIGNED
        own = self.compare("eq", self.field(target, DTYPE, "ptr"), self.python("dtype"), "ptr")
        bits = self.let(f"and i32 {self.field(target, FLAGS, 'i32')}, {flags}")
        right = self.compare("eq", bits, flags, "i32")
        flat = self.compare("eq", self.field(target, AXES, "i32"), 1, "i32")
        self.leave_if(self.compare("eq", self.all_of([own, right, flat]), 0, "i1"), no)
        length = self.load(self.field(target, LENGTHS, "ptr"), "i64")
        self.branch(self.compare("eq", length, self.word("size")), yes, no)

    def part(self, k: Value, answer: str) -> str:
        """What the code after question k gives, a tuple; the end if it does not."""
        words = self.at(self.record, self.add(self.mul(k, len(PART.words)), len(ASKED.words)), "i64")
        count, places = PART.get(self, words, "count"), PART.pointer(self, words, "input0")
        with self.each(count) as n:
            value = self.item(self.values, self.load(self.at(places, n, "i64"), "i64"))
            self.store(value, self.at(self.inputs, n, "ptr"), "ptr")
        entry, none = PART.get(self, words, "entry"), self.python("none")
        arrays = ("ptr", self.inputs), ("i64", count)
        found = self.call("serve", ("ptr", self.setting), ("ptr", entry), ("ptr", none), *arrays)
        served, unserved = self.block("served"), self.block("unserved")
        self.branch(self.null(found), unserved, served)
        self.begin(unserved)
        self.leave_if(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr"), "failed")
        self.leave(answer)
        self.begin(served)
        return found
