"""What the builtins read, and calls of Python's functions in LLVM IR."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.writer import Value, Writer

MOST_ARRAYS = 32
"""Arguments and results that an entry may have."""
MOST_AXES = 3
"""Axes that one state's array may have."""

ENTRY = CallFrame(
    (
        ("ptr", "next"),  # the entry for other arguments, or 0
        ("ptr", "busy"),  # a word that is 1 while somebody uses the words below
        ("i64", "arguments"),
        ("i64", "results"),
        ("ptr", "limits"),  # LIMITS
        ("ptr", "one"),  # the code for one state, or 0
        ("ptr", "one_words"),
        ("ptr", "batch"),  # and for a batch
        ("ptr", "batch_words"),
        ("i64", "states_at"),  # the position of the number of states in the words for a batch
        ("i64", "tile"),  # one less than the states of a tile
        ("i64", "alone"),  # the states after whole tiles that are done one by one, at most: a tile takes longer
    )
)
LIMITS = CallFrame(
    (
        ("i64", "most"),  # states; more of them are left to Python, which has threads and can be interrupted
        ("i64", "brief"),  # states; more of them run with the GIL released
    )
)
"""Of batches, as measured by ``run.threads``."""
ARRAY = CallFrame(
    (
        ("i64", "axes"),
        *(("i64", f"length{axis}") for axis in range(MOST_AXES)),
        ("i64", "size"),
        ("i64", "one_at"),  # the position of its address in the words for one state
        ("i64", "batch_at"),  # and for a batch
        ("i64", "stride_at"),  # and that of the stride between states
    )
)
"""Follows the entry for each argument and result."""
SETTING = CallFrame(tuple(("ptr", name) for name in ("forced", "create", "none", "array", "float", "dtype")))
"""What the builtins are made with: the addresses of a number that is 0 while they may serve, and of NumPy's
PyArray_New; Python objects. Code refers to Python's functions by name, but to none of its data: that may be out of
reach.
"""

VIEW, OWNER = 80, 8
"""Bytes of a Py_buffer, and where its object is, as fixed by the stable ABI; it is released if there is one."""
_HEAD = object.__basicsize__
CLASS, DATA, AXES, LENGTHS, DTYPE, FLAGS = (_HEAD + offset for offset in (-8, 0, 8, 16, 40, 48))
"""The offsets of any object's class and of the fields of a NumPy array, as fixed by the ABIs;
``array_fields_are_known`` checks them.
"""
NUMBER = _HEAD
"""The offset of the number of a Python float."""
FLOAT64 = 12
"""NumPy's type number."""
CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
"""Bits of an array's flags."""

SYMBOLS = {
    "PyObject_GetBuffer": "i32 {}(ptr, ptr, i32)",
    "PyBuffer_Release": "void {}(ptr)",
    "PyErr_Clear": "void {}()",
    "PyErr_Occurred": "ptr {}()",
    "Py_IncRef": "void {}(ptr)",
    "Py_DecRef": "void {}(ptr)",
    "PyTuple_GetItem": "ptr {}(ptr, i64)",
    "PyTuple_SetItem": "i32 {}(ptr, i64, ptr)",
    "PyTuple_Size": "i64 {}(ptr)",
    "PyTuple_New": "ptr {}(i64)",
    "PyLong_AsVoidPtr": "ptr {}(ptr)",
    "PyEval_SaveThread": "ptr {}()",
    "PyEval_RestoreThread": "void {}(ptr)",
}
"""The Python functions that they call, all of the stable ABI of Python 3.12."""


KINDS = {
    "same": "i1",
    "apart": "i1",
    "new_array": "ptr",
    "hold": "i64",
    "release": "void",
    "forget": "void",
}
"""The return types of the module's own functions."""


