"""A target: attributes, and a table of operations.

``Language`` is C99. Another language of the C family changes what differs: how functions, arrays and tables are
declared, the functions on the bits of numbers, and the type of integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf, isnan
from types import MappingProxyType

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": "{0} * {1}",
        "div": "{0} / {1}",
        "neg": "-{0}",
        "less": "({0} < {1}) ? {2} : {3}",
        "sqrt": "sqrt({0})",
        "quadrant_sin": "lw_quadrant_sin({0}, {1}, {2})",
        "quadrant_cos": "lw_quadrant_cos({0}, {1}, {2})",
        "pow2": "lw_pow2({0})",
        "exponent": "lw_exponent({0})",
        "mantissa": "lw_mantissa({0})",
    }
)
"""The operations on numbers, as expressions of their operands."""

_BITS = """\
static inline uint64_t lw_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
"""
_NUMBER = """\
static inline double lw_number(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
"""
_FINITE = """\
static inline int lw_finite(double x)
{
    return (lw_bits(x) & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
}
"""
_QUADRANT = """\
/* {what} of an angle, from those of its remainder and the quarter turns in the lowest bits of t. */
static inline double lw_quadrant_{name}(double t, double s, double c)
{{
    const uint64_t turns = lw_bits(t);
    const uint64_t odd = UINT64_C(0) - (turns & UINT64_C(1));
    const uint64_t size = (lw_bits({even}) & ~odd) | (lw_bits({odd}) & odd);
    return lw_number(size ^ (({turns} << 62) & UINT64_C(0x8000000000000000)));
}}
"""
_POW2 = """\
/* 2 to the power k, of k + 1.5 * 2^52. */
static inline double lw_pow2(double t)
{
    return lw_number((lw_bits(t) + UINT64_C(1023)) << 52);
}
"""
_HALF = 0x3FE6A09E667F3BCD  # the bits of the square root of 1/2
_EXPONENT = f"""\
/* k + 1.5 * 2^52, of m * 2^k with m from sqrt(1/2) to sqrt(2). */
static inline double lw_exponent(double x)
{{
    return lw_number(((lw_bits(x) + UINT64_C(0x{2**62 - _HALF:016X})) >> 52) + UINT64_C(0x4337FFFFFFFFFC00));
}}
"""
_MANTISSA = f"""\
/* m, of m * 2^k with m from sqrt(1/2) to sqrt(2). */
static inline double lw_mantissa(double x)
{{
    const uint64_t low = (lw_bits(x) + UINT64_C(0x{2**64 - _HALF:016X})) & UINT64_C(0x000FFFFFFFFFFFFF);
    return lw_number(low + UINT64_C(0x{_HALF:016X}));
}}
"""
_ROW = """\
/* The number of a row, of so many; the first one for what is no row. */
static inline ptrdiff_t lw_row(double x, double rows)
{
    return ((x >= 0.0) && (x < rows)) ? (ptrdiff_t)x : 0;
}
"""

HELPERS: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        "lw_bits": ((), _BITS),
        "lw_number": ((), _NUMBER),
        "lw_finite": (("lw_bits",), _FINITE),
        "lw_quadrant_sin": (
            ("lw_bits", "lw_number"),
            _QUADRANT.format(name="sin", what="The sine", even="s", odd="c", turns="turns"),
        ),
        "lw_quadrant_cos": (
            ("lw_bits", "lw_number"),
            _QUADRANT.format(name="cos", what="The cosine", even="c", odd="s", turns="(turns + UINT64_C(1))"),
        ),
        "lw_pow2": (("lw_bits", "lw_number"), _POW2),
        "lw_exponent": (("lw_bits", "lw_number"), _EXPONENT),
        "lw_mantissa": (("lw_bits", "lw_number"), _MANTISSA),
        "lw_row": ((), _ROW),
    }
)
"""Functions that operations call, in order: those that each needs, and its text."""


class Language:
    """C99.

    Attributes:
        real, integer: the types of numbers, and of indices.
        function: the qualifiers of a function that others call; ``apart`` of one that is not to be inlined.
        array, constant_array, table: how an array of numbers that is written, one that is read, and a constant table
            are declared, by name.
        operations: expressions of operands, by the operation.
        helpers: the functions that operations call.
    """

    name = "c99"
    real = "double"
    integer = "ptrdiff_t"
    function = "static void"
    apart = "LW_APART static void"
    array = "double *restrict {name}"
    constant_array = "const double *restrict {name}"
    table = "static const {kind} {name}[{size}]"
    kinds: Mapping[str, str] = MappingProxyType({"data": "double", "ints": "int32_t"})
    nan, infinity = "lw_number(UINT64_C(0x7FF8000000000000))", "lw_number(UINT64_C(0x7FF0000000000000))"
    operations = OPERATIONS
    helpers = HELPERS

    @property
    def helper_texts(self) -> list[str]:
        """The texts of all helpers, in the order in which they must stand."""
        return [text for _, text in self.helpers.values()]

    def literal(self, x: float) -> str:
        """A constant, with all its digits."""
        if isnan(x):
            return self.nan
        if isinf(x):
            return self.infinity if x == inf else f"(-{self.infinity})"
        return f"({x!r})" if repr(x).startswith("-") else repr(float(x))


C99 = Language()
