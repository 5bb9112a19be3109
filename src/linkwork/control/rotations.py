"""Rotations in exponential coordinates: where they are, how fast they turn, and how that changes.

With R = exp([c]×) R₀ the angular velocity in world axes is ω = V(c) ċ, V = 1 + A [c]× + B [c]×², and

    ω̇ = V c̈ + A' (c·ċ) c×ċ + B' (c·ċ) c×(c×ċ) + B ċ×(c×ċ)

A = (1 - cos θ)/θ², B = (θ - sin θ)/θ³, A' and B' their derivatives by θ over θ, θ = |c|. All four are power series
in θ² that converge fast for every angle that occurs, so there is no case to tell apart at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.spatial import Quaternion, Vec3, quaternion_exp, quaternion_log, screw_matrix_inverse

_TERMS = range(18)
_A = tuple((-1.0) ** k / factorial(2 * k + 2) for k in _TERMS)
_B = tuple((-1.0) ** k / factorial(2 * k + 3) for k in _TERMS)
_A_RATE = tuple(-((-1.0) ** k) * (2 * k + 2) / factorial(2 * k + 4) for k in _TERMS)
_B_RATE = tuple(-((-1.0) ** k) * (2 * k + 2) / factorial(2 * k + 5) for k in _TERMS)


def exp(turn: Vec3) -> Array:
    """The rotation (3, 3) of a rotation vector (rad)."""
    return np.array(quaternion_exp(turn).matrix().numbers()).reshape(3, 3)


def log(rotation: Array) -> Vec3:
    """The rotation vector (rad), no longer than pi, of a rotation (3, 3)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    # The row of 4 q qᵀ with the largest diagonal: a multiple of the quaternion that is never small.
    w, x, y, z = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    largest = max(w, x, y, z)
    if largest == w:
        rough = Quaternion(zy - yz, xz - zx, yx - xy, w)
    elif largest == x:
        rough = Quaternion(x, xy + yx, xz + zx, zy - yz)
    elif largest == y:
        rough = Quaternion(xy + yx, y, yz + zy, xz - zx)
    else:
        rough = Quaternion(xz + zx, yz + zy, z, yx - xy)
    return quaternion_log(rough.normalized())


def angular_motion(c: Vec3, rate: Vec3, second: Vec3) -> tuple[Vec3, Vec3]:
    """ω and ω̇ in world axes (rad/s, rad/s²) from exponential coordinates and their two derivatives."""
    square, along = c.dot(c), c.dot(rate)
    a, b = _series(_A, square), _series(_B, square)
    once = c.cross(rate)
    twice = c.cross(once)
    once_more = c.cross(second)
    omega = rate + once * a + twice * b
    changed = once * (along * _series(_A_RATE, square)) + twice * (along * _series(_B_RATE, square))
    return omega, second + once_more * a + c.cross(once_more) * b + changed + rate.cross(once) * b


def coordinate_rate(c: Vec3, omega: Vec3) -> Vec3:
    """ċ from ω: the inverse of ``angular_motion``'s first result, for |c| below 2 pi."""
    return screw_matrix_inverse(c).apply(omega)


def _series(coefficients: Sequence[float], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value
