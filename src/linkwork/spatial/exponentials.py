"""Exponentials, natural logarithms, and hyperbolic functions over any scalar.

The remarks on sine and cosine in functions.py apply here. Special values are NumPy's, without warnings, but for the
sign of a zero: exp overflows to infinity and underflows gradually to 0, log(0) is -infinity, log of a negative number
is nan, and nan stays nan.

Largest error in units in the last place (measured in tests/test_elementary.py, tabulated in docs/accuracy.md):

    exp exp2 log log1p         1
    cosh                       1.5
    expm1                      2
    sinh tanh                  2.5
    arcsinh arccosh arctanh    2.5
"""

from __future__ import annotations

import math

from linkwork.spatial.functions import (
    SHIFT,
    Scalar,
    absolute,
    divide,
    elementary,
    exponent,
    high_part,
    mantissa,
    odd,
    polynomial,
    pow2,
    real,
    sqrt,
    where_less,
    within,
)

_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # 32 bits, so that multiples are exact, and the rest
_SMALLEST = 2.0**-1022  # the smallest normal number

# Near-minimax polynomials, highest power first; fitted with mpmath's chebyfit.
_EXP = (  # (exp r - 1 - r) / r**2 for |r| <= log(2) / 2
    2.510038549551032e-08,
    2.7620088445409746e-07,
    2.7557268459997064e-06,
    2.4801521295954376e-05,
    0.00019841269863053618,
    0.0013888888917213717,
    0.008333333333330062,
    0.04166666666662413,
    0.16666666666666669,
    0.5000000000000001,
)
_LOG = (  # (log((1 + s) / (1 - s)) / s - 2) / z in z = s*s, for (1 + s) / (1 - s) from 0.7071 to 1.4142
    0.1461646325895801,
    0.15331720502376558,
    0.18182889158299903,
    0.22222211134341624,
    0.2857142862597826,
    0.399999999998995,
    0.666666666666667,
)
# Exponentials


