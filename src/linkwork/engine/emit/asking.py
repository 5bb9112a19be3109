"""``asked``: steps of a simulation that alternate between a Python function and code, in LLVM IR.

Before each part of a step's code, the Python function is called with a time and two arrays, which become read-only, and
returns an array that the code takes. The code's results are the arguments of the next call. A return value that is not
a plain array goes through a function that converts it, or raises; so does every Python error. A part reuses the arrays
that it filled two steps ago, if nobody has kept a reference to them: they are in a tuple in our list, so that a count
of 1 is that of the tuple. Python lends uncounted references (from 3.14 on) only while a counted one is in a frame.
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
    RECORDED,
    WEAK_ONES,
    WRITEABLE,
)
from linkwork.engine.emit.writer import Value

_TOLD = 3
"""Numbers of arguments of the function: t, q and v."""
_SPARE = -(2**63)
"""The flag of vectorcall that the slot before the arguments may be overwritten."""
Q, V, TAU, T = range(4)
"""The positions of these at the start of a step, among all arrays that the parts take."""
BEGUN, SAID = 2, 3
"""The positions of the first part's results and of an answer in the list of the state reached, after q and v."""
KEPT = 4
"""After these, the results of each part in the last even step, and in the last odd one."""
_OWN = 3
"""Objects before the arrays."""


