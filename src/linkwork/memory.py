"""How much memory there is, asked before much of it is taken.

A system promises more memory than it has, and ends a process that uses the promise. So a request is compared with
what the machine has in all, and refused in words that say what it would take. Libraries that end the process where they
get no memory are called only after the system has given as much once.
"""

from __future__ import annotations

import mmap
import os
from functools import cache
from pathlib import Path

from linkwork.errors import ArgumentError

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


@cache
def memory_limit() -> float:
    """Bytes that this process can have at most: the machine's memory, or a container's share; infinite if unknown."""
    try:
        most = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        most = float("inf")
    for name in _LIMITS:
        try:
            most = min(most, float(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return most


def fits_memory(size: float) -> bool:
    """Whether there can be so many bytes."""
    return size <= memory_limit()


def check_memory(what: str, size: float, advice: str) -> None:
    """Refuse a request of so many bytes if there cannot be as many."""
    if not fits_memory(size):
        raise not_enough_memory(what, size, advice)


def check_available(what: str, size: int, advice: str) -> None:
    """Refuse what takes so many bytes if the system does not give them now, before it finds out itself."""
    try:
        mmap.mmap(-1, size).close()
    except (MemoryError, OSError):
        raise not_enough_memory(what, size, advice) from None


def not_enough_memory(what: str, size: float, advice: str) -> ArgumentError:
    """The error for a request of so many bytes."""
    return ArgumentError(f"not enough memory for {what}, which take {1e-9 * size:.3g} GB; {advice}")
