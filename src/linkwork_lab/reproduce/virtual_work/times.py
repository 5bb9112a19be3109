"""Figures 6 and 7, and chains of many more links than the paper's: time of a state.

Loops stay loops (rolled code) and the mechanism comes in tables, as in a program that does not know its mechanism
beforehand: the paper's setting. Stars are also timed with unrolled code, which knows the mechanism's numbers and omits
operations that they make redundant; for the recursion as printed it is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, STUDIES
from linkwork_lab.reproduce.clock import Effort, Runner, crossover, race, sweep
from linkwork_lab.reproduce.parts import Say

METHODS = {name: ALGORITHMS[name] for name in ("virtual_work", "unit_vector", "articulated_body")}
ROLLED = {name: Runner(entry, "rolled") for name, entry in METHODS.items()}
STUDIED = ROLLED | {name: Runner(ALGORITHMS[name], "rolled") for name in STUDIES}
SPECIALISED = {name: Runner(entry, "specialised") for name, entry in METHODS.items()}


def serial_chains(joints: Sequence[int], effort: Effort, say: Say) -> dict[str, Any]:
    """Figure 6: chains of spherical joints."""
    models = [mechanisms.serial_chain(n, "spherical") for n in joints]
    runners = ROLLED | {"virtual_work_unsplit": STUDIED["virtual_work_unsplit"]}
    return _timed(models, lambda _: runners, effort, say)


def stars(ends: Sequence[int], effort: Effort, say: Say) -> dict[str, Any]:
    """Figure 7: end links on one link."""
    models = [mechanisms.star(n) for n in ends]
    return {
        "rolled": _timed(models, lambda _: STUDIED, effort, say),
        "specialised": _timed(models, lambda _: SPECIALISED, effort, say),
    }


def long_chains(joints: Sequence[int], unit_vector_up_to: int, effort: Effort, say: Say) -> dict[str, Any]:
    """Chains of thousands of spherical joints."""

    def runners(model: Model) -> dict[str, Runner]:
        omitted = () if len(model.bodies) <= unit_vector_up_to else ("unit_vector",)
        return {name: runner for name, runner in ROLLED.items() if name not in omitted}

    return _timed([mechanisms.serial_chain(n, "spherical") for n in joints], runners, effort, say)


def _timed(
    models: Sequence[Model], runners: Callable[[Model], dict[str, Runner]], effort: Effort, say: Say
) -> dict[str, Any]:
    def times(k: int) -> dict[str, float | None]:
        say(f"times: {models[k].name}, {models[k].nv} degrees of freedom")
        return race(models[k], runners(models[k]), effort.rounds, effort.seconds)

    dof, seconds = [model.nv for model in models], sweep(len(models), effort, times)
    crossovers = {m: crossover(dof, seconds["unit_vector"], line) for m, line in seconds.items() if "work" in m}
    links = [len(model.bodies) for model in models]
    return {"links": links, "dof": dof, "seconds": seconds, "crossovers": crossovers}
