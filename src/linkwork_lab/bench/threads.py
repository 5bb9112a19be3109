"""The gain by threads: whole calls on one thread and on all, by batch size; and the gain by as many independent
processes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from linkwork import set_threads
from linkwork.inside import cores
from linkwork_lab.bench.cases import CASES, Case, States
from linkwork_lab.bench.contest import Contestant, contest, ours
from linkwork_lab.bench.neighbours import busy, neighbours
from linkwork_lab.bench.subjects import Subject
from linkwork_lab.bench.workers import Worker

FUNCTIONS = (CASES[0].name, "inverse_dynamics", "mass_matrix")
_MOST_BYTES = 256 * 2**20
"""Largest size of a result."""


def measure_threads(
    subject: Subject, sizes: tuple[int, ...], rounds: int, seconds: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """The time of a state with ``out=`` in batches of these sizes, on one thread and on all, alternating; and on one
    thread while all other cores do the same in separate processes.
    """
    model = subject.model
    few = States.random(model, 512)
    rows = []
    try:
        with neighbours(subject) as processes:
            for case in (case for case in CASES if case.name in FUNCTIONS):
                say(f"{subject.name}: {case.name} on {cores()} threads")
                result = case.function(model, *few.first(1).arguments(case))
                chosen = [size for size in sizes if size * result.nbytes <= _MOST_BYTES]
                rows += [_row(case, few.repeated(size), rounds, seconds, processes) for size in chosen]
    finally:
        set_threads(None)
    return {"name": subject.name, "nv": model.nv, "threads": cores(), "rows": rows}


def _row(case: Case, states: States, rounds: int, seconds: float, processes: Sequence[Worker]) -> dict[str, Any]:
    one, every = (_on(count, case, states) for count in (1, cores()))
    best, others = contest(one, {"every": every}, rounds, seconds)
    every_row = others["every"]
    if not every_row["agrees"] or every_row["error"]:
        raise AssertionError(f"{case.name} has other bits on {cores()} threads")
    one.best = float("inf")
    gc.collect()
    with busy(processes, case, len(states)):
        for _ in range(rounds):
            one.sample()
    times = {"seconds": best, "all_threads": every_row["seconds"], "beside": one.best}
    return {"function": case.name, "states": len(states), **times}


def _on(threads: int, case: Case, states: States) -> Contestant:
    """Our call on this number of threads, each call with an output array of its own."""
    contestant = ours(case, states.model, states, single=False, in_place=True)

    def function(call: Callable[..., Any], *arguments: Any) -> Any:
        set_threads(threads)
        return call(*arguments)

    contestant.function = partial(function, contestant.function)
    return contestant
