"""The cylindrical joint: a sleeve that rotates and slides on a rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.joints.joint import Joint, as_axis, sliding, turning
from linkwork.spatial import Columns, Coordinates, Selection, Subspace, Transform, Z, sin_cos


@dataclass(frozen=True)
class Cylindrical(Joint):
    """Rotation by q[0] (rad) about an axis and translation by q[1] (m) along it."""

    axis: Any = Z
    nq, nv, angles = 2, 2, (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    def transform(self, q: Coordinates) -> Transform:
        return Transform(self.axis.rotation(*sin_cos(q[0])), self.axis.direction * q[1])

    def subspace(self, q: Coordinates) -> Subspace:
        turn, slide = turning(self.axis), sliding(self.axis)
        if isinstance(turn, Selection) and isinstance(slide, Selection):
            return Selection(*turn.directions, *slide.directions, signs=(*turn.signs, *slide.signs))
        return Columns([*turn.columns(), *slide.columns()])
