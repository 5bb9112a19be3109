"""A step repeated over time: by machine code, in slices short enough to be interrupted, or by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from linkwork.arguments import all_finite
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.plans.plan import NOT_FINITE_ARGUMENT, NOT_FINITE_RESULT, Array, Compiled, Plan
from linkwork.engine.plans.traced import TracedTask
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
) -> int:
    """Advance the states, in place, by ``steps`` steps; returns 0, or bit 1 set if a given number is not finite, which
    ends it, and bit 2 if a record is not, or the state at the end.

    Every array must have been checked: this is the entrance to machine code.

    Args:
        plan: of a traced step, made for a time loop.
        state: the arrays of the state (trajectories, numbers), contiguous.
        given: the step's other arguments (trajectories or 1, steps or 1, numbers), their last axis contiguous.
        into: for each array of the state that is recorded, then for each observation, its records (trajectories,
            records, numbers), contiguous.
        steps: how many.
        every: after how many a state is recorded.
        most_threads: threads to use at most.
        before: how many steps were done in earlier calls.
        total: how many there are in all, after which the last state is recorded; ``before + steps`` if left out. One
            step more observes that state.
    """
    total = before + steps if total is None else total
    if not isinstance(plan, Compiled):
        return _interpreted(plan, state, given, into, steps, every, before, total)
    lanes = 1 if len(state[0]) == 1 else plan.lanes
    begun = [array.copy() for array in state] if lanes == 1 and plan.abreast else None
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
        call |= _arrays(plan, state, given, into, first, done)

        def job(kept: object = (state, given, into)) -> int:  # they must outlive an interrupted caller
            words = _words(plan, lanes, call)  # which must outlive the call
            return run(address(words))

        return job

    for parts in _slices(count, lanes, steps, most_threads, plan.task.seconds):
        status |= threads.run([part(*which) for which in parts])
        if status & NOT_FINITE_ARGUMENT:
            break
    return status


def _arrays(
    plan: Compiled, state: Sequence[Array], given: Sequence[Array], into: Sequence[Array], first: int, done: int
) -> dict[str, int]:
    """The words for all arrays, from a trajectory and a step on."""
    call = {f"state{k}": address(array) + first * array.strides[0] for k, array in enumerate(state)}
    for k, array in enumerate(given, len(state)):
        stride, pace = (0 if n == 1 else own for n, own in zip(array.shape[:2], array.strides, strict=False))
        call[f"given{k}"] = address(array) + first * stride + done * pace
        call |= {f"given{k}_stride": stride // 8, f"given{k}_pace": pace // 8}
    for k, array in zip(plan.interface.records, into, strict=True):
        stride = array.strides[0]
        call |= {f"records{k}": address(array) + first * stride, f"records{k}_stride": stride // 8}
    return call


def _words(plan: Compiled, lanes: int, call: Mapping[str, int]) -> Words:
    buffer = {"buffer": scratch("tile", lanes * plan.buffer_size)}
    return plan.interface.time_loop.put(plan.words("time_loop", lanes), {**call, **buffer})


def step_by_step(
    plan: Plan, state: Sequence[Array], given: Sequence[Array], into: Sequence[Array], every: int, total: int
) -> Callable[[int], int]:
    """A function that makes the step of a number, for one trajectory, on this thread, with whatever is in the arrays
    then; it returns the status. Every array must have been checked, as in ``run_over_time``.
    """

    def by_itself(number: int) -> int:
        now = [array if array.shape[1] == 1 else array[:, number : number + 1] for array in given]
        return run_over_time(plan, state, now, into, 1, every, 1, number, total)

    if not isinstance(plan, Compiled):
        return by_itself
    call = {"trajectories": 1, "done": 0, "steps": 1, "total": total, "every": every}
    call |= _arrays(plan, state, given, into, 0, 0)
    frame, words, doubtful = plan.interface.time_loop, _words(plan, 1, call), plan.abreast
    run, place, (done,) = plan.code(1)[0].function("time_loop", brief=True), address(words), frame.indices(["done"])
    names = [f"given{k}" for k, array in enumerate(given, len(state)) if array.shape[1] > 1]
    later = [(at, call[name], 8 * call[f"{name}_pace"]) for name, at in zip(names, frame.indices(names), strict=True)]

    def prepared(number: int, kept: object = (state, given, into, words)) -> int:
        words[done] = number
        for at, start, pace in later:
            words[at] = start + number * pace
        before = [array.copy() for array in state] if doubtful else ()
        status = run(place)
        if status == NOT_FINITE_RESULT and doubtful:
            for array, earlier in zip(state, before, strict=True):
                array[...] = earlier
            return by_itself(number)
        return status

    return prepared


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
    task, now, count = plan.task, list(state), len(state)
    assert isinstance(task, TracedTask)
    recorded, fine = into[: len(into) - task.observed], True

    def record(step: int, records: Sequence[Array], results: Sequence[Array]) -> bool:
        if step > total or (step % every and step != total):
            return True
        for array, numbers in zip(records, results, strict=False):
            array[:, -(-step // every)] = numbers
        return all(map(all_finite, results))

    for done in range(steps):
        with np.errstate(all="ignore"):
            results, _ = plan.run([*now, *(array[:, done] for array in given)], len(state[0]))
        now = results[:count]
        fine &= record(before + done, into[len(recorded) :], results[count:])
        record(before + done + 1, recorded, now)
    for array, numbers in zip(state, now, strict=True):
        array[...] = numbers
    return 0 if fine and all(map(all_finite, state)) else NOT_FINITE_RESULT
