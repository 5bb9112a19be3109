"""Rounding errors over the length of a chain: the paper's own form, ours, and the two serial algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, SEGMENTS
from linkwork.inside import cut
from linkwork_lab.reproduce import rounding
from linkwork_lab.reproduce.rounding import FEW, HINGES, Case, Method, Say, compiled, interpreted, lighter

RATIO = 1e3
"""The mass ratio of neighbours, where they alternate."""


def cases() -> dict[str, Case]:
    def hinges(n: float) -> Model:
        return mechanisms.serial_chain(int(n), HINGES, link_length=0.1)

    def spherical(n: float) -> Model:
        return mechanisms.serial_chain(int(n), "spherical", link_length=0.1)

    def floating(n: float, joint: str) -> Model:
        return mechanisms.serial_chain(int(n) - 1, joint, link_length=0.1, floating_base=True)

    def alternating(n: float) -> Model:
        return lighter(hinges(n), set(range(1, int(n), 2)), RATIO)

    return {
        "folded": Case("hinges about z and y, any angles", "links", hinges, 3.1),
        "straight": Case("the same, nearly straight (±0.3 rad)", "links", hinges, 0.3),
        "alternating": Case(f"the same, every second link {RATIO:g} times lighter", "links", alternating, 3.1),
        "spherical": Case("spherical joints", "links", spherical),
        "floating": Case("spherical joints, floating base", "links", lambda n: floating(n, "spherical")),
        "planar": Case("parallel hinges, floating base", "links", lambda n: floating(n, "revolute")),
    }


def errors(case: Case, values: Sequence[float], states: int, interpreted_up_to: int, say: Say) -> dict[str, Any]:
    """The worst error of each method at each length; methods whose code has no loops only up to a length."""
    return rounding.errors(case, values, lambda model: _methods(model, interpreted_up_to), states, say)


def _methods(model: Model, interpreted_up_to: int) -> dict[str, Method]:
    short = len(model.bodies) <= interpreted_up_to
    run = interpreted if len(model.bodies) <= FEW else compiled
    return {
        **{name: run(ALGORITHMS[name], model) for name in ("articulated_body", "virtual_work")},
        **({"constraint_force_segments": run(SEGMENTS, model)} if cut(model) else {}),
        **({name: interpreted(ALGORITHMS[name], model) for name in CHAIN_METHODS} if short else {}),
    }
