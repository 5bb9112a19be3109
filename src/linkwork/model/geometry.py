"""The geometry of a model file: visual and collision shapes of bodies. The dynamics do not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkwork.spatial import Transform


@dataclass(frozen=True)
class Geometry:
    """A shape on a body.

    Attributes:
        body: the body's number from 1; 0 is the world.
        placement: of the shape in the body's frame.
        kind: "box" (edges), "sphere" (radius), "cylinder" (radius, length; along z), "capsule" (radius, length between
            its centres; along z), "ellipsoid" (radii) or "mesh" (factors along x, y and z); all in m but the last.
        size: the numbers listed above for the kind.
        visual: whether it is visual geometry.
        collision: whether it is collision geometry.
        colour: red, green, blue and opacity from 0 to 1; None if the file gives none.
        mesh: for a mesh, the reference to its file as the model file gives it; the file is opened when it is shown.
        folder: for a mesh, the folder that the reference is relative to: that of the model file, or the root of MJCF.
    """

    body: int
    placement: Transform
    kind: str
    size: tuple[float, ...]
    visual: bool = True
    collision: bool = False
    colour: tuple[float, float, float, float] | None = None
    mesh: str = ""
    folder: str = ""


def carried(geometry: Sequence[Geometry], carriers: Sequence[tuple[int, Transform]]) -> tuple[Geometry, ...]:
    """The same on other bodies: for each old one, the world first, the new one's number and the placement on it."""
    return tuple(
        replace(shape, body=carriers[shape.body][0], placement=carriers[shape.body][1] * shape.placement)
        for shape in geometry
    )
