"""The builtins: Python functions made of generated code that serve a call without running any Python.

They use the stable ABI, one module for all plans. A plan that they can serve has an ``ENTRY``: words that hold the
shapes of its arrays and the address of its code. A builtin checks each argument (is it a contiguous float64 array of
the right shape, for one state or with the same leading axes as the others?), allocates the results with NumPy's own
function or takes the caller's ``out``, runs the code and returns the array, or a tuple of several. A call that does not
fit, or is not finite, is not served: then Python takes the slow path, which reports why.

    public  the vectorcall of a public function's object (``run.public``): binds the arguments to its parameters, and
            finds the entry in the model's memo, by an algorithm's name or by a route (``emit.routes``); calls that are
            not served go to the function itself
    served  (holder, out, arguments...): given the holder of the entry; returns None if not served
    called  the method __call__ of an object that has its entry in a slot (``run.direct``); calls that are not served go
            to another method
    asked   alternates between a Python function and code (``emit.asking``)
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from linkwork.engine.emit.python_calls import (
    MOST_ARRAYS,
    MOST_PARAMETERS,
    PARAMETER,
    PUBLIC,
    RECORD,
    SECOND_SLOT,
    SETTING,
    SLOT,
    SYMBOLS,
    PythonWriter,
    array_fields_are_known,
)
from linkwork.engine.emit.writer import Value

NAMES = ("public", "served", "called", "asked")
_FASTCALL, _KEYWORDS = 0x0080, 0x0002


def available() -> bool:
    """Whether this Python and its NumPy offer what the builtins need: without a GIL there are no builtins."""
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
    from linkwork.engine.emit import asking, routes, serve, structures

    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    parts = (serve, routes, structures, _Public(), _Served(), _Called(), asking.Asked())
    return "\n".join([*declared, _parameter(), *(part.text() for part in parts)])


def _parameter() -> str:
    """i64 parameter(record, name, first): which parameter from the first on has a name; the number of all if none."""
    w = PythonWriter()
    count = PUBLIC.get(w, "%record", "parameters")
    with w.each(count, "%first") as k:
        same = w.compare("eq", PARAMETER.get(w, w.parameter("%record", k), "name"), "%name", "ptr")
        with w.when(same):
            w.do(f"ret i64 {k}")
            w.begin(w.block("after"))
    w.do(f"ret i64 {count}")
    return w.function("internal i64 @parameter(ptr %record, ptr %name, i64 %first)")


class Builtin(PythonWriter):
    """Writes one of ``NAMES``."""

    setting: str

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

    def answer(self, holder: str, out: str, objects: str, which: str) -> None:
        """Return the answer of the holder's entry, or continue; the reference to the holder is released."""
        foreign, capsule, entry = (self.block(part) for part in ("foreign", "capsule", "entry"))
        first = self.call("PyTuple_GetItem", ("ptr", holder), ("i64", 0))
        self.branch(self.null(first), foreign, capsule)
        self.begin(capsule)
        record = self.call("PyCapsule_GetPointer", ("ptr", first), ("ptr", "null"))
        self.branch(self.null(record), foreign, entry)
        self.begin(foreign)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", ("ptr", holder))
        self.jump("otherwise")
        self.begin(entry)
        given = ("ptr", self.setting), ("ptr", record), ("ptr", out), ("ptr", objects), ("i64", which)
        answer = self.structured(self.call("serve", *given))
        self.call("Py_DecRef", ("ptr", holder))
        self.give_back(answer)

    def structured(self, answer: str) -> str:
        """An answer as it is returned."""
        return answer

    def give_back(self, answer: str) -> None:
        """Return an answer, or null for a Python error; branch to the fallback if it is neither."""
        unserved = self.block("unserved")
        self.leave_if(self.null(answer), unserved)
        self.do(f"ret ptr {answer}")
        self.begin(unserved)
        self.leave_if(self.null(self.call("PyErr_Occurred")), "otherwise")
        self.do("ret ptr null")

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
        self.setting = self.setting_of("%self")
        self.leave_if(self.compare("slt", "%count", 2), "otherwise")
        self.may_serve()
        holder, objects = self.item("%objects", 0), self.at("%objects", 2, "ptr")
        self.call("Py_IncRef", ("ptr", holder))
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
        self.leave_if(self.null(direct), "bad")
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
        self.call("Py_IncRef", ("ptr", direct))
        self.answer(direct, self.load(self.out, "ptr"), self.load(objects, "ptr"), self.load(count, "i64"))
        self.begin("otherwise")
        method = self.call("PyObject_GetAttr", ("ptr", "%self"), ("ptr", self.known_by(direct, 2)))
        self.leave_if(self.null(method), "failed")
        given = ("ptr", "%objects"), ("i64", "%count"), ("ptr", "%keywords")
        found = self.call("PyObject_Vectorcall", ("ptr", method), *given)
        self.call("Py_DecRef", ("ptr", method))
        self.do(f"ret ptr {found}")
        self.begin("bad")
        self.call("PyErr_BadArgument")
        self.jump("failed")
        self.begin("failed")
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


