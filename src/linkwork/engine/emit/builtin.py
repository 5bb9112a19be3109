"""The builtin: a Python function made of generated code, between Python and machine code.

It uses the stable ABI, one module for all plans. A plan that it can serve has an ``ENTRY``: words that hold the shapes
of its arrays and the address of its code. ``served(out, arguments...)`` checks each argument (is it a contiguous
float64 array of the right shape, for one state or with the same leading axes as the others?), allocates the results
with NumPy's own function or takes the caller's ``out``, runs the code and returns the array, or a tuple of several
(``emit.serve``). A call that does not fit, or is not finite, is not served: it returns None, and Python takes the
checked path, which reports why.

It is a function object whose self is a tuple: the addresses of its ``SETTING`` and of its first ``ENTRY``, and what
must live as long. References that generated code relies on:

    what                                  who owns it                             from, to
    arguments, ``out``                    the caller                              the whole call
    setting, and the objects it names     the builtin's self                      the whole call
    entry: words, code, memory            the builtin's self, the one before it   the whole call
    buffers of arguments and ``out``      ``serve``, views                        while the GIL is released
    results, or the arrays of ``out``     ``serve``, a reference each             creation, answer

Without the GIL, code uses the memory of the entry and of the arrays, and no reference.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from linkwork.arguments import variable
from linkwork.engine.emit.python_calls import SYMBOLS, array_fields_are_known, array_maker

NAME = "served"
_FASTCALL = 0x0080


BUILTIN = "LINKWORK_BUILTIN"
"""The environment variable that turns the builtin off if it is 0: then the checked path serves all calls."""


@cache
def available() -> bool:
    """Whether this Python and its NumPy offer what the builtin needs: without a GIL there is none."""
    if variable(BUILTIN, "0", "1") == "0":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or not hasattr(ctypes, "pythonapi"):
        return False
    symbols = all(hasattr(ctypes.pythonapi, name) for name in SYMBOLS)
    return symbols and array_fields_are_known() and array_maker() is not None


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


def make(code: int, setting: int, record: int, *kept: object) -> Callable[..., Any]:
    """The Python callable ``served``, whose code is at an address, with the words of a ``SETTING`` and of an ``ENTRY``
    at others; it keeps alive what must live as long.
    """
    method = _Method(NAME.encode(), code, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.byref(method), (setting, record, method, *kept), None)


def text() -> str:
    """Its module, in LLVM IR."""
    from linkwork.engine.emit import serve

    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    return "\n".join([*declared, serve.text()])
