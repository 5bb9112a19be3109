"""A step repeated over time: by machine code, in slices short enough to be interrupted, or by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from linkwork.arguments import all_finite
from linkwork.engine.plans.plan import NOT_FINITE_ARGUMENT, NOT_FINITE_RESULT, Array, Compiled, Plan
from linkwork.engine.run import threads
from linkwork.engine.run.memory import address, scratch

_SLICE = 0.1
"""Seconds of work after which Python gets control, for instance to handle Ctrl-C."""


def records(steps: int, every: int) -> int:
    """How many states are recorded: the first, one every ``every`` steps, and the last."""
    return -(-steps // every) + 1


def run_over_time(
    plan: Plan,
    state: Sequence[Array],
    given: Sequence[Array],
    into: Sequence[Array],
    steps: int,
    every: int,
    most_threads: int,
    before: int = 0,
    total: int | None = None,
    sure: bool = True,
) -> int:
    """Advance the states, in place, by ``steps`` steps; returns 0, or bit 1 set if a given number is not finite, which
    ends it, and bit 2 if a record is not, or the state at the end.

    Every array must have been checked: this is the entrance to machine code.

    Args:
        plan: of a step made for a time loop, of ``stepping`` or traced.
        state: the arrays of the state (trajectories, numbers), contiguous.
        given: the step's other arguments (trajectories or 1, steps or 1, numbers), their last axis contiguous.
        into: for each array of the state that is recorded its records (trajectories, records, numbers), contiguous.
        steps: how many.
        every: after how many a state is recorded.
        most_threads: threads to use at most.
        before: how many steps were done in earlier calls.
        total: how many there are in all, after which the last state is recorded; ``before + steps`` if left out.
        sure: whether non-finite numbers must be those that any other code gives.
    """
    total = before + steps if total is None else total
    if not isinstance(plan, Compiled):
        return _interpreted(plan, state, given, into, steps, every, before, total)
    lanes = 1 if len(state[0]) == 1 else plan.lanes
    begun = [array.copy() for array in state] if lanes == 1 and sure and plan.abreast else None
    status = _compiled(plan, lanes, state, given, into, steps, every, most_threads, before, total)
    if begun is not None and status == NOT_FINITE_RESULT:
        for array, start in zip(state, begun, strict=True):
            array[...] = start
        status = _compiled(plan, plan.lanes, state, given, into, steps, every, most_threads, before, total)
    return status


def _compiled(
    plan: Compiled,
    lanes: int,
    state: Sequence[Array],
    given: Sequence[Array],
    into: Sequence[Array],
    steps: int,
    every: int,
    most_threads: int,
    before: int,
    total: int,
) -> int:
    """The same by machine code for so many lanes."""
    count, status = len(state[0]), 0
    _, run = plan.code(lanes)

    def part(first: int, number: int, done: int, span: int) -> Callable[[], int]:
        """Some trajectories, for some steps."""
        call = {"trajectories": number, "done": before + done, "steps": span, "total": total, "every": every}
        call |= {f"state{k}": address(array) + first * array.strides[0] for k, array in enumerate(state)}
        for k, array in enumerate(given, len(state)):
            stride, pace = (0 if n == 1 else own for n, own in zip(array.shape[:2], array.strides, strict=False))
            call[f"given{k}"] = address(array) + first * stride + done * pace
            call |= {f"given{k}_stride": stride // 8, f"given{k}_pace": pace // 8}
        for k, array in enumerate(into):
            stride = array.strides[0]
            call |= {f"records{k}": address(array) + first * stride, f"records{k}_stride": stride // 8}

        def job(kept: object = (state, given, into)) -> int:  # they must outlive an interrupted caller
            call["buffer"] = scratch("tile", lanes * plan.buffer_size)
            words = plan.interface.time_loop.put(plan.words("time_loop", lanes), call)
            return run(address(words))

        return job

    for parts in _slices(count, lanes, steps, most_threads, plan.task.seconds):
        status |= threads.run([part(*which) for which in parts])
        if status & NOT_FINITE_ARGUMENT:
            break
    return status


def _slices(
    count: int, lanes: int, steps: int, most_threads: int, cost: float
) -> Iterator[list[tuple[int, int, int, int]]]:
    """Work for all threads at a time: for each the first trajectory, their number, the steps done and to do. A tile's
    step costs roughly so many seconds.
    """
    tiles = -(-count // lanes)
    wanted = max(1, min(most_threads, tiles, int(tiles * steps * cost / threads.WORTH_A_THREAD)))
    budget = max(1, int(_SLICE / cost))
    group = max(1, min(-(-tiles // wanted), budget // max(steps, 1)))
    span = max(1, budget // group)
    for first in range(0, count, wanted * group * lanes):
        stop = min(count, first + wanted * group * lanes)
        starts = range(first, stop, group * lanes)
        for done in range(0, steps, span):
            yield [(at, min(group * lanes, stop - at), done, min(span, steps - done)) for at in starts]


def _interpreted(
    plan: Plan,
    state: Sequence[Array],
    given: Sequence[Array],
    into: Sequence[Array],
    steps: int,
    every: int,
    before: int,
    total: int,
) -> int:
    """The same by the interpreter, all trajectories at once."""
    if not all(map(all_finite, given)):
        return NOT_FINITE_ARGUMENT
    given = [np.broadcast_to(array, (len(state[0]), steps, array.shape[2])) for array in given]
    now: Sequence[Array] = state
    for done in range(steps):
        with np.errstate(all="ignore"):
            now, _ = plan.run([*now, *(array[:, done] for array in given)], len(state[0]))
        count = before + done + 1
        if count % every == 0 or count == total:
            for array, numbers in zip(into, now, strict=False):
                array[:, -(-count // every)] = numbers + 0.0  # a zero has no sign
    for array, numbers in zip(state, now, strict=True):
        array[...] = numbers + 0.0
    return 0 if all(map(all_finite, state)) else NOT_FINITE_RESULT
