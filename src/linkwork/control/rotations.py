"""Rotations in exponential coordinates: where they are, how fast they turn, and how that changes.

With R = exp([c]×) R₀ the angular velocity in world axes is ω = V(c) ċ, V = 1 + A [c]× + B [c]×², and

    ω̇ = V c̈ + A' (c·ċ) c×ċ + B' (c·ċ) c×(c×ċ) + B ċ×(c×ċ)

A = (1 - cos θ)/θ², B = (θ - sin θ)/θ³, A' and B' their derivatives by θ over θ, θ = |c|. Vectors are triples of floats:
a controller calls this at every tick, and for three numbers NumPy takes ten times as long.
"""

from __future__ import annotations

from math import atan2, cos, factorial, sin, sqrt, tan

import numpy as np

from linkwork.dynamics.arguments import Array

Triple = tuple[float, float, float]

_SMALL = 0.5
"""Below this angle's square, series in it; above, closed forms, which lose at most four digits to cancellation."""
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
    return np.array(
        [
            [c + a * x * x, a * x * y - s * z, a * x * z + s * y],
            [a * x * y + s * z, c + a * y * y, a * y * z - s * x],
            [a * x * z - s * y, a * y * z + s * x, c + a * z * z],
        ]
    )


def log(rotation: Array) -> Triple:
    """The rotation vector (rad), no longer than pi, of a rotation (3, 3)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    # The row of 4 q qᵀ with the largest diagonal: a multiple of the quaternion that is never small.
    w, x, y, z = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    largest = max(w, x, y, z)
    if largest == w:
        x, y, z = zy - yz, xz - zx, yx - xy
    elif largest == x:
        y, z, w = xy + yx, xz + zx, zy - yz
    elif largest == y:
        x, z, w = xy + yx, yz + zy, xz - zx
    else:
        x, y, w = xz + zx, yz + zy, yx - xy
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = sqrt(x * x + y * y + z * z)
    factor = 2.0 * atan2(sine, w) / sine if sine > 0.0 else 0.0
    return factor * x, factor * y, factor * z


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
    if square < 1e-4:  # the rest is 1e-16
        g = 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0)
    else:
        half = 0.5 * sqrt(square)
        g = (1.0 - half / tan(half)) / square
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


def _coefficients(square: float) -> tuple[float, float, float, float]:
    """A, B, A', B' for the square of an angle."""
    if square < _SMALL:
        a = b = a_rate = b_rate = 0.0
        for k in range(len(_A)):
            a, b = a * square + _A[k], b * square + _B[k]
            a_rate, b_rate = a_rate * square + _A_RATE[k], b_rate * square + _B_RATE[k]
        return a, b, a_rate, b_rate
    angle = sqrt(square)
    s, c = sin(angle), cos(angle)
    a, b = (1.0 - c) / square, (angle - s) / (square * angle)
    return a, b, (s / angle - 2.0 * a) / square, (a - 3.0 * b) / square
