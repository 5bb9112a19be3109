"""Exponentials, logarithms, hyperbolic functions, powers and roots over any scalar.

What was said of sine and cosine in functions.py holds here. Special values are NumPy's, without warnings, but for the
sign of a zero: exp overflows to infinity and goes through the subnormal numbers to 0, log(0) is -infinity, log of less
is not a number, and what is not a number stays so.

Error in units in the last place, at most (measured in tests/test_elementary.py, tabulated in docs/accuracy.md):

    exp exp2 log                  1
    log1p log2 log10 cbrt hypot   1
    expm1                         1.5
    power                         1 while |y log x| < 40 (y not constant, or no small multiple of 1/2), 4 beyond
    cosh                          1.5
    sinh tanh                     2.5
    arcsinh arccosh arctanh       3
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.spatial.functions import (
    SHIFT,
    Scalar,
    absolute,
    divide,
    elementary,
    exponent,
    mantissa,
    polynomial,
    pow2,
    sqrt,
    where_less,
)

_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # 32 bits, so that multiples are exact, and the rest
_SMALLEST = 2.0**-1022  # that is not subnormal

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
_LOG_EXTENDED = (  # (3/2 log((1 + s) / (1 - s)) / s - 3 - z) / z**2, for the same
    0.17584595681401008,
    0.17559370981261965,
    0.20002206425674762,
    0.2307689245508681,
    0.2727272750298336,
    0.33333333332484294,
    0.4285714285714405,
    0.6,
)
_CBRT = (  # m**(1/3) to 2e-7, for m from 0.7071 to 1.4142
    -0.01926717343884374,
    0.14865407435804498,
    -0.49622535361458026,
    0.9453125400840441,
    -1.167199483864666,
    1.1890300949279746,
    0.3996951446865334,
)


def odd(x: Scalar, value: Scalar) -> Scalar:
    """``value``, a function of the absolute value of x, with the sign of x."""
    return where_less(x, 0.0, -value, value)


def within(low: float, x: Scalar, high: float) -> Scalar:
    """x moved into a range; not a number stays so."""
    x = where_less(x, low, low, x)
    return where_less(high, x, high, x)


def high_part(x: Scalar) -> Scalar:
    """x rounded to 26 bits, so that a product of two such is exact (Veltkamp)."""
    c = 134217729.0 * x
    return c - (c - x)


def _real(context: Any, x: Any) -> Any:
    """Not a number instead of a complex one."""
    return context.nan if isinstance(x, context.mpc) else x


# Exponentials


def _reduced(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(k + SHIFT, high, low) with x = k log(2) + high - low."""
    t = x * _LOG2_E + SHIFT
    k = t - SHIFT
    return t, x - k * _LN2_HIGH, k * _LN2_LOW


def _exp_less_one(high: Scalar, low: Scalar) -> Scalar:
    """exp(r) - 1 for r = high - low, |r| <= log(2) / 2."""
    r = high - low
    return high + ((r * r) * polynomial(_EXP, r) - low)


def _scaled(x: Scalar, t: Scalar, high: Scalar, low: Scalar) -> tuple[Scalar, Scalar]:
    """exp(x) as two factors, the second a power of two by which it may overflow or become subnormal."""
    value = (1.0 + _exp_less_one(high, low)) * pow2(where_less(x, 0.0, t + 64.0, t - 64.0))
    return value, where_less(x, 0.0, 2.0**-64, 2.0**64)


def _exp_factors(x: Scalar) -> tuple[Scalar, Scalar]:
    x = within(-750.0, x, 720.0)
    return _scaled(x, *_reduced(x))


def _expm1_factors(x: Scalar) -> tuple[Scalar, Scalar]:
    """exp(x) - 1 as two such factors."""
    x = within(-40.0, x, 720.0)
    t, high, low = _reduced(x)
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
    value, factor = _scaled(x, t, 0.6931471675634384 * f_high, low)
    return value * factor


@elementary("expm1", exact=lambda context, x: context.expm1(x))
def expm1(x: Scalar) -> Scalar:
    """e**x - 1, as exact for small x."""
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
    t, high, low = _reduced(a + a)
    s = pow2(t)
    e = s * _exp_less_one(high, low) + (s - 1.0)
    return odd(x, e / (e + 2.0))


# Logarithms


def _parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """(k, m) with x = m 2**k and m from 0.7071 to 1.4142, for finite x > 0."""
    normal = where_less(x, _SMALLEST, x * 2.0**54, x)
    return exponent(normal) - where_less(x, _SMALLEST, SHIFT + 54.0, SHIFT), mantissa(normal)


