"""The inverse of the operational-space inertia matrix as J M⁻¹ Jᵀ, O(nd² + md² + m²d) for tree depth d.

    M = Lᵀ D L along the tree,   inward on each point's path:   Y = L⁻ᵀ Jᵀ
    blocks    Σ Yᵀ D⁻¹ Y′ over the bodies that are on the paths of both points

The symbolic method that Chang and Khatib compare with (their Eq. 14), which is O(n³) with a dense inverse of M; here
M⁻¹ is never formed and the factors keep to the tree's pattern (Featherstone, Exploiting sparsity in operational-space
dynamics, 2010). It is the fastest for a short arm.
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.composite_body import factor_along_tree
from linkwork.algorithms.jacobian import jacobian
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.sparse import products
from linkwork.model.tree import Tree
from linkwork.spatial import Factor, Motion, total


def dense(tree: Tree, q: Any) -> tuple[Any]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    (M,), (J,) = mass_matrix(tree, q), jacobian(tree, q, "local")
    D, L = factor_along_tree(tree, M)
    Y, block = tree.field(), tree.field()

    for point in tree.frames():
        for body in tree.path(point.body):
            Y[point, body] = J[point, body]
        for body in tree.path(point.body):
            for j in tree.ancestors(body):
                Y[point, j] = [
                    own - _combined(row, Y[point, body])
                    for own, row in zip(Y[point, j], _columns(L[body, j], j), strict=True)
                ]
            Y[point, body] = _taken_out(D[body], Y[point, body])
        products(tree, point, Y, D, block)

    return (block,)


def _columns(rows: list[list[Any]], of: Any) -> list[list[Any]]:
    """The columns of a block that has one for each degree of freedom of a joint."""
    return [[row[k] for row in rows] for k in range(of.joint.nv)]


def _combined(weights: list[Any], motions: list[Motion]) -> Motion:
    """Σ wₖ aₖ."""
    if not motions:
        return Motion.zero()
    columns = [motion.numbers() for motion in motions]
    return Motion.from_numbers(
        [total(column[i] * weight for column, weight in zip(columns, weights, strict=True)) for i in range(6)]
    )


def _taken_out(factor: Factor, rows: list[Motion]) -> list[Motion]:
    """L⁻¹ Y, with a joint's own L D Lᵀ."""
    columns = [factor.forward([row.numbers()[k] for row in rows]) for k in range(6)]
    return [Motion.from_numbers(row) for row in zip(*columns, strict=True)]
