"""Threads that help with one call at a time, and spin for about a millisecond before they sleep.

A helper has a mailbox, an array of integers through which it is given jobs: the address of a job's words, or 0; the
address of the function that takes them; whether it is busy; whether it is asleep; the address of a function that
yields to other threads, or 0; and the address of words that are about to be offered. While it is awake, generated code
looks into the mailbox without the interpreter's lock. What both sides use while a helper is awake, generated code reads
and writes on both sides, atomically. Nobody waits for a helper, and one that is busy is not asked: a job that it
misses, it misses.
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
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.spinning import acquired, release, spinning, wait
from linkwork.engine.emit.writer import Writer
from linkwork.engine.run.memory import address, aligned

JOB, FUNCTION, BUSY, ASLEEP, YIELD, OFFERED = 0, 8, 16, 24, 32, 40
"""Places in the mailbox, each in a cache line of its own."""

_lock = threading.RLock()
_helpers: list[_Helper] = []


def ask(count: int, function: int, words: Words, work: int, size: int, *kept: object) -> None:
    """Offer a job to so many helpers: a function that takes the address of words.

    Args:
        count: how many helpers.
        function: the address of the function.
        words: each helper gets a copy.
        work: which of the words is the address of a helper's own workspace.
        size: how many numbers that workspace has.
        kept: what must live while a helper may be at it.
    """
    if len(_helpers) < count:
        with _lock:
            while len(_helpers) < count:
                try:
                    _helpers.append(_Helper())
                except RuntimeError:  # no more threads, or the interpreter is about to end
                    break
    for helper in _helpers[:count]:
        helper.offer(function, words, work, size, kept)


class _Helper(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="linkwork helper", daemon=True)
        self._wake, self._offering = threading.Lock(), threading.Lock()
        self._wake.acquire()
        self._workspace = aligned(0)
        self._kept: tuple[object, ...] = ()
        self._store = np.zeros(48, dtype=np.int64)
        self._mailbox = self._store[-address(self._store) % 64 // 8 :]
        self._mailbox[ASLEEP], self._mailbox[YIELD] = 1, yield_function()
        self._where = address(self._mailbox)
        code = _code()
        self._serve = code.function("serve")
        self._is_free, self._offer = (code.function(name, brief=True) for name in ("is_free", "offer"))
        self.start()

    def offer(self, function: int, words: Words, work: int, size: int, kept: tuple[object, ...]) -> None:
        if not self._offering.acquire(blocking=False):
            return
        try:
            if not self._is_free(self._where):
                return
            if self._workspace.size < size:
                self._workspace = aligned(size)
            own = words.copy()
            own[work] = address(self._workspace)
            self._kept = (own, *kept)
            self._mailbox[FUNCTION], self._mailbox[OFFERED] = function, address(own)
            if self._offer(self._where) and self._wake.locked():
                self._wake.release()
        finally:
            self._offering.release()

    def run(self) -> None:
        while True:
            self._wake.acquire()
            self._serve(self._where)


@cache
def yield_function() -> int:
    """The address of the system's function that lets other threads run; 0 if there is none."""
    try:
        library: Any = ctypes.CDLL("kernel32" if sys.platform == "win32" else None)
        function = library.SwitchToThread if sys.platform == "win32" else library.sched_yield
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


@cache
def _code() -> jit.Code:
    names = ("serve", "is_free", "offer")
    return loader.load(loader.key_of(jit.host(), names), lambda: text(jit.triple()), jit.host(), names)


def text(triple: str) -> str:
    """The module of what both sides of a mailbox do, for a target."""
    return "\n".join([_serve(spinning(triple).looks), _is_free(), _offer(), wait(triple)])


def _serve(most: int) -> str:
    """i64 serve(mailbox): does the jobs in a mailbox until it has found none so many times."""
    w = Writer()
    function_at, busy, asleep, yield_at = (w.at("%mailbox", place, "i64") for place in (FUNCTION, BUSY, ASLEEP, YIELD))
    yielding = w.load(yield_at, "ptr")
    release(w, 0, asleep, "seq_cst")
    look, take, none, rest, sleep, wake, end = (
        w.block(part) for part in ("look", "take", "none", "rest", "sleep", "wake", "end")
    )
    w.jump(look)
    w.begin(look)
    looks, following = w.name(), w.name()
    w.let(f"phi i64 [ 0, %entry ], [ {following}, %{rest} ], [ 0, %{take} ], [ 0, %{wake} ]", looks)
    w.branch(w.compare("ne", acquired(w, "%mailbox"), 0), take, none)
    w.begin(take)
    release(w, 1, busy, "seq_cst")  # before the job goes: in between, a helper is not free either
    words = acquired(w, "%mailbox", "ptr")
    release(w, 0, "%mailbox", "seq_cst")
    w.let(f"call i64 {w.load(function_at, 'ptr')}(ptr {words})")
    release(w, 0, busy, "seq_cst")
    w.jump(look)
    w.begin(none)
    w.let(f"add i64 {looks}, 1", following)
    w.branch(w.compare("sge", following, most), sleep, rest)
    w.begin(rest)
    w.do(f"call void @wait(ptr {yielding}, i64 {following})")
    w.jump(look)
    w.begin(sleep)
    w.let(f"atomicrmw xchg ptr {asleep}, i64 1 seq_cst")
    late = acquired(w, "%mailbox", order="seq_cst")
    w.branch(w.compare("ne", late, 0), wake, end)
    w.begin(wake)
    release(w, 0, asleep, "seq_cst")
    w.jump(look)
    w.begin(end)
    w.do("ret i64 0")
    return w.function("i64 @serve(ptr nocapture %mailbox)")


def _is_free() -> str:
    """i64 is_free(mailbox): whether a helper has no job, and no longer touches what its last one used."""
    w = Writer()
    job = acquired(w, "%mailbox")  # in this order, since a helper sets them in the other
    busy = acquired(w, w.at("%mailbox", BUSY, "i64"))
    free = w.compare("eq", w.let(f"or i64 {job}, {busy}"), 0)
    w.do(f"ret i64 {w.let(f'zext i1 {free} to i64')}")
    return w.function("i64 @is_free(ptr nocapture %mailbox)")


def _offer() -> str:
    """i64 offer(mailbox): makes what is offered the helper's job; whether it is asleep.

    A helper says that it sleeps and then looks for a job; here it is the other way round. In one order that all agree
    on, one of both sees what the other wrote.
    """
    w = Writer()
    release(w, w.load(w.at("%mailbox", OFFERED, "i64"), "i64"), "%mailbox", "seq_cst")
    asleep = acquired(w, w.at("%mailbox", ASLEEP, "i64"), order="seq_cst")
    w.do(f"ret i64 {asleep}")
    return w.function("i64 @offer(ptr nocapture %mailbox)")


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _lock
    _helpers.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
