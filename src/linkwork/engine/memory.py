"""Memory that machine code works in: addresses of arrays, and room of each thread's own."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

local = threading.local()
"""What belongs to this thread."""


def address(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


def aligned(count: int) -> NDArray[np.float64]:
    """Room for so many numbers, aligned for any vector."""
    raw = np.empty(count + 8)
    skip = -address(raw) % 64 // 8
    return raw[skip : skip + count]


def scratch(name: str, count: int) -> int:
    """The address of ``count`` numbers of this thread's own, aligned for any vector; reused from call to call."""
    store = local.__dict__.setdefault("scratch", {})
    entry = store.get(name)
    if entry is None or entry[1].size < count:
        view = aligned(count)
        entry = store[name] = (address(view), view)
        local.state = object()
    return entry[0]


def state() -> object:
    """Of this thread's room: while it is the same, so are the addresses in it."""
    return local.__dict__.get("state")
