"""The builtins: Python functions made of generated code that serve a call without running any Python.

They use the stable ABI, one module for all plans. A plan that they can serve has an ``ENTRY``: words that hold the
shapes of its arrays and the address of its code. A builtin checks each argument (is it a contiguous float64 array of
the right shape, for one state or with the same leading axes as the others?), allocates the results with NumPy's own
function or takes the caller's ``out``, runs the code and returns the array, or a tuple of several. A call that does not
fit, or is not finite, is not served: then Python takes the slow path, which reports why.

    public  the vectorcall of a public function's object (``emit.public``)
    served  (holder, out, arguments...): given the holder of the entry; returns None if not served
    called  the method __call__ of an object that has its entry in a slot (``run.direct``); calls that are not served go
            to another method
    asked   alternates between a Python function and code (``emit.asking``)

References that generated code relies on. Whatever is read out of a slot, a dictionary or a list is owned before Python
or another thread can run, which may replace it, so that it is freed. Python may run where the GIL is released, where a
key is hashed and compared, where a result is converted, and where an object is freed.

    what                                  who owns it                             from, to
    arguments, keywords, ``out``, self    the caller                              the whole call
    a public function, its parameters     the process (``run.public``)            for ever
    setting, and the objects it names     the process, or the builtin's self      the whole call
    entry: words, code, memory            its holder, its route, one before it    as long as that
    ``_direct``: names, structure         ``called``, a reference                 load of the slot, return
    table of a model                      ``find_in_model``, a reference          load of the slot, end of the lookup
    table of another object               ``find``, a new reference               attribute, end of the lookup
    key of a lookup                       ``public``, ``routed``, a new object    creation, end of the lookup or return
    entries of frames                     ``public``, a new reference             lookup, lookup of the holder
    holder of entries                     ``public``, a new reference             lookup, return or the function's call
    route: arrays, what converts          ``routed``, a new reference             lookup, return
    values of a dict                      ``routed``, a new list                  before the lookup, return
    buffers of arguments and ``out``      ``serve``, views                        while the GIL is released
    results, or the arrays of ``out``     ``serve``, a reference each             creation, answer
    memory of an aligned result           the result, which takes the reference   creation
    answer that is converted              ``structured``, ``routed``              ``serve``, the converted one
    parts of a structure                  the tuple, list or dict being made      creation
    Python error that is looked at        ``excuse``, a new reference             lookup, its report
    time of a question                    ``asked``, a new object                 the question
    answers to questions                  ``asked``, a new reference each         question, end of the step
    q, v, results of the last part        ``asked``, a reference each             their part, the same of a later one

Without the GIL, code uses the memory of the entry and of the arrays, and no reference.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from linkwork.arguments import variable
from linkwork.engine.emit.python_calls import (
    MOST_ARRAYS,
    SETTING,
    SLOT,
    SYMBOLS,
    PythonWriter,
    array_fields_are_known,
)
from linkwork.engine.emit.writer import Value

NAMES = ("public", "served", "called", "asked")
_FASTCALL, _KEYWORDS = 0x0080, 0x0002


BUILTIN = "LINKWORK_BUILTIN"
"""The environment variable that turns the builtins off if it is 0: then the checked path serves all calls."""


@cache
def available() -> bool:
    """Whether this Python and its NumPy offer what the builtins need: without a GIL there are no builtins."""
    if variable(BUILTIN, "0", "1") == "0":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or not hasattr(ctypes, "pythonapi"):
        return False
    return all(hasattr(ctypes.pythonapi, name) for name in SYMBOLS) and array_fields_are_known()


def addresses() -> dict[str, int]:
    """The addresses of the Python functions that generated code calls."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in SYMBOLS}


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def make(name: str, address: int, setting: int, *kept: object) -> Callable[..., Any]:
    """The Python callable ``served`` or ``asked``, whose code is at an address, with the words of its ``SETTING`` at
    another; it keeps alive what must live as long.
    """
    method = _Method(name.encode(), address, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.byref(method), (setting, method, *kept), None)


def method(kind: type, name: str, address: int) -> Any:
    """A method of a class whose code is at an address, as a descriptor; both must live as long as the process."""
    own = _Method(name.encode(), address, _FASTCALL | _KEYWORDS, None)
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.POINTER(_Method))
    _methods.append(own)
    return new(kind, ctypes.byref(own))


_methods: list[_Method] = []
"""What descriptors refer to."""


