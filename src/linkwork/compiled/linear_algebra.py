"""``numpy.linalg`` over traced arrays: elimination over scalars, which selects pivots without branching."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.engine.trace.tracer import Traced
from linkwork.errors import TracingError
from linkwork.spatial import absolute, sqrt, where_less

Row = list[Any]
Rows = list[Row]


def solve(a: Any, b: Any) -> Any:
    """x with A x = b, of matrices (..., n, n) and right sides (n,) or (..., n, k)."""
    matrix, right = _square("solve", a), numbers(b)
    vector = right.ndim == 1
    right = right[:, None] if vector else right
    if right.ndim < 2 or right.shape[-2] != matrix.shape[-1]:
        raise TracingError(f"np.linalg.solve: shapes {np.shape(a)} and {np.shape(b)} do not fit")
    found = _each(lambda A, B: _solved(A, B)[0], matrix, right)
    return traced(found[..., 0] if vector else found)


def inv(a: Any) -> Any:
    """A⁻¹ of matrices (..., n, n)."""
    matrix = _square("inv", a)
    identity = np.eye(matrix.shape[-1]).astype(object)
    return traced(_each(lambda A, B: _solved(A, B)[0], matrix, identity))


def det(a: Any) -> Any:
    """The determinant of matrices (..., n, n)."""
    matrix = _square("det", a)
    right = np.zeros((matrix.shape[-1], 0), dtype=object)
    found = _each(lambda A, B: [[_solved(A, B)[1]]], matrix, right)
    return traced(found[..., 0, 0])


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """The lower triangle L of A = L Lᵀ, of symmetric positive definite matrices (..., n, n)."""
    found = _each(lambda A, _: _factor(A), _square("cholesky", a), np.zeros((0, 0), dtype=object))
    return traced(np.swapaxes(found, -1, -2) if upper else found)


def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its size, of matrices (..., n, n)."""
    determinant = det(a)
    sign, logarithm = np.sign(determinant), np.log(np.abs(determinant))
    made = getattr(np.linalg.slogdet(np.eye(1)), "_fields", None)
    return type(np.linalg.slogdet(np.eye(1)))(sign, logarithm) if made else (sign, logarithm)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or of matrices: the Euclidean one, of all numbers, if ``ord`` is left out."""
    array = traced(numbers(x))
    if ord is None:
        return np.sqrt(np.sum(array * array, axis=axis, keepdims=keepdims))
    axes = tuple(range(array.ndim)) if axis is None else (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(axes) == 1:
        return vector_norm(array, axis=axes[0], keepdims=keepdims, ord=ord)
    moved = np.moveaxis(array, axes, (-2, -1))
    found = matrix_norm(moved, ord=ord)
    return np.expand_dims(found, axes) if keepdims else found


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """(Σ |x|ᵖ)^(1/p) of vectors; the largest and the smallest number for inf and -inf, how many are not 0 for 0."""
    size = np.abs(traced(numbers(x)))
    if not isinstance(ord, int | float):
        raise TracingError(f"np.linalg.norm(ord={ord!r}) of vectors cannot be traced; numbers and inf can")
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.count_nonzero(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    return np.sum(size ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """That of all numbers of matrices (..., m, n); the largest sum of a column for 1, and of a row for inf."""
    array = traced(numbers(x))
    if ord == "fro":
        return np.sqrt(np.sum(array * array, axis=(-2, -1), keepdims=keepdims))
    if isinstance(ord, int | float) and abs(ord) in (1, np.inf):
        sums = np.sum(np.abs(array), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
        return (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=keepdims)
    raise TracingError(f"np.linalg.norm(ord={ord!r}) of matrices cannot be traced; 'fro', 1 and inf can")


def matrix_power(a: Any, n: int) -> Any:
    """A multiplied by itself."""
    matrix = traced(_square("matrix_power", a))
    if n < 0:
        matrix, n = inv(matrix), -n
    result = traced(np.eye(matrix.shape[-1]).astype(object))
    while n:
        result, matrix, n = result @ matrix if n & 1 else result, matrix @ matrix if n > 1 else matrix, n >> 1
    return result


def _square(name: str, a: Any) -> Any:
    array = numbers(a)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise TracingError(f"np.linalg.{name} takes square matrices, not an array of shape {array.shape}")
    return array


def _each(text: Any, a: Any, b: Any) -> Any:
    """A text over two matrices, as rows, for all leading axes."""
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*leading, *x.shape[-2:])).reshape((prod(leading), *x.shape[-2:])) for x in (a, b))
    found = [np.array(text(A.tolist(), B.tolist()), dtype=object) for A, B in zip(a, b, strict=True)]
    return np.array(found, dtype=object).reshape((*leading, *found[0].shape))


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Traced) and x == 0.0


def _solved(A: Rows, B: Rows) -> tuple[Rows, Any]:
    """A⁻¹ B by elimination with partial pivoting, and the determinant of A. Structural zeros are left out, so that a
    triangle costs no more than substitution.
    """
    n, determinant = len(A), 1.0
    A, B = [list(row) for row in A], [list(row) for row in B]
    if all(_is_zero(A[r][c]) for r in range(n) for c in range(r + 1, n)):  # a lower triangle
        for r in range(n):
            determinant = determinant * A[r][r]
        return _substituted(A, B, [(r, range(r)) for r in range(n)]), determinant
    for k in range(n):
        for r in range(k + 1, n):
            if not _is_zero(A[r][k]):
                determinant = _exchanged(A, B, k, r, determinant)
        determinant = determinant * A[k][k]
        for r in range(k + 1, n):
            if not _is_zero(A[r][k]):
                factor = A[r][k] / A[k][k]
                A[r] = [0.0] * (k + 1) + _minus(A[r][k + 1 :], factor, A[k][k + 1 :])
                B[r] = _minus(B[r], factor, B[k])
    return _substituted(A, B, [(k, range(k + 1, n)) for k in reversed(range(n))]), determinant


def _minus(row: Row, factor: Any, other: Row) -> Row:
    return [x - factor * y for x, y in zip(row, other, strict=True)]


def _substituted(A: Rows, B: Rows, order: Sequence[tuple[int, range]]) -> Rows:
    """T⁻¹ B for a triangle T: its rows in this order, each with the columns of the rows before."""
    for r, columns in order:
        for c in columns:
            B[r] = _minus(B[r], A[r][c], B[c])
        B[r] = [x / A[r][r] for x in B[r]]
    return B


def _exchanged(A: Rows, B: Rows, k: int, r: int, determinant: Any) -> Any:
    """Rows k and r exchanged if r has the larger number in column k; the determinant with its sign."""
    here, there = absolute(A[k][k]), absolute(A[r][k])

    def either(x: Any, y: Any) -> tuple[Any, Any]:
        return where_less(here, there, y, x), where_less(here, there, x, y)

    for rows, first in ((A, k), (B, 0)):
        pairs = [either(x, y) for x, y in zip(rows[k][first:], rows[r][first:], strict=True)]
        rows[k][first:], rows[r][first:] = [x for x, _ in pairs], [y for _, y in pairs]
    return where_less(here, there, -determinant, determinant)


def _factor(A: Rows) -> Rows:
    n = len(A)
    L = [[0.0] * n for _ in range(n)]
    for j in range(n):
        pivot = A[j][j]
        for k in range(j):
            pivot = pivot - L[j][k] * L[j][k]
        L[j][j] = sqrt(pivot)
        for i in range(j + 1, n):
            value = A[i][j]
            for k in range(j):
                value = value - L[i][k] * L[j][k]
            L[i][j] = value / L[j][j]
    return L
