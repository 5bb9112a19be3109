"""Forward dynamics by composite bodies: M q̈ = τ - b(q, v), with a factorisation M = Lᵀ D L that follows the tree.

    inward    for each ancestor j of i:   Lᵢⱼ = Dᵢ⁻¹ Mᵢⱼ;   and for each k from j up:   Mⱼₖ -= Lᵢⱼᵀ Mᵢₖ
    solve     Lᵀ x = r inward,   D y = x,   L q̈ = y outward

Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5, over blocks: a block is one joint's degrees of
freedom. Only ancestors meet, so nothing outside the tree's pattern is touched: O(n·depth²) instead of O(n³).
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.model.tree import Tree
from linkwork.spatial import Factor, total


def composite_body(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    (M,) = mass_matrix(tree, q)
    (b,) = inverse_dynamics(tree, q, v, tree.still(), f_ext)
    x = tree.field()
    for body in tree.outward():
        x[body] = [t - bias for t, bias in zip(tau[body], b[body], strict=True)]
    return (solve_along_tree(tree, M, x),)


def solve_along_tree(tree: Tree, M: Any, x: Any) -> Any:
    """q̈ with M q̈ = x; both are used up."""
    (D, L), qdd = factor_along_tree(tree, M), tree.field()

    for body in tree.inward():
        for j in tree.ancestors(body):
            x[j] = [
                r - total(row[i] * s for row, s in zip(L[body, j], x[body], strict=True)) for i, r in enumerate(x[j])
            ]

    for body in tree.outward():
        qdd[body] = D[body].solve(x[body])

    for body in tree.outward():
        for j in tree.ancestors(body):
            qdd[body] = [
                a - total(e * f for e, f in zip(row, qdd[j], strict=True))
                for a, row in zip(qdd[body], L[body, j], strict=True)
            ]

    return qdd


def factor_along_tree(tree: Tree, M: Any) -> tuple[Any, Any]:
    """The factors D, for each joint, and L, for each joint and ancestor, of M, which is used up."""
    D, L = tree.field(), tree.field()
    for body in tree.inward():
        D[body] = Factor.of_matrix(M[body, body])
        for j in tree.ancestors(body):
            L[body, j] = _columns(D[body].solve, M[body, j])
            for k in tree.path(j):
                M[j, k] = _minus(M[j, k], L[body, j], M[body, k])
    return D, L


def _columns(solve: Any, rows: list[list[Any]]) -> list[list[Any]]:
    """D⁻¹ applied to each column."""
    columns = [solve(column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)] if columns else rows


def _minus(a: list[list[Any]], left: list[list[Any]], right: list[list[Any]]) -> list[list[Any]]:
    """A - Lᵀ R."""
    return [
        [entry - total(left[m][i] * right[m][j] for m in range(len(left))) for j, entry in enumerate(row)]
        for i, row in enumerate(a)
    ]
