"""The inverse of the operational-space inertia matrix from the rows of L⁻ᵀ Jᵀ, O(n + md + m²d) for tree depth d.

    M = Lᵀ D L along the tree,   Y = L⁻ᵀ Jᵀ,   Λ⁻¹ = Yᵀ D⁻¹ Y
    for each point:
    inward    K = the unit forces at the point;   across each joint of its path:
              L D Lᵀ = Dᵢ,   Yᵢ = L⁻¹ Sᵢᵀ K,   K ← Lᵢ K
    blocks    Σ Yᵀ D⁻¹ Y′ over the joints that carry both points

Featherstone, Exploiting sparsity in operational-space dynamics (2010). A joint has rows in Y only for the points that
it carries. M is not formed: its D is that of the articulated inertias, and Yᵢ is the projection on the joint
of the forces transmitted so far (force_propagators.py). D is diagonal, as each joint's own block Dᵢ is
factored too, so a free root joint costs its factors alone. A pair of points costs the joints that it shares,
so this is cheap where paths meet near the root.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, placed
from linkwork.algorithms.tree import Field, JointValues, Point, PointedTree, fields
from linkwork.spatial import Factor, Force, Mobility, Motion, transposed


def sparse(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    L = Propagators(tree, q)
    K: Field[list[Force]] = tree.field()
    Y, block = fields(tree, list[Motion], 2)

    for point in tree.frames():
        K[point] = placed(point)
        for body in tree.path(point.body):
            Y[point, body], K[point] = L.across(body, K[point])
        products(tree, point, Y, L.D, block)

    return (block,)


def products(
    tree: PointedTree, point: Point, Y: Field[list[Motion]], D: Field[Factor], block: Field[list[Motion]]
) -> None:
    """The blocks of a point with itself and those before it, from rows with each joint's own factor of D applied."""
    for other in tree.frames_back_from(point):
        block[other, point] = [Motion.zero()] * 6
        for body in tree.path(tree.common_ancestor(other, point)):
            columns = block[other, point]
            for row, own, weight in zip(Y[other, body], Y[point, body], D[body].inverse_pivots, strict=True):
                columns = [a + row * w for a, w in zip(columns, (own * weight).numbers(), strict=True)]
            block[other, point] = columns
        block[point, other] = transposed(block[other, point])
    block[point, point] = Mobility.from_columns(block[point, point]).columns()
