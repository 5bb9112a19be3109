"""Contact descriptions: shapes on frames, planes and height fields, with their softness and friction.

``dynamics.contact`` computes with them. The contact law is MuJoCo's soft convex one: a contact of depth r
has the reference acceleration of a damped spring, -b v - k d(r) r, enforced with the impedance
d(r); ``time_constant`` and ``damping_ratio`` give k and b (MuJoCo's ``solref``), five numbers give d(r)
(``solimp``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite, finite_array, is_integer, not_negative, positive, real, several
from linkwork.errors import ArgumentError, ModelError, shown
from linkwork.joints.joint import as_axis
from linkwork.model.placements import HERE, Placed, as_placement

WORLD = "world"


class _Lengths:
    """A shape of positive lengths."""

    def __post_init__(self) -> None:
        for length in fields(self):  # type: ignore[arg-type]  # a dataclass, like those that follow
            what = f"the {length.name} of a {type(self).__name__.lower()}"
            object.__setattr__(self, length.name, positive(what, getattr(self, length.name), "metres"))


@dataclass(frozen=True)
class Sphere(_Lengths):
    """A ball of a ``radius`` (m) about the origin of its frame."""

    radius: float


@dataclass(frozen=True)
class Capsule(_Lengths):
    """A cylinder along z with hemispherical ends: its ``radius`` and ``half_length``, that of the cylinder (m)."""

    radius: float
    half_length: float


@dataclass(frozen=True)
class Cylinder(_Lengths):
    """A cylinder along z: its ``radius`` and ``half_length`` (m)."""

    radius: float
    half_length: float


@dataclass(frozen=True)
class Box:
    """A box with faces normal to x, y and z: its ``half_sides`` (m)."""

    half_sides: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_sides", _three("the half_sides of a box", self.half_sides))


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid with axes along x, y and z: ``half_axes``, its semi-axes (m)."""

    half_axes: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_axes", _three("the half_axes of an ellipsoid", self.half_axes))


@dataclass(frozen=True)
class Plane:
    """A half-space below a plane: its ``normal``, "x", "y", "z" or three numbers, points out of the ground.

    ``height`` (m) is the offset of the plane along the normal from the origin of its frame.
    """

    normal: str | Sequence[float] = "z"
    height: float = 0.0

    def __post_init__(self) -> None:
        try:
            direction = tuple(float(x) for x in as_axis(self.normal).direction.numbers())
        except ModelError as error:
            raise ArgumentError(f"the normal of a plane: {error}") from None
        object.__setattr__(self, "normal", direction)
        object.__setattr__(self, "height", finite("the height of a plane", self.height))


@dataclass(frozen=True, eq=False)
class HeightField:
    """Ground of varying height, bilinear between heights on a regular grid.

    Args:
        heights: (rows along y, columns along x), m, at least 2 by 2.
        half_size: half the extent along x and along y (m), about the origin of its frame. Beyond its edge the ground
            continues at the height of the edge.

    A shape touches it in one point for each of its own (two for a capsule), along the normal there: a shape that is
    wider than the ground's bumps sinks into them.
    """

    heights: ArrayLike
    half_size: tuple[float, float]

    def __post_init__(self) -> None:
        heights = finite_array("the heights of a height field", self.heights)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ArgumentError(f"heights must be (rows, columns), at least 2 by 2, but have shape {heights.shape}")
        copy = heights.copy()
        copy.flags.writeable = False
        object.__setattr__(self, "heights", copy)
        x, y = several("half_size of a height field", self.half_size, 2)
        object.__setattr__(self, "half_size", (positive("half_size", x), positive("half_size", y)))

    def _key(self) -> tuple[Any, ...]:
        numbers = np.asarray(self.heights)
        return numbers.shape, numbers.tobytes(), self.half_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeightField) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shape, numbers, _ = self._key()
        return f"HeightField({shape[0]} x {shape[1]}, {self.half_size}, {sha256(numbers).hexdigest()[:16]})"


Shape = Sphere | Capsule | Cylinder | Box | Ellipsoid
Ground = Plane | HeightField
_PAIRS = (Sphere | Capsule, Box, Box | Sphere)
"""Shapes that may touch each other."""


@dataclass(frozen=True)
class Softness:
    """The softness of a contact, a limit, joint friction or a constraint: MuJoCo's ``solref`` and ``solimp``.

    Attributes:
        time_constant, damping_ratio: of the spring (s, and 1 for critical damping); two negative numbers are minus its
            stiffness and its damping instead.
        impedance: d at the surface and at full depth, the depth (m or rad) over which it changes from one to the other,
            and the midpoint and power of that change.
    """

    time_constant: float = 0.02
    damping_ratio: float = 1.0
    impedance: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)

    def __post_init__(self) -> None:
        time, ratio = finite("time_constant", self.time_constant), finite("damping_ratio", self.damping_ratio)
        if (time > 0.0) != (ratio > 0.0):
            raise ArgumentError(
                f"time_constant {time:g} and damping_ratio {ratio:g} must both be positive, or both negative, which "
                f"makes them minus a stiffness and minus a damping"
            )
        first, last, width, middle, power = several("impedance", self.impedance, 5)
        limited = (_within(first, 1e-4, 0.9999), _within(last, 1e-4, 0.9999), max(width, 0.0))
        object.__setattr__(self, "impedance", (*limited, _within(middle, 1e-4, 0.9999), max(power, 1.0)))


