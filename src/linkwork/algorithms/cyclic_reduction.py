"""A symmetric positive definite block-tridiagonal system by odd-even reduction, in 2 log₂ N + 2 parallel steps.

    Yₖ nₖ + Eₖ nₖ₋₁ + Eₖ₊₁ᵀ nₖ₊₁ = rₖ,   k = 1 … N

Every other one of the remaining unknowns is eliminated at once, until none is left; then they are found in the
reverse order. An unknown eliminated while its neighbours l and u are a span away keeps factors L D Lᵀ = Y and

    outward   A = L⁻¹ Eₗ,   B = L⁻¹ Eᵤ,   z = L⁻¹ r,        Eₗ, Eᵤ: its couplings to the neighbours
    then      Yₗ -= Aᵀ D⁻¹ A,   rₗ -= Aᵀ D⁻¹ z,   Yᵤ -= Bᵀ D⁻¹ B,   rᵤ -= Bᵀ D⁻¹ z,   and l and u couple by -Bᵀ D⁻¹ A
    back      n = L⁻ᵀ D⁻¹ (z - A nₗ - B nᵤ)

An unknown fetches the contributions of its neighbours at the start of the next step, so that a step writes each place
once and is one loop. This is about 2.2 times the work of sequential elimination. Heller 1976; with factors, no block
is inverted, and the elimination of a positive definite system in any order needs no pivoting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms.tree import Field, ReducedTree, fields
from linkwork.spatial import Factor, Scalar
from linkwork.spatial.matrices import Column, Matrix, dot, minus_applied, transposed


def cyclic_reduction(
    tree: ReducedTree, places: Any, Y: Field[Matrix], E: Field[Matrix], r: Field[Column]
) -> Field[Column]:
    """n, in the field of r; Y has lower triangles and is overwritten; E at a place couples it to the one before."""
    D: Field[Factor] = tree.field()
    A, B = fields(tree, Matrix, 2)
    z: Field[Column] = tree.field()

    for step in tree.reduction(places):
        for one in tree.parallel(step):
            at, before, after = one.place, one.before, one.after
            left, right = Y[at], r[at]
            if before:  # contributions of the two neighbours eliminated in the last step
                eliminate(left, right, B[before], D[before], z[before])
            if after:
                eliminate(left, right, A[after], D[after], z[after])
            if not one.goes:
                Y[at], r[at] = left, right
                continue
            lower: Matrix = []
            upper: Matrix = []
            if one.lower:
                lower = transposed(E[at]) if one.first else coupling(B[before], A[before], D[before])
            if one.upper:
                upper = E[one.upper] if one.first else coupling(A[after], B[after], D[after])
            factor = Factor.of_matrix(left)
            D[at], z[at] = factor, factor.forward(right)
            A[at], B[at] = _forward(factor, lower), _forward(factor, upper)

    n = r
    for step in tree.reduction_back(places):
        for one in tree.parallel(step):
            rest = z[one.place]
            if one.lower:
                rest = minus_applied(rest, A[one.place], n[one.lower])
            if one.upper:
                rest = minus_applied(rest, B[one.place], n[one.upper])
            n[one.place] = D[one.place].complete(rest)

    return n


def _forward(factor: Factor, columns: Matrix) -> Matrix:
    return transposed([factor.forward(column) for column in columns])


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
