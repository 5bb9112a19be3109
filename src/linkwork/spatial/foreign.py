"""Adapters for scalars of other libraries.

A scalar has arithmetic (+ - * /, negation) with its own kind and with floats, a comparison ``<``, and these methods:

    sqrt()                                the square root
    elementary(names, text, operands)     an elementary function; several names for several results
    chosen(less, x, y)                    x where a comparison holds, otherwise y; or the comparison has select(x, y)

Floats, arrays and mpmath numbers are supported directly. A type with arithmetic but none of these methods, such as
CasADi's SX, gets them here: elementary functions, ``if_else`` and ``where`` are looked up under NumPy's names in the
package of the type, and then as methods of the scalar.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

from linkwork.errors import ArgumentError

_OTHER_NAMES = {"atan2": ("atan2", "arctan2"), "arctan2": ("arctan2", "atan2")}


def is_foreign(x: Any) -> bool:
    """Whether a scalar needs a wrapper: it is not a number of Python, NumPy or mpmath, and lacks the methods."""
    import numpy as np

    plain = isinstance(x, float | int | np.ndarray | np.generic)
    return not plain and not hasattr(x, "elementary") and not hasattr(x, "context")


class Foreign:
    """A scalar of another library."""

    __slots__ = ("value",)
    __array_ufunc__ = None

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> Any:
        return Foreign(self.value + unwrapped(other)) if _fits(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return Foreign(self.value - unwrapped(other)) if _fits(other) else NotImplemented

    def __rsub__(self, other: Any) -> Foreign:
        return Foreign(other - self.value)

    def __mul__(self, other: Any) -> Any:
        return Foreign(self.value * unwrapped(other)) if _fits(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return Foreign(self.value / unwrapped(other)) if _fits(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Foreign:
        return Foreign(other / self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Foreign:
        return Foreign(-self.value)

    def __lt__(self, other: Any) -> Any:
        return _Choice(self.value < unwrapped(other), self)

    def __gt__(self, other: Any) -> Any:
        return _Choice(self.value > unwrapped(other), self)

    def sqrt(self) -> Foreign:
        return Foreign(self.function("sqrt")(self.value))

    def elementary(self, names: tuple[str, ...], text: Any, operands: tuple[Any, ...]) -> Any:
        """Evaluated by the other library's functions."""
        functions = [self.function(name) for name in names]
        results = tuple(Foreign(function(*map(unwrapped, operands))) for function in functions)
        return results[0] if len(results) == 1 else results

    def chosen(self, less: Any, x: Any, y: Any) -> Any:
        return less.select(x, y)

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the scalar's package, or a method of the scalar."""
        package = sys.modules.get(type(self.value).__module__.partition(".")[0])
        for one in _OTHER_NAMES.get(name, (name,)):
            for owner in (package, type(self.value)):
                result = getattr(owner, one, None)
                if callable(result):
                    return cast(Callable[..., Any], result)
        raise ArgumentError(f"{type(self.value).__name__} has no function {name!r}, which this computation needs")


class _Choice:
    """A comparison of a foreign scalar."""

    def __init__(self, holds: Any, of: Foreign) -> None:
        self.holds, self.of = holds, of

    def select(self, x: Any, y: Any) -> Any:
        holds = self.holds
        if isinstance(holds, bool):
            return x if holds else y
        for name in ("if_else", "where"):
            try:
                choose = self.of.function(name)
            except ArgumentError:
                continue
            return Foreign(choose(holds, unwrapped(x), unwrapped(y)))
        raise ArgumentError(f"{type(self.of.value).__name__} has neither if_else nor where, to choose by a comparison")


def _fits(other: Any) -> bool:
    """Whether a result is a foreign scalar; with a dual number it is a dual number of foreign scalars."""
    return isinstance(other, Foreign) or not hasattr(other, "elementary")


def unwrapped(x: Any) -> Any:
    """The scalar in its library's own type."""
    return x.value if isinstance(x, Foreign) else x
