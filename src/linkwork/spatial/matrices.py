"""Small matrices over any scalar, as lists of rows, and columns, as lists of numbers: 0 to 6 each way, as joints need.

Sums go from the left and start with their first term (``total``), so that every engine rounds alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.vectors import total

Row = Sequence[Scalar]
Column = list[Scalar]
Matrix = list[Column]
"""Rows; a symmetric matrix may have its lower triangle only."""


def unit(k: int, count: int) -> Column:
    """Column k of the identity."""
    return [float(i == k) for i in range(count)]


def units(count: int) -> Matrix:
    """The identity."""
    return [unit(k, count) for k in range(count)]


def plus(x: Row, y: Row) -> Column:
    return [a + b for a, b in zip(x, y, strict=True)]


def minus(x: Row, y: Row) -> Column:
    return [a - b for a, b in zip(x, y, strict=True)]


def plus_rows(A: Sequence[Row], B: Sequence[Row]) -> Matrix:
    """A + B."""
    return [plus(a, b) for a, b in zip(A, B, strict=True)]


def negated(rows: Sequence[Row]) -> Matrix:
    """-A."""
    return [[-number for number in row] for row in rows]


def dot(x: Row, y: Row) -> Scalar:
    """xᵀ y."""
    return total(a * b for a, b in zip(x, y, strict=True))


def applied(A: Sequence[Row], x: Row) -> Column:
    """A x."""
    return [dot(row, x) for row in A]


def minus_applied(x: Row, A: Sequence[Row], y: Row) -> Column:
    """x - A y."""
    return [number - dot(row, y) for number, row in zip(x, A, strict=True)]


def product(A: Sequence[Row], B: Sequence[Row]) -> Matrix:
    """A B, column by column."""
    return transposed([applied(A, column) for column in zip(*B, strict=True)])


def transposed(rows: Sequence[Row]) -> Matrix:
    """Aᵀ; empty for a matrix without rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def columns(rows: Sequence[Row], count: int) -> Matrix:
    """The columns of a matrix whose rows have ``count`` numbers each; empty columns if it has no rows."""
    return [[row[k] for row in rows] for k in range(count)]


def padded(x: Row, count: int) -> Column:
    """A column padded with zeros."""
    return [*x, *[0.0] * (count - len(x))]


def padded_with_identity(rows: Sequence[Row], count: int) -> Matrix:
    """The lower triangle of a block, padded with rows of the identity."""
    return [*(list(row) for row in rows), *([0.0] * k + [1.0] for k in range(len(rows), count))]
