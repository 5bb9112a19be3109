"""The response of all joints to forces at points: J M⁻¹ by propagation, O(nm) for n bodies and m points.

    inward    Lᵢ for all bodies
    for each point e:
    inward    Fₑ = the unit forces at the point,   Fₕ = Lᵢ Fᵢ,   and zero off the point's path
    outward   q̈ = Dᵢ⁻¹ (Sᵢᵀ Fᵢ - Uᵢᵀ Xᵢᵀ aₕ),   aᵢ = Xᵢᵀ aₕ + Sᵢ q̈

The columns of M⁻¹ Jᵀ are accelerations from rest. Bodies off a point's path move too, so all are visited for each
point; aᵢ is Chang and Khatib's Ωᵢ,ₑ X (chang_khatib.py).
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators, placed
from linkwork.algorithms.tree import Field, JointValues, PointedTree, fields
from linkwork.spatial import Force, Motion
from linkwork.spatial.matrices import minus


def force_responses(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """J M⁻¹: the joint accelerations due to a unit force at each frame."""
    L = Propagators(tree, q)
    F: Field[list[Force]] = tree.field()
    a, answers = fields(tree, list[Motion], 2)

    for point in tree.frames():
        F[tree.world], a[tree.world] = [Force.zero()] * 6, [Motion.zero()] * 6
        for body in tree.outward():
            F[body] = [Force.zero()] * 6
        F[point.body] = placed(point)
        for body in tree.path(point.body):
            F[body.parent] = [L.inward(body, force) for force in F[body]]
        for body in tree.outward():
            carried = [L.X[body].to_child(motion) for motion in a[body.parent]]
            pulls = [[motion.dot(column) for column in L.U[body]] for motion in carried]
            rates = [
                L.D[body].solve(minus(L.S[body].dot(force), pulled))
                for force, pulled in zip(F[body], pulls, strict=True)
            ]
            answers[point, body] = [Motion.from_numbers([rate[k] for rate in rates]) for k in range(body.joint.nv)]
            a[body] = [motion + L.S[body].times(rate) for motion, rate in zip(carried, rates, strict=True)]

    return (answers,)