class PythonWriter(Writer):
    """Writes calls of Python's C functions."""

    def call(self, name: str, *values: tuple[str, Value]) -> str:
        """The result of a function, of Python's or of this module."""
        kind = SYMBOLS[name].split()[0] if name in SYMBOLS else KINDS[name]
        given = ", ".join(f"{kind} {value}" for kind, value in values)
        if kind == "void":
            self.do(f"call void @{name}({given})")
            return ""
        return self.let(f"call {kind} @{name}({given})")

    def null(self, pointer: str) -> str:
        return self.compare("eq", pointer, "null", "ptr")

    def has_type(self, target: str, kind: str) -> str:
        """Whether an object's type is exactly a class, not a derived one."""
        return self.compare("eq", self.field(target, CLASS, "ptr"), kind, "ptr")

    def variable(self, kind: str, value: Value) -> str:
        """Memory for a value that changes."""
        place = self.let(f"alloca {kind}, align 8")
        self.store(value, place, kind)
        return place

    def leave_if(self, condition: str, label: str) -> None:
        """Branch to a block if a condition holds."""
        onward = self.block("onward")
        self.branch(condition, label, onward)
        self.begin(onward)

    def field(self, array: str, offset: int, kind: str) -> str:
        """A field of an object."""
        return self.load(self.at(array, offset, "i8"), kind, 4 if kind == "i32" else 8)

    def array(self, record: str, k: Value) -> str:
        """The words of array k of an entry."""
        return self.at(record, self.add(self.mul(k, len(ARRAY.words)), len(ENTRY.words)), "i64")

    @contextmanager
    def each(self, count: Value, first: Value = 0) -> Iterator[str]:
        """Iterations over integers: their counter."""
        with self.loop(first, count) as iteration:
            yield iteration.counter


_ABI = (0x01000009, 0x02000000)
"""Versions of NumPy's ABI, of 1.x and 2.x, whose table has PyArray_New at this place."""
_NEW = 93


@cache
def array_maker() -> int | None:
    """The address of PyArray_New of NumPy's C API; None if it is not certain."""
    try:
        core = import_module(
            "numpy._core._multiarray_umath" if hasattr(np, "_core") else "numpy.core._multiarray_umath"
        )
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        table = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
        functions = (ctypes.c_void_p * (_NEW + 1)).from_address(table)
        version = ctypes.CFUNCTYPE(ctypes.c_uint)(functions[0] or 0)()
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    if version not in _ABI:
        return None
    word, number, kind = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    new = int(functions[_NEW] or 0)
    make = ctypes.PYFUNCTYPE(kind, kind, number, word, number, word, word, number, number, word)(new)
    made = make(np.ndarray, 2, (ctypes.c_ssize_t * 2)(2, 3), FLOAT64, None, None, 0, 0, None)
    sound = type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == np.float64 and made.flags.owndata
    return new if sound and made.flags.carray else None


@cache
def array_fields_are_known() -> bool:
    """Whether NumPy arrays and Python floats have their fields where generated code reads them."""
    number = -1.5
    if ctypes.c_double.from_address(id(number) + NUMBER).value != number:
        return False
    writeable, other = np.zeros((2, 3)), np.zeros((4, 5, 6))[:, ::2]
    writeable.flags.writeable = other.flags.writeable = True
    fixed = np.zeros(7)
    fixed.flags.writeable = False
    for array in (writeable, fixed, other):

        def read(kind: Any, offset: int, array: NDArray[np.float64] = array) -> int:
            return int(kind.from_address(id(array) + offset).value or 0)

        flags, bits = array.flags, read(ctypes.c_int32, FLAGS)
        found = [bool(bits & bit) for bit in (CONTIGUOUS, ALIGNED, WRITEABLE)]
        axes = read(ctypes.c_int32, AXES)
        if found != [flags.c_contiguous, flags.aligned, flags.writeable] or axes != array.ndim:
            return False
        if read(ctypes.c_void_p, CLASS) != id(np.ndarray):
            return False
        if read(ctypes.c_void_p, DATA) != array.ctypes.data or read(ctypes.c_void_p, DTYPE) != id(array.dtype):
            return False
        lengths = (ctypes.c_ssize_t * axes).from_address(read(ctypes.c_void_p, LENGTHS))
        if tuple(lengths) != array.shape:
            return False
    return True