def _log(k: Scalar, f: Scalar, rest: Scalar) -> Scalar:
    """log(2**k (1 + f)) + rest, for 1 + f from 0.7071 to 1.4142."""
    s = f / (2.0 + f)
    z = s * s
    half = (0.5 * f) * f
    low = k * _LN2_LOW + rest
    return k * _LN2_HIGH - ((half - (s * (half + z * polynomial(_LOG, z)) + low)) - f)


def _where_positive(x: Scalar, value: Scalar) -> Scalar:
    """A logarithm of x, with the special values that all logarithms have."""
    below = where_less(x, 0.0, math.nan, x - math.inf)
    return where_less(0.0, x, where_less(x, math.inf, value, x), below)


@elementary("log", exact=lambda context, x: _real(context, context.log(x)))
def log(x: Scalar) -> Scalar:
    """The natural logarithm."""
    k, m = _parts(x)
    return _where_positive(x, _log(k, m - 1.0, 0.0))


@elementary("log1p", exact=lambda context, x: _real(context, context.log1p(x)))
def log1p(x: Scalar) -> Scalar:
    """log(1 + x), as exact for small x."""
    u = 1.0 + x
    back = u - 1.0
    lost = (1.0 - (u - back)) + (x - back)  # 1 + x is u + lost
    k, m = exponent(u) - SHIFT, mantissa(u)
    near = k * k
    value = _log(k, where_less(near, 0.5, x, m - 1.0), where_less(near, 0.5, 0.0, divide(lost, u)))
    return _where_positive(u, value)


def _log_extended(x: Scalar) -> tuple[Scalar, Scalar]:
    """log(x) as a sum of two numbers, to about 65 bits, for finite x > 0 (as in fdlibm's e_pow.c, by Sun)."""
    k, m = _parts(x)
    f, d = m - 1.0, m + 1.0
    d_high = high_part(d)
    d_low = m - (d_high - 1.0)
    v = 1.0 / d
    s = f * v
    s_high = high_part(s)
    s_low = v * ((f - s_high * d_high) - s_high * d_low)
    z, z_high = s * s, s_high * s_high
    r = (z * z) * polynomial(_LOG_EXTENDED, z) + s_low * (s_high + s)
    t_high = high_part((3.0 + z_high) + r)  # log(m) = 2/3 s (3 + z + r)
    t_low = r - ((t_high - 3.0) - z_high)
    u, v = s_high * t_high, s_low * t_high + t_low * s
    p_high = high_part(u + v)
    p_low = v - (p_high - u)
    high = 0.6666666567325592 * p_high
    low = 9.934107462565104e-09 * p_high + 0.6666666666666666 * p_low
    shift = k * _LN2_HIGH
    total = shift + high
    return total, (high - (total - shift)) + (low + k * _LN2_LOW)


def _log_to_base(x: Scalar, factor_high: float, factor_low: float) -> Scalar:
    high, low = _log_extended(x)
    upper = high_part(high)
    rest = (high - upper) * factor_high + (high * factor_low + low * (factor_high + factor_low))
    return _where_positive(x, upper * factor_high + rest)


@elementary("log2", exact=lambda context, x: _real(context, context.log(x, 2)))
def log2(x: Scalar) -> Scalar:
    """The logarithm to base 2; exact for powers of 2."""
    return _log_to_base(x, 1.4426950216293335, 1.9259629911266175e-08)


@elementary("log10", exact=lambda context, x: _real(context, context.log10(x)))
def log10(x: Scalar) -> Scalar:
    """The logarithm to base 10; exact for powers of 10."""
    return _log_to_base(x, 0.4342944771051407, 4.798111141615973e-09)


@elementary("arcsinh", exact=lambda context, x: context.asinh(x))
def arcsinh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic sine."""
    a = absolute(x)
    z = a * a
    near = log1p(where_less(a, 2.0**60, a + z / (1.0 + sqrt(1.0 + z)), a))
    return odd(x, near + where_less(a, 2.0**60, 0.0, _LN2))


@elementary("arccosh", exact=lambda context, x: _real(context, context.acosh(x)))
def arccosh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic cosine; not a number below 1."""
    t = x - 1.0
    near = log1p(where_less(x, 2.0**60, t + sqrt(t * (t + 2.0)), x))
    return where_less(x, 1.0, math.nan, near + where_less(x, 2.0**60, 0.0, _LN2))


