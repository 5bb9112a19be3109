"""Memory that machine code works in: addresses of arrays, and per-thread workspace."""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

local = threading.local()
"""Thread-local data."""
_lent: WeakValueDictionary[int, NDArray[np.float64]] = WeakValueDictionary()
"""The workspaces of all threads, by their addresses."""


def address(array: NDArray[Any]) -> int:
    try:  # takes a third of the time that the array's interface takes
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it must not be written, or has gaps or no numbers
        return array.__array_interface__["data"][0]


def aligned(count: int, fill: float | None = None) -> NDArray[np.float64]:
    """An array of so many numbers, all ``fill`` if that is given, aligned for any vector."""
    raw = np.empty(count + 8) if fill is None else np.full(count + 8, fill)
    skip = -address(raw) % 64 // 8
    return raw[skip : skip + count]


def scratch(name: str, count: int) -> int:
    """The address of ``count`` numbers of this thread's own, aligned for any vector; reused from call to call.

    Nothing may be kept in it between two calls of code. Memory that became too small stays allocated, since a call
    interrupted by a signal handler or a finaliser may be about to use it; each is twice as large as the last, or more.
    """
    blocks = local.__dict__.setdefault("scratch", {}).setdefault(name, [])
    if not blocks or blocks[-1][1].size < count:
        view = aligned(max(count, 2 * blocks[-1][1].size) if blocks else count)
        blocks.append((address(view), view))
        _lent[address(view)] = view
    found: int = blocks[-1][0]
    return found


@atexit.register
def _keep() -> None:
    """When the interpreter ends, daemon threads may still be in generated code, without the GIL, or in Python that it
    has called. Everything that the engine's modules hold, including code, and workspaces stay until the process ends.
    """
    package = f"{__name__.rpartition('.run')[0]}."
    modules = [vars(module).copy() for name, module in list(sys.modules.items()) if name.startswith(package)]
    for each in (*modules, *list(_lent.values())):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
