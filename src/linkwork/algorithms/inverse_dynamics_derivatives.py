"""Derivatives of inverse dynamics with respect to configuration, velocity and acceleration, O(n·depth).

    outward   V = Vₚ + S q̇,   A = Aₚ + S q̈ + Ψ̇ q̇,   Ψ̇ = Vₚ × S,   Ψ̈ = Aₚ × S + Vₚ × Ψ̇,   Ω = Ψ̇ + V × S
              F = I A + V ×* I V - f,   B = (V ×*) I - I (V ×) + (I V) ×̄*                   A of the world is -g
    inward    I, B and F are summed over subtrees; for joint j
              t₁ = I S,   t₂ = B S + I Ω,   t₃ = B Ψ̇ + I Ψ̈,   t₄ = Bᵀ S
              own block            ∂τⱼ/∂qⱼ = Sⱼᵀ t₃               ∂τⱼ/∂q̇ⱼ = Sⱼᵀ t₂           Mⱼⱼ = Sⱼᵀ t₁ + rotor
              for each ancestor i  ∂τᵢ/∂qⱼ = Sᵢᵀ (t₃ + S ×* F)    ∂τᵢ/∂q̇ⱼ = Sᵢᵀ t₂           Mᵢⱼ = Sᵢᵀ t₁
                                   ∂τⱼ/∂qᵢ = t₄ᵀ Ψ̇ᵢ + t₁ᵀ Ψ̈ᵢ      ∂τⱼ/∂q̇ᵢ = t₄ᵀ Sᵢ + t₁ᵀ Ωᵢ

Singh, Russell, Wensing 2022, and Carpentier, Mansard 2018. Everything is in the frame of the root (``root_frame``), so
that nothing is moved along a path. B is 12 numbers (``Coriolis``), and t₄ has no force. Derivatives with respect to q
are in the tangent space. Pairs of joints of which neither is the other's ancestor have no entry: they are zero.

Of a joint whose subspace varies with q, with σₖ = (∂S/∂qₖ) q̇ and the bias c = Ṡ q̇:

    A += c     Ψ̇ₖ += σₖ     Ψ̈ₖ += V × σₖ + (∂S/∂qₖ) q̈ + ∂c/∂qₖ     Ωₖ = Vₚ × Sₖ + V × Sₖ + ∂c/∂q̇ₖ
    own block  ∂τⱼ/∂qₖ += (∂S/∂qₖ)ᵀ F
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import BodyForces, Field, JointValues, Tree, fields
from linkwork.joints.variation import variation
from linkwork.spatial import Columns, Force, Inertia, Motion, plus_diagonal
from linkwork.spatial.coriolis import Coriolis
from linkwork.spatial.matrices import Matrix, columns, plus


class JointMotion(NamedTuple):
    """The motions of a joint's degrees of freedom, and how they change; all in the root's frame."""

    S: Columns
    Psi_d: Columns
    """Ψ̇: how V varies with q."""
    Psi_dd: Columns
    """Ψ̈: how A varies with q."""
    Omega: Columns
    """How A varies with q̇."""
    S_q: list[Columns]
    """∂S/∂qₖ of a subspace that varies; empty otherwise."""


class Moving(NamedTuple):
    """What the outward recursion finds, in the frame of each body's root."""

    joints: Field[JointMotion]
    I: Field[Inertia]
    B: Field[Coriolis]
    F: Field[Force]


def moving(tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces) -> Moving:
    """Inertias, forces on single bodies and how they vary, outward."""
    X0, lift = root_frames(tree, q)
    V, A = fields(tree, Motion, 2)
    found = Moving(tree.field(), tree.field(), tree.field(), tree.field())
    V[tree.world] = A[tree.world] = Motion.zero()

    for body in tree.outward():
        X, own = X0[body], body.joint.subspace(q[body])
        Vp, Ap = V[body.parent], A[body.parent] + lift[body]
        S = Columns([X.to_parent(column) for column in own.columns()])
        turned = [Vp.cross(column) for column in S.columns()]
        V[body] = Vp + S.times(v[body])
        A[body] = Ap + S.times(a[body]) + Columns(turned).times(v[body])
        Omega = [column + column for column in turned]  # V × S = Ψ̇ + (S q̇) × S
        if body.joint.nv > 1:
            moved = own.times(v[body])
            among = [X.to_parent(moved.cross(column)) for column in own.columns()]
            Omega = [x + y for x, y in zip(Omega, among, strict=True)]
        Psi_d, S_q, more = turned, [], [Motion.zero()] * body.joint.nv
        varied = variation(body.joint, q[body], v[body])
        if varied is not None:
            A[body] = A[body] + X.to_parent(body.joint.bias(q[body], v[body]))
            S_q = [Columns([X.to_parent(column) for column in each.columns()]) for each in varied.S_q]
            sigma = [each.times(v[body]) for each in S_q]
            Psi_d = [x + s for x, s in zip(turned, sigma, strict=True)]
            more = [
                V[body].cross(s) + each.times(a[body]) + X.to_parent(c)
                for s, each, c in zip(sigma, S_q, varied.c_q, strict=True)
            ]
            Omega = [x + X.to_parent(c) for x, c in zip(Omega, varied.c_v, strict=True)]
        Psi_dd = [
            Ap.cross(s) + Vp.cross(psi) + rest for s, psi, rest in zip(S.columns(), Psi_d, more, strict=True)
        ]
        found.joints[body] = JointMotion(S, Columns(Psi_d), Columns(Psi_dd), Columns(Omega), S_q)
        found.I[body] = I = X.to_parent(body.inertia)
        found.B[body] = B = Coriolis.of_body(I, V[body])
        found.F[body] = I * A[body] + V[body].cross(B.momentum) - X.to_parent(f_ext[body])
    return found


def inverse_dynamics_derivatives(
    tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces
) -> tuple[Field[Matrix], Field[Matrix], Field[Matrix]]:
    """∂τ/∂q, ∂τ/∂q̇ and M, as blocks for each joint and its ancestors, above and below the diagonal."""
    joints, I, B, F = moving(tree, q, v, a, f_ext)
    dq: Field[Matrix] = tree.field()
    dv: Field[Matrix] = tree.field()
    M: Field[Matrix] = tree.field()
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


def _pairs(t4: list, t1: list[Force], velocities: Columns, accelerations: Columns) -> Matrix:  # type: ignore[type-arg]
    """t₄ᵀ x + t₁ᵀ y, a row for each of t and a column for each x and y."""
    both = list(zip(velocities.columns(), accelerations.columns(), strict=True))
    return [[moment.dot(x.angular) + y.dot(force) for x, y in both] for moment, force in zip(t4, t1, strict=True)]