@elementary("arctanh", exact=lambda context, x: _real(context, context.atanh(x)))
def arctanh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic tangent; not a number beyond -1 and 1."""
    a = absolute(x)
    return odd(x, 0.5 * log1p(divide(a + a, 1.0 - a)))


# Powers and roots

_MOST_FACTORS = 32
"""Up to this exponent a power is repeated multiplication, if the exponent is a constant."""


def power(x: Scalar, y: Scalar) -> Scalar:
    """x**y, by few multiplications if y is a Python number that is a small multiple of 1/2."""
    constant = float(y) if isinstance(y, float | int | np.number) else math.nan
    if abs(constant) <= _MOST_FACTORS and (2.0 * constant).is_integer():
        value = _repeated(x, int(abs(constant)))
        if not constant.is_integer():
            value = value * sqrt(x)
        return divide(1.0, value) if constant < 0.0 else value
    return _pow(x, y)


def _repeated(x: Scalar, n: int) -> Scalar:
    """x**n for an integer n >= 0."""
    value: Scalar = None
    while n:
        if n & 1:
            value = x if value is None else value * x
        n >>= 1
        x = x * x if n else x
    return value if value is not None else (np.ones_like(x, dtype=np.float64) if isinstance(x, np.ndarray) else 1.0)


def _rounded(x: Scalar) -> Scalar:
    """The nearest integer, halves to even: by what adding a large number rounds away."""
    large = where_less(x, 0.0, -(2.0**52), 2.0**52)
    return where_less(x * x, 2.0**104, (x + large) - large, x)


@elementary("pow", operands=2, exact=lambda context, x, y: _real(context, context.mpf(x) ** y))
def _pow(x: Scalar, y: Scalar) -> Scalar:
    """x**y for any y; not a number for x < 0 unless y is an integer."""
    a = absolute(x)
    high, low = _log_extended(a)
    factor = within(-1e20, y, 1e20)
    a_high, b_high = high_part(high), high_part(factor)
    a_low, b_low = high - a_high, factor - b_high
    product = high * factor
    lost = ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low  # (Dekker)
    t, near, far = _reduced(within(-750.0, product, 720.0))
    rest = where_less(product * product, 750.0 * 750.0, lost + low * factor, 0.0)
    value, scale = _scaled(product, t, near, far - rest)
    value = value * scale
    edge = where_less(y, 0.0, divide(1.0, a), a)  # of 0, infinity and what is not a number
    value = where_less(0.0, a, where_less(a, math.inf, value, edge), edge)
    n = _rounded(y)
    even = 2.0 * _rounded(0.5 * n)
    signed = where_less(even, n, -value, where_less(n, even, -value, value))
    signed = where_less(n, y, math.nan, where_less(y, n, math.nan, signed))
    value = where_less(x, 0.0, signed, value)
    return where_less(y, 0.0, value, where_less(0.0, y, value, 1.0 + y))


@elementary("cbrt", exact=lambda context, x: context.sign(x) * context.cbrt(abs(x)))
def cbrt(x: Scalar) -> Scalar:
    """The cube root, also of negative numbers."""
    a = absolute(x)
    k, m = _parts(a)
    third = k * (1.0 / 3.0) + SHIFT
    e = k - 3.0 * (third - SHIFT)  # -1, 0 or 1
    m_scaled = where_less(e, -0.5, 0.5 * m, where_less(0.5, e, 2.0 * m, m))
    scale = where_less(e, -0.5, 0.7937005259840998, where_less(0.5, e, 1.2599210498948732, 1.0))
    guess = high_part(polynomial(_CBRT, m) * scale)
    r = m_scaled / (guess * guess)
    root = guess + guess * ((r - guess) / ((guess + guess) + r))  # (Halley)
    return odd(x, where_less(0.0, a, where_less(a, math.inf, root * pow2(third), a), a))


@elementary("hypot", operands=2, exact=lambda context, x, y: context.hypot(x, y))
def hypot(x: Scalar, y: Scalar) -> Scalar:
    """The square root of x**2 + y**2, without overflow on the way."""
    a, b = absolute(x), absolute(y)
    larger = where_less(a, b, b, a)
    scale = where_less(larger, 2.0**-500, 2.0**600, where_less(2.0**500, larger, 2.0**-600, 1.0))
    back = where_less(larger, 2.0**-500, 2.0**-600, where_less(2.0**500, larger, 2.0**600, 1.0))
    a, b = a * scale, b * scale
    return sqrt(a * a + b * b) * back
