"""The spherical joint: a ball in a socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.joints.joint import Joint
from linkwork.spatial import (
    Coordinates,
    Quaternion,
    Scalar,
    Selection,
    Subspace,
    Transform,
    Vec3,
    quaternion_exp,
    quaternion_log,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Spherical(Joint):
    """Any rotation: q is a quaternion (x, y, z, w), v the angular velocity in the child's frame (rad/s)."""

    nq, nv = 4, 3

    def transform(self, q: Coordinates) -> Transform:
        return Transform(Quaternion(*q).matrix(), Vec3.zero())

    def subspace(self, q: Coordinates) -> Subspace:
        return Selection(3, 4, 5)

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 1.0]

    def random(self, rng: np.random.Generator) -> list[float]:
        return Quaternion(*(float(c) for c in rng.normal(size=4))).normalized().numbers()

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Scalar]:
        return (Quaternion(*q) * quaternion_exp(Vec3(*dv))).normalized().numbers()

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        return quaternion_log(Quaternion(*q0).conjugate() * Quaternion(*q1)).numbers()
