"""The inverse operational-space inertia by extended force propagators (EFPA), O(n + md + m²) for tree depth d.

    outward   Ωᵢ = Sᵢ Dᵢ⁻¹ Sᵢᵀ + Lᵢᵀ Ωₕ Lᵢ        over the paths of the points, symmetric
    inward    Pₑ,ₕ = Lᵢ Pₑ,ᵢ                       for every point e, as far as other points' paths meet its own
    blocks    Λ⁻¹ of e and e′ is P′ᵀ Ω P at their nearest common ancestor

Wensing, Featherstone, Orin, A reduced-order recursive algorithm for the computation of the operational-space inertia
matrix (2012). A propagator P that spans many joints takes a force from a point to an ancestor in one product, so a
pair of points costs the same however far they are apart. Ωᵢ is Eq. 24 of Chang and Khatib, and the blocks are their
Eq. 29 with the products taken first.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, placed, unconnected
from linkwork.algorithms.tree import Field, JointValues, Point, PointedTree
from linkwork.spatial import Force, Mobility, Motion, transposed


def extended_propagator(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    L = Propagators(tree, q)
    Omega: Field[Mobility] = tree.field()
    P: Field[list[Force]] = tree.field()
    block = unconnected(tree)

    Omega[tree.world] = Mobility.zero()
    for body in tree.paths():
        Omega[body] = L.carried(body, Omega[body.parent])

    for point in tree.frames():
        P[point, point.body] = placed(point)
        for body in tree.path(point.body, tree.outermost(point)):
            P[point, body.parent] = [L.inward(body, force) for force in P[point, body]]

    def pair(point: Point, other: Point) -> None:
        h = tree.common_ancestor(point, other)
        moved = [Omega[h] * force for force in P[point, h]]
        block[other, point] = [Motion.from_numbers([motion.dot(force) for force in P[other, h]]) for motion in moved]
        block[point, other] = transposed(block[other, point])

    for point in tree.frames():
        for other in tree.points_behind(point):
            pair(point, other)
        for other in tree.points_after(point):
            pair(point, other)
        block[point, point] = Mobility.from_columns(block[point, point]).columns()

    return (block,)
