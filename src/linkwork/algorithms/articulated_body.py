"""Forward dynamics by the articulated-body algorithm (ABA), O(n).

    outward   Vᵢ = Xᵢ⁻¹ Vₚ + Sᵢ q̇ᵢ,   cᵢ = Ṡᵢ q̇ᵢ + Vᵢ × Sᵢ q̇ᵢ,   Iᴬᵢ = Iᵢ,   pᴬᵢ = Vᵢ ×* Iᵢ Vᵢ - fᵢ
    inward    Uᵢ = Iᴬᵢ Sᵢ,   Dᵢ = Sᵢᵀ Uᵢ + rotor,   uᵢ = τᵢ - Sᵢᵀ pᴬᵢ
              Iᵃ = Iᴬᵢ - Uᵢ Dᵢ⁻¹ Uᵢᵀ,   pᵃ = pᴬᵢ + Iᵃ cᵢ + Uᵢ Dᵢ⁻¹ uᵢ
              Iᴬₚ += Xᵢ Iᵃ Xᵢᵀ,   pᴬₚ += Xᵢ pᵃ
    outward   a′ = Xᵢ⁻¹ Aₚ + cᵢ,   q̈ᵢ = Dᵢ⁻¹ (uᵢ - Uᵢᵀ a′),   Aᵢ = a′ + Sᵢ q̈ᵢ          A of the world is -g

Featherstone 1983, in the form of Rigid Body Dynamics Algorithms (2008), table 7.1, in link coordinates. The step at a
joint is in ``ArticulatedBodies``.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree, fields
from linkwork.spatial import ArticulatedInertia, Force, Motion, Transform


class ArticulatedMotion(NamedTuple):
    """The results of the recursions."""

    qdd: JointField
    A: Field[Motion]
    """Spatial accelerations, including -g."""
    IA: Field[ArticulatedInertia]
    pA: Field[Force]
    X: Field[Transform]
    """Placements in the parents."""
    step: ArticulatedBodies
    """The joint quantities U, D and u."""


def articulated_body(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    return (articulated_motion(tree, q, v, tau, f_ext).qdd,)


def articulated_motion(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces, rotor: JointValues | None = None
) -> ArticulatedMotion:
    """Accelerations and the intermediate results; ``rotor`` replaces the rotor inertias of the bodies."""
    step = ArticulatedBodies(tree, rotor)
    X, S, c, IA, pA = step.X, step.S, step.c, step.IA, step.pA
    V, A = fields(tree, Motion, 2)
    qdd: JointField = tree.field()
    V[tree.world], A[tree.world] = Motion.zero(), -tree.gravity
    IA[tree.world], pA[tree.world] = ArticulatedInertia.zero(), Force.zero()

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        moved = S[body].times(v[body])
        V[body] = X[body].to_child(V[body.parent]) + moved
        c[body] = body.joint.bias(q[body], v[body]) + V[body].cross(moved)
        IA[body] = body.inertia.articulated()
        pA[body] = V[body].cross(body.inertia * V[body]) - f_ext[body]

    for body in tree.inward():
        step.factor(body)
        step.drive(body, tau[body])
        step.hand_over(body)

    for body in tree.outward():
        step.follow(body, A, qdd)

    return ArticulatedMotion(qdd, A, IA, pA, X, step)
