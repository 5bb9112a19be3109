"""The inverse of the operational-space inertia matrix in O(n + m²), the lowest possible order (PV-OSIMr).

The paths of the points to the world meet at junctions. Each segment of a path, from a point or a junction to the next
junction, is traversed once:

    inward    K = 1 or the unit forces at the point,   W = 0;   across each joint:
              L D Lᵀ = Dᵢ,   G = L⁻¹ Sᵢᵀ K,   W += Gᵀ D⁻¹ G,   K ← Lᵢ K
    for each point e, over the junctions alone:
    inward    F = K of e at its junction,   F of the next += K F                zero off the point's path
    outward   A = Kᵀ A of the next + W F                                        zero at the ground
    blocks    Kᵀ A of each point's junction, plus W for e itself

Sathya, Decré, Swevers, PV-OSIMr: a lowest order complexity algorithm for computing the Delassus matrix (2024), after
the solver of Popov and Vereshchagin: W is the mobility of all joints of a segment for forces at its beginning while its
end is held, found inward together with the propagator K, which takes about a third of the work of an outward
congruence. The part that several points share behind a junction is computed once.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import UNIT_FORCES, Propagators, placed
from linkwork.algorithms.tree import Body, Field, JointValues, PointedTree, fields
from linkwork.spatial import Force, Mobility, Motion, combination, transposed


def pv(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    L = Propagators(tree, q)
    K, K_on, F = fields(tree, list[Force], 3)
    W, W_on = fields(tree, Mobility, 2)
    A, block = fields(tree, list[Motion], 2)

    for point in tree.frames():
        K[point], W[point] = placed(point), Mobility.zero()
        for body in tree.path(point.body, tree.junction_of(point).body):
            K[point], W[point] = _across(L, body, K[point], W[point])

    for junction in tree.junctions():
        K_on[junction], W_on[junction] = list(UNIT_FORCES), Mobility.zero()
        for body in tree.path(junction.body, junction.next.body):
            K_on[junction], W_on[junction] = _across(L, body, K_on[junction], W_on[junction])

    for point in tree.frames():
        F[tree.ground], A[tree.ground] = [Force.zero()] * 6, [Motion.zero()] * 6
        for junction in tree.junctions():
            F[junction] = [Force.zero()] * 6
        F[tree.junction_of(point)] = K[point]
        for junction in tree.junctions_inward():
            passed = [combination(K_on[junction], force.numbers()) for force in F[junction]]
            F[junction.next] = [own + force for own, force in zip(F[junction.next], passed, strict=True)]
        for junction in tree.junctions():
            given = [W_on[junction] * force for force in F[junction]]
            carried = _back(K_on[junction], A[junction.next])
            A[junction] = [own + motion for own, motion in zip(given, carried, strict=True)]
        for other in tree.frames_back_from(point):
            block[other, point] = _back(K[other], A[tree.junction_of(other)])
            block[point, other] = transposed(block[other, point])
        own = Mobility.from_columns(block[point, point])
        block[point, point] = (W[point] + own).columns()

    return (block,)


def _across(L: Propagators, body: Body, K: list[Force], W: Mobility) -> tuple[list[Force], Mobility]:
    """K and W, one joint further."""
    G, onward = L.across(body, K)
    return onward, W.minus(G, [-weight for weight in L.D[body].inverse_pivots])


def _back(K: list[Force], motions: list[Motion]) -> list[Motion]:
    """Kᵀ A, column by column."""
    return [Motion.from_numbers([motion.dot(force) for force in K]) for motion in motions]
