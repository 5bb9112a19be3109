"""A builtin made from generated code: one state in, one state out, arrays taken by the buffer protocol.

It is an ordinary METH_FASTCALL function of C's stable ABI. Called with the arguments' arrays, it looks at each
(contiguous float64 of the right shape?), makes the results' arrays with ``numpy.empty``, runs the kernel and returns
the array, or a tuple of several; or None if anything does not fit or is not finite: then Python takes the slower way,
which tells why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

_VIEW = (
    80  # bytes of a Py_buffer, as fixed by the stable ABI: buf, obj, len, itemsize, readonly+ndim, format, shape, ...
)
_CONTIGUOUS, _WRITABLE = 0x0004 | 0x0008, 0x0001  # PyBUF_FORMAT | PyBUF_ND, PyBUF_WRITABLE
_FASTCALL = 0x0080

_DECLARATIONS = (
    "declare i32 @PyObject_GetBuffer(ptr, ptr, i32)",
    "declare void @PyBuffer_Release(ptr)",
    "declare void @PyErr_Clear()",
    "declare void @Py_IncRef(ptr)",
    "declare void @Py_DecRef(ptr)",
    "declare ptr @PyObject_CallObject(ptr, ptr)",
    "declare ptr @PyTuple_GetItem(ptr, i64)",
    "declare ptr @PyTuple_Pack(i64, ...)",
    "@_Py_NoneStruct = external global i8",
)
SYMBOLS = (
    *("PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "Py_IncRef", "Py_DecRef"),
    *("PyObject_CallObject", "PyTuple_GetItem", "PyTuple_Pack"),
)


def available() -> bool:
    """Whether this Python offers what the builtin needs."""
    return hasattr(ctypes, "pythonapi") and all(hasattr(ctypes.pythonapi, name) for name in SYMBOLS)


def addresses() -> dict[str, int]:
    """Where generated code finds the functions of Python that it calls."""
    found = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in SYMBOLS}
    return {**found, "_Py_NoneStruct": id(None)}


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
    first, total = len(arguments), len(arguments) + len(results)
    lines = [
        *_DECLARATIONS,
        _FINITE,
        "define ptr @single(ptr %self, ptr %objects, i64 %count) nounwind {",
        "entry:",
        *(f"  %view{k} = alloca [{_VIEW} x i8], align 8" for k in range(total)),
        f"  %right = icmp eq i64 %count, {first}",
        "  br i1 %right, label %take0, label %none",
    ]
    for k, shape in enumerate(arguments):
        lines += [
            f"take{k}:",
            f"  %place{k} = getelementptr inbounds ptr, ptr %objects, i64 {k}",
            f"  %object{k} = load ptr, ptr %place{k}, align 8",
            f"  %failed{k} = call i32 @PyObject_GetBuffer(ptr %object{k}, ptr %view{k}, i32 {_CONTIGUOUS})",
            f"  %taken{k} = icmp eq i32 %failed{k}, 0",
            f"  br i1 %taken{k}, label %look{k}, label %error{k}",
            f"error{k}:",
            "  call void @PyErr_Clear()",
            f"  br label %{'none' if k == 0 else f'release{k - 1}'}",
            f"look{k}:",
            f"  %data{k} = load ptr, ptr %view{k}, align 8",
            *_look(k, shape, f"take{k + 1}" if k + 1 < first else "check"),
        ]
    lines += ["check:"]
    fine = "true"
    for k, shape in enumerate(arguments):
        lines.append(f"  %f{k} = call i1 @finite(ptr %data{k}, i64 {prod(shape)})")
        lines.append(f"  %fine{k} = and i1 {fine}, %f{k}")
        fine = f"%fine{k}"
    lines.append(f"  br i1 {fine}, label %make{first}, label %release{first - 1}")
    lines += _make_results(first, total)
    passed = ", ".join(f"ptr %data{k}" for k in range(total))
    lines += ["run:", f"  call void @kernel({passed}, ptr null, ptr null, ptr null, ptr null)"]
    good = "true"
    for k in range(first, total):
        lines.append(f"  %g{k} = call i1 @settle(ptr %data{k}, i64 {prod(results[k - first])})")
        lines.append(f"  %good{k} = and i1 {good}, %g{k}")
        good = f"%good{k}"
    lines += [
        *(f"  call void @PyBuffer_Release(ptr %view{k})" for k in range(total)),
        f"  br i1 {good}, label %give, label %drop",
        "give:",
    ]
    if len(results) == 1:
        lines.append(f"  ret ptr %object{first}")
    else:
        packed = ", ".join(f"ptr %object{k}" for k in range(first, total))
        lines.append(f"  %pack = call ptr (i64, ...) @PyTuple_Pack(i64 {len(results)}, {packed})")
        lines += [f"  call void @Py_DecRef(ptr %object{k})" for k in range(first, total)]
        lines.append("  ret ptr %pack")
    lines += ["drop:", *(f"  call void @Py_DecRef(ptr %object{k})" for k in range(first, total)), "  br label %none"]
    for k in reversed(range(first)):
        lines += [
            f"release{k}:",
            f"  call void @PyBuffer_Release(ptr %view{k})",
            f"  br label %{'none' if k == 0 else f'release{k - 1}'}",
        ]
    lines += ["none:", "  call void @Py_IncRef(ptr @_Py_NoneStruct)", "  ret ptr @_Py_NoneStruct", "}"]
    return "\n".join(lines) + "\n"


def _make_results(first: int, total: int) -> list[str]:
    """New arrays from ``self``: (numpy.empty, the arguments for each result, ...). Without memory, Python's own
    error goes up.
    """
    lines = []
    for k in range(first, total):
        undo = [f"  call void @PyBuffer_Release(ptr %view{n})" for n in range(k)]
        undo += [f"  call void @Py_DecRef(ptr %object{n})" for n in range(first, k)]
        lines += [
            f"make{k}:",
            *([f"  %empty{k} = call ptr @PyTuple_GetItem(ptr %self, i64 0)"]),
            f"  %shape.of{k} = call ptr @PyTuple_GetItem(ptr %self, i64 {k - first + 1})",
            f"  %object{k} = call ptr @PyObject_CallObject(ptr %empty{k}, ptr %shape.of{k})",
            f"  %made{k} = icmp ne ptr %object{k}, null",
            f"  br i1 %made{k}, label %open{k}, label %lost{k}",
            f"lost{k}:",
            *undo,
            "  ret ptr null",
            f"open{k}:",
            f"  %failed{k} = call i32 @PyObject_GetBuffer(ptr %object{k}, ptr %view{k}, i32 {_CONTIGUOUS | _WRITABLE})",
            f"  %taken{k} = icmp eq i32 %failed{k}, 0",
            f"  br i1 %taken{k}, label %look{k}, label %shut{k}",
            f"shut{k}:",
            *undo,
            f"  call void @Py_DecRef(ptr %object{k})",
            "  ret ptr null",
            f"look{k}:",
            f"  %data{k} = load ptr, ptr %view{k}, align 8",
            f"  br label %{f'make{k + 1}' if k + 1 < total else 'run'}",
        ]
    return lines


def _look(k: int, shape: tuple[int, ...], onward: str) -> list[str]:
    """Branch onward if view k has this shape and holds doubles."""
    lines = [
        f"  %ndim.at{k} = getelementptr inbounds i8, ptr %view{k}, i64 36",
        f"  %ndim{k} = load i32, ptr %ndim.at{k}, align 4",
        f"  %same{k} = icmp eq i32 %ndim{k}, {len(shape)}",
        f"  br i1 %same{k}, label %sizes{k}, label %release{k}",
        f"sizes{k}:",
        f"  %format.at{k} = getelementptr inbounds i8, ptr %view{k}, i64 40",
        f"  %format{k} = load ptr, ptr %format.at{k}, align 8",
        f"  %letters{k} = load i16, ptr %format{k}, align 1",
        f"  %fits{k}.f = icmp eq i16 %letters{k}, 100",  # "d" and the end of the string, little-endian
        f"  %shape.at{k} = getelementptr inbounds i8, ptr %view{k}, i64 48",
        f"  %shape{k} = load ptr, ptr %shape.at{k}, align 8",
    ]
    fits = f"%fits{k}.f"
    for d, size in enumerate(shape):
        lines += [
            f"  %dim.at{k}.{d} = getelementptr inbounds i64, ptr %shape{k}, i64 {d}",
            f"  %dim{k}.{d} = load i64, ptr %dim.at{k}.{d}, align 8",
            f"  %is{k}.{d} = icmp eq i64 %dim{k}.{d}, {size}",
            f"  %fits{k}.{d} = and i1 {fits}, %is{k}.{d}",
        ]
        fits = f"%fits{k}.{d}"
    return [*lines, f"  br i1 {fits}, label %{onward}, label %release{k}"]


_WIDE = 8


def _sweep(name: str, settle: bool) -> str:
    """A loop over numbers that tells whether all are finite, and may take the sign off zeros on the way."""

    def turn(tag: str, at: str, total: str, kind: str, zero: str) -> list[str]:
        change = [f"  %x.{tag} = fadd {kind} %y.{tag}, {zero}", f"  store {kind} %x.{tag}, ptr %at.{tag}, align 8"]
        value = f"%x.{tag}" if settle else f"%y.{tag}"
        return [
            f"  %at.{tag} = getelementptr inbounds double, ptr %numbers, i64 {at}",
            f"  %y.{tag} = load {kind}, ptr %at.{tag}, align 8",
            *(change if settle else []),
            f"  %z.{tag} = fsub {kind} {value}, {value}",
            f"  %sum.{tag} = fadd {kind} {total}, %z.{tag}",
        ]

    wide = f"<{_WIDE} x double>"
    lines = [
        f"define internal i1 @{name}(ptr nocapture %numbers, i64 %count) nounwind {{",
        "entry:",
        f"  %whole = and i64 %count, {-_WIDE}",
        "  br label %head",
        "head:",
        "  %k = phi i64 [ 0, %entry ], [ %k.next, %many ]",
        f"  %sums = phi {wide} [ zeroinitializer, %entry ], [ %sum.w, %many ]",
        "  %go = icmp slt i64 %k, %whole",
        "  br i1 %go, label %many, label %tail",
        "many:",
        *turn("w", "%k", "%sums", wide, "zeroinitializer"),
        f"  %k.next = add i64 %k, {_WIDE}",
        "  br label %head",
        "tail:",
        "  %j = phi i64 [ %whole, %head ], [ %j.next, %one ]",
        "  %rest = phi double [ 0.0, %head ], [ %sum.s, %one ]",
        "  %more = icmp slt i64 %j, %count",
        "  br i1 %more, label %one, label %done",
        "one:",
        *turn("s", "%j", "%rest", "double", "0.0"),
        "  %j.next = add i64 %j, 1",
        "  br label %tail",
        "done:",
    ]
    total = "%rest"
    for lane in range(_WIDE):
        lines.append(f"  %lane{lane} = extractelement {wide} %sums, i32 {lane}")
        lines.append(f"  %all{lane} = fadd double {total}, %lane{lane}")
        total = f"%all{lane}"
    return "\n".join([*lines, f"  %fine = fcmp ord double {total}, 0.0", "  ret i1 %fine", "}"])


_FINITE = _sweep("finite", settle=False) + "\n" + _sweep("settle", settle=True)
