"""A builtin made from generated code: one state in, one state out, arrays taken by the buffer protocol.

It is an ordinary METH_FASTCALL function of C's stable ABI. Called with the arguments' arrays, it looks at each
(contiguous float64 of the right shape?), makes the results' arrays with ``numpy.empty``, runs the kernel and returns
the array, or a tuple of several; or None if anything does not fit or is not finite: then Python takes the slower way,
which tells why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.engine.emit.call_frame import TABLES
from linkwork.engine.emit.writer import Writer, sweep

_VIEW, _NDIM, _FORMAT, _SHAPE = 80, 36, 40, 48
"""Bytes of a Py_buffer, and where its fields are there, as fixed by the stable ABI; the data's address is the first."""
_TYPE = object.__basicsize__ - 8
"""Where an object says its type: the last field of what every object begins with."""
_WIDE = 8
"""Numbers that are looked at together, whether they are finite."""
_CONTIGUOUS, _WRITABLE = 0x0004 | 0x0008, 0x0001  # PyBUF_FORMAT | PyBUF_ND, PyBUF_WRITABLE
_FASTCALL = 0x0080

SYMBOLS = {
    "PyObject_GetBuffer": "i32 {}(ptr, ptr, i32)",
    "PyBuffer_Release": "void {}(ptr)",
    "PyErr_Clear": "void {}()",
    "Py_IncRef": "void {}(ptr)",
    "Py_DecRef": "void {}(ptr)",
    "PyObject_CallObject": "ptr {}(ptr, ptr)",
    "PyTuple_GetItem": "ptr {}(ptr, i64)",
    "PyTuple_Pack": "ptr {}(i64, ...)",
}
"""The functions of Python that it calls, all of the stable ABI."""


def available() -> bool:
    """Whether this Python offers what the builtin needs."""
    return hasattr(ctypes, "pythonapi") and all(hasattr(ctypes.pythonapi, name) for name in SYMBOLS)


