"""Times of algorithms' machine code on the same states: one state at a time, on one lane of one thread, best of many.

The code runs over many states in one call, so that the overhead of the call from Python is negligible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork import Frame, Model, set_threads
from linkwork.algorithms import Algorithm
from linkwork.inside import machine_code, size
from linkwork_lab.bench.cases import States
from linkwork_lab.bench.contest import Array, Contestant, contest

_BODIES, _RESULTS = 4096, 200_000
"""Limits on all states of a call: enough to make the overhead of the call negligible, and few enough for the cache."""


@dataclass(frozen=True)
class Effort:
    """Times are the best of ``rounds`` rounds, each of about ``seconds``, in each of ``sweeps`` over all cases: a slow
    phase of the machine may outlast a case.
    """

    sweeps: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Runner:
    """An algorithm and the form of its code: "rolled" (loops; the mechanism in tables) or "specialised"."""

    algorithm: Algorithm
    form: str


def race(
    model: Model,
    runners: dict[str, Runner],
    rounds: int,
    seconds: float,
    frames: Sequence[Frame] = (),
    shared: Mapping[str, Array] | None = None,
) -> dict[str, float | None]:
    """Seconds for one state of each runner; None if its result differs from that of the first.

    ``shared`` are arguments that are the same for all states. All runners take the same arguments.
    """
    algorithm = next(iter(runners.values())).algorithm
    results = sum(size(space, model, len(frames)) for space in algorithm.results)
    states = States.random(model, max(1, min(_BODIES // len(model.bodies), _RESULTS // results)))
    fixed = {name: np.broadcast_to(row, (len(states), row.size)) for name, row in (shared or {}).items()}
    arguments = [(states.fields | fixed)[name] for name, _ in algorithm.arguments if name != "f_ext"]
    return best(
        {
            name: Contestant(name, code_of(runner, model, frames), [tuple(arguments)], len(states))
            for name, runner in runners.items()
        },
        rounds,
        seconds,
    )


def sweep(cases: int, effort: Effort, times: Callable[[int], dict[str, float | None]]) -> dict[str, list[Any]]:
    """The best times of each runner over cases, which are all visited in each sweep; None where it has none."""
    rows: list[dict[str, float | None]] = [{} for _ in range(cases)]
    for _ in range(effort.sweeps):
        for k, row in enumerate(rows):
            for name, time in times(k).items():
                before = row.get(name)
                row[name] = time if before is None or time is None else min(before, time)
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def best(contestants: dict[str, Contestant], rounds: int, seconds: float) -> dict[str, float | None]:
    """Seconds for one state of each contestant on one thread; None if its result differs from that of the first."""
    first, *rest = contestants
    set_threads(1)
    try:
        fastest, others = contest(contestants[first], {name: contestants[name] for name in rest}, rounds, seconds)
    finally:
        set_threads(None)
    return {first: fastest, **{name: others[name].get("seconds") for name in rest}}


def code_of(runner: Runner, model: Model, frames: Sequence[Frame] = ()) -> Callable[..., Array]:
    """A function from arrays (states, numbers) of the arguments, as q, v and tau, to the result, on one lane."""
    code = machine_code(runner.algorithm, model, frames, runner.form, lanes=1)
    return lambda *arguments: code(*arguments)[0]


def crossover(x: Sequence[float], slow: Sequence[float | None], fast: Sequence[float | None]) -> float | None:
    """The point from which on ``slow`` takes longer than ``fast``: interpolated linearly, the first point if it does so
    everywhere, None if it does not at the end.
    """
    gaps = [(at, s - f) for at, s, f in zip(x, slow, fast, strict=True) if s is not None and f is not None]
    if not gaps or gaps[-1][1] < 0.0:
        return None
    for (x0, before), (x1, after) in reversed(list(pairwise(gaps))):
        if before < 0.0:
            return x0 + (x1 - x0) * before / (before - after)
    return gaps[0][0]
