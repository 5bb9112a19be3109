"""What the builtins read, and calls of Python's functions in LLVM's text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linkwork.engine.emit.call_frame import CallFrame
from linkwork.engine.emit.writer import Value, Writer

MOST_ARRAYS = 8
"""Arguments and results that an entry may have."""
MOST_AXES = 3
"""Axes that one state's array may have."""

ENTRY = CallFrame(
    (
        ("ptr", "next"),  # the entry for another number of arguments, or 0
        ("ptr", "busy"),  # a word that is 1 while somebody works with the words below
        ("i64", "arguments"),
        ("i64", "results"),
        ("i64", "most"),  # states; more of them want threads
        ("i64", "brief"),  # states; more of them are not worked on with the interpreter's lock held
        ("ptr", "one"),  # the code for one state, or 0
        ("ptr", "one_words"),
        ("ptr", "batch"),  # and for a batch
        ("ptr", "batch_words"),
        ("i64", "states_at"),  # where the number of states stands in the words for a batch
    )
)
ARRAY = CallFrame(
    (
        ("i64", "axes"),
        *(("i64", f"length{axis}") for axis in range(MOST_AXES)),
        ("i64", "size"),
        ("i64", "one_at"),  # where its address stands in the words for one state
        ("i64", "batch_at"),  # and for a batch
        ("i64", "stride_at"),  # and where the distance of states
        ("ptr", "new"),  # of a result: what numpy.empty is called with for one state
    )
)
"""Follows the entry for each argument and result."""
SETTING = CallFrame(
    tuple(
        ("ptr", name) for name in ("forced", "array", "list", "dtype", "empty", "otherwise", "memo", "quick", "frames")
    )
)
"""What the builtins are made with: the address of a number that is 0 while they may serve, and Python's objects."""

VIEW, LENGTH, NDIM, FORMAT, SHAPE = 80, 16, 36, 40, 48
"""Bytes of a Py_buffer, and where its fields are there, as fixed by the stable ABI; the data's address is the first."""
CONTIGUOUS, WRITABLE = 0x0004 | 0x0008, 0x0001  # PyBUF_FORMAT | PyBUF_ND, PyBUF_WRITABLE

SYMBOLS = {
    "PyObject_GetBuffer": "i32 {}(ptr, ptr, i32)",
    "PyBuffer_Release": "void {}(ptr)",
    "PyErr_Clear": "void {}()",
    "PyErr_Occurred": "ptr {}()",
    "Py_IncRef": "void {}(ptr)",
    "Py_DecRef": "void {}(ptr)",
    "PyObject_CallObject": "ptr {}(ptr, ptr)",
    "PyObject_GetAttr": "ptr {}(ptr, ptr)",
    "PyObject_Type": "ptr {}(ptr)",
    "PyDict_GetItemWithError": "ptr {}(ptr, ptr)",
    "PyTuple_GetItem": "ptr {}(ptr, i64)",
    "PyTuple_SetItem": "i32 {}(ptr, i64, ptr)",
    "PyTuple_Size": "i64 {}(ptr)",
    "PyTuple_New": "ptr {}(i64)",
    "PyList_AsTuple": "ptr {}(ptr)",
    "PyLong_FromSsize_t": "ptr {}(i64)",
    "PyLong_AsVoidPtr": "ptr {}(ptr)",
    "PyCapsule_GetPointer": "ptr {}(ptr, ptr)",
    "PyEval_SaveThread": "ptr {}()",
    "PyEval_RestoreThread": "void {}(ptr)",
}
"""The functions of Python that they call, all of the stable ABI."""


KINDS = {
    "fits": "i1",
    "same": "i1",
    "apart": "i1",
    "new_array": "ptr",
    "release": "void",
    "forget": "void",
    "serve": "ptr",
    "find": "ptr",
    "otherwise": "ptr",
}
"""What the module's own functions return."""


class PythonWriter(Writer):
    """Writes calls of Python's functions."""

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
        """Whether an object is of a class, and not of one derived from it."""
        own = self.call("PyObject_Type", ("ptr", target))
        self.call("Py_DecRef", ("ptr", own))
        return self.compare("eq", own, kind, "ptr")

    def variable(self, kind: str, value: Value) -> str:
        """Memory for a value that changes."""
        place = self.let(f"alloca {kind}, align 8")
        self.store(value, place, kind)
        return place

    def leave_if(self, condition: str, label: str) -> None:
        """Go to a block if a condition holds."""
        onward = self.block("onward")
        self.branch(condition, label, onward)
        self.begin(onward)

    def view(self, views: str, k: Value) -> str:
        return self.at(views, self.mul(k, VIEW), "i8")

    def field(self, view: str, offset: int, kind: str) -> str:
        return self.load(self.at(view, offset, "i8"), kind, 4 if kind == "i32" else 8)

    def array(self, record: str, k: Value) -> str:
        """The words of array k of an entry."""
        return self.at(record, self.add(self.mul(k, len(ARRAY.words)), len(ENTRY.words)), "i64")

    @contextmanager
    def each(self, count: Value, first: Value = 0) -> Iterator[str]:
        """Iterations over integers: their counter."""
        with self.loop(first, count) as iteration:
            yield iteration.counter
