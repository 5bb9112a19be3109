"""Motions and forces: the two kinds of spatial vector, dual to each other, [linear; angular]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, overload

from linkwork.spatial.functions import Scalar
from linkwork.spatial.vectors import Listed, Vec3


class _Spatial(Listed):
    """Six numbers as a linear and an angular vector. Only vectors of the same kind add."""

    __slots__ = ("linear", "angular")

    def __init__(self, linear: Vec3, angular: Vec3) -> None:
        self.linear, self.angular = linear, angular

    @classmethod
    def zero(cls) -> Self:
        return cls(Vec3.zero(), Vec3.zero())

    @classmethod
    def from_numbers(cls, numbers: Sequence[Scalar]) -> Self:
        return cls(Vec3(*numbers[:3]), Vec3(*numbers[3:]))

    def numbers(self) -> list[Scalar]:
        return [*self.linear.numbers(), *self.angular.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Self:
        return type(self).from_numbers(numbers)

    def _same(self, other: object) -> None:
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} and a {type(other).__name__} do not add")

    def __add__(self, other: Self) -> Self:
        self._same(other)
        return type(self)(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Self) -> Self:
        self._same(other)
        return type(self)(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self) -> Self:
        return type(self)(-self.linear, -self.angular)

    def __mul__(self, s: Scalar) -> Self:
        return type(self)(self.linear * s, self.angular * s)


class Force(_Spatial):
    """A wrench: force (N) and moment about the frame's origin (N m); or a momentum."""

    __slots__ = ()


class Motion(_Spatial):
    """A twist: velocity of the point at the frame's origin (m/s) and angular velocity (rad/s); or its derivative."""

    __slots__ = ()

    def dot(self, force: Force) -> Scalar:
        """The power of a force on this motion."""
        if type(force) is not Force:
            raise TypeError(f"a Motion pairs with a Force, not with a {type(force).__name__}")
        return self.linear.dot(force.linear) + self.angular.dot(force.angular)

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Motion | Force) -> Motion | Force:
        """The rate of change of a vector that is fixed in a frame with this motion (``v ×`` and ``v ×*``)."""
        v, w = self.linear, self.angular
        if isinstance(other, Motion):
            return Motion(w.cross(other.linear) + v.cross(other.angular), w.cross(other.angular))
        return Force(w.cross(other.linear), w.cross(other.angular) + v.cross(other.linear))
