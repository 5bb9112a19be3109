"""Threads that help with one call at a time, and spin for about a millisecond before they sleep.

A helper has a mailbox, an array of integers through which it is given jobs: the address of a job's words, or 0; the
address of the function that takes them; whether it is busy; whether it is asleep; and the address of a function that
yields to other threads, or 0. While it is awake, generated code looks into the mailbox without the interpreter's lock.
Nobody waits for a helper, and one that is busy is not asked: a job that it misses, it misses.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache

import numpy as np

from linkwork.engine.code import jit, loader
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.writer import Writer
from linkwork.engine.run.memory import address, aligned

JOB, FUNCTION, BUSY, ASLEEP, YIELD = 0, 8, 16, 24, 32
"""Places in the mailbox, each in a cache line of its own."""
_LOOKS = 1 << 19
"""How often a helper looks into its mailbox before it sleeps: about a millisecond."""
_PATIENCE = 1024
"""How often it looks before it yields once."""

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
        self._serve = _serve()
        self.start()

    def offer(self, function: int, words: Words, work: int, size: int, kept: tuple[object, ...]) -> None:
        if not self._offering.acquire(blocking=False):
            return
        try:
            mailbox = self._mailbox
            if mailbox[JOB] or mailbox[BUSY]:  # in this order, since a helper sets them in the other
                return
            if self._workspace.size < size:
                self._workspace = aligned(size)
            own = words.copy()
            own[work] = address(self._workspace)
            self._kept = (own, *kept)
            mailbox[FUNCTION] = function
            mailbox[JOB] = address(own)
            if mailbox[ASLEEP] and self._wake.locked():
                self._wake.release()
        finally:
            self._offering.release()

    def run(self) -> None:
        while True:
            self._wake.acquire()
            self._serve(address(self._mailbox))


@cache
def yield_function() -> int:
    """The address of the system's function that lets other threads run; 0 if there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


@cache
def _serve() -> Callable[[int], int]:
    """Machine code that does the jobs in a mailbox until there has been none for a while."""
    key = loader.key_of(jit.host(), "serve")
    return loader.load(key, _text, jit.host(), ["serve"]).function("serve")


def _text() -> str:
    w = Writer()
    function_at, busy, asleep, yield_at = (w.at("%mailbox", place, "i64") for place in (FUNCTION, BUSY, ASLEEP, YIELD))
    yielding = w.load(yield_at, "ptr")
    polite = w.compare("ne", yielding, "null", "ptr")
    w.do(f"store atomic i64 0, ptr {asleep} seq_cst, align 8")
    look, take, none, rest, give, wait, sleep, wake, end = (
        w.block(part) for part in ("look", "take", "none", "rest", "give", "wait", "sleep", "wake", "end")
    )
    w.jump(look)
    w.begin(look)
    looks, following = w.name(), w.name()
    w.let(f"phi i64 [ 0, %entry ], [ {following}, %{wait} ], [ 0, %{take} ], [ 0, %{wake} ]", looks)
    job = w.let("load atomic i64, ptr %mailbox acquire, align 8")
    w.branch(w.compare("ne", job, 0), take, none)
    w.begin(take)
    w.do(f"store atomic i64 1, ptr {busy} seq_cst, align 8")
    words = w.let("load atomic ptr, ptr %mailbox acquire, align 8")
    w.do("store atomic i64 0, ptr %mailbox seq_cst, align 8")
    w.let(f"call i64 {w.load(function_at, 'ptr')}(ptr {words})")
    w.do(f"store atomic i64 0, ptr {busy} seq_cst, align 8")
    w.jump(look)
    w.begin(none)
    w.let(f"add i64 {looks}, 1", following)
    w.branch(w.compare("sge", following, _LOOKS), sleep, rest)
    w.begin(rest)
    often = w.compare("eq", w.let(f"and i64 {following}, {_PATIENCE - 1}"), 0)
    w.branch(w.all_of([often, polite]), give, wait)
    w.begin(give)
    w.let(f"call i32 {yielding}()")
    w.jump(wait)
    w.begin(wait)
    w.jump(look)
    w.begin(sleep)
    w.let(f"atomicrmw xchg ptr {asleep}, i64 1 seq_cst")
    late = w.let("load atomic i64, ptr %mailbox seq_cst, align 8")
    w.branch(w.compare("ne", late, 0), wake, end)
    w.begin(wake)
    w.do(f"store atomic i64 0, ptr {asleep} seq_cst, align 8")
    w.jump(look)
    w.begin(end)
    w.do("ret i64 0")
    return w.function("i64 @serve(ptr nocapture %mailbox)")


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _lock
    _helpers.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
