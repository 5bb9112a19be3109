"""Sine, cosine, arc tangent, square root and selection over any scalar: with the decorator for elementary functions.

One implementation serves Python floats, NumPy arrays and traced values, so that the interpreter and compiled code give
the same bits; an mpmath number is passed to its own context, which works at its own precision. ``elementary`` turns an
implementation into a function; ``OPERATIONS`` lists them all. The others are in exponentials.py, powers.py and
elementary.py.

Accuracy, measured against 60 digits in tests/test_functions.py: sine and cosine within 1.5 units in the last place
for |x| <= 1e6 rad (exact products up to 2**27 quarter turns, 2e8 rad; beyond that the error grows with |x|);
arc tangent within 2.5 units in the last place.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

Scalar = Any
"""A float, a NumPy array (a batch), an mpmath number or a traced value."""

LARGEST_ANGLE = 2.0e8
"""The largest angle (rad) for which the range reduction of sine and cosine is accurate enough."""

# pi/2 in four parts; the first three have 26 bits, so that their multiples below 2**27 are exact.
_QUARTER = (1.5707963109016418, 1.5893254712295857e-08, 6.123233932053594e-17, 6.36831716351095e-25)
_TWO_OVER_PI = 0.6366197723675814

SHIFT = 6755399441055744.0
"""1.5 * 2**52: a number k plus this is rounded to an integer, which is then in its lowest bits."""

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
    """``x`` where ``a < b``, otherwise ``y``. All decisions on a scalar's value go through it."""
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
    return (x if less else y) if isinstance(less, np.bool_) else less.select(x, y)


def divide(a: Scalar, b: Scalar) -> Scalar:
    """a / b as in IEEE arithmetic: division by zero gives infinity or nan."""
    if not isinstance(b, float | int) or b != 0.0:
        return a / b
    if isinstance(a, float | int):
        return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a * math.copysign(math.inf, b)


def sqrt(x: Scalar) -> Scalar:
    """The square root; nan below zero, as in machine code."""
    if isinstance(x, float):
        return math.sqrt(x) if x >= 0.0 else math.nan
    if isinstance(x, np.ndarray):
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)
    return x.context.sqrt(x) if hasattr(x, "context") else x.sqrt()


def absolute(x: Scalar) -> Scalar:
    """The absolute value."""
    return where_less(x, 0.0, -x, x)


# Operations on the bits of a number

_OFFSET = 0x3FE6A09E667F3BCD  # the bits of the square root of 1/2
_WHOLE = 2**64 - 1
BITWISE: dict[str, Callable[[Any], Any]] = {
    "pow2": lambda bits: (bits + 1023) << 52,
    "exponent": lambda bits: (((bits + (2**62 - _OFFSET)) & _WHOLE) >> 52) + (0x4338000000000000 - 1024),
    "mantissa": lambda bits: ((bits + (2**64 - _OFFSET)) & (2**52 - 1)) + _OFFSET,
}
"""Operations on the bits of a number, as 64-bit integers that wrap around; a right shift is logical."""