def holder(entry: int, *kept: object) -> tuple[Any, ...]:
    """What a builtin takes for an entry at an address: it keeps alive what must live as long. The capsule has no name,
    since comparing it would cost more than everything else done with it.
    """
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return (new(entry, None, None), *kept)


def text() -> str:
    """The module of all builtins, in LLVM IR."""
    from linkwork.engine.emit import asking, public, routes, serve, structures

    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    parts = (serve, routes, structures, public, _Served(), _Called(), asking.Asked())
    return "\n".join([*declared, *(part.text() for part in parts)])


class Builtin(PythonWriter):
    """Writes one of ``NAMES``."""

    setting: str
    owned: str
    """Where the reference is that a call owns until it returns, or null."""

    def setting_of(self, own: str) -> str:
        """What a function was made with, which is its self."""
        return self.call("PyLong_AsVoidPtr", ("ptr", self.call("PyTuple_GetItem", ("ptr", own), ("i64", 0))))

    def item(self, array: str, k: Value) -> str:
        return self.load(self.at(array, k, "ptr"), "ptr")

    def python(self, name: str) -> str:
        return SETTING.get(self, self.setting, name)

    def may_serve(self) -> None:
        """Continue while no form of running is requested."""
        self.leave_if(self.compare("ne", self.load(self.python("forced"), "i64"), 0), "otherwise")

    def release(self) -> None:
        self.call("Py_DecRef", ("ptr", self.load(self.owned, "ptr")))  # a no-op for null

    def answer(self, holder: str, out: str, objects: str, which: str) -> None:
        """Return the answer of the entry of a holder, which is owned, or continue."""
        first = self.call("PyTuple_GetItem", ("ptr", holder), ("i64", 0))
        self.leave_if(self.null(first), "foreign")
        record = self.call("PyCapsule_GetPointer", ("ptr", first), ("ptr", "null"))
        self.leave_if(self.null(record), "foreign")
        given = ("ptr", self.setting), ("ptr", record), ("ptr", out), ("ptr", objects), ("i64", which)
        self.give_back(self.structured(self.call("serve", *given)))
        self.begin("foreign")
        self.call("PyErr_Clear")
        self.jump("otherwise")

    def structured(self, answer: str) -> str:
        """An answer as it is returned."""
        return answer

    def give_back(self, answer: str) -> None:
        """Return an answer, or null for a Python error; branch to the fallback if it is neither."""
        unserved, back = self.block("unserved"), self.block("back")
        self.branch(self.null(answer), unserved, back)
        self.begin(unserved)
        self.branch(self.null(self.call("PyErr_Occurred")), "otherwise", back)
        self.begin(back)
        self.release()
        self.do(f"ret ptr {answer}")

    def present(self, objects: str, all_of_them: str) -> str:
        """How many arguments there are, without trailing Nones."""
        look, last, less, done = (self.block(part) for part in ("look", "last", "less", "done"))
        before, count, fewer = self.label, self.name(), self.name()
        self.jump(look)
        self.begin(look)
        self.let(f"phi i64 [ {all_of_them}, %{before} ], [ {fewer}, %{less} ]", count)
        self.branch(self.compare("sgt", count, 0), last, done)
        self.begin(last)
        item = self.item(objects, self.sub(count, 1))
        self.branch(self.compare("eq", item, self.python("none"), "ptr"), less, done)
        self.begin(less)
        self.let(f"sub i64 {count}, 1", fewer)
        self.jump(look)
        self.begin(done)
        return count


class _Served(Builtin):
    """ptr served(self, objects, count): a METH_FASTCALL function."""

    def text(self) -> str:
        self.owned, self.setting = self.variable("ptr", "null"), self.setting_of("%self")
        self.leave_if(self.compare("slt", "%count", 2), "otherwise")
        self.may_serve()
        holder, objects = self.item("%objects", 0), self.at("%objects", 2, "ptr")
        count = self.present(objects, self.sub("%count", 2))
        self.answer(holder, self.item("%objects", 1), objects, count)
        self.begin("otherwise")
        none = self.python("none")
        self.call("Py_IncRef", ("ptr", none))
        self.do(f"ret ptr {none}")
        return self.function("ptr @served(ptr %self, ptr %objects, i64 %count)")


