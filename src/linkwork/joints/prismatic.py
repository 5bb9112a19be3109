"""The prismatic joint: a slide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.joints.joint import Joint, as_axis, sliding
from linkwork.spatial import Coordinates, Mat3, Subspace, Transform, Z


@dataclass(frozen=True)
class Prismatic(Joint):
    """Translation by q[0] (m) along an axis: "x", "y", "z" or any three numbers."""

    axis: Any = Z
    nq, nv = 1, 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    def transform(self, q: Coordinates) -> Transform:
        return Transform(Mat3.identity(), self.axis.direction * q[0])

    def subspace(self, q: Coordinates) -> Subspace:
        return sliding(self.axis)
