"""The universal joint: a Cardan joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.joints.joint import Joint, as_axis
from linkwork.spatial import Columns, Coordinates, Motion, Subspace, Transform, Vec3, X, Y, sin_cos


@dataclass(frozen=True)
class Universal(Joint):
    """Rotation by q[0] (rad) about ``axis``, fixed in the parent, then by q[1] about ``second``, fixed in the child."""

    axis: Any = X
    second: Any = Y
    nq, nv, angles = 2, 2, (0, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))
        object.__setattr__(self, "second", as_axis(self.second))

    def transform(self, q: Coordinates) -> Transform:
        first, second = self.axis.rotation(*sin_cos(q[0])), self.second.rotation(*sin_cos(q[1]))
        return Transform(first * second, Vec3.zero())

    def subspace(self, q: Coordinates) -> Subspace:
        return Columns([Motion(Vec3.zero(), self._first(q)), Motion(Vec3.zero(), self.second.direction)])

    def bias(self, q: Coordinates, v: Coordinates) -> Motion:
        return Motion(Vec3.zero(), self._first(q).cross(self.second.direction) * (v[0] * v[1]))

    def _first(self, q: Coordinates) -> Vec3:
        """The first axis, in the child's frame."""
        return self.second.rotation(*sin_cos(q[1])).apply_transpose(self.axis.direction)
