"""What optimisations of generated code bring: the times of calls without them and with them, in two processes by turns.

python -m linkwork_lab.bench.without SUBJECT        such a process: SUBJECT is JSON; it prints what it can measure,
                                                    then a time for each line with the number of a measurement
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

import linkwork as lw
from linkwork_lab.bench.cases import CASES, Array, Case, States
from linkwork_lab.bench.contest import Contestant, ours
from linkwork_lab.bench.subjects import Subject
from linkwork_lab.bench.workers import answer, receive, send, workers

WITHOUT = "LINKWORK_WITHOUT"
"""The variable of the environment that names what is turned off."""
SIZES = (1, 256, 4096)


def _rolled_out(model: lw.Model, q: Array, v: Array, tau: Array) -> Any:
    """Some steps with friction and stops."""
    options: dict[str, Any] = {"damping": 0.2, "friction": 0.3, "joint_limits": True, "constraints": ()}
    return lw.rollout(model, q, 0.1 * v, tau[..., None, :], dt=1e-4, steps=20, record=20, **options)


def _searched(model: lw.Model, q: Array, frames: list[str]) -> Any:
    return lw.inverse_kinematics(model, lw.forward_kinematics(model, q, frames), frames)


_MEASURED = (
    *("forward_dynamics articulated_body", "inverse_dynamics", "mass_matrix", "jacobian", "force_responses"),
    *("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "mass_matrix_inverse", "forward_dynamics_vjp"),
)
_FURTHER = (
    Case("rollout", ("q", "v", "tau"), _rolled_out),
    Case("inverse_kinematics", ("q",), _searched, frames=1),
)
FUNCTIONS = {case.name: case for case in (*(case for case in CASES if case.name in _MEASURED), *_FURTHER)}


def compare(
    subject: Subject,
    names: str,
    functions: Sequence[str] = tuple(FUNCTIONS),
    sizes: Sequence[int] = SIZES,
    rounds: int = 8,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[int, tuple[float, float]]]:
    """For each function and batch size the seconds of a state, with everything and without what is named, separated by
    commas.
    """
    what = json.dumps([subject.source, subject.floating_base, list(functions), list(sizes)])
    with workers(__name__, what, [{WITHOUT: off} for off in ("", names)]) as processes:
        say(f"{subject.name}: code")
        measured, _ = [json.loads(receive(process)) for process in processes]
        best = {(number, k): math.inf for number in range(len(measured)) for k in range(2)}
        for turn in range(rounds):
            for number, (name, _) in enumerate(measured):
                say(f"{subject.name}: {name} ({turn + 1} of {rounds})")
                for k in (0, 1) if turn % 2 else (1, 0):
                    send(processes[k], str(number))
                    best[number, k] = min(best[number, k], float(receive(processes[k])))
    times: dict[str, dict[int, tuple[float, float]]] = {}
    for number, (name, size) in enumerate(measured):
        times.setdefault(name, {})[size] = best[number, 0], best[number, 1]
    return times


def print_comparison(
    subject: Subject, names: str, times: dict[str, dict[int, tuple[float, float]]], console: Console
) -> None:
    """A table of the time with everything and how many times it is without."""
    sizes = list(next(iter(times.values())))
    heads = ["one call" if size == 1 else f"{size:,} states" for size in sizes]
    table = Table(title=f"{subject.name} without {names}: the time of a state with it, and without it relative to that")
    for head in ("function", *heads):
        table.add_column(head)
    for name, row in times.items():
        table.add_row(name, *(f"{1e9 * usual:,.0f} ns ×{off / usual:.2f}" for usual, off in row.values()))
    console.print(table)


def _measurements(model: lw.Model, functions: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, int, Contestant]]:
    """Every function for every batch size; results of batches are written in place where that is possible."""
    rows = []
    for size in sizes:
        states = States.random(model, size if size > 1 else 8)
        for name in functions:
            case, in_place = FUNCTIONS[name], size > 1 and FUNCTIONS[name] not in _FURTHER
            contestant = ours(case, model, states, single=size == 1, in_place=in_place)
            contestant.calibrate(0.001)
            rows.append((name, size, contestant))
    return rows


def main() -> None:
    """The main function of such a process: each line is the number of a measurement, which is then made."""
    source, floating, functions, sizes = json.loads(sys.argv[1])
    lw.set_threads(1)
    measurements = _measurements(Subject("", source, floating).model, functions, sizes)
    answer(json.dumps([(name, size) for name, size, _ in measurements]))
    for line in sys.stdin:
        contestant = measurements[int(line)][2]
        answer(str(min(contestant.sample() for _ in range(3))))
