"""Public functions as objects whose calls generated code serves, so that no Python runs before the code.

To a user such an object is its function: it has its name, documentation and signature, binds as a method does, and is
pickled by its name. Calls go to the address in its vectorcall field: null at first, so that Python calls the function;
and the builtin ``public`` (``emit.builtin``) as soon as there is anything that it can serve. If this Python does not
support such objects, the function stays what it is.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, update_wrapper
from types import MappingProxyType, MethodType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linkwork.engine.emit import builtin
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.python_calls import (
    DICT,
    MOST_PARAMETERS,
    PARAMETER,
    PUBLIC,
    RECORD,
    VECTORCALL,
    WEAK,
)
from linkwork.engine.run.entries import code
from linkwork.engine.run.memory import address

Function = TypeVar("Function", bound=Callable[..., Any])
_FURTHER = 256
"""More than there are arguments."""
Names = str | Mapping[str, Any]
"""An algorithm's name, or tables that lead to it, one in another."""


class _Called:
    """The Python side of a public function's object."""

    __slots__ = ()
    __wrapped__: Callable[..., Any]
    __qualname__: str

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.__wrapped__(*given, **named)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return self.__qualname__


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _GetSet(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


_MEMBERS, _GETSET = 72, 73
"""Numbers of slots, as fixed by the stable ABI."""
_HAS_VECTORCALL = 1 << 11
_SIZE, _READ_ONLY = 19, 1
"""Flags of a member: a Py_ssize_t that is read-only."""


_SYMBOLS = ("PyType_FromSpecWithBases", "PyObject_GenericGetDict")


@cache
def _class() -> type | None:
    """The class of these objects; None if this Python does not support it."""
    debugged = hasattr(sys, "gettotalrefcount")  # such a Python requires what this class inherits
    if debugged or not builtin.available() or not all(hasattr(ctypes.pythonapi, name) for name in _SYMBOLS):
        return None
    offsets = {b"__vectorcalloffset__": VECTORCALL, b"__dictoffset__": DICT, b"__weaklistoffset__": WEAK}
    members = (_Member * 4)(*[_Member(name, _SIZE, offset, _READ_ONLY, None) for name, offset in offsets.items()])
    attributes = ctypes.cast(ctypes.pythonapi.PyObject_GenericGetDict, ctypes.c_void_p).value
    getset = (_GetSet * 2)(_GetSet(b"__dict__", attributes, None, None, None))
    slots = (_Slot * 3)(_Slot(_MEMBERS, ctypes.addressof(members)), _Slot(_GETSET, ctypes.addressof(getset)))
    spec = _Spec(b"linkwork.function", RECORD + 8, 0, _HAS_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, (ctypes.POINTER(_Spec), ctypes.py_object)
    made: type = make(ctypes.byref(spec), (_Called,))
    _forever.append((members, getset, slots, spec))
    return made


_forever: list[object] = []
"""What generated code refers to: like public functions, it lives as long as the process."""


def public(function: Function) -> Function:
    """The object that stands for a function."""
    kind = _class()
    if kind is None:
        return function
    made: Any = kind()
    _forever.append(update_wrapper(made, function))
    return made


class Parameters(NamedTuple):
    """What the parameters of a public function are. Those that are none of these, nor the model, frames or out, must be
    left out.

    Attributes:
        arguments: arguments of its code.
        algorithm: the algorithm's name, or tables that lead to it by the values of the parameters that choose it; None
            if calls are identified by their choices.
        choosers: these parameters.
        choices: what identifies calls, and how (``emit.routes``).
        mapping: the choice that is a dict, whose values are arguments, too.
        further: parameters that are more arguments if they are given, of other code (``added``).
    """

    arguments: Sequence[str]
    algorithm: Names | None = None
    choosers: Sequence[str] = ()
    choices: Mapping[str, int] = MappingProxyType({})
    mapping: str | None = None
    further: Sequence[str] = ()


def added(further: Sequence[str], given: Collection[str]) -> int:
    """What further arguments that are given add to the key of an entry, besides their number."""
    return sum(_FURTHER << k for k, name in enumerate(further) if name in given)


def serve(made: Any, asked: Parameters, setting: Words, *kept: object) -> None:
    """From now on, code serves calls of a public function's object.

    Args:
        made: the object; if it is the function itself, nothing happens.
        asked: what its parameters are.
        setting: what the builtin is made with (``entries.setting``).
        kept: what must live as long.
    """
    if not isinstance(made, _Called):
        return
    function: Any = made.__wrapped__
    written, positional = function.__code__, function.__code__.co_argcount  # a signature object would cost more
    names = [sys.intern(name) for name in written.co_varnames[: positional + written.co_kwonlyargcount]]
    if len(names) > MOST_PARAMETERS:
        raise ValueError(f"{function.__name__} has {len(names)} parameters, more than {MOST_PARAMETERS}")
    arguments, choosers, choices = asked.arguments, asked.choosers, list(asked.choices)
    known = {"model", "frames", "out", *choosers, *arguments, *choices, *asked.further}
    at_end = function.__defaults__ or ()
    defaults = dict(zip(names[positional - len(at_end) : positional], at_end, strict=True))
    defaults |= function.__kwdefaults__ or {}
    words = {
        "setting": address(setting),
        "function": id(function),
        "algorithm": 0 if asked.algorithm is None else id(asked.algorithm),
        "choosers": len(choosers),
        "arguments": len(arguments),
        "parameters": len(names),
        "positional": positional,
        "frames": names.index("frames") if "frames" in names else -1,
        "out": names.index("out"),
        "mapping": names.index(asked.mapping) if asked.mapping else -1,
        "choices": len(choices),
        "model": names[0] == "model",
    }

    def place(listed: Sequence[str], k: int) -> int:
        return names.index(listed[k]) if k < len(listed) else 0

    each = [
        PARAMETER.pack(
            {
                "name": id(name),
                "default": id(defaults[name]) if name in defaults else 0,
                "fixed": name not in known,
                "chooser": place(choosers, k),
                "argument": place(arguments, k),
                "choice": place(choices, k),
                "known_by": asked.choices[choices[k]] if k < len(choices) else 0,
                "further": added(asked.further, [name]),
            }
        )
        for k, name in enumerate(names)
    ]
    record = np.concatenate([PUBLIC.pack(words), *each])
    _forever.append((record, setting, kept, function, asked, names, defaults))
    ctypes.c_void_p.from_address(id(made) + RECORD).value = address(record)
    ctypes.c_void_p.from_address(id(made) + VECTORCALL).value = code().addresses["public"]
