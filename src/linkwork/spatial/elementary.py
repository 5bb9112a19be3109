"""Elementary functions over any scalar, under NumPy's names: tangent and inverse functions, rounding, remainders, and
selection. With those of exponentials.py and powers.py, these are the operations of the intermediate code.

Largest error in units in the last place (measured in tests/test_elementary.py, tabulated in docs/accuracy.md): tan 3
for |x| <= 1e6 rad, arcsin and arccos 1.5, arctan 2.5; the others are exact but for the rounding of ``remainder`` where
signs differ. ``minimum`` and ``maximum`` of two numbers return the second if either is nan.
"""

from __future__ import annotations

import math
from typing import Any

from linkwork.spatial.exponentials import (
    arccosh,
    arcsinh,
    arctanh,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    sinh,
    tanh,
)
from linkwork.spatial.functions import (
    OPERATIONS,
    Scalar,
    absolute,
    atan2,
    divide,
    elementary,
    high_part,
    odd,
    polynomial,
    rounded,
    sin_cos,
    sqrt,
    where_less,
)
from linkwork.spatial.powers import cbrt, hypot, log2, log10, power

__all__ = [
    "OPERATIONS",
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "divide",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmod",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "power",
    "reciprocal",
    "remainder",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "varying_as",
]

_ASIN = (  # (arcsin x / x - 1) / z in z = x*x, for |x| <= 1/2; fitted with mpmath's chebyfit
    0.02875990974247162,
    -0.014854837699421992,
    0.017402725959689853,
    0.005456844463293151,
    0.010322964581482783,
    0.011479154971005417,
    0.013971215203097548,
    0.017352392575609256,
    0.022372172948124706,
    0.030381944138386928,
    0.04464285714635722,
    0.07499999999998432,
    0.16666666666666669,
)

# Angles

sin, cos, arctan2 = OPERATIONS["sin"][1], OPERATIONS["cos"][1], atan2


@elementary("tan", exact=lambda context, x: context.tan(x))
def tan(x: Scalar) -> Scalar:
    """The tangent of ``x`` (rad)."""
    sine, cosine = sin_cos(x)
    return divide(sine, cosine)


def arctan(x: Scalar) -> Scalar:
    """The angle (rad, -pi/2 to pi/2) whose tangent is x."""
    return atan2(x, 1.0)


def _arcsine_parts(a: Scalar) -> tuple[Scalar, Scalar]:
    """s and arcsin(s) - s, where s is a up to 1/2; for larger a, arcsin(s) is half of arccos(a)."""
    z = where_less(0.5, a, 0.5 - 0.5 * a, a * a)
    s = where_less(0.5, a, sqrt(z), a)
    return s, (s * z) * polynomial(_ASIN, z)


@elementary("arcsin", exact=lambda context, x: context.asin(x) if abs(x) <= 1 else context.nan)
def arcsin(x: Scalar) -> Scalar:
    """The angle (rad, -pi/2 to pi/2) whose sine is x; nan outside -1 to 1."""
    a = absolute(x)
    s, more = _arcsine_parts(a)
    steep = (2.0 * more - 6.123233995736766e-17) - (0.7853981633974483 - 2.0 * s)  # π/4 minus the angle
    return odd(x, where_less(0.5, a, 0.7853981633974483 - steep, s + more))


@elementary("arccos", exact=lambda context, x: context.acos(x) if abs(x) <= 1 else context.nan)
def arccos(x: Scalar) -> Scalar:
    """The angle (rad, 0 to pi) whose cosine is x; nan outside -1 to 1."""
    a = absolute(x)
    s, more = _arcsine_parts(a)
    twice, rest = 2.0 * s, 2.0 * more
    left = (3.141592653589793 - twice) - (rest - 1.2246467991473532e-16)
    steep = where_less(x, 0.0, left, twice + rest)
    return where_less(0.5, a, steep, 1.5707963267948966 - (odd(x, s + more) - 6.123233995736766e-17))


# Rounding


@elementary("rint", exact=lambda context, x: context.nint(x))
def rint(x: Scalar) -> Scalar:
    """The nearest integer, halves to even."""
    return rounded(x)


@elementary("floor", exact=lambda context, x: context.floor(x))
def floor(x: Scalar) -> Scalar:
    """The largest integer that is not above x."""
    n = rounded(x)
    return where_less(x, n, n - 1.0, n)


@elementary("ceil", exact=lambda context, x: context.ceil(x))
def ceil(x: Scalar) -> Scalar:
    """The smallest integer that is not below x."""
    n = rounded(x)
    return where_less(n, x, n + 1.0, n)


def _exact_trunc(context: Any, x: Any) -> Any:
    return context.floor(x) if x >= 0 else context.ceil(x)


@elementary("trunc", exact=_exact_trunc)
def trunc(x: Scalar) -> Scalar:
    """The integer part: x rounded towards 0."""
    a = absolute(x)
    n = rounded(a)
    return odd(x, where_less(a, n, n - 1.0, n))


def _nearest_rest(x: Scalar, y: Scalar) -> Scalar:
    """x - n y, exactly, for an integer n near x/y; x where |x| < |y|; nan if it is not below |y|."""
    n = rounded(divide(x, y))
    product, n_high, y_high = n * y, high_part(n), high_part(y)
    n_low, y_low = n - n_high, y - y_high
    lost = ((n_high * y_high - product) + (n_high * y_low + n_low * y_high)) + n_low * y_low  # (Dekker)
    rest = (x - product) - lost
    size = absolute(y)
    rest = where_less(absolute(rest), size, rest, math.nan)
    return where_less(absolute(x), size, x, rest)


@elementary("remainder", operands=2, exact=lambda context, x, y: context.mpf(x) % y)
def remainder(x: Scalar, y: Scalar) -> Scalar:
    """x - floor(x/y) y, with the sign of y, as Python's %; exact for |x/y| < 2**53, otherwise correct or nan."""
    rest = _nearest_rest(x, y)
    low, high = where_less(y, 0.0, 0.0, rest), where_less(y, 0.0, rest, 0.0)
    return where_less(low, high, rest + y, rest)


@elementary("fmod", operands=2, exact=lambda context, x, y: x - y * _exact_trunc(context, context.mpf(x) / y))
def fmod(x: Scalar, y: Scalar) -> Scalar:
    """x - trunc(x/y) y, with the sign of x, as C's fmod; exact for |x/y| < 2**53, otherwise correct or nan."""
    rest = _nearest_rest(x, y)
    size = absolute(y)
    upper = where_less(rest, 0.0, rest + size, rest)
    lower = where_less(0.0, rest, rest - size, rest)
    return where_less(x, 0.0, lower, upper)


# Selection, and short forms


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return where_less(x, 0.0, -1.0, where_less(0.0, x, 1.0, varying_as(x, 0.0)))


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers."""
    return where_less(x, y, x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers."""
    return where_less(y, x, x, y)


def reciprocal(x: Scalar) -> Scalar:
    """1 / x."""
    return divide(1.0, x)


def square(x: Scalar) -> Scalar:
    """x * x."""
    return x * x


@elementary("varying_as", operands=2, exact=lambda context, x, y: x)
def varying_as(x: Scalar, y: Scalar) -> Scalar:
    """x, with the derivatives of y: the result of a search has the derivatives of the equations that it satisfies. With
    a constant for y it has none.
    """
    return x
