"""``numpy.linalg`` by Householder reflections over traced arrays: QR, and the functions built on it, for full rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers, traced
from linkwork.errors import TracingError
from linkwork.spatial import absolute, sqrt, total, where_less

Rows = list[list[Any]]

LEAST = 1e-14
"""Relative to the largest number on the diagonal of R: below it a matrix does not count as full rank."""


def qr(a: Any, mode: str = "reduced") -> Any:
    """A = Q R of a matrix (m, n): columns that are orthonormal, and an upper triangle; signs are LAPACK's."""
    if mode not in ("reduced", "r"):
        raise TracingError(f"np.linalg.qr(mode={mode!r}) cannot be traced; 'reduced' and 'r' can")
    Q, R = _reflected(_matrix("qr", a))
    if mode == "r":
        return _array(R)
    made: Any = type(np.linalg.qr(np.eye(1)))
    return made(_array(Q), _array(R)) if hasattr(made, "_fields") else (_array(Q), _array(R))


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The pseudoinverse of a matrix (m, n) of full rank; one that is not has no finite result."""
    if rcond is not None or rtol is not None:
        raise TracingError(
            "np.linalg.pinv leaves small singular values out by rcond, which cannot be traced; damp them instead: "
            "A.T @ np.linalg.solve(A @ A.T + damping * np.eye(m), b)"
        )
    rows = _matrix("pinv", a)
    if len(rows) < len(rows[0]):
        return _array(_transposed(_inverse(_transposed(rows))))
    return _array(_inverse(rows))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """NumPy's result for a matrix of full rank, without the singular values: x, the residual, and the rank."""
    m, n = np.shape(a)
    x = pinv(a) @ traced(numbers(b))
    off = traced(numbers(a)) @ x - traced(numbers(b))
    residual = np.sum(off * off, axis=0, keepdims=np.ndim(b) == 1) if m > n else np.zeros(0)
    return x, residual, min(m, n), None


def _matrix(name: str, a: Any) -> Rows:
    array = numbers(a)
    if array.ndim != 2 or not array.size:
        raise TracingError(f"np.linalg.{name} is traced for one matrix, not for an array of shape {array.shape}")
    return array.tolist()


def _array(rows: Rows) -> Any:
    return array_of([x for row in rows for x in row], (len(rows), len(rows[0])))


def _transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def _reflected(A: Rows) -> tuple[Rows, Rows]:
    """Q (m, k) and R (k, n), k the smaller of m and n. Each reflection H = 1 - t u uᵀ zeroes a column's numbers below
    the diagonal; if there are none, it is the identity.
    """
    m, n = len(A), len(A[0])
    R, k = [list(row) for row in A], min(len(A), len(A[0]))
    reflections: list[tuple[list[Any], Any]] = []
    for j in range(min(m - 1, n)):
        below = total(R[i][j] * R[i][j] for i in range(j + 1, m))
        first = R[j][j]
        length = sqrt(first * first + below)
        end = where_less(first, 0.0, length, -length)
        some = where_less(0.0, below, 1.0, 0.0)
        safe = where_less(0.5, some, end, 1.0)
        ratio = 1.0 / where_less(0.5, some, first - end, 1.0)
        u = [0.0] * j + [1.0] + [R[i][j] * ratio for i in range(j + 1, m)]
        t = some * ((end - first) / safe)
        reflections.append((u, t))
        _reflect(R, u, t, j, j)
        for i in range(j + 1, m):
            R[i][j] = 0.0
    Q = [[1.0 if i == j else 0.0 for j in range(k)] for i in range(m)]
    for j, (u, t) in reversed(list(enumerate(reflections))):
        _reflect(Q, u, t, j, j)
    return Q, [[R[i][j] if j >= i else 0.0 for j in range(n)] for i in range(k)]


def _reflect(A: Rows, u: list[Any], t: Any, row: int, column: int) -> None:
    """H A, from a row and a column on."""
    for c in range(column, len(A[0])):
        along = t * total(u[i] * A[i][c] for i in range(row, len(A)))
        for i in range(row, len(A)):
            A[i][c] = A[i][c] - along * u[i]


def _inverse(A: Rows) -> Rows:
    """R⁻¹ Qᵀ of a matrix with no fewer rows than columns; NaN if its columns are linearly dependent."""
    Q, R = _reflected(A)
    n = len(R)
    largest: Any = 0.0
    for k in range(n):
        size = absolute(R[k][k])
        largest = where_less(largest, size, size, largest)
    found = _transposed(Q)
    for k in reversed(range(n)):
        pivot = where_less(LEAST * largest, absolute(R[k][k]), R[k][k], np.nan)
        for c in range(k + 1, n):
            found[k] = [x - R[k][c] * y for x, y in zip(found[k], found[c], strict=True)]
        found[k] = [x / pivot for x in found[k]]
    return found
