"""Threads that help with one call at a time, and spin for about a millisecond before they sleep.

A helper has a mailbox (``emit/mailbox.py``), into which generated code puts jobs. While it is awake, generated code
polls the mailbox without the GIL. Nobody waits for a helper, and one that is busy is not asked.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache
from typing import Any

import numpy as np

from linkwork.engine.code import jit, loader
from linkwork.engine.emit.mailbox import ACQUIRE, LOCK, RELEASE, SIZE, YIELD, text
from linkwork.engine.run import threads
from linkwork.engine.run.memory import address

_lock = threading.RLock()
_helpers: list[Helper] = []


def hire(count: int) -> None:
    """Make sure that there are so many helpers, as far as possible."""
    count = min(count, threads.MOST_HELPERS)
    if len(_helpers) < count and not sys.is_finalizing():
        with _lock:
            while len(_helpers) < count:
                try:
                    _helpers.append(Helper())
                except (AttributeError, RuntimeError):  # no more threads
                    threads.wanted[0] = min(int(threads.wanted[0]), 1 + len(_helpers))
                    break


def hired() -> list[Helper]:
    """The helpers hired so far."""
    return list(_helpers)


class Helper(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="linkwork helper", daemon=True)
        self._kept: tuple[object, ...] = ()
        self._store = np.zeros(SIZE + 8, dtype=np.int64)
        self._mailbox = self._store[-address(self._store) % 64 // 8 :]
        self._mailbox[YIELD] = yield_function()
        self._mailbox[LOCK], self._mailbox[ACQUIRE], self._mailbox[RELEASE] = _new_lock()
        self.mailbox = address(self._mailbox)
        code = _code()
        self._serve = code.function("serve")
        self._idle = code.function("idle", brief=True)
        self.start()

    def keep(self, *kept: object) -> None:
        """Keep alive what it may be using until it is free."""
        self._kept = () if self._idle(self.mailbox) else (self._kept, kept)

    def run(self) -> None:
        self._serve(self.mailbox)  # for ever, without the GIL


def _new_lock() -> tuple[int, int, int]:
    """A Python lock that is held, and the addresses of the functions that acquire and release it."""
    python: Any = ctypes.pythonapi
    new, acquire = python.PyThread_allocate_lock, python.PyThread_acquire_lock
    new.restype, acquire.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)
    lock = new()
    acquire(lock, 1)
    functions = (ctypes.cast(each, ctypes.c_void_p).value for each in (acquire, python.PyThread_release_lock))
    return (lock, *functions)


@cache
def yield_function() -> int:
    """The address of the system's function that yields to other threads; 0 if there is none."""
    try:
        library: Any = ctypes.CDLL("kernel32" if sys.platform == "win32" else None)
        function = library.SwitchToThread if sys.platform == "win32" else library.sched_yield
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


@cache
def _code() -> jit.Code:
    names = ("serve", "idle")
    return loader.load(loader.key_of(jit.host(), names), lambda: text(jit.triple()), jit.host(), names)


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _lock
    _helpers.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
