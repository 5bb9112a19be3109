"""Sparse symmetric matrices over any scalars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwork.spatial import Factor, Scalar, total


def coupled(cliques: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """The non-zero entries of the lower triangle of a symmetric matrix, row by row, given the rows that are coupled."""
    return sorted({(i, j) for clique in cliques for i in clique for j in clique if j <= i})


Matrix = dict[tuple[int, int], Scalar]
"""The non-zero entries of the lower triangle of a symmetric matrix."""


def times(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x."""
    terms: list[list[Scalar]] = [[] for _ in x]
    for (i, j), number in A.items():
        terms[i].append(number * x[j])
        if j < i:
            terms[j].append(number * x[i])
    return [total(each) for each in terms]


def solved(A: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """A⁻¹ b. The last rows are eliminated first, so that branches of a mechanism are not filled in."""
    n = len(b)
    rows = [[A.get((j, i), 0.0) for j in reversed(range(i, n))] for i in reversed(range(n))]
    return Factor.of_matrix(rows).solve(b[::-1])[::-1]
