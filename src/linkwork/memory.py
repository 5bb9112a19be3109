"""The memory limit, checked before large allocations.

An operating system may promise more memory than it has, and kill a process that uses it. So a request is compared with
the machine's total memory, and refused with a message that states its size. Libraries that abort the process on a
failed allocation are called only after a trial allocation of that size has succeeded.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from linkwork.errors import ArgumentError

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


@cache
def memory_limit() -> float:
    """The most bytes that this process can have: the machine's memory, or a container's limit; infinite if unknown."""
    try:
        most = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not available on every system
        most = float("inf")
    for name in _LIMITS:
        try:
            most = min(most, float(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return most


def fits_memory(size: float) -> bool:
    """Whether an allocation of ``size`` bytes is possible."""
    return size <= memory_limit()


def check_memory(what: str, size: float, advice: str) -> None:
    """Raise an error for a request that exceeds the memory limit."""
    if not fits_memory(size):
        raise not_enough_memory(what, size, advice)


@contextmanager
def memory_of_results(of: str, size: float, advice: str) -> Iterator[None]:
    """An error that says what memory was for, if results need so many bytes and there are not enough."""
    what = f"the results of {of}"
    check_memory(what, size, advice)
    try:
        yield
    except MemoryError:
        raise not_enough_memory(what, size, advice) from None


def check_available(what: str, size: int, advice: str) -> None:
    """Raise an error if the system does not provide so many bytes now, before a library aborts."""
    try:
        mmap.mmap(-1, size).close()
    except (MemoryError, OSError):
        raise not_enough_memory(what, size, advice) from None


def not_enough_memory(what: str, size: float, advice: str) -> ArgumentError:
    """The error for a request of ``size`` bytes."""
    return ArgumentError(f"not enough memory for {what}, which take {1e-9 * size:.3g} GB; {advice}")