class _Called(Builtin):
    """ptr called(self, objects, count, keywords): a METH_FASTCALL | METH_KEYWORDS method of an object whose slot has a
    tuple of the entry's capsule, or None, the address of the setting, the name of the method for other calls, the
    names of the arguments, the entry's holder, and the structure of the result (``emit.structures``).
    """

    def text(self) -> str:
        self.bound = self.let(f"alloca [{MOST_ARRAYS} x ptr], align 8")
        self.out, self.known = self.let("alloca ptr, align 8"), self.variable("i64", 0)
        objects, count = self.variable("ptr", "%objects"), self.variable("i64", "%count")
        direct = self.field("%self", SLOT, "ptr")
        self.owned = self.variable("ptr", direct)
        self.leave_if(self.null(direct), "bad")
        self.call("Py_IncRef", ("ptr", direct))  # the slot gets another entry while the GIL is released
        self.setting = self.call("PyLong_AsVoidPtr", ("ptr", self.known_by(direct, 1)))
        self.leave_if(self.null(self.setting), "bad")
        self.may_serve()
        self.store(self.python("none"), self.out, "ptr")
        with self.when(self.compare("ne", "%keywords", "null", "ptr")):
            self.store(self.bind(direct), count, "i64")
            self.store(self.bound, objects, "ptr")
        self.structure = self.known_by(direct, 5)
        both = (self.load(self.out, "ptr"), self.structure)  # Python takes an out apart
        self.leave_if(self.all_of([self.compare("ne", x, self.python("none"), "ptr") for x in both]), "otherwise")
        self.answer(direct, self.load(self.out, "ptr"), self.load(objects, "ptr"), self.load(count, "i64"))
        self.begin("otherwise")
        method = self.call("PyObject_GetAttr", ("ptr", "%self"), ("ptr", self.known_by(direct, 2)))
        self.leave_if(self.null(method), "failed")
        given = ("ptr", "%objects"), ("i64", "%count"), ("ptr", "%keywords")
        self.release()
        found = self.call("PyObject_Vectorcall", ("ptr", method), *given)
        self.call("Py_DecRef", ("ptr", method))
        self.do(f"ret ptr {found}")
        self.begin("bad")
        self.call("PyErr_BadArgument")
        self.jump("failed")
        self.begin("failed")
        self.release()
        self.do("ret ptr null")
        return self.function("ptr @called(ptr %self, ptr %objects, i64 %count, ptr %keywords)")

    def known_by(self, direct: str, k: int) -> str:
        """Item k of the tuple: continue if there is one."""
        item = self.call("PyTuple_GetItem", ("ptr", direct), ("i64", k))
        self.leave_if(self.null(item), "failed")
        return item

    def structured(self, answer: str) -> str:
        return self.call("structured", ("ptr", self.setting), ("ptr", self.structure), ("ptr", answer))

    def bind(self, direct: str) -> str:
        """Bind arguments that are given by name, and ``out``: continue if each argument is given once; how many."""
        names = self.known_by(direct, 3)
        total = self.call("PyTuple_Size", ("ptr", names))
        few = [self.compare("sle", total, MOST_ARRAYS), self.compare("sle", "%count", total)]
        self.leave_if(self.let(f"xor i1 {self.all_of(few)}, true"), "otherwise")
        with self.each("%count") as k:
            self.store(self.item("%objects", k), self.at(self.bound, k, "ptr"), "ptr")
        with self.each(total, "%count") as k:
            self.store("null", self.at(self.bound, k, "ptr"), "ptr")
        with self.each(self.call("PyTuple_Size", ("ptr", "%keywords"))) as k:
            self.bind_one(names, total, k)
        with self.each(total) as k:
            self.leave_if(self.null(self.item(self.bound, k)), "otherwise")
        return total

    def bind_one(self, names: str, total: str, k: str) -> None:
        """Bind keyword k, if it is the name of an argument that is still missing."""
        name = self.call("PyTuple_GetItem", ("ptr", "%keywords"), ("i64", k))
        value = self.item("%objects", self.add("%count", k))
        is_out = self.compare("eq", name, self.python("named_out"), "ptr")
        self.store(self.either(is_out, "i64", 1, 0), self.known, "i64")
        with self.when(is_out):
            self.store(value, self.out, "ptr")
        with self.each(total) as j:
            same = self.compare("eq", self.call("PyTuple_GetItem", ("ptr", names), ("i64", j)), name, "ptr")
            place = self.at(self.bound, j, "ptr")
            with self.when(self.all_of([same, self.null(self.load(place, "ptr"))])):
                self.store(value, place, "ptr")
                self.store(1, self.known, "i64")
        self.leave_if(self.compare("eq", self.load(self.known, "i64"), 0), "otherwise")
