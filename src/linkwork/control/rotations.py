"""Rotations in exponential coordinates, with their angular velocity and acceleration.

With R = exp([c]×) R₀ the angular velocity in world axes is ω = V(c) ċ, V = 1 + A [c]× + B [c]×², and

    ω̇ = V c̈ + A' (c·ċ) c×ċ + B' (c·ċ) c×(c×ċ) + B ċ×(c×ċ)

A = (1 - cos θ)/θ², B = (θ - sin θ)/θ³, A' and B' their derivatives by θ over θ, θ = |c|. Vectors are triples of
scalars, floats or traced: for three numbers NumPy takes ten times as long.
"""

from __future__ import annotations

import math
from math import factorial
from typing import Any

import numpy as np

from linkwork.compiled.arrays import traced
from linkwork.dynamics.arguments import Array
from linkwork.spatial import Mat3, Scalar, atan2, quaternion_of, sin_cos, sqrt, where_less

Triple = tuple[Scalar, Scalar, Scalar]

_SMALL = 0.5
"""Below this squared angle, series; above, closed forms, which lose at most four digits to cancellation."""
_TERMS = range(9, -1, -1)  # highest power first
_A = [(-1.0) ** k / factorial(2 * k + 2) for k in _TERMS]
_B = [(-1.0) ** k / factorial(2 * k + 3) for k in _TERMS]
_A_RATE = [-((-1.0) ** k) * (2 * k + 2) / factorial(2 * k + 4) for k in _TERMS]
_B_RATE = [-((-1.0) ** k) * (2 * k + 2) / factorial(2 * k + 5) for k in _TERMS]


def exp(turn: Triple) -> Array:
    """The rotation (3, 3) of a rotation vector (rad)."""
    x, y, z = turn
    square = x * x + y * y + z * z
    a, b, _, _ = _coefficients(square)
    s, c = 1.0 - b * square, 1.0 - a * square  # sin θ/θ, cos θ
    return array_of(
        [
            [c + a * x * x, a * x * y - s * z, a * x * z + s * y],
            [a * x * y + s * z, c + a * y * y, a * y * z - s * x],
            [a * x * z - s * y, a * y * z + s * x, c + a * z * z],
        ]
    )


def log(rotation: Array) -> Triple:
    """The rotation vector (rad), no longer than pi, of a rotation (3, 3)."""
    found = quaternion_of(Mat3(*(number for row in scalars(rotation) for number in row)))
    x, y, z, w = found.x, found.y, found.z, found.w
    sine = sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, w) if isinstance(sine, float) else atan2(sine, w)
    factor = where_less(0.0, sine, 2.0 * angle / where_less(0.0, sine, sine, 1.0), 0.0)
    return factor * x, factor * y, factor * z


def scalars(array: Array) -> Any:
    """The elements of an array, floats or traced, in lists."""
    return np.asarray(array).tolist()


def array_of(rows: Any) -> Array:
    """An array of such elements."""
    made = np.array(rows)
    return traced(made) if made.dtype == object else made


def angular_motion(c: Triple, rate: Triple, second: Triple) -> tuple[Triple, Triple]:
    """ω and ω̇ in world axes (rad/s, rad/s²) from exponential coordinates and their two derivatives."""
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    along = c[0] * rate[0] + c[1] * rate[1] + c[2] * rate[2]
    a, b, a_rate, b_rate = _coefficients(square)
    a_rate, b_rate = along * a_rate, along * b_rate
    p = cross(c, rate)
    pp, r, s = cross(c, p), cross(rate, p), cross(c, second)
    ss = cross(c, s)
    return (
        (rate[0] + a * p[0] + b * pp[0], rate[1] + a * p[1] + b * pp[1], rate[2] + a * p[2] + b * pp[2]),
        (
            second[0] + a * s[0] + b * (ss[0] + r[0]) + a_rate * p[0] + b_rate * pp[0],
            second[1] + a * s[1] + b * (ss[1] + r[1]) + a_rate * p[1] + b_rate * pp[1],
            second[2] + a * s[2] + b * (ss[2] + r[2]) + a_rate * p[2] + b_rate * pp[2],
        ),
    )


def coordinate_rate(c: Triple, omega: Triple) -> Triple:
    """ċ = V⁻¹ ω, V⁻¹ = 1 - [c]×/2 + (1 - (θ/2) cot(θ/2))/θ² [c]×², for θ below 2 pi."""
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    far = where_less(square, 1e-4, 1.0, square)
    half = 0.5 * sqrt(far)
    series = 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0)  # the rest is 1e-16
    g = where_less(square, 1e-4, series, (1.0 - half / _tan(half)) / far)
    p = cross(c, omega)
    pp = cross(c, p)
    return (
        omega[0] - 0.5 * p[0] + g * pp[0],
        omega[1] - 0.5 * p[1] + g * pp[1],
        omega[2] - 0.5 * p[2] + g * pp[2],
    )


def cross(a: Triple, b: Triple) -> Triple:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _coefficients(square: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """A, B, A', B' for the square of an angle."""
    near = [0.0, 0.0, 0.0, 0.0]
    for row in zip(_A, _B, _A_RATE, _B_RATE, strict=True):
        near = [number * square + coefficient for number, coefficient in zip(near, row, strict=True)]
    far = where_less(square, _SMALL, 1.0, square)
    angle = sqrt(far)
    s, c = _sin_cos(angle)
    a, b = (1.0 - c) / far, (angle - s) / (far * angle)
    closed = a, b, (s / angle - 2.0 * a) / far, (a - 3.0 * b) / far
    a, b, a_rate, b_rate = (where_less(square, _SMALL, x, y) for x, y in zip(near, closed, strict=True))
    return a, b, a_rate, b_rate


def _sin_cos(angle: Scalar) -> tuple[Scalar, Scalar]:
    return (math.sin(angle), math.cos(angle)) if isinstance(angle, float) else sin_cos(angle)


def _tan(angle: Scalar) -> Scalar:
    if isinstance(angle, float):
        return math.tan(angle)
    s, c = sin_cos(angle)
    return s / c
