"""The base class of joints: everything that the algorithms need of one.

To write a joint of your own, subclass ``Joint`` as a frozen dataclass and define the two sizes and four methods below;
``bias`` is needed only if the motion subspace varies with q, and ``integrate``/``difference`` only if the
configuration is not a plain vector. Use the scalars' arithmetic and the functions of ``linkwork.spatial``, not ``math``
or ``numpy``: then the joint works in batches, at 50 digits and in compiled code. There, joints are created again from
their fields, so running ``__post_init__`` a second time should change nothing.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from linkwork.arguments import several
from linkwork.errors import ModelError, shown
from linkwork.spatial import (
    AnyAxis,
    Axis,
    Columns,
    CoordinateAxis,
    Coordinates,
    Motion,
    Numbers,
    Scalar,
    Selection,
    Subspace,
    Transform,
    Vec3,
)

if TYPE_CHECKING:
    import numpy as np


class Joint(ABC):
    """A connection of a child body to its parent, with ``nq`` coordinates and ``nv`` degrees of freedom."""

    nq: ClassVar[int]
    nv: ClassVar[int]
    angles: ClassVar[tuple[int, ...]] = ()
    """Which coordinates are angles (rad), which may exceed a full turn."""

    @property
    def most_held(self) -> int:
        """The largest number of wrenches that it transmits."""
        return 6 - self.nv

    @abstractmethod
    def transform(self, q: Coordinates) -> Transform:
        """The placement of the child's frame in the joint's frame on the parent."""

    @abstractmethod
    def subspace(self, q: Coordinates) -> Subspace:
        """The motion subspace, in the child's frame: one column for each component of v."""

    def bias(self, q: Coordinates, v: Coordinates) -> Motion:
        """Ṡ v: the part of the child's relative acceleration due to a subspace that varies with q."""
        return Motion.zero()

    def neutral(self) -> list[float]:
        """The neutral configuration."""
        return [0.0] * self.nq

    def random(self, rng: np.random.Generator) -> list[float]:
        """A random configuration: angles over a full turn, lengths from -1 to 1 m."""
        widths = [3.14159 if k in self.angles else 1.0 for k in range(self.nq)]
        return [float(rng.uniform(-width, width)) for width in widths]

    def integrate(self, q: Coordinates, dv: Coordinates) -> list[Scalar]:
        """The configuration reached from q at the constant velocity dv in unit time."""
        return [a + b for a, b in zip(q, dv, strict=True)]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """The constant velocity that leads from q0 to q1 in unit time: the inverse of ``integrate``."""
        return [b - a for a, b in zip(q0, q1, strict=True)]

    # For engines and printing, the same for every joint.

    def numbers(self) -> list[Scalar]:
        """The joint's numeric parameters, in the order of its fields."""
        return [number for _, value in self._fields() for number in _numbers(value)]

    def of(self, numbers: Sequence[Scalar]) -> Joint:
        """The same joint with other numeric parameters."""
        rest, changes = list(numbers), {}
        for name, value in self._fields():
            count = len(_numbers(value))
            if isinstance(value, float):
                changes[name] = rest[0]
            elif count:
                changes[name] = value.of(rest[:count])
            rest = rest[count:]
        return dataclasses.replace(self, **changes) if changes else self  # type: ignore[type-var]

    def kind(self) -> tuple[Any, ...]:
        """Equal for two joints whose code differs in numbers only."""
        return (type(self), *(_shape(value) for _, value in self._fields()))

    def describe(self) -> str:
        """A word for tables."""
        axis = getattr(self, "axis", None)
        return type(self).__name__.lower() + (f" {describe_axis(axis)}" if axis is not None else "")

    def _fields(self) -> list[tuple[str, Any]]:
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        return [(field.name, getattr(self, field.name)) for field in fields]


def _numbers(value: Any) -> list[Scalar]:
    if isinstance(value, float):
        return [value]
    return value.numbers() if isinstance(value, Numbers) else []


def _shape(value: Any) -> Any:
    if isinstance(value, float):
        return float
    count = len(_numbers(value))
    return (type(value), count) if count else value


def as_axis(axis: str | Axis | Vec3 | Sequence[float]) -> Axis:
    """A normalised axis from "x", "y", "z", three numbers or an axis; a coordinate axis if it equals one exactly."""
    if isinstance(axis, CoordinateAxis | AnyAxis):
        return axis
    if isinstance(axis, str):
        if axis not in _AXES:
            raise ModelError(f"axis must be 'x', 'y', 'z', their opposites ('-x') or three numbers, not {shown(axis)}")
        return _AXES[axis]
    x, y, z = several("axis", axis.numbers() if isinstance(axis, Vec3) else axis, 3, ModelError)
    length = (x * x + y * y + z * z) ** 0.5 if max(map(abs, (x, y, z))) < 1e12 else math.inf
    if not 1e-12 < length < 1e12:
        raise ModelError(f"axis must be three finite numbers that are not all zero, not {(x, y, z)}")
    unit = (x / length, y / length, z / length)
    return _BY_DIRECTION.get(unit) or AnyAxis(Vec3(*unit))


def kept_axis(axis: Any) -> Any:
    """An axis as given, checked; three numbers, which may be those of a mutable array, as a tuple."""
    as_axis(axis)
    named = isinstance(axis, str | CoordinateAxis | AnyAxis | Vec3)
    return axis if named else tuple(several("axis", axis, 3, ModelError))


_AXES = {name: CoordinateAxis(name) for name in ("x", "y", "z", "-x", "-y", "-z")}
_BY_DIRECTION = {tuple(axis.direction.numbers()): axis for axis in _AXES.values()}


def describe_axis(axis: Axis) -> str:
    if isinstance(axis, CoordinateAxis):
        return axis.name
    return "(" + ", ".join(f"{c:.4g}" for c in axis.direction.numbers()) + ")"


def turning(axis: Axis) -> Subspace:
    """The subspace of rotation about an axis."""
    if isinstance(axis, CoordinateAxis):
        return Selection(3 + axis.index, signs=(axis.sign,))
    return Columns([Motion(Vec3.zero(), axis.direction)])


def sliding(axis: Axis) -> Subspace:
    """The subspace of translation along an axis."""
    if isinstance(axis, CoordinateAxis):
        return Selection(axis.index, signs=(axis.sign,))
    return Columns([Motion(axis.direction, Vec3.zero())])


def is_built_in(joint: Joint) -> bool:
    """Whether a joint is one of linkwork's, whose code is known and depends on its fields alone."""
    return type(joint).__module__.startswith("linkwork.")
