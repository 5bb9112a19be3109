"""The builtins: functions of Python, made from generated code, that serve a call without a line of Python.

They are ordinary METH_FASTCALL functions of C's stable ABI, one module for all plans. A plan that they can serve has an
``ENTRY``: words that tell the shapes of its arrays and where its code is. A builtin looks at each argument (is it a
contiguous float64 array of the right shape, for one state or with the same leading axes as the others?), makes the
results with NumPy's own function or takes the caller's ``out``, runs the code and returns the array, or a tuple of
several. What does not fit, or is not finite, it does not serve: then Python takes the slower way, which tells why.

    quick         (name, model, out, arguments...): finds the entry in the model's memo
    quick_frames  (name, model, frames, out, arguments...): the same for an algorithm that is asked about frames
    served        (holder, out, arguments...): given the holder of the entry

What is not served goes to the function ``otherwise`` with all that was given; None if there is no such function.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from linkwork.engine.emit.python_calls import SETTING, SYMBOLS, PythonWriter, array_fields_are_known
from linkwork.engine.emit.writer import Value

NAMES = ("quick", "quick_frames", "served")
_FASTCALL = 0x0080
_CAPSULE = b"linkwork entry"


def available() -> bool:
    """Whether this Python and its NumPy offer what the builtins need: no lock of the interpreter, no builtins."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or not hasattr(ctypes, "pythonapi"):
        return False
    return all(hasattr(ctypes.pythonapi, name) for name in SYMBOLS) and array_fields_are_known()


def addresses() -> dict[str, int]:
    """Where generated code finds the functions of Python that it calls."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in SYMBOLS}


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def make(name: str, address: int, setting: int, *kept: object) -> Callable[..., Any]:
    """The Python callable for a builtin at an address, with the words of its ``SETTING`` at another; it keeps what must
    live as long.
    """
    method = _Method(name.encode(), address, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.byref(method), (setting, method, *kept), None)


def holder(entry: int, *kept: object) -> tuple[Any, ...]:
    """What a builtin takes for an entry at an address: it keeps what must live as long."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return (new(entry, _CAPSULE, None), *kept)


def text() -> str:
    """The module of all builtins, in LLVM's text."""
    from linkwork.engine.emit import serve

    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    name = f'@capsule = internal constant [{len(_CAPSULE) + 1} x i8] c"{_CAPSULE.decode()}\\00"'
    functions = [serve.text(), _find(), _otherwise()]
    return "\n".join([*declared, name, *functions, *map(_builtin, NAMES)])


def _find() -> str:
    """ptr find(object, name, key): the item of a dictionary that is an attribute of an object, a new reference; null,
    without an error, if there is none.
    """
    w = PythonWriter()
    table = w.call("PyObject_GetAttr", ("ptr", "%object"), ("ptr", "%name"))
    w.leave_if(w.null(table), "error")
    item = w.call("PyDict_GetItemWithError", ("ptr", table), ("ptr", "%key"))
    found, missing = w.block("found"), w.block("missing")
    w.branch(w.null(item), missing, found)
    w.begin(found)
    w.call("Py_IncRef", ("ptr", item))
    w.call("Py_DecRef", ("ptr", table))
    w.do(f"ret ptr {item}")
    w.begin(missing)
    w.call("Py_DecRef", ("ptr", table))
    w.jump("error")
    w.begin("error")
    w.call("PyErr_Clear")
    w.do("ret ptr null")
    return w.function("internal ptr @find(ptr %object, ptr %name, ptr %key)")


def _otherwise() -> str:
    """ptr otherwise(setting, objects, count): the answer of Python's way, or None."""
    w = PythonWriter()
    function = SETTING.get(w, "%setting", "otherwise")
    w.leave_if(w.null(function), "none")
    given = w.call("PyTuple_New", ("i64", "%count"))
    w.leave_if(w.null(given), "lost")
    with w.each("%count") as k:
        item = w.load(w.at("%objects", k, "ptr"), "ptr")
        w.call("Py_IncRef", ("ptr", item))
        w.call("PyTuple_SetItem", ("ptr", given), ("i64", k), ("ptr", item))
    answer = w.call("PyObject_CallObject", ("ptr", function), ("ptr", given))
    w.call("Py_DecRef", ("ptr", given))
    w.do(f"ret ptr {answer}")
    w.begin("none")
    none = SETTING.get(w, "%setting", "none")
    w.call("Py_IncRef", ("ptr", none))
    w.do(f"ret ptr {none}")
    w.begin("lost")
    w.do("ret ptr null")
    return w.function("internal ptr @otherwise(ptr %setting, ptr %objects, i64 %count)")


