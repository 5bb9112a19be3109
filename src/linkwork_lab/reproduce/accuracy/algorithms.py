"""Errors of algorithms on the built-in mechanisms, relative to the largest number of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork import Model, mechanisms, random_state
from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.inside import evaluate
from linkwork_lab.reproduce.rounding import HINGES, Say
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


def errors(mechanism: str, states: int, say: Say) -> dict[str, float]:
    """The worst error of each algorithm of ``COLUMNS``."""
    say(f"rounding: {mechanism}")
    model = MECHANISMS[mechanism]()
    worst = {}
    for name in COLUMNS:
        rng = np.random.default_rng(0)
        worst[name] = max(_error(ALGORITHMS[name], model, rng) for _ in range(states))
    return worst


def _error(algorithm: Algorithm, model: Model, rng: np.random.Generator) -> float:
    q, v = random_state(model, rng)
    fields = {"q": q, "v": v, "a": rng.normal(size=model.nv), "tau": rng.normal(size=model.nv)}
    arguments: list[Any] = [fields.get(name) for name, _ in algorithm.arguments]
    frames = [model.frame("left_hand" if "left_hand" in model.frame_names else model.body_names[-1])]
    rough = evaluate(algorithm, model, [x if x is None else x.tolist() for x in arguments], frames)
    truth = exact(algorithm, model, arguments, frames)
    return max(relative_error(*both) for both in zip(rough, truth, strict=True))
