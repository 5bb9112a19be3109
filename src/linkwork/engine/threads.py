"""Threads for batches: how many, and the pool that runs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from linkwork.errors import ArgumentError

_lock = threading.Lock()
_chosen: int | None = None
_pool: tuple[int, ThreadPoolExecutor] | None = None
_helpers: list[_Helper] = []


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Choose how many threads a batch may be spread over.

    Results do not depend on it, to the last bit.

    Args:
        count: 1 or more; None for the default, the cores that the process may use.

    Example:
        >>> import linkwork as lw
        >>> lw.set_threads(1)
        >>> lw.get_threads()
        1
        >>> lw.set_threads(None)
    """
    global _chosen
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ArgumentError(f"threads must be a whole number of 1 or more, or None, not {count!r}")
    _chosen = count


def get_threads() -> int:
    """How many threads a batch may be spread over.

    Example:
        >>> import linkwork as lw
        >>> lw.get_threads() >= 1
        True
    """
    return _chosen or cores()


def run(tasks: Sequence[Callable[[], int]]) -> int:
    """Run tasks at the same time, the last in this thread; the union of the bits that they return."""
    if len(tasks) == 1:
        return tasks[0]()
    pool = _executor(len(tasks) - 1)
    waiting = [pool.submit(task) for task in tasks[:-1]]
    status = tasks[-1]()
    for future in waiting:
        status |= future.result()
    return status


class _Helper(threading.Thread):
    """A thread that takes one job at a time, at once if it is idle."""

    def __init__(self) -> None:
        super().__init__(name="linkwork helper", daemon=True)
        self._idle, self._given = threading.Lock(), threading.Lock()
        self._given.acquire()
        self._job: Callable[[], object] = int
        self.start()

    def take(self, job: Callable[[], object]) -> None:
        """Start a job; one that comes while another is under way is forgotten."""
        if self._idle.acquire(blocking=False):
            self._job = job
            self._given.release()

    def run(self) -> None:
        while True:
            self._given.acquire()
            self._job()
            self._job = int
            self._idle.release()


def send(job: Callable[[], object], count: int) -> None:
    """Let up to ``count`` idle threads do the same job; nobody waits for them."""
    if len(_helpers) < count:
        with _lock:
            _helpers.extend(_Helper() for _ in range(count - len(_helpers)))
    for helper in _helpers[:count]:
        helper.take(job)


def _executor(count: int) -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None or _pool[0] < count:
            _pool = (count, ThreadPoolExecutor(count, thread_name_prefix="linkwork"))
        return _pool[1]


def _forget() -> None:
    """A forked child has none of its parent's threads: it starts with a new pool and a free lock."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
