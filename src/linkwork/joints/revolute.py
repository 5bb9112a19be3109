"""The revolute joint: a hinge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.joints.joint import Joint, as_axis, turning
from linkwork.spatial import Coordinates, Subspace, Transform, Vec3, Z, sin_cos


@dataclass(frozen=True)
class Revolute(Joint):
    """Rotation by q[0] (rad) about an axis: "x", "y", "z" or any three numbers."""

    axis: Any = Z
    nq, nv, angles = 1, 1, (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    def transform(self, q: Coordinates) -> Transform:
        return Transform(self.axis.rotation(*sin_cos(q[0])), Vec3.zero())

    def subspace(self, q: Coordinates) -> Subspace:
        return turning(self.axis)
