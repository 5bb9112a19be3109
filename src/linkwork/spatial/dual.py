"""Dual numbers: a value and its rate, so that a function over scalars gives its derivative along one direction.

A user-defined joint is known only as Python code; evaluated over dual numbers, it is differentiated exactly. A value or
a rate is any scalar: a float, a batch, an mpmath number or a traced value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.spatial.functions import OPERATIONS, Scalar, selected, sqrt
from linkwork.spatial.rates import RATES


class Dual:
    """x + x' ε with ε² = 0."""

    __slots__ = ("rate", "value")
    __array_ufunc__ = None  # arithmetic of an array with a dual number is left to the dual number

    def __init__(self, value: Scalar, rate: Scalar) -> None:
        self.value, self.rate = value, rate

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + value_of(other), self.rate + rate_of(other))

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.value - value_of(other), self.rate - rate_of(other))

    def __rsub__(self, other: Any) -> Dual:
        return Dual(other - self.value, -self.rate)

    def __mul__(self, other: Any) -> Dual:
        x, y = self.value, value_of(other)
        return Dual(x * y, self.rate * y + x * other.rate if isinstance(other, Dual) else self.rate * y)

    def __truediv__(self, other: Any) -> Dual:
        quotient = self.value / value_of(other)
        return Dual(quotient, (self.rate - quotient * rate_of(other)) / value_of(other))

    def __rtruediv__(self, other: Any) -> Dual:
        quotient = other / self.value
        return Dual(quotient, -(quotient * self.rate) / self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __lt__(self, other: Any) -> Any:
        return self.value < value_of(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > value_of(other)

    def sqrt(self) -> Dual:
        root = sqrt(self.value)
        return Dual(root, self.rate * (0.5 / root))

    def elementary(self, names: tuple[str, ...], text: Any, operands: tuple[Any, ...]) -> Any:
        """An elementary function of operands, one of them a dual number: its value, and its rate by ``RATES``."""
        values = [value_of(x) for x in operands]
        results = []
        for name in names:
            result = OPERATIONS[name][1](*values)
            rate: Scalar = 0.0
            for x, change in zip(operands, RATES[name], strict=True):
                if isinstance(x, Dual):
                    rate = rate + change(*values, result) * x.rate
            results.append(Dual(result, rate))
        return results[0] if len(results) == 1 else tuple(results)

    def chosen(self, less: Any, x: Any, y: Any) -> Dual:
        """x where ``less``, otherwise y; one of them is a dual number."""
        return Dual(selected(less, value_of(x), value_of(y)), selected(less, rate_of(x), rate_of(y)))


def value_of(x: Any) -> Scalar:
    return x.value if isinstance(x, Dual) else x


def rate_of(x: Any) -> Scalar:
    return x.rate if isinstance(x, Dual) else 0.0


def along(values: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Dual]:
    """Values that change at these rates."""
    return [Dual(value, rate) for value, rate in zip(values, rates, strict=True)]
