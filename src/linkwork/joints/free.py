"""The free joint: no connection, a floating body."""

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
    screw_matrix,
    screw_matrix_inverse,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Free(Joint):
    """All six motions: q is the position (m) and a quaternion (x, y, z, w), v the twist in the child's own frame."""

    nq, nv = 7, 6

    def transform(self, q: Coordinates) -> Transform:
        return Transform(Quaternion(*q[3:]).matrix(), Vec3(*q[:3]))

    def subspace(self, q: Coordinates) -> Subspace:
        return Selection(0, 1, 2, 3, 4, 5)

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

    def random(self, rng: np.random.Generator) -> list[float]:
        turn = Quaternion(*(float(c) for c in rng.normal(size=4))).normalized()
        return [*(float(rng.uniform(-1.0, 1.0)) for _ in range(3)), *turn.numbers()]

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Scalar]:
        here, turn = Quaternion(*q[3:]), Vec3(*dv[3:])
        position = Vec3(*q[:3]) + here.matrix().apply(screw_matrix(turn).apply(Vec3(*dv[:3])))
        return [*position.numbers(), *(here * quaternion_exp(turn)).normalized().numbers()]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        here = Quaternion(*q0[3:])
        turn = quaternion_log(here.conjugate() * Quaternion(*q1[3:]))
        offset = here.matrix().apply_transpose(Vec3(*q1[:3]) - Vec3(*q0[:3]))
        return [*screw_matrix_inverse(turn).apply(offset).numbers(), *turn.numbers()]