class Asked(Builtin):
    """Writes ptr asked(self, objects, count), a METH_FASTCALL function of a Python function, the one that checks its
    answers, a list for the state reached, and arrays. It returns None: at the step that it should
    reach, or earlier, at one that the code cannot do. Then the list has the state there, and the results of the first
    part if that is done, otherwise the function's answer, if it was called.
    """

    def text(self) -> str:
        self.values, self.owned = (self.let(f"alloca [{MOST_VALUES} x ptr], align 8") for _ in range(2))
        self.inputs = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.told = self.let(f"alloca [{_TOLD + 1} x ptr], align 8")
        self.taken = self.variable("i64", 0)
        self.reply, self.out, self.found = (self.variable("ptr", "null") for _ in range(3))
        self.record, self.reached = self.own(), self.item("%objects", 2)
        with self.each("%count", _OWN) as k:
            self.store(self.item("%objects", k), self.at(self.values, self.sub(k, _OWN), "ptr"), "ptr")
        self.last = self.variable("ptr", self.call("PyList_GetItem", ("ptr", self.reached), ("i64", BEGUN)))
        self.kept = [self.last, *(self.at(self.values, k, "ptr") for k in (Q, V))]
        for place in self.kept:
            self.call("Py_IncRef", ("ptr", self.load(place, "ptr")))
        self.branch(self.compare("ne", self.word("begun"), 0), "rest", "first")
        self.begin("first")
        self.may_serve()
        self.first_part()
        self.leave_if(self.compare("sge", self.word("step"), self.word("until")), "otherwise")
        self.jump("rest")
        self.begin("rest")
        self.may_serve()
        self.later_parts()
        self.end_step()
        self.jump("first")
        for label in ("otherwise", "failed"):
            self.begin(label)
            self.let_go()
            for place in self.kept:
                self.call("Py_DecRef", ("ptr", self.load(place, "ptr")))
            answer = self.python("none") if label == "otherwise" else "null"
            self.call("Py_IncRef", ("ptr", answer))  # a no-op for null
            self.do(f"ret ptr {answer}")
        return self.function("ptr @asked(ptr %self, ptr %objects, i64 %count)")

    def first_part(self) -> None:
        """The first call of a step and the part after it. The state is recorded before anybody sees it, and counts when
        the part is done.
        """
        t, q, v = (self.item(self.values, k) for k in (T, Q, V))
        step = self.word("step")
        dt = self.load(ASKED.pointer(self, self.record, "dt"), "double")
        now = self.let(f"fmul double {self.let(f'sitofp i64 {step} to double')}, {dt}")
        self.store(now, self.field(t, DATA, "ptr"), "double")
        over = self.compare("eq", self.let(f"srem i64 {step}, {self.word('every')}"), 0)
        due = self.let(f"or i1 {over}, {self.compare('eq', step, self.word('steps'))}")
        with self.when(due):
            self.recorded(0, q)
            self.recorded(1, v)
        answer = self.hold(self.question(t, q, v))
        self.store(answer, self.at(self.values, TAU, "ptr"), "ptr")
        unserved, served = self.block("unserved"), self.block("served")
        found = self.part(0)
        self.branch(self.null(found), unserved, served)
        self.begin(unserved)
        self.leave_if(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr"), "failed")
        self.call("Py_IncRef", ("ptr", answer))
        self.reach(SAID, answer)
        self.jump("otherwise")
        self.begin(served)
        self.keep(self.last, found)
        self.reach(BEGUN, found)
        self.set("begun", 1)
        with self.when(due):
            for k in range(2, RECORDED):
                with self.when(self.compare("ne", self.word(f"numbers{k}"), 0)):
                    self.recorded(k, self.given(self.add(self.word("happening"), k - 2)))
            self.set("row", self.add(self.word("row"), 1))

    def later_parts(self) -> None:
        """The calls after the first, and their parts."""
        with self.each(self.word("parts"), 1) as k:
            carried, t, q, v = (self.given(number) for number in range(_TOLD + 1))
            self.store(carried, self.at(self.values, self.word("carried"), "ptr"), "ptr")
            answer = self.hold(self.question(t, q, v))
            place = self.add(self.word("answers"), self.sub(k, 1))
            self.store(answer, self.at(self.values, place, "ptr"), "ptr")
            found = self.part(k)
            with self.when(self.null(found)):
                self.leave_if(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr"), "failed")
                self.jump("otherwise")
                self.begin(self.block("after"))
            self.keep(self.last, found)
            self.call("Py_DecRef", ("ptr", found))

    def end_step(self) -> None:
        """The state after the step becomes the state reached."""
        for k in (Q, V):
            item = self.given(k)
            self.keep(self.at(self.values, k, "ptr"), item)
            self.call("Py_IncRef", ("ptr", item))
            self.reach(k, item)
        self.let_go()
        self.set("begun", 0)
        self.set("step", self.add(self.word("step"), 1))

    def word(self, name: str) -> str:
        return ASKED.get(self, self.record, name)

    def set(self, name: str, value: Value) -> None:
        self.store(value, ASKED.pointer(self, self.record, name), "i64")

    def reach(self, k: Value, item: str) -> None:
        """Put an object into the list of the state reached, with its reference."""
        self.call("PyList_SetItem", ("ptr", self.reached), ("i64", k), ("ptr", item))

    def recorded(self, k: int, array: str) -> None:
        """Copy an array into the next row of record k."""
        numbers, source = self.word(f"numbers{k}"), self.field(array, DATA, "ptr")
        row = self.at(self.word(f"rows{k}"), self.mul(self.word("row"), numbers))
        with self.each(numbers) as n:
            self.store(self.load(self.at(source, n)), self.at(row, n))

    def hold(self, item: str) -> str:
        """Own the reference to an object until the end of the step."""
        count = self.load(self.taken, "i64")
        self.store(item, self.at(self.owned, count, "ptr"), "ptr")
        self.store(self.add(count, 1), self.taken, "i64")
        return item

    def keep(self, place: str, item: str) -> None:
        """Put an object in place of another, with a reference of its own: whoever has that there may lose it."""
        before = self.load(place, "ptr")
        self.call("Py_IncRef", ("ptr", item))
        self.store(item, place, "ptr")
        self.call("Py_DecRef", ("ptr", before))

    def given(self, k: Value) -> str:
        """Array k of the code's last results."""
        return self.call("PyTuple_GetItem", ("ptr", self.load(self.last, "ptr")), ("i64", k))

    def let_go(self) -> None:
        """Release all objects that were held."""
        self.call("forget", ("ptr", self.owned), ("i64", self.load(self.taken, "i64")))
        self.store(0, self.taken, "i64")

    def question(self, t: str, q: str, v: str) -> str:
        """Python's answer, converted to a plain array if possible."""
        moment = self.call("PyFloat_FromDouble", ("double", self.load(self.field(t, DATA, "ptr"), "double")))
        self.leave_if(self.null(moment), "failed")
        for array in (q, v):
            flags = self.let(f"and i32 {self.field(array, FLAGS, 'i32')}, {~WRITEABLE}")
            self.store(flags, self.at(array, FLAGS, "i8"), "i32", 4)
        for k, item in enumerate((moment, q, v)):
            self.store(item, self.at(self.told, k + 1, "ptr"), "ptr")
        raw = self.asked_of("%objects", 0, self.at(self.told, 1, "ptr"), _TOLD + _SPARE)
        self.call("Py_DecRef", ("ptr", moment))
        self.leave_if(self.null(raw), "failed")
        self.store(raw, self.reply, "ptr")
        other, known = self.block("other"), self.block("known")
        self.if_plain(raw, known, other)
        self.begin(other)
        made = self.asked_of("%objects", 1, self.reply, 1)
        self.call("Py_DecRef", ("ptr", raw))
        self.leave_if(self.null(made), "failed")
        self.store(made, self.reply, "ptr")
        self.jump(known)
        self.begin(known)
        return self.load(self.reply, "ptr")

    def asked_of(self, objects: str, which: int, arguments: str, count: int) -> str:
        """The return value of a function."""
        given = ("ptr", arguments), ("i64", count), ("ptr", "null")
        return self.call("PyObject_Vectorcall", ("ptr", self.item(objects, which)), *given)

    def if_plain(self, target: str, yes: str, no: str) -> None:
        """Branch on whether an object is a plain array of as many numbers as an answer has."""
        self.leave_if(self.compare("eq", self.has_type(target, self.python("array")), 0, "i1"), no)
        flags = CONTIGUOUS | ALIGNED
        own = self.compare("eq", self.field(target, DTYPE, "ptr"), self.python("dtype"), "ptr")
        bits = self.let(f"and i32 {self.field(target, FLAGS, 'i32')}, {flags}")
        right = self.compare("eq", bits, flags, "i32")
        flat = self.compare("eq", self.field(target, AXES, "i32"), 1, "i32")
        self.leave_if(self.compare("eq", self.all_of([own, right, flat]), 0, "i1"), no)
        length = self.load(self.field(target, LENGTHS, "ptr"), "i64")
        self.branch(self.compare("eq", length, self.word("size")), yes, no)

    def part(self, k: Value) -> str:
        """The results of the code after call k, a tuple; null if it fails."""
        words = self.at(self.record, self.add(self.mul(k, len(PART.words)), len(ASKED.words)), "i64")
        count, places = PART.get(self, words, "count"), PART.pointer(self, words, "input0")
        with self.each(count) as n:
            value = self.item(self.values, self.load(self.at(places, n, "i64"), "i64"))
            self.store(value, self.at(self.inputs, n, "ptr"), "ptr")
        place = self.add(self.add(self.mul(k, 2), KEPT), self.let(f"and i64 {self.word('step')}, 1"))
        entry, none = PART.get(self, words, "entry"), self.python("none")
        self.store(none, self.out, "ptr")
        with self.when(self.compare("ne", self.word("again"), 0)):
            self.take_again(self.call("PyList_GetItem", ("ptr", self.reached), ("i64", place)), none)
        arrays = ("ptr", self.inputs), ("i64", count)
        self.store(self.served(entry, self.load(self.out, "ptr"), *arrays), self.found, "ptr")
        again = self.compare("ne", self.load(self.out, "ptr"), none, "ptr")
        missing = self.null(self.load(self.found, "ptr"))
        with self.when(self.all_of([again, missing])):  # they may have been changed
            self.leave_if(self.compare("ne", self.call("PyErr_Occurred"), "null", "ptr"), "failed")
            self.store(self.served(entry, none, *arrays), self.found, "ptr")
        found = self.load(self.found, "ptr")
        with self.when(self.compare("ne", found, "null", "ptr")):
            self.call("Py_IncRef", ("ptr", found))
            self.reach(place, found)
        return found

    def served(self, entry: str, out: str, *arrays: tuple[str, Value]) -> str:
        return self.call("serve", ("ptr", self.setting), ("ptr", entry), ("ptr", out), *arrays)

    def take_again(self, kept: str, none: str) -> None:
        """A tuple of arrays is reused for results if there are no other references to it, or to any of them."""
        end = self.block("other")
        self.leave_if(self.compare("eq", kept, none, "ptr"), end)
        self.leave_if(self.compare("ne", self.load(kept, "i32", 4), 1, "i32"), end)
        count = self.call("PyTuple_Size", ("ptr", kept))
        with self.each(count) as n:
            array = self.call("PyTuple_GetItem", ("ptr", kept), ("i64", n))
            alone = self.compare("eq", self.load(array, "i32", 4), 1, "i32")
            strong = self.null(self.field(array, WEAK_ONES, "ptr"))
            self.leave_if(self.compare("eq", self.all_of([alone, strong]), 0, "i1"), end)
            flags = self.let(f"or i32 {self.field(array, FLAGS, 'i32')}, {WRITEABLE}")
            self.store(flags, self.at(array, FLAGS, "i8"), "i32", 4)
        self.store(kept, self.out, "ptr")
        self.jump(end)
        self.begin(end)
