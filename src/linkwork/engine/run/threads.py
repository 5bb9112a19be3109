"""Threads for batches: how many, and the workers that run them."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.arguments import integer
from linkwork.engine.emit.python_calls import LIMITS

Item = TypeVar("Item")

WORTH_A_THREAD = 500e-6
"""Seconds of work below which another thread does not pay off."""
_PIECE = 100e-6
"""Seconds of work that a thread takes at a time, at least: it runs some Python in between."""
_BRIEF = 20e-6
"""Seconds of work up to which the GIL is held."""
_LONG_ENOUGH = 50e-6
"""Seconds of a run from which on it says more than a guess."""
UNINTERRUPTED = 0.2
"""Seconds of work, on one thread, after which Python checks for Ctrl-C."""
MOST_THREADS, MOST_HELPERS = 10_000, 255
"""The most that may be requested; the most that one call is spread over, besides its own."""
SECONDS = 60e-9
"""Roughly what a body takes in one state on one lane: enough to decide whether a thread pays off."""

_lock = threading.RLock()
_chosen: int | None = None
_workers: list[threading.Thread] = []
_jobs: SimpleQueue[Any] = SimpleQueue()


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
    wanted[0] = min(get_threads(), 1 + MOST_HELPERS)


def get_threads() -> int:
    """How many threads a batch, or one state of a long chain, may be spread over.

    Example:
        >>> import linkwork as lw
        >>> lw.get_threads() >= 1
        True
    """
    return _chosen or cores()


wanted = np.array([min(get_threads(), 1 + MOST_HELPERS)], dtype=np.int64)
"""The same where generated code finds it, or fewer, if the system has no more."""


class Pace:
    """What one state of a batch takes on all lanes of one thread: guessed at first, measured as soon as there is a run.

    Other work on the machine, and fresh memory, make a run longer, never shorter: the minimum counts. A short run only
    gives an upper bound for the time of a state.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.runs = seconds, 0
        self.limits: NDArray[np.int64] = np.zeros(len(LIMITS.words), dtype=np.int64)
        """Where generated code finds what follows for batches."""
        self.tell()

    def tell(self) -> None:
        """Update the limits."""
        most = max(1, 2 * self.states_in(WORTH_A_THREAD) - 1)
        LIMITS.put(self.limits, {"most": most, "brief": min(most, self.states_in(_BRIEF))})

    def states_in(self, seconds: float) -> int:
        """How many states take so long, at least 1."""
        return max(1, int(min(seconds / self.seconds, 2**40)))

    def measured(self, elapsed: float, states: int, count: int) -> None:
        """Record that so many states took as long, on so many threads."""
        seconds, tells = max(elapsed, 1e-9) * count / states, elapsed > _LONG_ENOUGH
        if seconds < self.seconds or (tells and not self.runs):
            self.seconds = seconds
            self.tell()
        self.runs += tells

    def threads(self, states: int) -> int:
        """How many pay off for so many states."""
        if states == 1 or sys.is_finalizing():
            return 1
        return max(1, min(int(wanted[0]), int(states * self.seconds / WORTH_A_THREAD)))

    def longest(self, lanes: int) -> int:
        """States that are computed without checking for Python's signals: whole tiles."""
        return -(-self.states_in(UNINTERRUPTED) // lanes) * lanes

    def pieces(self, first: int, states: int, lanes: int, count: int) -> deque[tuple[int, int]]:
        """Pieces of a batch for so many threads, which take one after another: the first state of each and how many it
        has, whole tiles except for the last. A piece is a fraction of what is left, so that a thread that began late,
        or has to share its core, takes fewer, and the others need not wait for it.
        """
        found, end, least = deque[tuple[int, int]](), first + states, -(-self.states_in(_PIECE) // lanes)
        while first < end:
            tiles = max(least, -(-(end - first) // (count * lanes)))
            found.append((first, min(tiles * lanes, end - first)))
            first += found[-1][1]
        return found


def run(tasks: Sequence[Callable[[], int]]) -> int:
    """Run each task on a thread of its own, this one included; the union of the bits that they return."""
    count = len(tasks)
    if count == 1 or sys.is_finalizing() or not _hire(count - 1):
        return reduce(or_, (task() for task in tasks))
    left, answers = deque(tasks), SimpleQueue[int | BaseException]()
    for _ in range(count - 1):
        _jobs.put((left, answers))
    status, missing = 0, len(tasks)
    try:
        while task := next_of(left):
            status |= task()
            missing -= 1
    except BaseException:
        left.clear()
        raise
    for _ in range(missing):  # tasks that other threads have begun
        answer = answers.get()
        if isinstance(answer, BaseException):
            raise answer
        status |= answer
    return status


def next_of(left: deque[Item]) -> Item | None:
    """One item more, whichever thread asks."""
    try:
        return left.popleft()
    except IndexError:  # nothing left, or another thread was faster
        return None


def _hire(count: int) -> int:
    """Make sure that so many workers wait for jobs; how many do, which are fewer if the system has no more threads.

    They are not those of ``concurrent.futures``: Ctrl-C in the middle of submitting a job can leave a lock behind that
    the interpreter then waits for when it ends. A queue in C is never interrupted half-way.
    """
    if len(_workers) >= count:
        return count
    with _lock:
        while len(_workers) < count:
            worker = threading.Thread(target=_work, args=(_jobs,), name=f"linkwork {len(_workers)}", daemon=True)
            try:
                worker.start()
            except RuntimeError:  # no more threads, or the interpreter is about to end
                break
            _workers.append(worker)
        return len(_workers)


def _work(jobs: SimpleQueue[Any]) -> None:
    while True:
        left, answers = jobs.get()
        while task := next_of(left):
            try:
                answers.put(task())
            except BaseException as error:
                answers.put(error)
        del task, left, answers  # what they hold must not live until the next job


def _forget() -> None:
    """A forked child has none of its parent's threads: it starts without workers, and with a free lock."""
    global _jobs, _lock
    _workers.clear()
    _jobs, _lock = SimpleQueue(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
