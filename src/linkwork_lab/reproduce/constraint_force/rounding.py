"""Rounding errors over the length of a chain: the paper's own form, ours, and the two serial algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, SEGMENTS
from linkwork.inside import cut
from linkwork_lab.reproduce import rounding
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.rounding import HINGES, Case, Method, interpreted, lighter

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


def errors(case: Case, values: Sequence[float], states: int, whole_up_to: int, say: Say) -> dict[str, Any]:
    """The worst error of each method at each length; those of whole chains only up to a length."""
    return rounding.errors(case, values, lambda model, links: _methods(model, links <= whole_up_to), states, say)


def _methods(model: Model, whole: bool) -> dict[str, Method]:
    algorithms = {name: ALGORITHMS[name] for name in ("articulated_body", "virtual_work")}
    algorithms |= {"constraint_force_segments": SEGMENTS} if cut(model) else {}
    algorithms |= {name: ALGORITHMS[name] for name in CHAIN_METHODS} if whole else {}
    return {name: interpreted(algorithm, model) for name, algorithm in algorithms.items()}
