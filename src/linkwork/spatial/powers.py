"""Powers, roots, and logarithms to bases 2 and 10 over any scalar, by a logarithm of about 65 bits.

The remarks on special values in exponentials.py apply here. Largest error in units in the last place (measured in
tests/test_elementary.py, tabulated in docs/accuracy.md): log2 and log10 0.51, cbrt 0.7, hypot 1.5, power 1 if the
exponent is not a constant, or not a multiple of 1/2 up to 32.
"""

from __future__ import annotations

import math

import numpy as np

from linkwork.spatial.exponentials import LN2_HIGH, LN2_LOW, parts, reduced, scaled, where_positive
from linkwork.spatial.functions import (
    SHIFT,
    Scalar,
    absolute,
    divide,
    elementary,
    high_part,
    odd,
    polynomial,
    pow2,
    real,
    rounded,
    sqrt,
    where_less,
    within,
)

# Near-minimax polynomials, highest power first; fitted with mpmath's chebyfit.
_LOG_EXTENDED = (  # (3/2 log((1 + s) / (1 - s)) / s - 3 - z) / z**2, for (1 + s) / (1 - s) from 0.7071 to 1.4142
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


def _log_extended(x: Scalar) -> tuple[Scalar, Scalar]:
    """log(x) as a sum of two numbers, to about 65 bits, for finite x > 0 (as in fdlibm's e_pow.c, by Sun)."""
    k, m = parts(x)
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
    shift = k * LN2_HIGH
    total = shift + high
    return total, (high - (total - shift)) + (low + k * LN2_LOW)


def _log_to_base(x: Scalar, factor_high: float, factor_low: float) -> Scalar:
    high, low = _log_extended(x)
    upper = high_part(high)
    rest = (high - upper) * factor_high + (high * factor_low + low * (factor_high + factor_low))
    return where_positive(x, upper * factor_high + rest)


@elementary("log2", exact=lambda context, x: real(context, context.log(x, 2)))
def log2(x: Scalar) -> Scalar:
    """The logarithm to base 2; exact for powers of 2."""
    return _log_to_base(x, 1.4426950216293335, 1.9259629911266175e-08)


@elementary("log10", exact=lambda context, x: real(context, context.log10(x)))
def log10(x: Scalar) -> Scalar:
    """The logarithm to base 10; exact for powers of 10."""
    return _log_to_base(x, 0.4342944771051407, 4.798111141615973e-09)


# Powers and roots

_MOST_FACTORS = 32
"""Up to this exponent a power with a constant exponent is computed by repeated multiplication."""


def power(x: Scalar, y: Scalar) -> Scalar:
    """x**y, by a few multiplications if y is a Python number that is a small multiple of 1/2."""
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


@elementary("pow", operands=2, exact=lambda context, x, y: real(context, context.mpf(x) ** y))
def _pow(x: Scalar, y: Scalar) -> Scalar:
    """x**y for any y; nan for x < 0 unless y is an integer."""
    a = absolute(x)
    high, low = _log_extended(a)
    factor = within(-1e20, y, 1e20)
    a_high, b_high = high_part(high), high_part(factor)
    a_low, b_low = high - a_high, factor - b_high
    product = high * factor
    lost = ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low  # (Dekker)
    t, near, far = reduced(within(-750.0, product, 720.0))
    rest = where_less(product * product, 750.0 * 750.0, lost + low * factor, 0.0)
    value, scale = scaled(product, t, near, far - rest)
    value = value * scale
    edge = where_less(y, 0.0, divide(1.0, a), a)  # for 0, infinity and nan
    value = where_less(0.0, a, where_less(a, math.inf, value, edge), edge)
    n = rounded(y)
    even = 2.0 * rounded(0.5 * n)
    signed = where_less(even, n, -value, where_less(n, even, -value, value))
    signed = where_less(n, y, math.nan, where_less(y, n, math.nan, signed))
    value = where_less(x, 0.0, signed, value)
    return where_less(y, 0.0, value, where_less(0.0, y, value, 1.0 + y))


@elementary("cbrt", exact=lambda context, x: context.sign(x) * context.cbrt(abs(x)))
def cbrt(x: Scalar) -> Scalar:
    """The cube root, also of negative numbers."""
    a = absolute(x)
    k, m = parts(a)
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
    """The square root of x**2 + y**2, without intermediate overflow."""
    a, b = absolute(x), absolute(y)
    larger = where_less(a, b, b, a)
    scale = where_less(larger, 2.0**-500, 2.0**600, where_less(2.0**500, larger, 2.0**-600, 1.0))
    back = where_less(larger, 2.0**-500, 2.0**-600, where_less(2.0**500, larger, 2.0**600, 1.0))
    a, b = a * scale, b * scale
    return sqrt(a * a + b * b) * back
