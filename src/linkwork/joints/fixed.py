"""The fixed joint: a weld."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.joints.joint import Joint
from linkwork.spatial import Coordinates, Selection, Subspace, Transform


@dataclass(frozen=True)
class Fixed(Joint):
    """No motion; the wrench that it transmits can still be computed."""

    nq, nv = 0, 0

    def transform(self, q: Coordinates) -> Transform:
        return Transform.identity()

    def subspace(self, q: Coordinates) -> Subspace:
        return Selection()
