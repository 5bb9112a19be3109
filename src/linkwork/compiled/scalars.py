"""The texts of NumPy's universal functions over scalars: floats, traced numbers, and conditions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import numpy as np

from linkwork.engine.trace.conditions import Condition
from linkwork.engine.trace.tracer import Traced
from linkwork.spatial import atan2, elementary, sin_cos, sqrt

_LARGEST = sys.float_info.max
_TRUTH = (Condition, bool)

# Scalars. A condition that is computed with is 1 or 0.


def number(x: Any) -> Any:
    """A scalar as a number."""
    if isinstance(x, Condition):
        return x.select(1.0, 0.0)
    return x if isinstance(x, Traced) else float(x)


def condition(x: Any) -> Any:
    """A scalar as a condition: a truth value, or one that is decided at run time."""
    if isinstance(x, Condition | bool):
        return x
    return not_(equal(x, 0.0))


def select(c: Any, x: Any, y: Any) -> Any:
    c = condition(c)
    if isinstance(c, bool):
        return x if c else y
    if isinstance(x, Condition | bool) and isinstance(y, Condition | bool):
        return less(0.5, c.select(number(x), number(y)))
    return c.select(number(x), number(y))


def less(a: Any, b: Any) -> Any:
    return number(a) < number(b)


def not_(c: Any) -> Any:
    c = condition(c)
    return not c if isinstance(c, bool) else c.negated()


def and_(a: Any, b: Any) -> Any:
    a, b = condition(a), condition(b)
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return a.joined(b)


def or_(a: Any, b: Any) -> Any:
    return not_(and_(not_(a), not_(b)))


def xor(a: Any, b: Any) -> Any:
    return or_(and_(a, not_(b)), and_(not_(a), b))


def equal(a: Any, b: Any) -> Any:
    return and_(not_(less(a, b)), not_(less(b, a)))


def _are_conditions(a: Any, b: Any) -> bool:
    return isinstance(a, _TRUTH) and isinstance(b, _TRUTH)


def _finite(x: Any) -> Any:
    """Arguments are finite: what is computed from them need not be."""
    x = number(x)
    if isinstance(x, float):
        return isfinite(x)
    return True if x.is_argument else less(elementary.absolute(x), inf)


def isnan(x: Any) -> Any:
    if _finite(x) is True:
        return False
    return and_(not_(less(x, inf)), not_(less(0.0, x)))


def isinf(x: Any) -> Any:
    if _finite(x) is True:
        return False
    return less(_LARGEST, elementary.absolute(number(x)))


def _of_numbers(text: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *x: text(*map(number, x))


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float) and isinstance(b, float):
        return float(np.float64(a) / np.float64(b))
    return a / b


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    rest = elementary.remainder(a, b)
    return elementary.rint(_divided(a - rest, b)), rest


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "subtract": lambda a, b: a - b,
    "divide": _divided,
    "negative": lambda a: -a,
    **dict.fromkeys(("positive", "conjugate"), lambda a: a),
    "square": lambda a: a * a,
    "reciprocal": lambda a: _divided(1.0, a),
    "sqrt": sqrt,
    "sin": lambda a: sin_cos(a)[0],
    "cos": lambda a: sin_cos(a)[1],
    "arctan2": atan2,
    "absolute": elementary.absolute,
    "fabs": elementary.absolute,
    "float_power": elementary.power,
    "floor_divide": lambda a, b: _divmod(a, b)[0],
    "divmod": _divmod,
    "fmin": elementary.minimum,
    "fmax": elementary.maximum,
    **dict.fromkeys(("deg2rad", "radians"), lambda a: a * (np.pi / 180.0)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda a: a * (180.0 / np.pi)),
    "heaviside": lambda a, b: select(less(a, 0.0), 0.0, select(less(0.0, a), 1.0, b)),
    "clip": lambda a, low, high: elementary.minimum(elementary.maximum(a, low), high),
    "copysign": lambda a, b: select(less(b, 0.0), -elementary.absolute(a), elementary.absolute(a)),
    "modf": lambda a: (a - elementary.trunc(a), elementary.trunc(a)),
    "logaddexp2": lambda a, b: (
        elementary.maximum(a, b) + elementary.log2(1.0 + elementary.exp2(-elementary.absolute(a - b)))
    ),
    "logaddexp": lambda a, b: elementary.maximum(a, b) + elementary.log1p(elementary.exp(-elementary.absolute(a - b))),
    **{
        name: getattr(elementary, name)
        for name in (
            "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "tan", "arcsin", "arccos", "arctan", "sinh",
            "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "power", "hypot", "cbrt", "floor", "ceil", "rint", "trunc",
            "remainder", "fmod", "sign", "minimum", "maximum",
        )
    },
}  # fmt: skip

_LOGICAL: dict[str, Callable[..., Any]] = {
    "less": less,
    "greater": lambda a, b: less(b, a),
    "less_equal": lambda a, b: not_(less(b, a)),
    "greater_equal": lambda a, b: not_(less(a, b)),
    "equal": equal,
    "not_equal": lambda a, b: not_(equal(a, b)),
    **dict.fromkeys(("logical_and", "bitwise_and"), and_),
    **dict.fromkeys(("logical_or", "bitwise_or"), or_),
    **dict.fromkeys(("logical_xor", "bitwise_xor"), xor),
    **dict.fromkeys(("logical_not", "invert"), not_),
    "signbit": lambda a: less(a, 0.0),
    "isfinite": _finite,
    "isnan": isnan,
    "isinf": isinf,
    "add": lambda a, b: or_(a, b) if _are_conditions(a, b) else number(a) + number(b),  # as NumPy adds truth values
    "multiply": lambda a, b: and_(a, b) if _are_conditions(a, b) else number(a) * number(b),
}

SCALARS = {**{name: _of_numbers(text) for name, text in _ARITHMETIC.items()}, **_LOGICAL}
"""The text of each universal function of NumPy over scalars."""


def _over_arrays(name: str, text: Callable[..., Any]) -> Any:
    known = getattr(np, name, None)
    return np.frompyfunc(text, known.nin if isinstance(known, np.ufunc) else 3, 2 if name in ("divmod", "modf") else 1)


ufuncs = {name: _over_arrays(name, text) for name, text in SCALARS.items()}
"""The same over arrays of objects."""
selected = np.frompyfunc(select, 3, 1)
as_numbers = np.frompyfunc(number, 1, 1)
