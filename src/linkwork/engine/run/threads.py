"""Threads for batches: how many, and the pool that runs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from linkwork.arguments import integer

WORTH_A_THREAD = 200e-6
"""Seconds of work below which another thread does not pay."""
MOST_THREADS = 10_000
SECONDS = 60e-9
"""What a body takes in one state on one lane, roughly: enough to tell whether a thread pays."""

_lock = threading.RLock()
_chosen: int | None = None
_pool: tuple[int, ThreadPoolExecutor] | None = None


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Choose how many threads a batch, or one state of a long chain, may be spread over.

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
    _chosen = None if count is None else integer("threads", count, 1, MOST_THREADS)


def get_threads() -> int:
    """How many threads a batch, or one state of a long chain, may be spread over.

    Example:
        >>> import linkwork as lw
        >>> lw.get_threads() >= 1
        True
    """
    return _chosen or cores()


def parts(states: int, lanes: int, bodies: int) -> list[tuple[int, int]]:
    """The states of each thread: first and number, in whole tiles."""
    if states == 1:
        return [(0, 1)]
    seconds = states * SECONDS * bodies / lanes
    wanted = max(1, min(get_threads(), int(seconds / WORTH_A_THREAD)))
    tiles = -(-states // lanes)
    step = -(-tiles // wanted) * lanes
    return [(first, min(step, states - first)) for first in range(0, states, step)]


def run(tasks: Sequence[Callable[[], int]]) -> int:
    """Run tasks at the same time, the last in this thread; the union of the bits that they return."""
    if len(tasks) == 1:
        return tasks[0]()
    pool, waiting, status = _executor(len(tasks) - 1), [], 0
    for task in tasks[:-1]:
        try:
            waiting.append(pool.submit(task))
        except RuntimeError:  # no more threads, or the interpreter is about to end
            status |= task()
    status |= tasks[-1]()
    for future in waiting:
        status |= future.result()
    return status


def _executor(count: int) -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None or _pool[0] < count:
            _pool = (count, ThreadPoolExecutor(count, thread_name_prefix="linkwork"))
        return _pool[1]


def _forget() -> None:
    """A forked child has none of its parent's threads: it starts with a new pool and a free lock."""
    global _pool, _lock
    _pool, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