class _Public(Builtin):
    """ptr public(self, objects, given, keywords): a vectorcall function, whose self has the words of a ``PUBLIC``."""

    def text(self) -> str:
        self.bound = self.let(f"alloca [{MOST_PARAMETERS} x ptr], align 8")
        arguments = self.let(f"alloca [{max(MOST_PARAMETERS, MOST_ARRAYS)} x ptr], align 8")
        self.record = self.field("%self", RECORD, "ptr")
        self.setting = PUBLIC.get(self, self.record, "setting")
        self.may_serve()
        self.bind(self.let(f"and i64 %given, {2**63 - 1}"))  # without the flag of vectorcall
        count = PUBLIC.get(self, self.record, "arguments")
        with self.each(count) as k:
            self.store(self.parameter_at("argument", k), self.at(arguments, k, "ptr"), "ptr")
        present = self.present(arguments, count)
        which = self.with_further(arguments, present)
        with self.when(self.null(PUBLIC.get(self, self.record, "algorithm"))):
            self.by_route(arguments, present)
        name = self.chosen()
        by_frames, by_model, found = (self.block(part) for part in ("by_frames", "by_model", "found"))
        asked = self.compare("sge", PUBLIC.get(self, self.record, "frames"), 0)
        self.branch(asked, by_frames, by_model)
        self.begin(by_frames)
        of_frames, from_frames = self.by_frames(name), self.label
        self.jump(found)
        self.begin(by_model)
        of_model = self.found_in_model(SLOT, "of_model", name)
        self.leave_if(self.null(of_model), "otherwise")
        from_model = self.label
        self.jump(found)
        self.begin(found)
        holder = self.let(f"phi ptr [ {of_frames}, %{from_frames} ], [ {of_model}, %{from_model} ]")
        self.answer(holder, self.bound_at("out"), arguments, which)
        self.begin("otherwise")
        given = ("ptr", "%objects"), ("i64", "%given"), ("ptr", "%keywords")
        other = self.call("PyObject_Vectorcall", ("ptr", PUBLIC.get(self, self.record, "function")), *given)
        self.do(f"ret ptr {other}")
        return self.function("ptr @public(ptr %self, ptr %objects, i64 %given, ptr %keywords)")

    def bind(self, count: str) -> None:
        """Bind each parameter, to null if it is missing."""
        everything = PUBLIC.get(self, self.record, "parameters")
        self.leave_if(self.compare("sgt", count, PUBLIC.get(self, self.record, "positional")), "otherwise")
        with self.each(count) as k:
            self.store(self.item("%objects", k), self.at(self.bound, k, "ptr"), "ptr")
        with self.each(everything, count) as k:
            default = PARAMETER.get(self, self.parameter(self.record, k), "default")
            self.store(default, self.at(self.bound, k, "ptr"), "ptr")
        with self.when(self.compare("ne", "%keywords", "null", "ptr")):
            named = self.call("PyTuple_Size", ("ptr", "%keywords"))
            with self.each(named) as k:
                name = self.call("PyTuple_GetItem", ("ptr", "%keywords"), ("i64", k))
                which = self.call("parameter", ("ptr", self.record), ("ptr", name), ("i64", count))
                self.leave_if(self.compare("eq", which, everything), "otherwise")
                self.store(self.item("%objects", self.add(count, k)), self.at(self.bound, which, "ptr"), "ptr")

    def with_further(self, arguments: str, present: str) -> str:
        """Appends the further arguments that are given; what an entry for all is found by. Continue if no parameter is
        missing, and those that must be left out are.
        """
        count, which = (self.variable("i64", present) for _ in range(2))
        with self.each(PUBLIC.get(self, self.record, "parameters")) as k:
            value, parameter = self.item(self.bound, k), self.parameter(self.record, k)
            self.leave_if(self.null(value), "otherwise")
            given = self.compare("ne", value, PARAMETER.get(self, parameter, "default"), "ptr")
            with self.when(given):
                self.leave_if(self.compare("ne", PARAMETER.get(self, parameter, "fixed"), 0), "otherwise")
            adds = PARAMETER.get(self, parameter, "further")
            with self.when(self.all_of([self.compare("ne", adds, 0), given])):
                last = self.load(count, "i64")
                self.store(value, self.at(arguments, last, "ptr"), "ptr")
                self.store(self.add(last, 1), count, "i64")
                self.store(self.add(self.load(which, "i64"), self.add(adds, 1)), which, "i64")
        return self.load(which, "i64")

    def parameter_at(self, what: str, k: Value) -> str:
        """The value of the parameter whose number is this word of parameter k's."""
        return self.item(self.bound, PARAMETER.get(self, self.parameter(self.record, k), what))

    def bound_at(self, name: str) -> str:
        """The value of the parameter whose number is this word of the record."""
        return self.item(self.bound, PUBLIC.get(self, self.record, name))

    def chosen(self) -> str:
        """The algorithm's name, from a table for each parameter that chooses it: continue if there is one."""
        name = self.variable("ptr", PUBLIC.get(self, self.record, "algorithm"))
        with self.each(PUBLIC.get(self, self.record, "choosers")) as k:
            key = self.parameter_at("chooser", k)
            self.leave_if(self.compare("eq", self.has_type(key, self.python("str")), 0, "i1"), "otherwise")
            item = self.call("PyDict_GetItemWithError", ("ptr", self.load(name, "ptr")), ("ptr", key))
            self.leave_if(self.null(item), "otherwise")
            self.store(item, name, "ptr")
        return self.load(name, "ptr")

    def found_in_model(self, slot: int, table: str, key: str) -> str:
        """The item of a table of the model, a new reference, or null."""
        given = ("ptr", self.item(self.bound, 0)), ("i64", slot), ("ptr", self.python(table)), ("ptr", key)
        return self.call("find_in_model", ("ptr", self.setting), *given)

    def by_route(self, arguments: str, present: str) -> None:
        """Return the answer of the route for the call's choices."""
        bound, out = ("ptr", self.bound), ("ptr", self.bound_at("out"))
        given = ("ptr", "%self"), ("ptr", self.record), bound, ("ptr", arguments), ("i64", present), out
        self.give_back(self.call("routed", *given))
        self.begin(self.block("after"))

    def by_frames(self, name: str) -> str:
        key = self.call("key", ("ptr", self.setting), ("ptr", self.bound_at("frames")))
        self.leave_if(self.null(key), "otherwise")
        asked = self.found_in_model(SECOND_SLOT, "frames", key)
        self.call("Py_DecRef", ("ptr", key))
        self.leave_if(self.null(asked), "otherwise")
        item = self.call("find", ("ptr", asked), ("ptr", self.python("of_frames")), ("ptr", name))
        self.call("Py_DecRef", ("ptr", asked))
        self.leave_if(self.null(item), "otherwise")
        return item
