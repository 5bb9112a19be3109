"""A symmetric positive definite block-tridiagonal system by odd-even reduction, in 2 log₂ N + 2 parallel steps.

    Yₖ nₖ + Eₖ nₖ₋₁ + Eₖ₊₁ᵀ nₖ₊₁ = rₖ,   k = 1 … N

Every other of the unknowns that are left is eliminated at once, until none is left; then they are found in the
reverse order. One that goes while its neighbours l and u stand a span away keeps factors L D Lᵀ = Y and

    outward   A = L⁻¹ Eₗ,   B = L⁻¹ Eᵤ,   z = L⁻¹ r,        Eₗ, Eᵤ: what couples it to its neighbours
    then      Yₗ -= Aᵀ D⁻¹ A,   rₗ -= Aᵀ D⁻¹ z,   Yᵤ -= Bᵀ D⁻¹ B,   rᵤ -= Bᵀ D⁻¹ z,   and l and u couple by -Bᵀ D⁻¹ A
    back      n = L⁻ᵀ D⁻¹ (z - A nₗ - B nᵤ)

An unknown fetches what its neighbours have for it at the start of the next step, so that a step writes each place
once and is one loop. About 2.2 times the work of eliminating one after the other. Heller 1976; with factors, no block
is inverted, and the elimination of a positive definite system in any order needs no pivots.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.tree import Body, Field, KnownTree, fields
from linkwork.spatial import Factor, Scalar
from linkwork.spatial.matrices import Column, Matrix, dot, minus_applied, transposed


def cyclic_reduction(
    tree: KnownTree, chain: Sequence[Body], Y: Field[Matrix], E: Field[Matrix], r: Field[Column]
) -> Field[Column]:
    """n; Y is given by lower triangles, E at a body couples it to the one before. Y and r are used up."""
    D: Field[Factor] = tree.field()
    A, B = fields(tree, Matrix, 2)
    z, n = fields(tree, Column, 2)
    count = len(chain)
    spans = [1 << level for level in range(count.bit_length())]

    for span in spans:
        half = span // 2
        for k in tree.parallel(range(span - 1, count, span)):
            body, lower, upper = chain[k], k - span >= 0, k + span < count
            if half:  # what two neighbours that went in the last step have for this one
                before, after = chain[k - half], chain[k + half] if k + half < count else None
                eliminate(Y[body], r[body], B[before], D[before], z[before])
                if after:
                    eliminate(Y[body], r[body], A[after], D[after], z[after])
            if k // span % 2:
                continue
            D[body] = Factor.of_matrix(Y[body])
            z[body] = D[body].forward(r[body])
            A[body], B[body] = [], []
            if lower:
                columns = transposed(E[body]) if not half else coupling(B[before], A[before], D[before])
                A[body] = transposed([D[body].forward(column) for column in columns])
            if upper:
                columns = E[chain[k + 1]] if not half else coupling(A[after], B[after], D[after])
                B[body] = transposed([D[body].forward(column) for column in columns])

    for span in reversed(spans):
        for k in tree.parallel(range(span - 1, count, 2 * span)):
            body = chain[k]
            known = z[body]
            if A[body]:
                known = minus_applied(known, A[body], n[chain[k - span]])
            if B[body]:
                known = minus_applied(known, B[body], n[chain[k + span]])
            n[body] = D[body].complete(known)

    return n


def eliminate(Y: Matrix, r: Column, A: Matrix, D: Factor, z: Sequence[Scalar]) -> None:
    """Y -= Aᵀ D⁻¹ A in its lower triangle, r -= Aᵀ D⁻¹ z."""
    scaled = transposed(_scaled(A, D))
    for i, column in enumerate(transposed(A)):
        for j in range(i + 1):
            Y[i][j] = Y[i][j] - dot(column, scaled[j])
        r[i] = r[i] - dot(scaled[i], z)


def reduced(r: Column, A: Matrix, D: Factor, z: Sequence[Scalar]) -> Column:
    """r - Aᵀ D⁻¹ z."""
    return [x - dot(row, z) for x, row in zip(r, transposed(_scaled(A, D)), strict=True)]


def coupling(A: Matrix, B: Matrix, D: Factor) -> Matrix:
    """The columns of -Aᵀ D⁻¹ B."""
    rows = transposed(_scaled(A, D))
    return [[-dot(row, column) for row in rows] for column in transposed(B)]


def _scaled(A: Matrix, D: Factor) -> Matrix:
    """D⁻¹ A."""
    return [[number * weight for number in row] for row, weight in zip(A, D.inverse_pivots, strict=True)]
