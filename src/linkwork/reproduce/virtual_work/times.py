"""Figures 6 and 7, and chains of many more links than the paper's: time of a state.

Loops stay loops (rolled code) and the mechanism comes in tables, as in a program that does not know its mechanism
beforehand. The study variants with and without splitting have no such form; for them, and for all others beside
them, the code of the unrolled text is timed, which knows the mechanism's numbers and leaves out what they make
superfluous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.algorithms import ALGORITHMS, STUDIES
from linkwork.model import Model, mechanisms
from linkwork.reproduce.clock import Runner, crossover, race

METHODS = {name: ALGORITHMS[name] for name in ("virtual_work", "unit_vector", "articulated_body")}
ROLLED = {name: Runner(entry, "rolled") for name, entry in METHODS.items()}
SPECIALISED = {name: Runner(ALGORITHMS[name], "specialised") for name in (*METHODS, *STUDIES)}

Say = Callable[[str], None]


def serial_chains(joints: Sequence[int], rounds: int, seconds: float, say: Say) -> dict[str, Any]:
    """Figure 6: chains of spherical joints."""
    models = [mechanisms.serial_chain(n, "spherical") for n in joints]
    return _timed(models, lambda _: ROLLED, rounds, seconds, say)


def stars(ends: Sequence[int], unsplit_up_to: int, rounds: int, seconds: float, say: Say) -> dict[str, Any]:
    """Figure 7: end links on one link. Without splitting the code is long, and LLVM takes long over it."""

    def runners(model: Model) -> dict[str, Runner]:
        left = () if len(model.bodies) - 1 <= unsplit_up_to else ("virtual_work_unsplit",)
        return {name: runner for name, runner in SPECIALISED.items() if name not in left}

    models = [mechanisms.star(n) for n in ends]
    return {
        "rolled": _timed(models, lambda _: ROLLED, rounds, seconds, say),
        "specialised": _timed(models, runners, rounds, seconds, say),
    }


def long_chains(joints: Sequence[int], unit_vector_up_to: int, rounds: int, seconds: float, say: Say) -> dict[str, Any]:
    """Spherical joints by the thousand."""

    def runners(model: Model) -> dict[str, Runner]:
        left = () if len(model.bodies) <= unit_vector_up_to else ("unit_vector",)
        return {name: runner for name, runner in ROLLED.items() if name not in left}

    return _timed([mechanisms.serial_chain(n, "spherical") for n in joints], runners, rounds, seconds, say)


def _timed(
    models: Sequence[Model], runners: Callable[[Model], dict[str, Runner]], rounds: int, seconds: float, say: Say
) -> dict[str, Any]:
    rows = []
    for model in models:
        say(f"times: {model.name}, {model.nv} degrees of freedom")
        rows.append(race(model, runners(model), rounds, seconds))
    names = {name: None for row in rows for name in row}
    found = {name: [row.get(name) for row in rows] for name in names}
    dof = [model.nv for model in models]
    return {
        "links": [len(model.bodies) for model in models], "dof": dof, "seconds": found,
        "crossover_dof": crossover(dof, found["unit_vector"], found["virtual_work"]),
    }  # fmt: skip
