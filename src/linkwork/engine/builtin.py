"""A builtin made from generated code: one state in, one state out, arrays taken by the buffer protocol.

It is an ordinary METH_FASTCALL function of C's stable ABI. Called with the arguments' and then the results' arrays, it looks
at each (contiguous float64 of the right shape?), runs the kernel and returns the first result's array; or None, with
nothing but the results touched, if anything does not fit or is not finite: then Python takes the slower way, which tells why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

_VIEW = 80  # bytes of a Py_buffer, as fixed by the stable ABI: buf, obj, len, itemsize, readonly+ndim, format, shape, ...
_CONTIGUOUS, _WRITABLE = 0x0004 | 0x0008, 0x0001  # PyBUF_FORMAT | PyBUF_ND, PyBUF_WRITABLE
_FASTCALL = 0x0080

SYMBOLS = ("PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "Py_IncRef")


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


class Holder:
    """Keeps code and description alive as long as the builtin that runs them."""

    __slots__ = ("code", "method")

    def __init__(self, code: Any, method: _Method) -> None:
        self.code, self.method = code, method


def make(address: int, code: Any) -> Callable[..., Any]:
    """The Python callable for a ``single`` function at an address; it keeps ``code`` alive."""
    holder = Holder(code, _Method(b"linkwork_single", address, _FASTCALL, None))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.byref(holder.method), holder, None)  # type: ignore[no-any-return]


def text(arguments: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> str:
    """The builtin in LLVM's text, for arrays of these shapes."""
    shapes = [*arguments, *results]
    total = len(shapes)
    lines = [
        "declare i32 @PyObject_GetBuffer(ptr, ptr, i32)",
        "declare void @PyBuffer_Release(ptr)",
        "declare void @PyErr_Clear()",
        "declare void @Py_IncRef(ptr)",
        "@_Py_NoneStruct = external global i8",
        _FINITE,
        "define ptr @single(ptr %self, ptr %objects, i64 %count) nounwind {",
        "entry:",
        *(f"  %view{k} = alloca [{_VIEW} x i8], align 8" for k in range(total)),
        f"  %right = icmp eq i64 %count, {total}",
        "  br i1 %right, label %take0, label %none",
    ]
    for k, shape in enumerate(shapes):
        flags = _CONTIGUOUS | (_WRITABLE if k >= len(arguments) else 0)
        lines += [
            f"take{k}:",
            f"  %place{k} = getelementptr inbounds ptr, ptr %objects, i64 {k}",
            f"  %object{k} = load ptr, ptr %place{k}, align 8",
            f"  %failed{k} = call i32 @PyObject_GetBuffer(ptr %object{k}, ptr %view{k}, i32 {flags})",
            f"  %taken{k} = icmp eq i32 %failed{k}, 0",
            f"  br i1 %taken{k}, label %look{k}, label %error{k}",
            f"error{k}:",
            "  call void @PyErr_Clear()",
            f"  br label %{'none' if k == 0 else f'release{k - 1}'}",
            f"look{k}:",
            f"  %data{k} = load ptr, ptr %view{k}, align 8",
        ]
        lines += _look(k, shape, f"take{k + 1}" if k + 1 < total else "check")
    lines += ["check:"]
    fine = "true"
    for k, shape in enumerate(arguments):
        lines.append(f"  %f{k} = call i1 @finite(ptr %data{k}, i64 {_product(shape)})")
        lines.append(f"  %fine{k} = and i1 {fine}, %f{k}")
        fine = f"%fine{k}"
    passed = ", ".join(f"ptr %data{k}" for k in range(total))
    lines += [
        f"  br i1 {fine}, label %run, label %release{total - 1}",
        "run:",
        f"  call void @kernel({passed}, ptr null, ptr null, ptr null, ptr null)",
    ]
    good = "true"
    for k in range(len(arguments), total):
        lines.append(f"  %g{k} = call i1 @settle(ptr %data{k}, i64 {_product(shapes[k])})")
        lines.append(f"  %good{k} = and i1 {good}, %g{k}")
        good = f"%good{k}"
    first = len(arguments)
    lines += [
        *(f"  call void @PyBuffer_Release(ptr %view{k})" for k in range(total)),
        f"  %answer = select i1 {good}, ptr %object{first}, ptr @_Py_NoneStruct",
        "  call void @Py_IncRef(ptr %answer)",
        "  ret ptr %answer",
    ]
    for k in reversed(range(total)):
        lines += [
            f"release{k}:",
            f"  call void @PyBuffer_Release(ptr %view{k})",
            f"  br label %{'none' if k == 0 else f'release{k - 1}'}",
        ]
    lines += ["none:", "  call void @Py_IncRef(ptr @_Py_NoneStruct)", "  ret ptr @_Py_NoneStruct", "}"]
    return "\n".join(lines) + "\n"


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


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _sweep(name: str, settle: bool) -> str:
    """A loop over numbers that tells whether all are finite, and may take the sign off zeros on the way."""
    change = ["  %x = fadd double %y, 0.0", "  store double %x, ptr %at, align 8"] if settle else []
    value = "%x" if settle else "%y"
    return "\n".join(
        [
            f"define internal i1 @{name}(ptr nocapture %numbers, i64 %count) nounwind {{",
            "entry:",
            "  br label %head",
            "head:",
            "  %k = phi i64 [ 0, %entry ], [ %next, %body ]",
            "  %sum = phi double [ 0.0, %entry ], [ %more, %body ]",
            "  %go = icmp slt i64 %k, %count",
            "  br i1 %go, label %body, label %done",
            "body:",
            "  %at = getelementptr inbounds double, ptr %numbers, i64 %k",
            "  %y = load double, ptr %at, align 8",
            *change,
            f"  %z = fsub double {value}, {value}",
            "  %more = fadd double %sum, %z",
            "  %next = add i64 %k, 1",
            "  br label %head",
            "done:",
            "  %fine = fcmp ord double %sum, 0.0",
            "  ret i1 %fine",
            "}",
        ]
    )


_FINITE = _sweep("finite", settle=False) + "\n" + _sweep("settle", settle=True)
