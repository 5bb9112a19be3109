"""Sine, cosine, arc tangent, square root and selection over any scalar.

One text serves Python floats, NumPy arrays and traced values, so that the interpreter and compiled code give
the same bits; an mpmath number is handed to its own context, which works at its own precision.

Accuracy, measured against 60 digits in tests/test_functions.py: sine and cosine within 1.5 units in the last place
for |x| <= 1e6 rad (exact products up to 2**27 quarter turns, 2e8 rad; beyond that the error grows with |x|);
arc tangent within 2.5 units in the last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Scalar = Any
"""A float, a NumPy array (a batch), an mpmath number or a traced value."""

LARGEST_ANGLE = 2.0e8
"""Up to here (rad) the range reduction of sine and cosine is exact enough to be trusted."""

# pi/2 in four parts; the first three have 26 bits, so that their multiples below 2**27 are exact.
_QUARTER = (1.5707963109016418, 1.5893254712295857e-08, 6.123233932053594e-17, 6.36831716351095e-25)
_TWO_OVER_PI = 0.6366197723675814

_SHIFT = 6755399441055744.0  # 1.5 * 2**52

# Near-minimax polynomials in z = x*x, highest power first; fitted with mpmath's chebyfit.
_SIN = (  # (sin x / x - 1) / z for |x| <= pi/4
    1.591810123027412e-10,
    -2.5051131455427946e-08,
    2.755731610068303e-06,
    -0.0001984126983675497,
    0.008333333333330946,
    -0.16666666666666666,
)
_COS = (  # (cos x - 1 + z/2) / z**2 for |x| <= pi/4
    -1.1382614868556325e-11,
    2.0876146024689747e-09,
    -2.7557317270560326e-07,
    2.4801587298763433e-05,
    -0.0013888888888887395,
    0.041666666666666664,
)
_ATAN = (  # (atan x / x - 1) / z for |x| <= tan(pi/8)
    0.016282993238924487,
    -0.034568068014968874,
    0.0455149623749493,
    -0.052304330074828924,
    0.05878926110528101,
    -0.06666424634599337,
    0.07692296361048218,
    -0.09090908753017178,
    0.11111111105145725,
    -0.14285714285659729,
    0.19999999999999804,
    -0.3333333333333333,
)


def where_less(a: Scalar, b: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """``x`` where ``a < b``, otherwise ``y``; the only way in which a scalar's value decides anything."""
    less = a < b
    if isinstance(less, bool):
        return x if less else y
    for number in (x, y):
        if hasattr(number, "chosen"):  # a dual number
            return number.chosen(less, x, y)
    return selected(less, x, y)


def selected(less: Any, x: Scalar, y: Scalar) -> Scalar:
    """``x`` where a comparison holds, otherwise ``y``."""
    if isinstance(less, bool):
        return x if less else y
    if isinstance(less, np.ndarray):
        return np.where(less, x, y)
    return less.select(x, y)


def rint(x: Scalar) -> Scalar:
    """The nearest integer, halves to even, for |x| < 2**51: by what adding a large number rounds away."""
    return (x + _SHIFT) - _SHIFT


def sqrt(x: Scalar) -> Scalar:
    """The square root; not a number below zero, as in machine code."""
    if isinstance(x, float):
        return math.sqrt(x) if x >= 0.0 else math.nan
    if isinstance(x, np.ndarray):
        return np.sqrt(x)
    return x.context.sqrt(x) if hasattr(x, "context") else x.sqrt()


def absolute(x: Scalar) -> Scalar:
    return where_less(x, 0.0, -x, x)


def sin_cos(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of ``x`` (rad)."""
    if hasattr(x, "context"):
        return x.context.sin(x), x.context.cos(x)
    return x.sin_cos() if hasattr(x, "sin_cos") else sin_cos_text(x)


def sin_cos_text(x: Scalar) -> tuple[Scalar, Scalar]:
    """How sine and cosine are computed, in plain arithmetic."""
    turns = x * _TWO_OVER_PI + _SHIFT  # the lowest bits of this sum count the quarter turns
    k = where_less(x * x, LARGEST_ANGLE * LARGEST_ANGLE, turns - _SHIFT, 1e300)  # a larger angle overflows below
    r = (((x - k * _QUARTER[0]) - k * _QUARTER[1]) - k * _QUARTER[2]) - k * _QUARTER[3]
    z = r * r
    s = r + (r * z) * _polynomial(_SIN, z)
    half = 0.5 * z
    near = 1.0 - half
    c = near + (((1.0 - near) - half) + (z * z) * _polynomial(_COS, z))
    return turned(turns, s, c)


def turned(turns: Scalar, s: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of an angle from those of its rest (s, c) after a number of quarter turns, given plus
    ``_SHIFT``.
    """
    if isinstance(turns, float):
        quarter = int(turns - _SHIFT) & 3 if math.isfinite(turns) else 0
        return ((s, c), (c, -s), (-s, -c), (-c, s))[quarter]
    if isinstance(turns, np.ndarray):
        bits: Any = turns.view(np.int64)
        sine: Scalar = np.where(bits & 1, c, s)
        cosine: Scalar = np.where(bits & 1, s, c)
        return np.where(bits & 2, -sine, sine), np.where((bits + 1) & 2, -cosine, cosine)
    return turns.turned(s, c)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle (rad, -pi to pi) of the point (x, y); 0 at the origin."""
    for number in (y, x):
        if hasattr(number, "context"):
            return number.context.atan2(y, x) if (x != 0 or y != 0) else number.context.mpf(0)
        if hasattr(number, "atan2"):
            return number.atan2(y, x)
    return atan2_text(y, x)


def atan2_text(y: Scalar, x: Scalar) -> Scalar:
    """How the arc tangent is computed, in plain arithmetic."""
    ax, ay = absolute(x), absolute(y)
    low, high = where_less(ax, ay, ax, ay), where_less(ax, ay, ay, ax)
    # atan(low/high), from the neighbourhood of 0 or of pi/4
    steep = 0.41421356237309503
    far = low - steep * high
    upper = where_less(0.0, far, low - high, low)
    lower = where_less(0.0, far, low + high, high)
    t = upper / where_less(0.0, lower, lower, 1.0)
    z = t * t
    angle = t + (t * z) * _polynomial(_ATAN, z) + where_less(0.0, far, 0.7853981633974483, 0.0)
    angle = where_less(ax, ay, 1.5707963267948966 - angle, angle)
    angle = where_less(x, 0.0, 3.141592653589793 - angle, angle)
    return where_less(y, 0.0, -angle, angle)


def _polynomial(coefficients: tuple[float, ...], z: Scalar) -> Scalar:
    value = coefficients[0] * z + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * z + coefficient
    return value