def reduced(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(k + SHIFT, high, low) with x = k log(2) + high - low."""
    t = x * _LOG2_E + SHIFT
    k = t - SHIFT
    return t, x - k * LN2_HIGH, k * LN2_LOW


def _exp_less_one(high: Scalar, low: Scalar) -> Scalar:
    """exp(r) - 1 for r = high - low, |r| <= log(2) / 2."""
    r = high - low
    return high + ((r * r) * polynomial(_EXP, r) - low)


def scaled(x: Scalar, t: Scalar, high: Scalar, low: Scalar) -> tuple[Scalar, Scalar]:
    """exp(x) as two factors; the second is a power of two, by which it may overflow or become subnormal."""
    value = (1.0 + _exp_less_one(high, low)) * pow2(where_less(x, 0.0, t + 64.0, t - 64.0))
    return value, where_less(x, 0.0, 2.0**-64, 2.0**64)


def _exp_factors(x: Scalar) -> tuple[Scalar, Scalar]:
    x = within(-750.0, x, 720.0)
    return scaled(x, *reduced(x))


def _expm1_factors(x: Scalar) -> tuple[Scalar, Scalar]:
    """exp(x) - 1 as two such factors."""
    x = within(-40.0, x, 720.0)
    t, high, low = reduced(x)
    less = where_less(x, 40.0, pow2(2.0 * SHIFT - t), 0.0)  # 2**-k
    value = ((1.0 - less) + _exp_less_one(high, low)) * pow2(where_less(x, 40.0, t, t - 64.0))
    return value, where_less(x, 40.0, 1.0, 2.0**64)


@elementary("exp", exact=lambda context, x: context.exp(x))
def exp(x: Scalar) -> Scalar:
    """e**x."""
    value, factor = _exp_factors(x)
    return value * factor


@elementary("exp2", exact=lambda context, x: context.mpf(2) ** x)
def exp2(x: Scalar) -> Scalar:
    """2**x."""
    x = within(-1080.0, x, 1040.0)
    t = x + SHIFT
    f = x - (t - SHIFT)
    f_high = high_part(f)
    low = -(0.6931471675634384 * (f - f_high) + 1.2996506893889889e-08 * f)  # log(2) in two parts, the first of 26 bits
    value, factor = scaled(x, t, 0.6931471675634384 * f_high, low)
    return value * factor


@elementary("expm1", exact=lambda context, x: context.expm1(x))
def expm1(x: Scalar) -> Scalar:
    """e**x - 1, accurate for small x."""
    value, factor = _expm1_factors(x)
    return value * factor


@elementary("sinh", exact=lambda context, x: context.sinh(x))
def sinh(x: Scalar) -> Scalar:
    """The hyperbolic sine."""
    a = absolute(x)
    value, factor = _expm1_factors(a)
    e = value * factor
    return odd(x, where_less(a, 40.0, 0.5 * (e + e / (e + 1.0)), (0.5 * value) * factor))


@elementary("cosh", exact=lambda context, x: context.cosh(x))
def cosh(x: Scalar) -> Scalar:
    """The hyperbolic cosine."""
    a = absolute(x)
    value, factor = _exp_factors(a)
    half = (0.5 * value) * factor
    return where_less(a, 40.0, half + 0.25 / half, half)


@elementary("tanh", exact=lambda context, x: context.tanh(x))
def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    a = absolute(x)
    a = where_less(22.0, a, 22.0, a)
    t, high, low = reduced(a + a)
    s = pow2(t)
    e = s * _exp_less_one(high, low) + (s - 1.0)
    return odd(x, e / (e + 2.0))


# Logarithms


def parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """(k, m) with x = m 2**k and m from 0.7071 to 1.4142, for finite x > 0."""
    normal = where_less(x, _SMALLEST, x * 2.0**54, x)
    return exponent(normal) - where_less(x, _SMALLEST, SHIFT + 54.0, SHIFT), mantissa(normal)


def _log(k: Scalar, f: Scalar, rest: Scalar) -> Scalar:
    """log(2**k (1 + f)) + rest, for 1 + f from 0.7071 to 1.4142."""
    s = f / (2.0 + f)
    z = s * s
    half = (0.5 * f) * f
    low = k * LN2_LOW + rest
    return k * LN2_HIGH - ((half - (s * (half + z * polynomial(_LOG, z)) + low)) - f)


def where_positive(x: Scalar, value: Scalar) -> Scalar:
    """A logarithm of x, with the special values common to all logarithms."""
    below = where_less(x, 0.0, math.nan, x - math.inf)
    return where_less(0.0, x, where_less(x, math.inf, value, x), below)


@elementary("log", exact=lambda context, x: real(context, context.log(x)))
def log(x: Scalar) -> Scalar:
    """The natural logarithm."""
    k, m = parts(x)
    return where_positive(x, _log(k, m - 1.0, 0.0))


@elementary("log1p", exact=lambda context, x: real(context, context.log1p(x)))
def log1p(x: Scalar) -> Scalar:
    """log(1 + x), accurate for small x."""
    u = 1.0 + x
    back = u - 1.0
    lost = (1.0 - (u - back)) + (x - back)  # 1 + x is u + lost
    k, m = exponent(u) - SHIFT, mantissa(u)
    near = k * k
    value = _log(k, where_less(near, 0.5, x, m - 1.0), where_less(near, 0.5, 0.0, divide(lost, u)))
    return where_positive(u, value)


@elementary("arcsinh", exact=lambda context, x: context.asinh(x))
def arcsinh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic sine."""
    a = absolute(x)
    z = a * a
    near = log1p(where_less(a, 2.0**60, a + z / (1.0 + sqrt(1.0 + z)), a))
    return odd(x, near + where_less(a, 2.0**60, 0.0, _LN2))


@elementary("arccosh", exact=lambda context, x: real(context, context.acosh(x)))
def arccosh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic cosine; nan below 1."""
    t = x - 1.0
    near = log1p(where_less(x, 2.0**60, t + sqrt(t * (t + 2.0)), x))
    return where_less(x, 1.0, math.nan, near + where_less(x, 2.0**60, 0.0, _LN2))


@elementary("arctanh", exact=lambda context, x: real(context, context.atanh(x)))
def arctanh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic tangent; nan outside -1 to 1."""
    a = absolute(x)
    return odd(x, 0.5 * log1p(divide(a + a, 1.0 - a)))