class _Builtin(PythonWriter):
    """Writes one of ``NAMES``."""

    def text(self, name: str) -> str:
        before = {"quick": 3, "quick_frames": 4, "served": 2}[name]
        setting = self.call("PyLong_AsVoidPtr", ("ptr", self.call("PyTuple_GetItem", ("ptr", "%self"), ("i64", 0))))
        self.setting = setting
        self.leave_if(self.compare("slt", "%count", before), "otherwise")
        forced = self.load(SETTING.get(self, setting, "forced"), "i64")
        self.leave_if(self.compare("ne", forced, 0), "otherwise")
        holder = {"quick": self.by_model, "quick_frames": self.by_frames, "served": self.given}[name]()
        first = self.call("PyTuple_GetItem", ("ptr", holder), ("i64", 0))
        entry = self.block("entry"), self.block("foreign"), self.block("capsule")
        self.branch(self.null(first), entry[1], entry[2])
        self.begin(entry[2])
        record = self.call("PyCapsule_GetPointer", ("ptr", first), ("ptr", "@capsule"))
        self.branch(self.null(record), entry[1], entry[0])
        self.begin(entry[1])
        self.call("PyErr_Clear")
        self.call("Py_DecRef", ("ptr", holder))
        self.jump("otherwise")
        self.begin(entry[0])
        out, objects = self.object(before - 1), self.at("%objects", before, "ptr")
        count = self.present(before)
        answer = self.call("serve", ("ptr", setting), ("ptr", record), ("ptr", out), ("ptr", objects), ("i64", count))
        self.call("Py_DecRef", ("ptr", holder))
        self.leave_if(self.null(answer), "unserved")
        self.do(f"ret ptr {answer}")
        self.begin("unserved")
        error = self.call("PyErr_Occurred")
        self.leave_if(self.null(error), "otherwise")
        self.do("ret ptr null")
        self.begin("otherwise")
        other = self.call("otherwise", ("ptr", setting), ("ptr", "%objects"), ("i64", "%count"))
        self.do(f"ret ptr {other}")
        return self.function(f"ptr @{name}(ptr %self, ptr %objects, i64 %count)")

    def object(self, k: Value) -> str:
        return self.load(self.at("%objects", k, "ptr"), "ptr")

    def python(self, name: str) -> str:
        return SETTING.get(self, self.setting, name)

    def present(self, before: int) -> str:
        """How many arguments there are, those at the end not counted that are None."""
        place = self.variable("i64", "%count")
        look, last, less, done = (self.block(part) for part in ("look", "last", "less", "done"))
        self.jump(look)
        self.begin(look)
        count = self.load(place, "i64")
        self.branch(self.compare("sgt", count, before), last, done)
        self.begin(last)
        item = self.object(self.sub(count, 1))
        self.branch(self.compare("eq", item, self.python("none"), "ptr"), less, done)
        self.begin(less)
        self.store(self.sub(count, 1), place, "i64")
        self.jump(look)
        self.begin(done)
        return self.sub(count, before)

    def given(self) -> str:
        holder = self.object(0)
        self.call("Py_IncRef", ("ptr", holder))
        return holder

    def found(self, owner: str, table: str, key: str) -> str:
        """The item of a table of an object, a new reference; go on if there is one."""
        item = self.call("find", ("ptr", owner), ("ptr", self.python(table)), ("ptr", key))
        self.leave_if(self.null(item), "otherwise")
        return item

    def by_model(self) -> str:
        return self.found(self.object(1), "of_model", self.object(0))

    def by_frames(self) -> str:
        """Frames may be a list, which is no key: then a tuple of them is."""
        frames = self.object(2)
        key = self.variable("ptr", frames)
        self.call("Py_IncRef", ("ptr", frames))
        with self.when(self.has_type(frames, self.python("list"))):
            made = self.call("PyList_AsTuple", ("ptr", frames))
            self.call("PyErr_Clear")
            with self.when(self.compare("ne", made, "null", "ptr")):
                self.call("Py_DecRef", ("ptr", frames))
                self.store(made, key, "ptr")
        held = self.load(key, "ptr")
        asked = self.call("find", ("ptr", self.object(1)), ("ptr", self.python("frames")), ("ptr", held))
        self.call("Py_DecRef", ("ptr", held))
        self.leave_if(self.null(asked), "otherwise")
        item = self.call("find", ("ptr", asked), ("ptr", self.python("of_frames")), ("ptr", self.object(0)))
        self.call("Py_DecRef", ("ptr", asked))
        self.leave_if(self.null(item), "otherwise")
        return item


def _builtin(name: str) -> str:
    return _Builtin().text(name)
