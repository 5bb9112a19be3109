"""The inverse operational-space inertia by Chang and Khatib's recursion, O(nm + m²) for n bodies and m points.

    inward    Lᵢ for all bodies                                                                     Eqs. 8, 10
    for each point e:
    inward    Fₑ = the unit forces at the point,   Fₕ = Lᵢ Fᵢ,   and zero off the point's path      Eqs. 4, 25, 26
    outward   Ωᵢ = Sᵢ Dᵢ⁻¹ Sᵢᵀ Fᵢ + Lᵢᵀ Ωₕ                                                          Eqs. 24, 29
    blocks    Λ⁻¹ of every point with e: Ω of its body, moved to the point                          Eq. 22

Chang, Khatib, Efficient recursive algorithm for the operational space inertia matrix of branching mechanisms (2000),
Table 1. Ωᵢ here is the paper's Ω_{i,e} ᵉX: how body i moves when a force acts at e. Table 1 has three cases, which
are one here: on the path from e to the root Ω_{i,e} = Ω_{i,i} L*, so the line above is Eq. 24 times L* (Eq. 26); off
it F is zero and the line is Ω_{i,e} = Lᵢᵀ Ω_{h,e}, the recursion of Eq. 29, which starts at the nearest common
ancestor of i and e because that is where the path is left. So points may be on any bodies: several on one, one before
another, or on the world. A block is found once; its transpose is the other one of the pair.

The same walk gives q̈ = D⁻¹ (Sᵀ F - Uᵀ X Ωₕ), a column of M⁻¹ Jᵀ: ``force_responses``.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, placed
from linkwork.algorithms.tree import Field, JointValues, PointedTree, fields
from linkwork.spatial import Force, Mobility, Motion, transposed
from linkwork.spatial.matrices import minus


def chang_khatib(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J M⁻¹ Jᵀ, a block for each pair of frames."""
    return (_driven(tree, q)[0],)


def force_responses(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """J M⁻¹: the acceleration of every joint that a unit force at each frame causes."""
    return (_driven(tree, q)[1],)


def _driven(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]], Field[list[Motion]]]:
    """The blocks of Λ⁻¹, and q̈ for unit forces."""
    L = Propagators(tree, q)
    F: Field[list[Force]] = tree.field()
    Omega, block, answers = fields(tree, list[Motion], 3)

    for point in tree.frames():
        F[tree.world], Omega[tree.world] = [Force.zero()] * 6, [Motion.zero()] * 6
        for body in tree.outward():
            F[body] = [Force.zero()] * 6
        F[point.body] = placed(point)  # Eq. 4
        for body in tree.path(point.body):
            F[body.parent] = [L.inward(body, force) for force in F[body]]  # Eqs. 25, 26
        for body in tree.outward():
            carried = [L.X[body].to_child(motion) for motion in Omega[body.parent]]
            pulls = [[motion.dot(column) for column in L.U[body]] for motion in carried]
            rates = [
                L.D[body].solve(minus(L.S[body].dot(force), pulled))
                for force, pulled in zip(F[body], pulls, strict=True)
            ]
            answers[point, body] = [Motion.from_numbers([rate[k] for rate in rates]) for k in range(body.joint.nv)]
            Omega[body] = [a + L.S[body].times(rate) for a, rate in zip(carried, rates, strict=True)]  # Eqs. 24, 29
        for other in tree.frames_back_from(point):
            block[other, point] = [other.placement.to_child(motion) for motion in Omega[other.body]]  # Eq. 22
            block[point, other] = transposed(block[other, point])
        block[point, point] = Mobility.from_columns(block[point, point]).columns()

    return block, answers
