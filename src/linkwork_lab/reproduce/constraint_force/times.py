"""Times of one state of a chain, as a call from Python: only the chain itself can be parallelised.

The constraint force algorithm cuts chains of more than 50 bodies into segments. It is timed on one lane, on all lanes
of the vector unit, and with threads as well; shorter chains have specialised code, on one lane. A long mechanism whose
main chain is too short for segments is interpreted, which is not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any

from linkwork import Model, forward_dynamics, set_threads
from linkwork.algorithms import ALGORITHMS, SEGMENTS
from linkwork.inside import cores, form_of, one_state
from linkwork_lab.bench.cases import States
from linkwork_lab.bench.contest import Array, Contestant
from linkwork_lab.reproduce.clock import Effort, best, sweep
from linkwork_lab.reproduce.parts import Say

SCALAR, LANES, TEAM = "constraint_force_scalar", "constraint_force_lanes", "constraint_force_team"
METHODS = ("articulated_body", "virtual_work", SCALAR, LANES, TEAM)


def seconds(name: str, make: Callable[[int], Model], sizes: Sequence[int], effort: Effort, say: Say) -> dict[str, Any]:
    """Seconds of each form at each size; None where there is no such form, or its result was wrong."""
    contestants: list[dict[str, Contestant]] = []
    links = []
    for n in sizes:
        say(f"code: {name}, {n} links")
        model = make(n)
        contestants.append(_contestants(model))
        links.append(len(model.bodies))

    def times(k: int) -> dict[str, float | None]:
        say(f"times: {name}, {sizes[k]} links")
        return best(contestants[k], effort.rounds, effort.seconds)

    lines = sweep(len(sizes), effort, times)
    return {"links": links, "seconds": {method: lines.get(method, [None] * len(sizes)) for method in METHODS}}


def over_pieces(
    make: Callable[[int], Model], n: int, counts: Sequence[int], effort: Effort, say: Say
) -> dict[str, Any]:
    """Times of a chain of ``n`` links cut into each number of pieces: on lanes, and on lanes and threads. Each number
    is timed by itself, several calls at a time, so that the state of memory is that of consecutive calls.
    """
    model = make(n)
    state = _state(model)
    times: dict[str, list[float]] = {"articulated_body": [], "lanes": [], "team": []}
    for count in counts:
        say(f"pieces: {count} of {n} links")
        lanes = one_state(SEGMENTS, model, segments=count)
        forms: dict[str, Callable[..., Any]] = {
            "articulated_body": partial(forward_dynamics, model),
            "lanes": lanes,
            "team": _together(lanes),
        }
        contestants = {name: Contestant(name, function, [state], 1) for name, function in forms.items()}
        runs = [best(contestants, effort.rounds, 5.0 * effort.seconds) for _ in range(effort.sweeps)]
        for name, line in times.items():
            line.append(min(one[name] or inf for one in runs))
    return {"links": n, "pieces": list(counts), **times}


def _state(model: Model) -> tuple[Array, ...]:
    return tuple(array[0].copy() for array in (States.random(model, 1).fields[name] for name in ("q", "v", "tau")))


def _contestants(model: Model) -> dict[str, Contestant]:
    """The contestants; the results of the others are compared with those of the first."""
    state = _state(model)

    def public(method: str) -> Callable[..., Array]:
        return partial(forward_dynamics, model, method=method)

    functions: dict[str, Callable[..., Any]] = {}
    form = form_of(ALGORITHMS["constraint_force"], model)
    if form == "specialised":
        functions = {SCALAR: public("constraint_force")}
    elif form == "segmented":
        lanes = public("constraint_force")
        functions = {SCALAR: _scalar(model), LANES: lanes, TEAM: _together(lanes)}
    functions |= {method: public(method) for method in ("articulated_body", "virtual_work")}
    return {name: Contestant(name, function, [state], 1) for name, function in functions.items()}


def _scalar(model: Model) -> Callable[..., Any]:
    """The algorithm on one lane."""
    return one_state(SEGMENTS, model, lanes=1)


def _together(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with as many threads as there are cores, where everything else has one."""
    count = cores()

    def call(*arguments: Array) -> Array:
        set_threads(count)
        try:
            return function(*arguments)
        finally:
            set_threads(1)

    return call
