"""Sparse symmetric matrices over any scalars."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.spatial import Factor, Scalar, total


class Sparsity:
    """The non-zero pattern of a symmetric matrix: row i has the columns ``before[i]`` and i itself; closed under
    elimination from the last row on. ``often`` are patterns that frequently suffice instead, the sparsest first.
    """

    def __init__(self, n: int, cliques: Sequence[Sequence[int]], often: Sequence[Sparsity] = ()) -> None:
        pattern: list[set[int]] = [set() for _ in range(n)]
        for clique in cliques:
            for i in clique:
                pattern[i] |= {j for j in clique if j < i}
        for i in reversed(range(n)):
            for j in pattern[i]:
                pattern[j] |= {k for k in pattern[i] if k < j}
        self.n, self.before, self.often = n, [sorted(columns) for columns in pattern], often

    @property
    def places(self) -> list[tuple[int, int]]:
        """All non-zero entries, row by row."""
        return [(i, j) for i in range(self.n) for j in (*self.before[i], i)]


Matrix = dict[tuple[int, int], Scalar]
"""The non-zero entries of the lower triangle of a symmetric matrix."""


def times(A: Matrix, x: Sequence[Scalar], sparsity: Sparsity) -> list[Scalar]:
    """A x."""
    terms: list[list[Scalar]] = [[] for _ in range(sparsity.n)]
    for i, j in sparsity.places:
        terms[i].append(A[i, j] * x[j])
        if j < i:
            terms[j].append(A[i, j] * x[i])
    return [total(each) for each in terms]


def solved(A: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """A⁻¹ b. The last rows are eliminated first, so that branches of a mechanism are not filled in."""
    n = len(b)
    rows = [[A.get((j, i), 0.0) for j in reversed(range(i, n))] for i in reversed(range(n))]
    return Factor.of_matrix(rows).solve(b[::-1])[::-1]
