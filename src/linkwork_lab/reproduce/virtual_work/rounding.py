"""Rounding errors of every forward-dynamics method: long chains, many branches, links of very different mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, STUDIES
from linkwork.inside import parts_of
from linkwork_lab.reproduce import rounding
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.rounding import HINGES, Case, Method, by_form, lighter

LINEAR = ("articulated_body", "virtual_work")
"""The methods for mechanisms of any length; the others are run with only a few hundred links."""
MANY = 30
"""Joints on a link: with more, the interpreter takes minutes over the blocks of Φ⁻¹."""
CHAIN = 20
"""Links of the chains with some light links, or with slender ones."""


def over_size() -> dict[str, Case]:
    def chain(n: float) -> Model:
        return mechanisms.serial_chain(int(n), HINGES, link_length=0.1)

    def star(n: float) -> Model:
        return mechanisms.star(int(n))

    return {
        "folded": Case("chain of hinges at any angles, moving", "links", chain),
        "straight": Case("the same, nearly straight (±0.3 rad), moving", "links", chain, 0.3),
        "straight_at_rest": Case("the same, nearly straight (±0.3 rad), at rest", "links", chain, 0.3, moving=False),
        "star": Case("star: end links on one link, moving", "end links", star),
    }


def over_ratio() -> dict[str, Case]:
    def chain() -> Model:
        return mechanisms.serial_chain(CHAIN, HINGES, link_radius=0.2)

    def floating() -> Model:
        return mechanisms.serial_chain(CHAIN, HINGES, link_radius=0.2, floating_base=True)

    def slender(ratio: float) -> Model:
        return mechanisms.serial_chain(CHAIN, HINGES, link_radius=1.0 / ratio)

    first, odd, all_but_last = {0}, set(range(1, CHAIN, 2)), set(range(CHAIN - 1))
    masses = "mass of a heavy link : of a light one"
    return {
        "alternating": Case("every second link is light", masses, lambda ratio: lighter(chain(), odd, ratio)),
        "first": Case("the first link is light", masses, lambda ratio: lighter(chain(), first, ratio)),
        "slender": Case("slender links", "length of a link : radius", slender),
        "floating": Case("a light floating base", masses, lambda ratio: lighter(floating(), first, ratio)),
        "load": Case("a light chain, a heavy end link", masses, lambda ratio: lighter(chain(), all_but_last, ratio)),
    }


def errors(case: Case, values: Sequence[float], states: int, dense_up_to: float, say: Say) -> dict[str, Any]:
    """The worst error of each method at each size or ratio; beyond ``dense_up_to``, of linear ones only."""
    return rounding.errors(case, values, lambda model, size: _methods(model, size <= dense_up_to), states, say)


def _methods(model: Model, dense: bool) -> dict[str, Method]:
    """The methods that are run on a mechanism; without splitting the cost is the cube of the joints on a link."""
    parents = [body.parent for body in model.bodies]
    omitted = set() if dense else {*FORWARD_DYNAMICS, *STUDIES}.difference(LINEAR)
    if len(parts_of(parents)) == len(parents):
        omitted.add("virtual_work_split")
    if np.bincount(parents)[1:].max(initial=0) > MANY:
        omitted.add("virtual_work_unsplit")
    names = (name for name in (*FORWARD_DYNAMICS, *STUDIES) if name not in omitted)
    return {name: by_form(ALGORITHMS[name], model) for name in names}
