"""The inverse of the operational-space inertia matrix as J M⁻¹ Jᵀ, O(nd² + md² + m²d) for tree depth d.

    M = Lᵀ D L along the tree,   inward on each point's path:   Y = L⁻ᵀ Jᵀ
    blocks    Σ Yᵀ D⁻¹ Y′ over the bodies that are on the paths of both points

The symbolic method that Chang and Khatib compare with (their Eq. 14), which is O(n³) with a dense inverse of M; here
M⁻¹ is never formed and the factors have the tree's sparsity pattern (Featherstone, Exploiting sparsity in
operational-space dynamics, 2010). It is the fastest for a short arm.
"""

from __future__ import annotations

from linkwork.algorithms.composite_body import factor_along_tree
from linkwork.algorithms.jacobian import jacobian
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.rounding import composite_terms
from linkwork.algorithms.sparse import products
from linkwork.algorithms.tree import Field, JointValues, Point, PointedTree, fields
from linkwork.spatial import Factor, Motion, Scalar, total
from linkwork.spatial.matrices import Matrix, columns


def dense(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    (M,), (J,) = mass_matrix(tree, q), jacobian(tree, q, "local")
    D, L = factor_along_tree(tree, M, composite_terms(tree, q))
    Y, block = fields(tree, list[Motion], 2)

    for point in tree.frames():
        take_out(tree, point, J, D, L, Y)
        products(tree, point, Y, D, block)

    return (block,)


def take_out(
    tree: PointedTree,
    point: Point,
    J: Field[list[Motion]],
    D: Field[Factor],
    L: Field[Matrix],
    Y: Field[list[Motion]],
) -> None:
    """The rows of a point in Y = L⁻ᵀ Jᵀ, with each joint's own factor of D applied, too."""
    for body in tree.path(point.body):
        Y[point, body] = J[point, body]
    for body in tree.path(point.body):
        for j in tree.ancestors(body):
            Y[point, j] = [
                own - _combined(row, Y[point, body])
                for own, row in zip(Y[point, j], columns(L[body, j], j.joint.nv), strict=True)
            ]
        Y[point, body] = _taken_out(D[body], Y[point, body])


def _combined(weights: list[Scalar], motions: list[Motion]) -> Motion:
    """Σ wₖ aₖ."""
    if not motions:
        return Motion.zero()
    numbers = [motion.numbers() for motion in motions]
    return Motion.from_numbers(
        [total(column[i] * weight for column, weight in zip(numbers, weights, strict=True)) for i in range(6)]
    )


def _taken_out(factor: Factor, rows: list[Motion]) -> list[Motion]:
    """L⁻¹ Y, with a joint's own L D Lᵀ."""
    reduced = [factor.forward(column) for column in columns([row.numbers() for row in rows], 6)]
    return [Motion.from_numbers(row) for row in zip(*reduced, strict=True)]
