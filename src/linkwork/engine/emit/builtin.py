"""The builtins: Python functions made of generated code, between Python and machine code.

They use the stable ABI, one module for all plans. A plan that they can serve has an ``ENTRY``: words that hold the
shapes of its arrays and the address of its code. A builtin checks each argument (is it a contiguous float64 array of
the right shape, for one state or with the same leading axes as the others?), allocates the results with NumPy's own
function or takes the caller's ``out``, runs the code and returns the array, or a tuple of several. A call that does not
fit, or is not finite, is not served: it returns None, and Python takes the checked path, which reports why.

    served  (out, arguments...): one call (``emit.serve``)
    asked   alternates between a Python function and code (``emit.asking``)

Each is a function object whose self is a tuple: the addresses of its ``SETTING`` and of its ``ENTRY`` or ``ASKED``, and
what must live as long. References that generated code relies on:

    what                                  who owns it                             from, to
    arguments, ``out``                    the caller                              the whole call
    setting, and the objects it names     the builtin's self                      the whole call
    entry: words, code, memory            the builtin's self, the one before it   the whole call
    buffers of arguments and ``out``      ``serve``, views                        while the GIL is released
    results, or the arrays of ``out``     ``serve``, a reference each             creation, answer
    memory of an aligned result           the result, which takes the reference   creation
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
from linkwork.engine.emit.python_calls import SETTING, SYMBOLS, PythonWriter, array_fields_are_known
from linkwork.engine.emit.writer import Value

NAMES = ("served", "asked")
_FASTCALL = 0x0080


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


def make(name: str, code: int, setting: int, record: int, *kept: object) -> Callable[..., Any]:
    """The Python callable ``served`` or ``asked``, whose code is at an address, with the words of a ``SETTING``, and of
    an ``ENTRY`` or ``ASKED``, at others; it keeps alive what must live as long.
    """
    method = _Method(name.encode(), code, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.byref(method), (setting, record, method, *kept), None)


def text() -> str:
    """The module of all builtins, in LLVM IR."""
    from linkwork.engine.emit import asking, serve

    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    return "\n".join([*declared, serve.text(), _Served().text(), asking.Asked().text()])


class Builtin(PythonWriter):
    """Writes one of ``NAMES``."""

    setting: str

    def own(self) -> str:
        """The words of the builtin's ENTRY or ASKED; sets those of its setting."""
        self.setting, record = (
            self.call("PyLong_AsVoidPtr", ("ptr", self.call("PyTuple_GetItem", ("ptr", "%self"), ("i64", k))))
            for k in range(2)
        )
        return record

    def item(self, array: str, k: Value) -> str:
        return self.load(self.at(array, k, "ptr"), "ptr")

    def python(self, name: str) -> str:
        return SETTING.get(self, self.setting, name)

    def may_serve(self) -> None:
        """Continue while no form of running is requested."""
        self.leave_if(self.compare("ne", self.load(self.python("forced"), "i64"), 0), "otherwise")


class _Served(Builtin):
    """ptr served(self, objects, count): a METH_FASTCALL function."""

    def text(self) -> str:
        record = self.own()
        self.leave_if(self.compare("slt", "%count", 1), "otherwise")
        self.may_serve()
        arguments = self.at("%objects", 1, "ptr")
        count = self.present(arguments, self.sub("%count", 1))
        given = ("ptr", record), ("ptr", self.item("%objects", 0)), ("ptr", arguments), ("i64", count)
        answer = self.call("serve", ("ptr", self.setting), *given)
        back = self.block("back")
        self.leave_if(self.compare("ne", answer, "null", "ptr"), back)
        self.branch(self.null(self.call("PyErr_Occurred")), "otherwise", back)
        self.begin(back)
        self.do(f"ret ptr {answer}")
        self.begin("otherwise")
        none = self.python("none")
        self.call("Py_IncRef", ("ptr", none))
        self.do(f"ret ptr {none}")
        return self.function("ptr @served(ptr %self, ptr %objects, i64 %count)")

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