def _bits(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def _bitwise(name: str, x: Scalar) -> Scalar:
    operation = BITWISE[name]
    if isinstance(x, float):
        return struct.unpack("<d", struct.pack("<Q", operation(_bits(x)) & _WHOLE))[0]
    if isinstance(x, np.ndarray):
        return operation(x.view(np.uint64)).view(np.float64)
    return x.operation(name, x)


def pow2(t: Scalar) -> Scalar:
    """2**k, given t = k + ``SHIFT``, for -1023 < k < 1024."""
    return _bitwise("pow2", t)


def exponent(x: Scalar) -> Scalar:
    """k + ``SHIFT``, where x = m 2**k with m from 0.7071 to 1.4142, for x > 0 that is not subnormal."""
    return _bitwise("exponent", x)


def mantissa(x: Scalar) -> Scalar:
    """m of such an x; for any other x, too, it is from 0.7071 to 1.4142."""
    return _bitwise("mantissa", x)


def _quadrant(name: str, turns: Scalar, *chosen: Scalar) -> Scalar:
    """One of four values, by the two lowest bits of a number."""
    if isinstance(turns, float):
        return chosen[_bits(turns) & 3]
    bits = turns.view(np.uint64)
    return np.where(bits & 2, np.where(bits & 1, chosen[3], chosen[2]), np.where(bits & 1, chosen[1], chosen[0]))


def quadrant_sin(turns: Scalar, s: Scalar, c: Scalar) -> Scalar:
    """The sine of an angle from sine and cosine of its remainder; ``turns`` is the number of quarter turns plus
    ``SHIFT``.
    """
    if hasattr(turns, "operation"):
        return turns.operation("quadrant_sin", turns, s, c)
    return _quadrant("quadrant_sin", turns, s, c, -s, -c)


def quadrant_cos(turns: Scalar, s: Scalar, c: Scalar) -> Scalar:
    """The cosine of such an angle."""
    if hasattr(turns, "operation"):
        return turns.operation("quadrant_cos", turns, s, c)
    return _quadrant("quadrant_cos", turns, c, -s, -c, s)


# Elementary functions

OPERATIONS: dict[str, tuple[int, Callable[..., Scalar]]] = {}
"""The elementary functions that are operations of the intermediate code: number of operands, and the function."""


def elementary(*names: str, operands: int = 1, exact: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Turn an implementation in plain arithmetic into a function over any scalar, and into an operation of the
    intermediate code of this name (several names for several results). ``exact`` takes the mpmath context first.
    """

    def decorator(text: Callable[..., Any]) -> Callable[..., Any]:
        if len(names) == 1:
            OPERATIONS[names[0]] = operands, _over_any_scalar(names, text, exact)
            return OPERATIONS[names[0]][1]
        for k, name in enumerate(names):
            OPERATIONS[name] = operands, _over_any_scalar((name,), _one(text, k), _one(exact, k))
        return _over_any_scalar(names, text, exact)

    return decorator


def _one(function: Callable[..., Any], k: int) -> Callable[..., Any]:
    """One result of several."""
    return lambda *arguments: function(*arguments)[k]


def _is_batch(x: Scalar) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


def _over_any_scalar(names: tuple[str, ...], text: Callable[..., Any], exact: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(text)
    def function(*arguments: Scalar) -> Any:
        batch = False
        for x in arguments:
            if type(x) is float:
                continue
            if hasattr(x, "elementary"):
                return x.elementary(names, text, arguments)
            if hasattr(x, "context"):
                return exact(x.context, *arguments)
            batch = batch or _is_batch(x)
        if batch:
            with np.errstate(all="ignore"):
                results = text(*(x.astype(np.float64, copy=False) if _is_batch(x) else float(x) for x in arguments))
            if isinstance(results, float):  # the result depends on no array
                return np.full(np.broadcast_shapes(*map(np.shape, arguments)), results)
            return results
        return text(*map(float, arguments))

    return function


@elementary("sin", "cos", exact=lambda context, x: (context.sin(x), context.cos(x)))
def sin_cos(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of ``x`` (rad)."""
    turns = x * _TWO_OVER_PI + SHIFT  # the lowest bits of this sum count the quarter turns
    k = where_less(x * x, LARGEST_ANGLE * LARGEST_ANGLE, turns - SHIFT, 1e300)  # a larger angle overflows below
    r = (((x - k * _QUARTER[0]) - k * _QUARTER[1]) - k * _QUARTER[2]) - k * _QUARTER[3]
    z = r * r
    s = r + (r * z) * polynomial(_SIN, z)
    half = 0.5 * z
    near = 1.0 - half
    c = near + (((1.0 - near) - half) + (z * z) * polynomial(_COS, z))
    return quadrant_sin(turns, s, c), quadrant_cos(turns, s, c)


def _exact_atan2(context: Any, y: Scalar, x: Scalar) -> Scalar:
    return context.atan2(y, x) if (x != 0 or y != 0) else context.mpf(0)


@elementary("atan2", operands=2, exact=_exact_atan2)
def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle (rad, -pi to pi) of the point (x, y); 0 at the origin."""
    ax, ay = absolute(x), absolute(y)
    low, high = where_less(ax, ay, ax, ay), where_less(ax, ay, ay, ax)
    # atan(low/high), from the neighbourhood of 0 or of pi/4
    steep = 0.41421356237309503
    far = low - steep * high
    upper = where_less(0.0, far, low - high, low)
    lower = where_less(0.0, far, low + high, high)
    t = upper / where_less(0.0, lower, lower, 1.0)
    z = t * t
    angle = t + (t * z) * polynomial(_ATAN, z) + where_less(0.0, far, 0.7853981633974483, 0.0)
    angle = where_less(ax, ay, 1.5707963267948966 - angle, angle)
    angle = where_less(x, 0.0, 3.141592653589793 - angle, angle)
    return where_less(y, 0.0, -angle, angle)


def polynomial(coefficients: tuple[float, ...], z: Scalar) -> Scalar:
    """Σ coefficient · power of z, highest power first."""
    value = coefficients[0] * z + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * z + coefficient
    return value


def odd(x: Scalar, value: Scalar) -> Scalar:
    """``value``, a function of the absolute value of x, with the sign of x."""
    return where_less(x, 0.0, -value, value)


def within(low: float, x: Scalar, high: float) -> Scalar:
    """x clamped to a range; nan stays nan."""
    x = where_less(x, low, low, x)
    return where_less(high, x, high, x)


def rounded(x: Scalar) -> Scalar:
    """The nearest integer, halves to even, by adding and subtracting a large number."""
    large = where_less(x, 0.0, -(2.0**52), 2.0**52)
    return where_less(x * x, 2.0**104, (x + large) - large, x)


def high_part(x: Scalar) -> Scalar:
    """x rounded to 26 bits, so that a product of two such is exact (Veltkamp)."""
    c = 134217729.0 * x
    return c - (c - x)


def real(context: Any, x: Any) -> Any:
    """nan instead of a complex number."""
    return context.nan if isinstance(x, context.mpc) else x
