"""Threads that help with one call at a time, and wait awake for the next for about a millisecond.

A helper has a door, an array of whole numbers through which it is given jobs: the address of a job's words, or 0; the
address of the function that takes them; whether it is at work; whether it is asleep; and the address of a function that
gives way to other threads, or 0. While it is awake, generated code looks at the door without the interpreter's lock.
Nobody waits for a helper, and one that is at work is not asked: a job that it misses, it misses.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linkwork.engine import cache as disk
from linkwork.engine import fingerprint, jit
from linkwork.engine.memory import address, aligned

JOB, FUNCTION, AT_WORK, ASLEEP, GIVES_WAY = 0, 8, 16, 24, 32
"""Places at the door, each in a cache line of its own."""
_LOOKS = 1 << 19
"""How often a helper looks at its door before it goes to sleep: about a millisecond."""

_lock = threading.RLock()
_helpers: list[_Helper] = []


def ask(count: int, function: int, words: NDArray[np.int64], work: int, room: int, *kept: object) -> None:
    """Offer a job to so many helpers: a function that takes the address of words.

    Args:
        count: how many helpers.
        function: the address of the function.
        words: each helper gets a copy.
        work: which of the words is the address of a helper's own room.
        room: how many numbers that room has.
        kept: what must live while a helper may be at it.
    """
    if len(_helpers) < count:
        with _lock:
            while len(_helpers) < count:
                try:
                    _helpers.append(_Helper())
                except RuntimeError:  # no more threads to be had, or the interpreter is about to end
                    break
    for helper in _helpers[:count]:
        helper.offer(function, words, work, room, kept)


class _Helper(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="linkwork helper", daemon=True)
        self._wake, self._offering = threading.Lock(), threading.Lock()
        self._wake.acquire()
        self._room = aligned(0)
        self._kept: tuple[object, ...] = ()
        self._store = np.zeros(48, dtype=np.int64)
        self._door = self._store[-address(self._store) % 64 // 8 :]
        self._door[ASLEEP], self._door[GIVES_WAY] = 1, gives_way()
        self._serve = _serve()
        self.start()

    def offer(self, function: int, words: NDArray[np.int64], work: int, room: int, kept: tuple[object, ...]) -> None:
        if not self._offering.acquire(blocking=False):
            return
        try:
            door = self._door
            if door[JOB] or door[AT_WORK]:  # in this order, since a helper sets them in the other
                return
            if self._room.size < room:
                self._room = aligned(room)
            own = words.copy()
            own[work] = address(self._room)
            self._kept = (own, *kept)
            door[FUNCTION] = function
            door[JOB] = address(own)
            if door[ASLEEP] and self._wake.locked():
                self._wake.release()
        finally:
            self._offering.release()

    def run(self) -> None:
        while True:
            self._wake.acquire()
            self._serve(address(self._door))


@cache
def gives_way() -> int:
    """The address of the system's function that lets other threads run; 0 if there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


@cache
def _serve() -> Callable[[int], int]:
    """Machine code that does the jobs at a door until there has been none for a while."""
    with jit.lock:
        key = fingerprint.key(fingerprint.library(), jit.version(), jit.host(), "serve")
        image = disk.read(key)
        if image is None:
            image = jit.compile_object(_TEXT, jit.host())
            disk.write(key, image)
        return jit.link(image, ["serve"]).function("serve")


_TEXT = f"""
define i64 @serve(ptr nocapture %door) nounwind {{
entry:
  %function.at = getelementptr inbounds i64, ptr %door, i64 {FUNCTION}
  %work.at = getelementptr inbounds i64, ptr %door, i64 {AT_WORK}
  %sleep.at = getelementptr inbounds i64, ptr %door, i64 {ASLEEP}
  %way.at = getelementptr inbounds i64, ptr %door, i64 {GIVES_WAY}
  %way = load ptr, ptr %way.at, align 8
  %polite = icmp ne ptr %way, null
  store atomic i64 0, ptr %sleep.at seq_cst, align 8
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %more, %wait ], [ 0, %done ], [ 0, %up ]
  %job = load atomic i64, ptr %door acquire, align 8
  %any = icmp ne i64 %job, 0
  br i1 %any, label %take, label %none
take:
  store atomic i64 1, ptr %work.at seq_cst, align 8
  %words = load atomic ptr, ptr %door acquire, align 8
  store atomic i64 0, ptr %door seq_cst, align 8
  %function = load ptr, ptr %function.at, align 8
  %status = call i64 %function(ptr %words)
  br label %done
done:
  store atomic i64 0, ptr %work.at seq_cst, align 8
  br label %look
none:
  %more = add i64 %looks, 1
  %long = icmp sge i64 %more, {_LOOKS}
  br i1 %long, label %down, label %rest
rest:
  %low = and i64 %more, 1023
  %often = icmp eq i64 %low, 0
  %give = and i1 %often, %polite
  br i1 %give, label %yield, label %wait
yield:
  %given = call i32 %way()
  br label %wait
wait:
  br label %look
down:
  %was = atomicrmw xchg ptr %sleep.at, i64 1 seq_cst
  %late = load atomic i64, ptr %door seq_cst, align 8
  %waiting = icmp ne i64 %late, 0
  br i1 %waiting, label %up, label %end
up:
  store atomic i64 0, ptr %sleep.at seq_cst, align 8
  br label %look
end:
  ret i64 0
}}
"""


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _lock
    _helpers.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
