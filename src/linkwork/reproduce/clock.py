"""Times of algorithms' machine code on the same states: one state at a time, on one lane of one thread, best of many.

The code runs over many states in one call, so that the way from Python into it does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linkwork.algorithms import Algorithm
from linkwork.bench.cases import States
from linkwork.bench.contest import Array, Contestant, contest
from linkwork.engine.function import Function, Task
from linkwork.engine.threads import set_threads
from linkwork.model import Model


@dataclass(frozen=True)
class Runner:
    """An algorithm and the form of its code: "rolled" (loops; the mechanism in tables) or "specialised"."""

    algorithm: Algorithm
    form: str


def race(model: Model, runners: dict[str, Runner], rounds: int, seconds: float) -> dict[str, float | None]:
    """Seconds for one state of each runner; None where its result was not that of the first."""
    work = 4096
    states = States.random(model, max(1, work // len(model.bodies)))
    arguments = [states.fields[name] for name in ("q", "v", "tau")]
    contestants = {name: _contestant(name, runner, model, arguments) for name, runner in runners.items()}
    first, *rest = contestants
    set_threads(1)
    try:
        best, others = contest(contestants[first], {name: contestants[name] for name in rest}, rounds, seconds)
    finally:
        set_threads(None)
    return {first: best, **{name: others[name].get("seconds") for name in rest}}


def machine_code(runner: Runner, model: Model) -> Callable[..., Array]:
    """What maps arrays (states, numbers) of q, v and tau to accelerations, on one lane."""
    function = Function(Task(runner.algorithm, model, ("f_ext",)), form=runner.form, lanes=1)

    def call(*arguments: Array) -> Array:
        (result,), _ = function.run(arguments, len(arguments[0]))
        return result

    return call


def _contestant(name: str, runner: Runner, model: Model, arguments: Sequence[Array]) -> Contestant:
    inputs: list[tuple[Any, ...]] = [tuple(arguments)]
    return Contestant(name, machine_code(runner, model), inputs, len(arguments[0]))


def crossover(x: Sequence[float], slow: Sequence[float | None], fast: Sequence[float | None]) -> float | None:
    """From where on ``slow`` takes longer than ``fast``: between two points on a straight line, the first point if
    it does so everywhere, None if it does not at the end.
    """
    gaps = [(at, s - f) for at, s, f in zip(x, slow, fast, strict=True) if s is not None and f is not None]
    if not gaps or gaps[-1][1] < 0.0:
        return None
    for (left, before), (right, after) in reversed(list(pairwise(gaps))):
        if before < 0.0:
            return left + (right - left) * before / (before - after)
    return gaps[0][0]
