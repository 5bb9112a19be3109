"""``numpy.linalg`` over traced arrays: elimination written over scalars, which chooses pivots without branching."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.engine.trace.tracer import Traced
from linkwork.errors import TracingError
from linkwork.spatial import absolute, sqrt, where_less

Rows = list[list[Any]]


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


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The Euclidean length of vectors (or of all numbers of a matrix); 1 and inf are other norms of vectors."""
    array = traced(numbers(x))
    vector = (axis is not None and np.ndim(axis) == 0) or (axis is None and array.ndim == 1)
    if ord is None or (ord == 2 and vector) or ord == "fro":
        return np.sqrt(np.sum(array * array, axis=axis, keepdims=keepdims))
    if vector and ord == 1:
        return np.sum(np.abs(array), axis=axis, keepdims=keepdims)
    if vector and ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(array), axis=axis, keepdims=keepdims)
    raise TracingError(f"np.linalg.norm(ord={ord!r}) cannot be traced; None, 1, 2 and inf of vectors can")


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
    """A⁻¹ B by elimination with partial pivoting, and the determinant of A. Numbers that are zero by structure are
    left out, so that a triangle costs no more than substitution.
    """
    n, determinant = len(A), 1.0
    A, B = [list(row) for row in A], [list(row) for row in B]
    if all(_is_zero(A[r][c]) for r in range(n) for c in range(r + 1, n)):  # a lower triangle: from the top
        for r in range(n):
            determinant = determinant * A[r][r]
            for k in range(r):
                B[r] = [x - A[r][k] * y for x, y in zip(B[r], B[k], strict=True)]
            B[r] = [x / A[r][r] for x in B[r]]
        return B, determinant
    for k in range(n):
        rows = [r for r in range(k, n) if not _is_zero(A[r][k])]
        for r in rows:
            if r != k:
                determinant = _exchanged(A, B, k, r, determinant)
        determinant = determinant * A[k][k]
        for r in range(k + 1, n):
            if not _is_zero(A[r][k]):
                factor = A[r][k] / A[k][k]
                A[r] = [0.0] * (k + 1) + [x - factor * y for x, y in zip(A[r][k + 1 :], A[k][k + 1 :], strict=True)]
                B[r] = [x - factor * y for x, y in zip(B[r], B[k], strict=True)]
    for k in reversed(range(n)):
        for c in range(k + 1, n):
            B[k] = [x - A[k][c] * y for x, y in zip(B[k], B[c], strict=True)]
        B[k] = [x / A[k][k] for x in B[k]]
    return B, determinant


def _exchanged(A: Rows, B: Rows, k: int, r: int, determinant: Any) -> Any:
    """Rows k and r in each other's place if r has the larger number in column k; the determinant with its sign."""
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
