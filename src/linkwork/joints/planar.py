"""The planar joint: sliding and rotation on a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.joints.joint import Joint
from linkwork.spatial import (
    Coordinates,
    Mat3,
    Scalar,
    Selection,
    Subspace,
    Transform,
    Vec3,
    Z,
    atan2,
    safe_square,
    screw_matrix,
    screw_matrix_inverse,
    sin_cos,
    sqrt,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Planar(Joint):
    """Motion in the x-y plane: q is x, y (m), cosine and sine of the angle; v is the velocity in the child's frame,
    x, y (m/s) and angular (rad/s).
    """

    nq, nv = 4, 3

    def transform(self, q: Coordinates) -> Transform:
        return Transform(self._rotation(q), Vec3(q[0], q[1], 0.0))

    def subspace(self, q: Coordinates) -> Subspace:
        return Selection(0, 1, 5)

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 1.0, 0.0]

    def random(self, rng: np.random.Generator) -> list[float]:
        sine, cosine = sin_cos(float(rng.uniform(-3.14159, 3.14159)))
        return [float(rng.uniform(-1.0, 1.0)), float(rng.uniform(-1.0, 1.0)), cosine, sine]

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Scalar]:
        offset = self._rotation(q).apply(screw_matrix(Vec3(0.0, 0.0, dv[2])).apply(Vec3(dv[0], dv[1], 0.0)))
        turned = self._rotation(q) * Z.rotation(*sin_cos(dv[2]))
        return [q[0] + offset.x, q[1] + offset.y, turned.xx, turned.yx]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        back = self._rotation(q0).transpose()
        turned = back * self._rotation(q1)
        angle = atan2(turned.yx, turned.xx)
        offset = back.apply(Vec3(q1[0] - q0[0], q1[1] - q0[1], 0.0))
        slid = screw_matrix_inverse(Vec3(0.0, 0.0, angle)).apply(offset)
        return [slid.x, slid.y, angle]

    def _rotation(self, q: Coordinates) -> Mat3:
        length = sqrt(safe_square(q[2] * q[2] + q[3] * q[3]))
        return Z.rotation(q[3] / length, q[2] / length)
