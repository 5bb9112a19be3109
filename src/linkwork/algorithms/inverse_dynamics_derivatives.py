"""Derivatives of inverse dynamics with respect to configuration, velocity and acceleration, O(n·depth).

    outward   V, A, S, Ψ̇, Ψ̈ and Ω of ``joint_motions``
              F = I A + V ×* I V - f,   B = (V ×*) I - I (V ×) + (I V) ×̄*
    inward    I, B and F are summed over subtrees; for joint j
              t₁ = I S,   t₂ = B S + I Ω,   t₃ = B Ψ̇ + I Ψ̈,   t₄ = Bᵀ S
              own block            ∂τⱼ/∂qⱼ = Sⱼᵀ t₃               ∂τⱼ/∂q̇ⱼ = Sⱼᵀ t₂           Mⱼⱼ = Sⱼᵀ t₁ + rotor
              for each ancestor i  ∂τᵢ/∂qⱼ = Sᵢᵀ (t₃ + S ×* F)    ∂τᵢ/∂q̇ⱼ = Sᵢᵀ t₂           Mᵢⱼ = Sᵢᵀ t₁
                                   ∂τⱼ/∂qᵢ = t₄ᵀ Ψ̇ᵢ + t₁ᵀ Ψ̈ᵢ      ∂τⱼ/∂q̇ᵢ = t₄ᵀ Sᵢ + t₁ᵀ Ωᵢ

Singh, Russell, Wensing 2022, and Carpentier, Mansard 2018. Everything is in the frame of the root (``root_frame``), so
that nothing is transformed along a path. B is 12 numbers (``Coriolis``), and t₄ has no linear part. Derivatives with
respect to q are in the tangent space. Pairs of joints of which neither is the other's ancestor have no entry: they are
zero.

The derivatives of joint motions are in ``joint_motions``; a subspace that varies with q adds (∂S/∂qₖ)ᵀ F to its own
block.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.joint_motions import JointMotion, joint_motions
from linkwork.algorithms.tree import BodyForces, Field, JointValues, Tree, fields
from linkwork.spatial import Columns, Force, Inertia, Transform, Vec3, plus_diagonal
from linkwork.spatial.coriolis import Coriolis
from linkwork.spatial.matrices import Matrix, columns, plus


class Moving(NamedTuple):
    """The results of the outward recursion, in the frame of each body's root."""

    X0: Field[Transform]
    joints: Field[JointMotion]
    I: Field[Inertia]
    B: Field[Coriolis]
    F: Field[Force]


def moving(tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces) -> Moving:
    """Inertias, forces on single bodies and their derivatives, outward."""
    X0, joints, V, A = joint_motions(tree, q, v, a)
    motion = Moving(X0, joints, tree.field(), tree.field(), tree.field())
    for body in tree.outward():
        motion.I[body] = I = X0[body].to_parent(body.inertia)
        motion.B[body] = B = Coriolis.of_body(I, V[body])
        motion.F[body] = I * A[body] + V[body].cross(B.momentum) - X0[body].to_parent(f_ext[body])
    return motion


def inverse_dynamics_derivatives(
    tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces
) -> tuple[Field[Matrix], Field[Matrix], Field[Matrix]]:
    """∂τ/∂q, ∂τ/∂q̇ and M, as blocks for each joint and its ancestors, above and below the diagonal."""
    _, joints, I, B, F = moving(tree, q, v, a, f_ext)
    dq, dv, M = fields(tree, list, 3)
    I[tree.world], B[tree.world], F[tree.world] = Inertia.zero(), Coriolis.zero(), Force.zero()

    for body in tree.inward():
        S, Psi_d, Psi_dd, Omega, S_q = joints[body]
        t1 = S.through(I[body])
        t2 = _sum(_through(B[body], S), Omega.through(I[body]))
        t3 = _sum(_through(B[body], Psi_d), Psi_dd.through(I[body]))
        t4 = [B[body].transposed(column) for column in S.columns()]
        shifted = [x + column.cross(F[body]) for x, column in zip(t3, S.columns(), strict=True)]
        dq[body, body] = S.project(t3)
        if S_q:
            more = columns([each.dot(F[body]) for each in S_q], body.joint.nv)
            dq[body, body] = [plus(x, y) for x, y in zip(dq[body, body], more, strict=True)]
        dv[body, body] = S.project(t2)
        M[body, body] = plus_diagonal(S.project(t1), body.rotor)
        for ancestor in tree.ancestors(body):
            above = joints[ancestor]
            dq[ancestor, body] = above.S.project(shifted)
            dv[ancestor, body] = above.S.project(t2)
            M[ancestor, body] = above.S.project(t1)
            M[body, ancestor] = columns(M[ancestor, body], body.joint.nv)
            dq[body, ancestor] = _pairs(t4, t1, above.Psi_d, above.Psi_dd)
            dv[body, ancestor] = _pairs(t4, t1, above.S, above.Omega)
        I[body.parent] = I[body.parent] + I[body]
        B[body.parent] = B[body.parent] + B[body]
        F[body.parent] = F[body.parent] + F[body]

    return dq, dv, M


def _through(B: Coriolis, motions: Columns) -> list[Force]:
    return [B * motion for motion in motions.columns()]


def _sum(x: list[Force], y: list[Force]) -> list[Force]:
    return [a + b for a, b in zip(x, y, strict=True)]


def _pairs(t4: list[Vec3], t1: list[Force], velocities: Columns, accelerations: Columns) -> Matrix:
    """t₄ᵀ x + t₁ᵀ y, a row for each of t and a column for each x and y."""
    both = list(zip(velocities.columns(), accelerations.columns(), strict=True))
    return [[moment.dot(x.angular) + y.dot(force) for x, y in both] for moment, force in zip(t4, t1, strict=True)]
