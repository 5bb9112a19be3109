"""Rounding errors of every forward-dynamics method against 50 digits: long chains, many branches, ill-matched links.

The error is max |q̈ - q̈₅₀| / max |q̈₅₀|, the worst of a few states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS
from linkwork.algorithms.catalogue import STUDIES
from linkwork.algorithms.link_splitting import MOST_JOINTS
from linkwork.dynamics import random_state
from linkwork.engine.interpreter import evaluate
from linkwork.joints import Revolute
from linkwork.model import Model, mechanisms
from linkwork.reproduce.clock import Runner, machine_code
from linkwork.reproduce.truth import exact, relative_error

Array = NDArray[np.float64]
Say = Callable[[str], None]

LINEAR = ("articulated_body", "virtual_work")
"""The methods for mechanisms of any length; of the others only a few hundred links are asked."""
HINGES = [Revolute("z"), Revolute("y")]
FEW = 30
"""Bodies: with no more, code is not worth compiling."""
MANY = 30
"""Joints on a link: with more, the interpreter takes minutes over the blocks of Φ⁻¹."""
CHAIN = 20
"""Links of the chains that are light in places, or slender."""


@dataclass(frozen=True)
class Case:
    """A mechanism for each size, or for each ratio of its links, and what states of it are like."""

    label: str
    axis: str
    make: Callable[[float], Model]
    angles: float | None = None
    """Hinges within ± this (rad); anywhere if None."""
    moving: bool = True


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


def lighter(model: Model, bodies: set[int], ratio: float) -> Model:
    """The model with some bodies' inertias divided by a ratio."""
    return replace(
        model,
        bodies=tuple(
            replace(body, inertia=body.inertia.of([x / ratio for x in body.inertia.numbers()])) if k in bodies else body
            for k, body in enumerate(model.bodies)
        ),
    )


def errors(case: Case, values: Sequence[float], states: int, dense_up_to: int, say: Say) -> dict[str, Any]:
    """The worst error of each method at each size or ratio; None where a method was not asked or gave no number."""
    found: dict[str, list[float | None]] = {}
    for place, value in enumerate(values):
        say(f"rounding: {case.label}, {value:g}")
        model = case.make(value)
        methods = _methods(model, dense_up_to)
        worst = _worst(case, model, methods, states)
        for method in methods:
            found.setdefault(method, [None] * len(values))[place] = worst[method]
    return {"label": case.label, "axis": case.axis, "values": list(values), "errors": found}


def _worst(case: Case, model: Model, methods: Sequence[str], states: int) -> dict[str, float | None]:
    rng = np.random.default_rng(0)
    worst: dict[str, float] = dict.fromkeys(methods, 0.0)
    for _ in range(states):
        q, v = random_state(model, rng)
        tau = rng.normal(size=model.nv)
        if case.angles is not None:
            q = rng.uniform(-case.angles, case.angles, model.nq)
        if not case.moving:
            v = np.zeros(model.nv)
        (truth,) = exact(ALGORITHMS["articulated_body"], model, [q, v, tau, None])
        for method in methods:
            result = _computed(method, model, q, v, tau)
            error = relative_error(result.tolist(), truth) if np.isfinite(result).all() else np.inf
            worst[method] = max(worst[method], error)
    return {method: error if np.isfinite(error) else None for method, error in worst.items()}


def _computed(method: str, model: Model, q: Array, v: Array, tau: Array) -> Array:
    """By the interpreter or by machine code, whose results have the same bits: whichever is there sooner."""
    entry = STUDIES.get(method) or ALGORITHMS[method]
    if method in STUDIES or len(model.bodies) <= FEW:
        (numbers,) = evaluate(entry, model, [q.tolist(), v.tolist(), tau.tolist(), None])
        return np.array(numbers, dtype=np.float64)
    return machine_code(Runner(entry, "rolled"), model)(q[None], v[None], tau[None])[0]


def _methods(model: Model, dense_up_to: int) -> list[str]:
    """Those that a mechanism can be asked with; without splitting the cost is the cube of the joints on a link."""
    if len(model.bodies) > dense_up_to:
        return list(LINEAR)
    children = int(np.bincount([body.parent for body in model.bodies])[1:].max(initial=0))
    left = {"virtual_work_split": children < MOST_JOINTS, "virtual_work_unsplit": children > MANY}
    return [method for method in (*FORWARD_DYNAMICS, *STUDIES) if not left.get(method)]