def addresses() -> dict[str, int]:
    """Where generated code finds the functions of Python that it calls."""
    found = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in SYMBOLS}
    return {**found, "_Py_NoneStruct": id(None), "linkwork_ndarray": id(np.ndarray)}


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def make(address: int, code: Any, shapes: Sequence[tuple[int, ...]]) -> Callable[..., Any]:
    """The Python callable for a ``single`` function at an address, with results of these shapes; it keeps ``code``
    alive.
    """
    method = _Method(b"linkwork_single", address, _FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    kept = (np.empty, *((shape,) for shape in shapes), method, code)
    return new(ctypes.byref(method), kept, None)


def text(arguments: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> str:
    """The builtin in LLVM's text, for arrays of these shapes."""
    declared = [f"declare {kind.format(f'@{name}')}" for name, kind in SYMBOLS.items()]
    sweeps = [sweep("finite", _WIDE), sweep("settle", _WIDE, unsigned_zeros=True)]
    objects = [f"@{name} = external global i8" for name in ("_Py_NoneStruct", "linkwork_ndarray")]
    return "\n".join([*declared, *objects, *sweeps, _Single(arguments, results).text()])


class _Single(Writer):
    """Writes ``single``. What has been taken is released in reverse order wherever it ends early: the block release{k}
    gives back view k and all before it.
    """

    def __init__(self, arguments: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> None:
        super().__init__()
        self.arguments, self.results = arguments, results
        self.first, self.total = len(arguments), len(arguments) + len(results)
        self.objects: list[str] = []
        self.data: list[str] = []

    def text(self) -> str:
        self.views = [self.let(f"alloca [{_VIEW} x i8], align 8") for _ in range(self.total)]
        self.expect(self.compare("eq", "%count", self.first), "none")
        for k, shape in enumerate(self.arguments):
            self.objects.append(self.load(self.at("%objects", k, "ptr"), "ptr"))
            self.take(k, shape)
        sizes = [prod(shape) for shape in (*self.arguments, *self.results)]
        last = f"release{self.first - 1}"
        self.expect(self.checked("finite", zip(self.data, sizes, strict=False)), last)
        for k in range(self.first, self.total):
            self.make(k)
        null = ["null"] * len(TABLES)
        self.do(f"call void @kernel({', '.join(f'ptr {pointer}' for pointer in (*self.data, *null))})")
        good = self.checked("settle", list(zip(self.data, sizes, strict=True))[self.first :])
        for view in self.views:
            self.do(f"call void @PyBuffer_Release(ptr {view})")
        self.expect(good, "drop")
        self.answer()
        self.begin("drop")
        self.forget(self.objects[self.first :])
        self.jump("none")
        for k in reversed(range(self.first)):
            self.begin(f"release{k}")
            self.do(f"call void @PyBuffer_Release(ptr {self.views[k]})")
            self.jump("none" if k == 0 else f"release{k - 1}")
        self.begin("none")
        self.do("call void @Py_IncRef(ptr @_Py_NoneStruct)")
        self.do("ret ptr @_Py_NoneStruct")
        return self.function("ptr @single(ptr %self, ptr %objects, i64 %count)")

    def expect(self, condition: str, otherwise: str) -> None:
        """Go on if a condition holds."""
        onward = self.block("onward")
        self.branch(condition, onward, otherwise)
        self.begin(onward)

    def buffer(self, k: int, flags: int) -> str:
        """Whether object k gives its buffer into view k."""
        failed = self.let(f"call i32 @PyObject_GetBuffer(ptr {self.objects[k]}, ptr {self.views[k]}, i32 {flags})")
        return self.compare("eq", failed, 0, "i32")

    def take(self, k: int, shape: tuple[int, ...]) -> None:
        """Argument k: go on if it is a contiguous array of doubles of this shape.

        Only of NumPy's own type: a masked array gives its buffer, but not what it hides there.
        """
        kind = self.load(self.at(self.objects[k], _TYPE, "i8"), "ptr")
        plain = self.compare("eq", kind, "@linkwork_ndarray", "ptr")
        self.expect(plain, "none" if k == 0 else f"release{k - 1}")
        taken, error = self.block("taken"), self.block("error")
        self.branch(self.buffer(k, _CONTIGUOUS), taken, error)
        self.begin(error)
        self.do("call void @PyErr_Clear()")
        self.jump("none" if k == 0 else f"release{k - 1}")
        self.begin(taken)
        view, release = self.views[k], f"release{k}"
        self.data.append(self.load(view, "ptr"))
        axes = self.load(self.at(view, _NDIM, "i8"), "i32", 4)
        self.expect(self.compare("eq", axes, len(shape), "i32"), release)
        letters = self.load(self.load(self.at(view, _FORMAT, "i8"), "ptr"), "i16", 1)
        sizes = self.load(self.at(view, _SHAPE, "i8"), "ptr")
        fits = self.compare("eq", letters, ord("d"), "i16")  # "d" and the end of the string, little-endian
        for axis, length in enumerate(shape):
            same = self.compare("eq", self.load(self.at(sizes, axis, "i64"), "i64"), length)
            fits = self.let(f"and i1 {fits}, {same}")
        self.expect(fits, release)

    def make(self, k: int) -> None:
        """A new array for result k from ``self``: (numpy.empty, the arguments for each result, ...). Without memory,
        Python's own error goes up.
        """
        empty = self.let("call ptr @PyTuple_GetItem(ptr %self, i64 0)")
        shape = self.let(f"call ptr @PyTuple_GetItem(ptr %self, i64 {k - self.first + 1})")
        self.objects.append(self.let(f"call ptr @PyObject_CallObject(ptr {empty}, ptr {shape})"))
        self.give_up_unless(self.compare("ne", self.objects[k], "null", "ptr"), k, self.objects[self.first : k])
        self.give_up_unless(self.buffer(k, _CONTIGUOUS | _WRITABLE), k, self.objects[self.first : k + 1])
        self.data.append(self.load(self.views[k], "ptr"))

    def give_up_unless(self, condition: str, views: int, made: Sequence[str]) -> None:
        """Go on if a condition holds; else give back so many views and the arrays that were made, and raise."""
        onward, lost = self.block("onward"), self.block("lost")
        self.branch(condition, onward, lost)
        self.begin(lost)
        for view in self.views[:views]:
            self.do(f"call void @PyBuffer_Release(ptr {view})")
        self.forget(made)
        self.do("ret ptr null")
        self.begin(onward)

    def checked(self, function: str, arrays: Iterable[tuple[str, int]]) -> str:
        """Whether all numbers of these arrays are finite."""
        return self.all_of([self.let(f"call i1 @{function}(ptr {data}, i64 {size})") for data, size in arrays])

    def answer(self) -> None:
        """Return the array, or a tuple of several."""
        made = self.objects[self.first :]
        if len(made) == 1:
            self.do(f"ret ptr {made[0]}")
            return
        packed = ", ".join(f"ptr {name}" for name in made)
        pack = self.let(f"call ptr (i64, ...) @PyTuple_Pack(i64 {len(made)}, {packed})")
        self.forget(made)
        self.do(f"ret ptr {pack}")

    def forget(self, objects: Sequence[str]) -> None:
        for name in objects:
            self.do(f"call void @Py_DecRef(ptr {name})")
