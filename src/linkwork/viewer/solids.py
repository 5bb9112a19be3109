"""A body's size, from its mass and inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.model.model import Body


@dataclass(frozen=True)
class Solid:
    """The uniform box of a body's mass and inertia: its placement (4, 4) in the body's frame, and its edges (3,), m."""

    placement: Array
    edges: Array

    def ends(self) -> list[list[float]]:
        """The centres (3,) of its two far faces, moved in by half its thickness; none if it is about a cube."""
        short, middle, long = np.sort(self.edges)
        if long < 1.3 * middle:
            return []
        half = 0.5 * (long - 0.5 * (short + middle)) * self.placement[:3, int(self.edges.argmax())]
        return [(self.placement[:3, 3] + sign * half).tolist() for sign in (-1.0, 1.0)]


def solid(body: Body) -> Solid | None:
    """The box of a body; None without mass."""
    mass = float(body.inertia.mass)
    if not mass:
        return None
    centre = np.array([float(x) for x in body.inertia.moment.numbers()]) / mass
    xx, xy, xz, yy, yz, zz = (float(x) for x in body.inertia.second.numbers())
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - mass * (
        centre @ centre * np.eye(3) - np.outer(centre, centre)
    )
    moments, axes = np.linalg.eigh(about)
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = axes * np.sign(np.linalg.det(axes)), centre
    return Solid(placement, np.sqrt(np.maximum(6.0 / mass * (moments.sum() - 2.0 * moments), 0.0)))
