"""The helical joint: a screw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.arguments import finite
from linkwork.errors import ModelError
from linkwork.joints.joint import Joint, as_axis
from linkwork.spatial import Columns, Coordinates, Motion, Subspace, Transform, Z, sin_cos


@dataclass(frozen=True)
class Helical(Joint):
    """Rotation by q[0] (rad) about an axis, with a translation of ``pitch`` (m/rad) along it."""

    axis: Any = Z
    pitch: float = 0.1
    nq, nv, angles = 1, 1, (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))
        if not type(self.pitch).__module__.startswith(("linkwork.engine", "mpmath")):  # traced, or of 50 digits
            object.__setattr__(self, "pitch", finite("pitch", self.pitch, ModelError))

    def transform(self, q: Coordinates) -> Transform:
        return Transform(self.axis.rotation(*sin_cos(q[0])), self.axis.direction * (self.pitch * q[0]))

    def subspace(self, q: Coordinates) -> Subspace:
        return Columns([Motion(self.axis.direction * self.pitch, self.axis.direction)])