@dataclass(frozen=True)
class Contact:
    """A shape on a frame that may touch the ground, or another shape. It pushes, never pulls, and sticks or slides.

    Args:
        frame: the frame that carries the shape, a name in ``model.frame_names``.
        shape: ``lw.Sphere``, ``lw.Capsule``, ``lw.Cylinder``, ``lw.Box`` or ``lw.Ellipsoid``; None for a point, the
            frame's origin.
        against: the other side: ``lw.Plane`` (the floor, z = 0, if left out) or ``lw.HeightField``; or another shape:
            spheres and capsules touch each other, boxes touch boxes and spheres.
        on: the frame that carries the other side; the world if left out.
        friction: the coefficient of friction, the tangent of the friction cone's angle.
        dimensions: 3, 1 for a contact without friction, 4 to add torsional friction, or 6 to add torsional and rolling
            friction (MuJoCo's ``condim``).
        torsional_friction: with 4 or 6 dimensions, the friction moment about the normal over the normal force (m).
        rolling_friction: with 6, the friction moment about the tangents over the normal force (m).
        placement: of the shape in its frame, from ``lw.placement`` or a 4×4 matrix. on_placement: of the other side,
            in its frame.
        softness: the softness of the contact. margin: the distance (m) at which it begins to act.
        name: to distinguish contacts.

    Example:
        >>> import linkwork as lw
        >>> lw.Contact("foot", lw.Sphere(0.02), friction=0.7).against
        Plane(normal=(0.0, 0.0, 1.0), height=0.0)
    """

    frame: str
    shape: Shape | None = None
    against: Ground | Shape = field(default_factory=Plane)
    on: str = WORLD
    friction: float = 1.0
    dimensions: int = 3
    torsional_friction: float = 0.005
    rolling_friction: float = 0.0001
    placement: Placed = field(default_factory=HERE)
    on_placement: Placed = field(default_factory=HERE)
    softness: Softness = field(default_factory=Softness)
    margin: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for what, value in (("frame", self.frame), ("on", self.on), ("name", self.name)):
            if not isinstance(value, str):
                raise ArgumentError(f"{what} of a contact must be a name, not {shown(value)}")
        called = f"the contact of {self.frame!r}"
        self._check_shapes(called)
        if self.frame == self.on:
            raise ArgumentError(f"{called} is with itself; on must be another frame")
        object.__setattr__(self, "friction", not_negative(f"friction of {called}", self.friction))
        if not is_integer(self.dimensions) or self.dimensions not in (1, 3, 4, 6):
            raise ArgumentError(
                f"dimensions of {called} must be 1 (without friction), 3, 4 (with friction against spinning) or 6 (and "
                f"against rolling), not {shown(self.dimensions)}"
            )
        for what in ("torsional_friction", "rolling_friction"):
            object.__setattr__(self, what, positive(f"{what} of {called}", getattr(self, what), "metres"))
        object.__setattr__(self, "margin", finite(f"margin of {called}", self.margin))
        for what in ("placement", "on_placement"):
            try:
                object.__setattr__(self, what, as_placement(called, getattr(self, what)))
            except ModelError as error:
                raise ArgumentError(str(error).replace("placement", what, 1)) from None
        if not isinstance(self.softness, Softness):
            raise ArgumentError(f"softness of {called} must be lw.Softness, not {shown(self.softness)}")

    def _check_shapes(self, called: str) -> None:
        """Both are shapes that can touch each other."""
        if self.shape is not None and not isinstance(self.shape, Shape):
            raise ArgumentError(
                f"shape of {called} must be lw.Sphere, lw.Capsule, lw.Cylinder, lw.Box, lw.Ellipsoid, or None for a "
                f"point, not {shown(self.shape)}"
            )
        if isinstance(self.against, Shape):
            if not any(isinstance(self.shape, kinds) and isinstance(self.against, kinds) for kinds in _PAIRS):
                raise ArgumentError(
                    f"{called}: spheres and capsules may touch each other, and boxes may touch boxes and spheres; "
                    f"{_kind(self.shape)} and {_kind(self.against)} may not. Cylinders, ellipsoids and points touch "
                    f"the ground alone"
                )
        elif not isinstance(self.against, Ground):
            raise ArgumentError(
                f"{called} must be against lw.Plane, lw.HeightField, lw.Sphere, lw.Capsule or lw.Box, not "
                f"{shown(self.against)}"
            )
        if isinstance(self.against, HeightField) and isinstance(self.shape, Cylinder | Box | Ellipsoid):
            raise ArgumentError(
                f"{called}: points, spheres and capsules touch a height field; {_kind(self.shape)} does not"
            )

    @property
    def points(self) -> int:
        """The number of candidate contact points: of the twelve of two boxes, at most eight act at once."""
        if isinstance(self.against, Ground):
            return 4 if isinstance(self.shape, Box | Cylinder) else 2 if isinstance(self.shape, Capsule) else 1
        return 12 if isinstance(self.shape, Box) and isinstance(self.against, Box) else 1

    @property
    def friction_rows(self) -> int:
        """The number of friction directions: none, two tangents, three with the rotation about the normal, or five with
        those about the tangents.
        """
        return self.dimensions - 1 if self.friction > 0.0 else 0

    @property
    def coefficients(self) -> list[float]:
        """The coefficients of sliding, torsional and rolling friction, as far as they act."""
        return [self.friction, self.torsional_friction, self.rolling_friction][: max(1, (self.friction_rows + 1) // 2)]


def _three(what: str, values: Any) -> tuple[float, float, float]:
    if not math.isnan(real(values)):
        raise ArgumentError(f"{what} must be three lengths (m), along x, y and z, not one: {shown(values)}")
    x, y, z = (positive(what, x, "metres") for x in several(what, values, 3))
    return x, y, z


def _within(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _kind(shape: object) -> str:
    return "a point" if shape is None else f"a {type(shape).__name__.lower()}"
