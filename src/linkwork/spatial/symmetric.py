"""Small symmetric positive definite matrices, of a size known at trace time (mostly 0 to 6)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from linkwork.spatial.functions import Scalar, where_less
from linkwork.spatial.vectors import Numbers, total

ROUNDING = 8.0 * sys.float_info.epsilon
"""The rounding error of a pivot, relative to the terms that cancel in it."""


class Factor(Numbers):
    """L D Lᵀ of a symmetric positive definite matrix: the unit lower triangle L and the inverse pivots 1/D."""

    __slots__ = ("lower", "inverse_pivots")

    def __init__(self, lower: list[list[Scalar]], inverse_pivots: list[Scalar]) -> None:
        self.lower, self.inverse_pivots = lower, inverse_pivots

    @staticmethod
    def of_matrix(
        rows: Sequence[Sequence[Scalar]], terms: Sequence[Scalar] = (), least: Sequence[Scalar] = ()
    ) -> Factor:
        """From the lower triangle of a matrix.

        ``terms`` are the terms that cancel in the pivot of each row. A pivot at the level of their rounding error
        counts as zero, so that its inverse does not exist. A row whose pivot is not above its ``least`` depends on
        those before it: the inverse pivot is zero, so that ``solve`` gives it no share.
        """
        n = len(rows)
        lower: list[list[Scalar]] = [[] for _ in range(n)]
        inverse_pivots: list[Scalar] = []
        cancelled: list[Scalar] = []  # the terms of previous pivots are amplified by L
        for i in range(n):
            scaled: list[Scalar] = []  # row i of L D
            for j in range(i):
                value = rows[i][j]
                for k in range(j):
                    value = value - scaled[k] * lower[j][k]
                scaled.append(value)
                lower[i].append(value * inverse_pivots[j])
            pivot = rows[i][i]
            for k in range(i):
                pivot = pivot - scaled[k] * lower[i][k]
            if terms:
                cancelled.append(terms[i] + total(l * l * t for l, t in zip(lower[i], cancelled, strict=True)))
                pivot = where_less(cancelled[i] * ROUNDING, pivot, pivot, 0.0)
            inverse_pivots.append(where_less(least[i], pivot, _inverse(pivot), 0.0) if least else 1.0 / pivot)
        return Factor(lower, inverse_pivots)

    def numbers(self) -> list[Scalar]:
        return [*(number for row in self.lower for number in row), *self.inverse_pivots]

    def of(self, numbers: Sequence[Scalar]) -> Factor:
        n = len(self.inverse_pivots)
        lower = [list(numbers[i * (i - 1) // 2 : i * (i + 1) // 2]) for i in range(n)]
        return Factor(lower, list(numbers[n * (n - 1) // 2 :]))

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with L D Lᵀ x = right."""
        return self.complete(self.forward(right))

    def complete(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with D Lᵀ x = right: the part of ``solve`` after ``forward``."""
        return self.backward([value * inverse for value, inverse in zip(right, self.inverse_pivots, strict=True)])

    def forward(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with L x = right."""
        x = list(right)
        for i, row in enumerate(self.lower):
            for k, number in enumerate(row):
                x[i] = x[i] - number * x[k]
        return x

    def backward(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with Lᵀ x = right."""
        x = list(right)
        for i in reversed(range(len(x))):
            for k in range(i + 1, len(x)):
                x[i] = x[i] - self.lower[k][i] * x[k]
        return x


def _inverse(pivot: Scalar) -> Scalar:
    """1 / pivot, or zero for a number that is zero."""
    return 0.0 if isinstance(pivot, float) and pivot == 0.0 else 1.0 / pivot


def plus_diagonal(rows: Sequence[Sequence[Scalar]], diagonal: Sequence[Scalar]) -> list[list[Scalar]]:
    """A matrix with numbers added to its diagonal; an empty ``diagonal`` adds nothing."""
    result = [list(row) for row in rows]
    for k, number in enumerate(diagonal):
        result[k][k] = result[k][k] + number
    return result


def plus_rotor(forces: Sequence[Scalar], rotor: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
    """Joint forces plus those that accelerate the rotors; an empty ``rotor`` adds nothing."""
    if not rotor:
        return list(forces)
    return [force + r * rate for force, r, rate in zip(forces, rotor, rates, strict=True)]
