"""The partial derivatives of operations with respect to their operands, over any scalar.

Where a function has no derivative, or an infinite one, a finite value is used: 0 for a square or cube root, a length
or an angle at 0, and for functions that round to integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from linkwork.spatial import elementary
from linkwork.spatial.functions import Scalar, sqrt, where_less


def _inverse(x: Scalar) -> Scalar:
    """1 / x, and 0 at 0."""
    nonzero = where_less(0.0, x * x, x, 1.0)
    return where_less(0.0, x * x, 1.0 / nonzero, 0.0)


def _square(x: Scalar, y: Scalar) -> Scalar:
    return x * x + y * y


LN2, LN10 = math.log(2.0), math.log(10.0)

RATES: dict[str, tuple[Callable[..., Scalar], ...]] = {
    "add": (lambda a, b, r: 1.0, lambda a, b, r: 1.0),
    "sub": (lambda a, b, r: 1.0, lambda a, b, r: -1.0),
    "mul": (lambda a, b, r: b, lambda a, b, r: a),
    "div": (lambda a, b, r: 1.0 / b, lambda a, b, r: -(r / b)),
    "neg": (lambda a, r: -1.0,),
    "sqrt": (lambda a, r: 0.5 * _inverse(r),),
    "sin": (lambda a, r: elementary.cos(a),),
    "cos": (lambda a, r: -elementary.sin(a),),
    "tan": (lambda a, r: 1.0 + r * r,),
    "atan2": (lambda y, x, r: x * _inverse(_square(x, y)), lambda y, x, r: -(y * _inverse(_square(x, y)))),
    "arcsin": (lambda a, r: _inverse(sqrt(1.0 - a * a)),),
    "arccos": (lambda a, r: -_inverse(sqrt(1.0 - a * a)),),
    "exp": (lambda a, r: r,),
    "exp2": (lambda a, r: LN2 * r,),
    "expm1": (lambda a, r: r + 1.0,),
    "log": (lambda a, r: 1.0 / a,),
    "log1p": (lambda a, r: 1.0 / (1.0 + a),),
    "log2": (lambda a, r: 1.0 / (LN2 * a),),
    "log10": (lambda a, r: 1.0 / (LN10 * a),),
    "sinh": (lambda a, r: elementary.cosh(a),),
    "cosh": (lambda a, r: elementary.sinh(a),),
    "tanh": (lambda a, r: 1.0 - r * r,),
    "arcsinh": (lambda a, r: 1.0 / sqrt(1.0 + a * a),),
    "arccosh": (lambda a, r: _inverse(sqrt(a * a - 1.0)),),
    "arctanh": (lambda a, r: 1.0 / (1.0 - a * a),),
    "cbrt": (lambda a, r: _inverse(3.0 * r * r),),
    "hypot": (lambda a, b, r: a * _inverse(r), lambda a, b, r: b * _inverse(r)),
    "pow": (
        lambda a, b, r: b * elementary.power(a, b - 1.0),
        lambda a, b, r: where_less(0.0, a, r * elementary.log(where_less(0.0, a, a, 1.0)), 0.0),
    ),
    "remainder": (lambda a, b, r: 1.0, lambda a, b, r: -elementary.rint((a - r) / b)),
    "fmod": (lambda a, b, r: 1.0, lambda a, b, r: -elementary.rint((a - r) / b)),
    "varying_as": (lambda x, y, r: 0.0, lambda x, y, r: 1.0),
    **dict.fromkeys(("rint", "floor", "ceil", "trunc"), (lambda a, r: 0.0,)),
}
"""The derivative of the result r of an operation with respect to each of its operands."""
