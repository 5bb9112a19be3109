"""Thirteen mechanisms that have the same numbers in every library, and their states.

All lengths, masses and moments are sums of few powers of two. So a library that keeps a body's centre and the moments
about it has the same body, without rounding, as one that keeps first moments and moments about the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from linkwork import Builder, Model, placement, random_state
from linkwork.joints import Free, Joint, Spherical
from linkwork_lab.reproduce.rounding import HINGES, State, lighter

LENGTH = 0.25
INERTIA = (1 / 512, 3 / 512, 3 / 512)
FAR, RATIO, SLENDER = 2.0**20, 2.0**20, 2.0**15
"""A distance in metres; a ratio of masses; of a link's length to its radius."""


@dataclass(frozen=True)
class Case:
    """A mechanism, and the distribution of its states."""

    label: str
    make: Callable[[], Model]
    angles: float = pi
    """Hinges within ± this (rad)."""
    moving: bool = True

    def state(self, model: Model, seed: int) -> State:
        """Orientations of balls and of a floating base are quaternions of halves, which are of length one exactly."""
        rng = np.random.default_rng(seed)
        q, v = random_state(model, rng)
        for body, start in zip(model.bodies, model.q_start, strict=True):
            if isinstance(body.joint, Free | Spherical):
                end = start + body.joint.nq
                q[end - 4 : end] = rng.choice([-0.5, 0.5], 4)
            else:
                q[start] = rng.uniform(-self.angles, self.angles)
        return q, v if self.moving else np.zeros(model.nv), rng.normal(size=model.nv)


def tree(
    parents: Sequence[int],
    joints: Sequence[Joint] = HINGES,
    first: Joint | None = None,
    origin: float = 0.0,
    inertia: Sequence[float] = INERTIA,
) -> Model:
    """Links on these joints in turn, each at the end of body number ``parents[k]``, beside the others there."""
    builder, carried = Builder("exact"), [0] * (len(parents) + 1)
    for k, parent in enumerate(parents):
        at = (LENGTH, LENGTH / 4 * carried[parent], 0.0) if parent else (origin, 0.0, 0.0)
        carried[parent] += 1
        joint = first if first and not k else joints[k % len(joints)]
        on = f"body{parent}" if parent else "world"
        centre = (LENGTH / 2, 0.0, 0.0)
        builder.add_body(f"body{k + 1}", on, joint, placement(at), mass=1.0, com=centre, inertia=inertia)
    return builder.build()


def halves(levels: int) -> list[int]:
    """The parents in a binary tree, depth first, as MuJoCo numbers bodies."""
    parents = [0]
    ahead = [(1, levels - 1)] * 2
    while ahead:
        parent, below = ahead.pop()
        parents.append(parent)
        ahead += [(len(parents), below - 1)] * 2 if below > 1 else []
    return parents


def chain(links: int, **more: Any) -> Model:
    return tree(range(links), **more)


LINKS = 100
CASES = {
    "folded": Case(f"{LINKS} hinges, any angles", lambda: chain(LINKS)),
    "straight": Case(f"{LINKS} hinges, ±0.3 rad", lambda: chain(LINKS), 0.3),
    "at_rest": Case(f"{LINKS} hinges, ±0.3 rad, at rest", lambda: chain(LINKS), 0.3, moving=False),
    "long": Case("1,000 hinges, ±0.3 rad", lambda: chain(1000), 0.3),
    "balls": Case("30 spherical joints", lambda: chain(30, joints=[Spherical()])),
    "tree": Case("binary tree of 63 links", lambda: tree(halves(6))),
    "star": Case("24 links on one link", lambda: tree([0, *[1] * 24])),
    "alternating": Case(f"{LINKS} hinges, every second link light", lambda: _light(range(1, LINKS, 2))),
    "first": Case(f"{LINKS} hinges, a light first link", lambda: _light([0])),
    "tip": Case(f"{LINKS} hinges, a heavy last link", lambda: _light(range(LINKS - 1))),
    "floating": Case(f"{LINKS} hinges on a light floating base", lambda: _light([0], first=Free())),
    "slender": Case(f"{LINKS} slender links", lambda: chain(LINKS, inertia=(INERTIA[1] / SLENDER**2, *INERTIA[1:]))),
    "far": Case(f"{LINKS} hinges, base {FAR / 1000:,.0f} km from the origin", lambda: chain(LINKS, origin=FAR)),
}


def _light(bodies: Any, **more: Any) -> Model:
    return lighter(chain(LINKS, **more), {*bodies}, RATIO)
