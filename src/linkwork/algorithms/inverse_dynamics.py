"""Inverse dynamics by the recursive Newton-Euler algorithm (RNEA), O(n).

    outward   Vᵢ = Xᵢ⁻¹ Vₚ + Sᵢ q̇ᵢ
              Aᵢ = Xᵢ⁻¹ Aₚ + Sᵢ q̈ᵢ + Ṡᵢ q̇ᵢ + Vᵢ × Sᵢ q̇ᵢ          A of the world is -g
              Fᵢ = Iᵢ Aᵢ + Vᵢ ×* Iᵢ Vᵢ - fᵢ
    inward    τᵢ = Sᵢᵀ Fᵢ + rotor q̈ᵢ,   Fₚ += Xᵢ Fᵢ

Luh, Walker, Paul 1980, in the form of Featherstone, Rigid Body Dynamics Algorithms (2008), table 5.1. Every body is
in its own frame. Nonlinear effects and gravity torques are the same algorithm at q̈ = 0, and q̇ = 0.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree, fields
from linkwork.spatial import Force, Motion, Subspace, Transform, plus_rotor


class Forces(NamedTuple):
    """The results of the recursions."""

    tau: JointField
    F: Field[Force]
    """The wrench that each joint transmits to its child, in the child's frame."""
    X: Field[Transform]
    """The placement of each body in its parent."""


def inverse_dynamics(
    tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """τ, from configuration, velocity, acceleration and the external force on each body."""
    return (newton_euler(tree, q, v, a, f_ext).tau,)


def newton_euler(tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces) -> Forces:
    """The same with the wrenches that joints transmit."""
    X: Field[Transform] = tree.field()
    S: Field[Subspace] = tree.field()
    V, A = fields(tree, Motion, 2)
    F: Field[Force] = tree.field()
    tau: JointField = tree.field()
    V[tree.world], A[tree.world] = Motion.zero(), -tree.gravity

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        moved = S[body].times(v[body])
        V[body] = X[body].to_child(V[body.parent]) + moved
        A[body] = (
            X[body].to_child(A[body.parent])
            + S[body].times(a[body])
            + body.joint.bias(q[body], v[body])
            + V[body].cross(moved)
        )
        F[body] = body.inertia * A[body] + V[body].cross(body.inertia * V[body]) - f_ext[body]

    F[tree.world] = Force.zero()
    for body in tree.inward():
        tau[body] = plus_rotor(S[body].dot(F[body]), body.rotor, a[body])
        F[body.parent] = F[body.parent] + X[body].to_parent(F[body])

    return Forces(tau, F, X)


def nonlinear_effects(tree: Tree, q: JointValues, v: JointValues) -> tuple[JointField]:
    """τ at q̈ = 0: gravity, Coriolis and centrifugal forces."""
    return inverse_dynamics(tree, q, v, tree.still(), tree.unloaded())


def gravity_torques(tree: Tree, q: JointValues) -> tuple[JointField]:
    """τ that holds the mechanism at rest."""
    return inverse_dynamics(tree, q, tree.still(), tree.still(), tree.unloaded())
