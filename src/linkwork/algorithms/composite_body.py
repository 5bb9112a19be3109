"""Forward dynamics by composite rigid bodies: M q̈ = τ - b(q, v), with a factorisation M = Lᵀ D L along the tree.

    inward    for each ancestor j of i:   Lᵢⱼ = Dᵢ⁻¹ Mᵢⱼ;   and for each k from j up:   Mⱼₖ -= Lᵢⱼᵀ Mᵢₖ
    solve     Lᵀ x = r inward,   D y = x,   L q̈ = y outward

Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5, over blocks: a block is one joint's degrees of
freedom. The factorisation has no fill-in outside the pattern of ancestors: O(n·depth²) instead of O(n³).
"""

from __future__ import annotations

from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.rounding import composite_terms
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree
from linkwork.spatial import Factor
from linkwork.spatial.matrices import Column, Matrix, columns, dot, minus, minus_applied, plus, transposed


def composite_body(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    (M,) = mass_matrix(tree, q)
    (b,) = inverse_dynamics(tree, q, v, tree.still(), f_ext)
    x: Field[Column] = tree.field()
    for body in tree.outward():
        x[body] = minus(tau[body], b[body])
    return (solve_along_tree(tree, M, x, composite_terms(tree, q)),)


def solve_along_tree(tree: Tree, M: Field[Matrix], x: Field[Column], terms: Field[Column] | None = None) -> JointField:
    """q̈ with M q̈ = x; both are overwritten."""
    D, L = factor_along_tree(tree, M, terms)
    qdd: JointField = tree.field()

    for body in tree.inward():
        for j in tree.ancestors(body):
            x[j] = minus_applied(x[j], columns(L[body, j], len(x[j])), x[body])

    for body in tree.outward():
        qdd[body] = D[body].solve(x[body])

    for body in tree.outward():
        for j in tree.ancestors(body):
            qdd[body] = minus_applied(qdd[body], L[body, j], qdd[j])

    return qdd


def factor_along_tree(
    tree: Tree, M: Field[Matrix], terms: Field[Column] | None = None
) -> tuple[Field[Factor], Field[Matrix]]:
    """The factors D, for each joint, and L, for each joint and ancestor, of M, which is overwritten; ``terms`` are
    those that cancel in the pivots.
    """
    D: Field[Factor] = tree.field()
    L: Field[Matrix] = tree.field()
    cancelled: Field[Column] = tree.field()
    if terms:
        for body in tree.outward():
            cancelled[body] = terms[body]
    for body in tree.inward():
        D[body] = Factor.of_matrix(M[body, body], cancelled[body] if terms and body.doubtful else ())
        for j in tree.ancestors(body):
            L[body, j] = _solved(D[body], M[body, j])
            if terms:
                squares = [[x * x for x in row] for row in L[body, j]]
                rounded = cancelled[body] if body.doubtful else terms[body]
                amplified = [dot(column, rounded) for column in columns(squares, j.joint.nv)]
                cancelled[j] = plus(cancelled[j], amplified)
            for k in tree.path(j):
                M[j, k] = _minus_product(M[j, k], L[body, j], M[body, k])
    return D, L


def _solved(D: Factor, rows: Matrix) -> Matrix:
    """D⁻¹ applied to each column."""
    solutions = [D.solve(column) for column in transposed(rows)]
    return transposed(solutions) if solutions else rows


def _minus_product(A: Matrix, L: Matrix, R: Matrix) -> Matrix:
    """A - Lᵀ R."""
    return [
        [entry - dot(left, right) for entry, right in zip(row, columns(R, len(row)), strict=True)]
        for row, left in zip(A, columns(L, len(A)), strict=True)
    ]
