"""Rotations: about axes, by quaternions (x, y, z, w), and the exact maps between them and rotation vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from linkwork.spatial.functions import Scalar, atan2, sin_cos, sqrt, where_less
from linkwork.spatial.vectors import Listed, Mat3, Numbers, Vec3

LONGEST = 1e150
"""The largest length of a quaternion, or of a sine and cosine pair: squares of larger ones overflow."""


def safe_square(square: Scalar) -> Scalar:
    """The square of a length; nan where it has overflowed, or is about to."""
    return where_less(square, LONGEST * LONGEST, square, math.nan)


class Axis(Protocol):
    """The axis of a joint, for rotation or translation."""

    @property
    def direction(self) -> Vec3: ...
    def rotation(self, sine: Scalar, cosine: Scalar) -> Mat3: ...


class CoordinateAxis(Numbers):
    """The x, y or z axis, or its opposite ("-x"); rotations about it have exact zeros and ones."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def numbers(self) -> list[Scalar]:
        return []

    def of(self, numbers: Sequence[Scalar]) -> CoordinateAxis:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoordinateAxis) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def index(self) -> int:
        """0, 1 or 2 for x, y or z."""
        return "xyz".index(self.name[-1])

    @property
    def sign(self) -> Scalar:
        return -1.0 if self.name[0] == "-" else 1.0

    @property
    def direction(self) -> Vec3:
        return Vec3(*(self.sign if k == self.index else 0.0 for k in range(3)))

    def rotation(self, sine: Scalar, cosine: Scalar) -> Mat3:
        s, c = sine * self.sign, cosine
        if self.index == 0:
            return Mat3(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
        if self.index == 1:
            return Mat3(c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)
        return Mat3(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


class AnyAxis(Numbers):
    """Any unit vector as an axis."""

    __slots__ = ("direction",)

    def __init__(self, direction: Vec3) -> None:
        self.direction = direction

    def numbers(self) -> list[Scalar]:
        return self.direction.numbers()

    def of(self, numbers: Sequence[Scalar]) -> AnyAxis:
        return AnyAxis(Vec3(*numbers))

    def rotation(self, sine: Scalar, cosine: Scalar) -> Mat3:
        """Rodrigues: c 1 + s [a]x + (1 - c) a aᵀ."""
        a, c = self.direction, cosine
        return Mat3(c, 0.0, 0.0, 0.0, c, 0.0, 0.0, 0.0, c) + (a * sine).cross_matrix() + (a * (1.0 - c)).outer(a)


X, Y, Z = CoordinateAxis("x"), CoordinateAxis("y"), CoordinateAxis("z")
"""The coordinate axes."""


class Quaternion(Listed):
    """x i + y j + z k + w. A quaternion of any length above zero and below ``LONGEST`` stands for its rotation."""

    __slots__ = ("x", "y", "z", "w")

    def __init__(self, x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> None:
        self.x, self.y, self.z, self.w = x, y, z, w

    def __mul__(self, o: Quaternion) -> Quaternion:
        return Quaternion(
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
        )

    def conjugate(self) -> Quaternion:
        return Quaternion(-self.x, -self.y, -self.z, self.w)

    def square(self) -> Scalar:
        return self.x * self.x + self.y * self.y + self.z * self.z + self.w * self.w

    def normalized(self) -> Quaternion:
        length = sqrt(safe_square(self.square()))
        return Quaternion(self.x / length, self.y / length, self.z / length, self.w / length)

    def matrix(self) -> Mat3:
        two = 2.0 / safe_square(self.square())
        x, y, z = self.x * two, self.y * two, self.z * two
        xx, yy, zz = self.x * x, self.y * y, self.z * z
        xy, xz, yz = self.x * y, self.x * z, self.y * z
        wx, wy, wz = self.w * x, self.w * y, self.w * z
        return Mat3(
            1.0 - (yy + zz), xy - wz, xz + wy,
            xy + wz, 1.0 - (xx + zz), yz - wx,
            xz - wy, yz + wx, 1.0 - (xx + yy),
        )  # fmt: skip


def quaternion_exp(turn: Vec3) -> Quaternion:
    """The unit quaternion of a rotation vector (rad)."""
    square = turn.dot(turn) * 0.25  # of half the angle
    near, safe = _near_zero(square)
    half = sqrt(safe)
    s, c = sin_cos(half)
    v = turn * (0.5 * near(_SINC, s / half))
    return Quaternion(v.x, v.y, v.z, near(_COSINE, c))


def quaternion_log(q: Quaternion) -> Vec3:
    """The rotation vector, of length at most pi, of a quaternion."""
    w = where_less(q.w, 0.0, -q.w, q.w)
    v = Vec3(*(where_less(q.w, 0.0, -c, c) for c in (q.x, q.y, q.z)))
    square = where_less(w, LONGEST, safe_square(v.dot(v)), math.nan)
    tangent = square / where_less(w, 1e-3, 1.0, w * w)  # tan² of half the angle; used where that is small
    small = where_less(w, 1e-3, 1.0, tangent)
    near, _ = _near_zero(small)
    sine = sqrt(where_less(small, _small(small), 1.0, square))
    straight = near(_ATANC, 0.0) * 2.0 / where_less(w, 1e-3, 1.0, w)
    return v * where_less(small, _small(small), straight, 2.0 * atan2(sine, w) / sine)


def quaternion_of(rotation: Mat3) -> Quaternion:
    """A quaternion of a rotation, not normalised, with w not negative: the row of 4 q qᵀ with the largest diagonal,
    whose length is never small.
    """
    r = rotation
    w, x, y, z = 1.0 + r.xx + r.yy + r.zz, r.zy - r.yz, r.xz - r.zx, r.yx - r.xy
    largest, row = w, [w, x, y, z]
    for diagonal, *other in (
        (1.0 + r.xx - r.yy - r.zz, x, 1.0 + r.xx - r.yy - r.zz, r.xy + r.yx, r.xz + r.zx),
        (1.0 - r.xx + r.yy - r.zz, y, r.xy + r.yx, 1.0 - r.xx + r.yy - r.zz, r.yz + r.zy),
        (1.0 - r.xx - r.yy + r.zz, z, r.xz + r.zx, r.yz + r.zy, 1.0 - r.xx - r.yy + r.zz),
    ):
        row = [where_less(largest, diagonal, new, old) for new, old in zip(other, row, strict=True)]
        largest = where_less(largest, diagonal, diagonal, largest)
    w, x, y, z = (where_less(row[0], 0.0, -number, number) for number in row)
    return Quaternion(x, y, z, w)


def screw_matrix(turn: Vec3) -> Mat3:
    """V(turn) = ∫₀¹ exp(s [turn]x) ds: a body that rotates by ``turn`` while it translates by u in its own axes is
    displaced by V u.
    """
    square = turn.dot(turn)
    near, safe = _near_zero(square)
    angle = sqrt(safe)
    s, _ = sin_cos(0.5 * angle)
    s_full, _ = sin_cos(angle)
    a = near(_COSC, 2.0 * s * s / safe)  # (1 - cos)/angle²
    b = near(_SINCC, (angle - s_full) / (safe * angle))  # (angle - sin)/angle³
    return _polynomial_in_cross(turn, square, a, b)


def screw_matrix_inverse(turn: Vec3) -> Mat3:
    """V(turn)⁻¹, for a rotation by less than 2 pi."""
    square = turn.dot(turn)
    near, safe = _near_zero(square)
    half = 0.5 * sqrt(safe)
    s, c = sin_cos(half)
    b = near(_COTC, (1.0 - half * c / s) / safe)  # (1 - (angle/2) cot(angle/2))/angle²
    return _polynomial_in_cross(turn, square, -0.5, b)


# Power series, lowest power first, in the square of an angle; each is used below 0.01, where the closed forms cancel or
# divide by zero, and is truncated where its remainder is below rounding there.
_SINC = (1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0)
_COSINE = (1.0, -1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0, -1.0 / 3628800.0, 1.0 / 479001600.0)
_COSC = (0.5, -1.0 / 24.0, 1.0 / 720.0, -1.0 / 40320.0, 1.0 / 3628800.0, -1.0 / 479001600.0)
_SINCC = (1.0 / 6.0, -1.0 / 120.0, 1.0 / 5040.0, -1.0 / 362880.0, 1.0 / 39916800.0)
_COTC = (1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0, 1.0 / 1209600.0, 1.0 / 47900160.0, 691.0 / 1307674368000.0)
_ATANC = (1.0, -1.0 / 3.0, 1.0 / 5.0, -1.0 / 7.0, 1.0 / 9.0, -1.0 / 11.0, 1.0 / 13.0, -1.0 / 15.0)


def _small(square: Scalar) -> float:
    """The square below which a series is used. An mpmath number has enough digits for the closed forms; the series do
    not.
    """
    return 1e-20 if hasattr(square, "context") else 0.01


def _near_zero(square: Scalar) -> tuple[Callable[[tuple[float, ...], Scalar], Scalar], Scalar]:
    """A function that selects a series in ``square`` or a closed form, and a ``square`` that is safe to divide by."""

    def choose(series: tuple[float, ...], closed: Scalar) -> Scalar:
        value: Scalar = series[-1]
        for coefficient in reversed(series[:-1]):
            value = value * square + coefficient
        return where_less(square, _small(square), value, closed)

    return choose, where_less(square, _small(square), 1.0, square)


def _polynomial_in_cross(turn: Vec3, square: Scalar, a: Scalar, b: Scalar) -> Mat3:
    """1 + a K + b K², with K = [turn]x."""
    k2 = turn.outer(turn) - Mat3(square, 0.0, 0.0, 0.0, square, 0.0, 0.0, 0.0, square)
    one, k = Mat3.identity().numbers(), turn.cross_matrix().numbers()
    return Mat3(*(i + a * x + b * y for i, x, y in zip(one, k, k2.numbers(), strict=True)))
