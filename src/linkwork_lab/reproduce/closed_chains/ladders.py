"""Ladders: a spine with a closed chain on every link, and chains connected to each other at many places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork import Ball, Builder, Constraint, Frame, Model, PointOnPlane, integrate, neutral, placement
from linkwork.joints import Free, Revolute, Universal
from linkwork.spatial import Transform

Array = NDArray[np.float64]


class Ladder(NamedTuple):
    """A mechanism with loops: its constraints, and the same as ``holds`` of ``algorithms.closed_chains``."""

    model: Model
    constraints: list[Constraint]
    holds: list[Frame]


def ladder(loops: int) -> Ladder:
    """On each link of a spine of hinges two arms, whose tips a ball joint connects: a spatial four-bar linkage."""
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


def state(model: Model, seed: int = 0) -> tuple[Array, Array, Array]:
    """A configuration near one with closed loops, a velocity and joint forces."""
    rng = np.random.default_rng(seed)
    q = integrate(model, neutral(model), 0.1 * rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def star(links: int) -> Model:
    """One link that carries all others."""
    builder = Builder(f"star_{links}")
    hub = builder.add_body("hub", "world", Revolute("y"), **_SOLID)
    for k in range(links - 1):
        builder.add_body(f"end{k}", hub, Revolute("y"), placement((0.3, 0.01 * k, 0.0)), **_SOLID)
    return builder.build()


def comb(links: int) -> Model:
    """A chain with a side link on every other link."""
    builder = Builder(f"comb_{links}")
    last = "world"
    for k in range(links // 2):
        last = builder.add_body(f"back{k}", last, Revolute("y"), placement((0.3, 0.0, 0.0)), **_SOLID)
        builder.add_body(f"tooth{k}", last, Revolute("x"), placement((0.0, 0.0, 0.2)), **_SOLID)
    return builder.build()


_SOLID: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.02, 0.03, 0.025)}


def fork(links: int) -> Model:
    """Two chains of the same length on the world."""
    builder = Builder(f"fork_{links}")
    for side in ("left", "right"):
        last = "world"
        for k in range(links // 2):
            last = builder.add_body(f"{side}{k}", last, Revolute("y"), placement((0.3, 0.0, 0.0)), **_SOLID)
    return builder.build()


def caterpillar(links: int) -> Model:
    """A chain with another chain, as long as itself, on each of its links."""
    builder, last = Builder(f"caterpillar_{links}"), "world"
    count = round(links**0.5)
    for k in range(count):
        last = limb = builder.add_body(f"back{k}", last, Revolute("y"), placement((0.3, 0.0, 0.0)), **_SOLID)
        for i in range(count - 1):
            limb = builder.add_body(f"leg{k}_{i}", limb, Revolute("x"), placement((0.0, 0.0, 0.2)), **_SOLID)
    return builder.build()


def rope_ladder(rungs: int) -> Ladder:
    """Two chains of hinges that hang from the world, with a rung between them at every link: all loops meet at the
    world, so that near it all are open.
    """
    builder = Builder(f"rope_ladder_{rungs}")
    chains: list[list[str]] = []
    for side, y in (("left", 0.0), ("right", 0.3)):
        last, links = "world", []
        for k in range(rungs):
            place = placement((0.0, 0.0, -0.2 if k else 0.0)) if k else placement((0.0, y, 0.0))
            last = builder.add_body(f"{side}{k}", last, Universal("x", "y"), place, **_SOLID)
            links.append(last)
        chains.append(links)
    constraints: list[Constraint] = []
    holds: list[Frame] = []
    for k, (one, two) in enumerate(zip(*chains, strict=True)):
        builder.add_frame(f"rung{k}", one, placement((0.0, 0.3, -0.2)))
        builder.add_frame(f"end{k}", two, placement((0.0, 0.0, -0.2)))
        constraints.append(PointOnPlane(f"rung{k}", f"end{k}", normal="y"))
        holds += [Frame(str(k), body, Transform.identity()) for body in (k + 1, rungs + k + 1)]
    return Ladder(builder.build(), constraints, holds)


def snake(contacts: int, links: int | None = None) -> Ladder:
    """A floating chain of hinges, every link of which touches the ground in a plane, or as many of all its links."""
    count = contacts if links is None else links
    builder = Builder(f"snake_{count}_{contacts}")
    last = builder.add_body("head", "world", Free(), **_SOLID)
    for k in range(1, count):
        last = builder.add_body(f"link{k}", last, Universal("y", "z"), placement((0.3, 0.0, 0.0)), **_SOLID)
    model = builder.build()
    bodies = [k * count // contacts for k in range(contacts)]
    constraints: list[Constraint] = [PointOnPlane(model.body_names[body]) for body in bodies]
    holds = [Frame(str(k), body + 1, Transform.identity()) for k, body in enumerate(bodies)]
    return Ladder(model, constraints, holds)
