"""Errors of algorithms, and of derivatives, on the built-in mechanisms, relative to the largest number of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from linkwork import Model, mechanisms, random_state
from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.inside import evaluate
from linkwork_lab.bench import peers
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.rounding import HINGES, Array
from linkwork_lab.reproduce.truth import exact, relative_error

MECHANISMS: dict[str, Callable[[], Model]] = {
    "humanoid": mechanisms.humanoid,
    "humanoid, floating": lambda: mechanisms.humanoid(floating_base=True),
    "chain of 10 revolute": lambda: mechanisms.serial_chain(10, HINGES, link_length=0.1),
    "chain of 100 revolute": lambda: mechanisms.serial_chain(100, HINGES, link_length=0.1),
    "chain of 10 spherical": mechanisms.serial_30dof,
    "branched, 10 spherical": mechanisms.branched_30dof,
    "star of 12": lambda: mechanisms.star(12),
    "binary tree of 63": lambda: mechanisms.binary_tree(6, HINGES),
    "rope of 50": lambda: mechanisms.rope(50),
}
COLUMNS = {
    "frame_placements": "placement",
    "jacobian/local": "Jacobian",
    "energy": "energy",
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "articulated_body": "forward, articulated body",
    "virtual_work": "forward, virtual work",
    "composite_body": "forward, composite body",
}


DERIVATIVES = {
    "inverse_dynamics_derivatives": "of inverse dynamics",
    "forward_dynamics_derivatives": "of forward dynamics",
    "mass_matrix_inverse": "M⁻¹",
}
AWAY = 1e6
"""A distance from the world's origin, m."""
DIFFERENTIATED: dict[str, Callable[[], Model]] = {
    "humanoid": mechanisms.humanoid,
    "humanoid, floating": MECHANISMS["humanoid, floating"],
    "the same, 1,000 km from the origin": MECHANISMS["humanoid, floating"],
    "chain of 10 revolute": MECHANISMS["chain of 10 revolute"],
    "rope of 20": lambda: mechanisms.rope(20),
}
INVERSE = "pin.computeMinverse"


def errors(mechanism: str, states: int, say: Say) -> dict[str, float]:
    """The worst error of each algorithm of ``COLUMNS``."""
    say(f"rounding: {mechanism}")
    return _worst(MECHANISMS[mechanism](), COLUMNS, states)


def derivatives(mechanism: str, states: int, say: Say) -> dict[str, float | None]:
    """The same of ``DERIVATIVES``, and of Pinocchio's M⁻¹ if it is installed."""
    say(f"rounding of derivatives: {mechanism}")
    model = DIFFERENTIATED[mechanism]()
    away = AWAY if "km" in mechanism else 0.0
    return {**_worst(model, DERIVATIVES, states, away), INVERSE: _of_pinocchio(model, states, away)}


def _worst(model: Model, algorithms: Iterable[str], states: int, away: float = 0.0) -> dict[str, float]:
    return {
        name: max(_error(ALGORITHMS[name], model, q, v, rng) for q, v, rng in _states(model, states, away))
        for name in algorithms
    }


def _states(model: Model, count: int, away: float) -> Iterator[tuple[Array, Array, np.random.Generator]]:
    """States, with a floating base this far from the origin."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        q, v = random_state(model, rng)
        if away:
            q[:3] += away
        yield q, v, rng


def _error(algorithm: Algorithm, model: Model, q: Array, v: Array, rng: np.random.Generator) -> float:
    fields = {"q": q, "v": v, "a": rng.normal(size=model.nv), "tau": rng.normal(size=model.nv)}
    arguments: list[Any] = [fields.get(name) for name, _ in algorithm.arguments]
    frames = [model.frame("left_hand" if "left_hand" in model.frame_names else model.body_names[-1])]
    rough = evaluate(algorithm, model, [x if x is None else x.tolist() for x in arguments], frames)
    truth = exact(algorithm, model, arguments, frames)
    return max(relative_error(*both) for both in zip(rough, truth, strict=True))


def _of_pinocchio(model: Model, states: int, away: float) -> float | None:
    factories, _ = peers.factories(["pin"])
    if not factories:
        return None
    peer: Any = factories["pin"](model)
    if not peer.depth_first:
        return None  # its function requires joints in that order, without checking
    worst = 0.0
    for q, _, _ in _states(model, states, away):
        upper = np.triu(peer.pin.computeMinverse(peer.model, peer.data, q))
        (truth,) = exact(ALGORITHMS["mass_matrix_inverse"], model, [q])
        worst = max(worst, relative_error((upper + np.triu(upper, 1).T).ravel().tolist(), truth))
    return worst
