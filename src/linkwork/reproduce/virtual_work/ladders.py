"""Ladders: a spine that carries a closed chain on every link, and chains held to each other at many places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.constraints import Ball, Constraint
from linkwork.joints import Revolute, Universal
from linkwork.model import Builder, Frame, Model, placement
from linkwork.spatial import Transform


class Ladder(NamedTuple):
    """A mechanism with loops: its constraints, and the same as holds of ``algorithms.closed_chains``."""

    model: Model
    constraints: list[Constraint]
    holds: list[Frame]


def ladder(loops: int) -> Ladder:
    """On each link of a spine of hinges two arms, whose tips a ball holds together: a spatial four-bar linkage."""
    builder = Builder(f"ladder_{loops}")
    constraints: list[Constraint] = []
    holds: list[Frame] = []
    arm: dict[str, Any] = {"mass": 0.3, "inertia": (0.004, 0.005, 0.006)}
    spine = "world"
    for k in range(loops):
        place = placement((0.4 if k else 0.0, 0.0, 0.0))
        spine = builder.add_body(
            f"spine{k}", spine, Revolute("y"), place, mass=1.0, com=(0.2, 0, 0), inertia=(0.02, 0.03, 0.03)
        )
        upper = builder.add_body(f"upper{k}", spine, Revolute("z"), placement((0.1, 0, 0)), com=(0, 0.1, 0), **arm)
        lower = builder.add_body(f"lower{k}", upper, Revolute("z"), placement((0, 0.2, 0)), com=(0.1, 0, 0), **arm)
        other = builder.add_body(
            f"other{k}", spine, Universal("z", "x"), placement((0.3, 0, 0)), com=(0, 0.1, 0), **arm
        )
        tips = builder.add_frame(f"tip{k}", lower, placement((0.2, 0, 0))), f"end{k}"
        builder.add_frame(tips[1], other, placement((0, 0.2, 0)))
        constraints.append(Ball(f"tip{k}", f"end{k}"))
        holds += [Frame(str(k), 4 * k + body, Transform.identity()) for body in (3, 4)]
    return Ladder(builder.build(), constraints, holds)


def state(model: Model, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A configuration near the one in which loops are closed, a velocity and joint forces."""
    rng = np.random.default_rng(seed)
    return 0.1 * rng.normal(size=model.nq), rng.normal(size=model.nv), rng.normal(size=model.nv)


def star(links: int) -> Model:
    """One link that carries all others."""
    builder = Builder(f"star_{links}")
    hub = builder.add_body("hub", "world", Revolute("y"), **_SOLID)
    for k in range(links - 1):
        builder.add_body(f"end{k}", hub, Revolute("y"), placement((0.3, 0.01 * k, 0.0)), **_SOLID)
    return builder.build()


def comb(links: int) -> Model:
    """A chain that carries a link on every other one."""
    builder = Builder(f"comb_{links}")
    last = "world"
    for k in range(links // 2):
        last = builder.add_body(f"back{k}", last, Revolute("y"), placement((0.3, 0.0, 0.0)), **_SOLID)
        builder.add_body(f"tooth{k}", last, Revolute("x"), placement((0.0, 0.0, 0.2)), **_SOLID)
    return builder.build()


_SOLID: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.02, 0.03, 0.025)}
