"""The motions of joints, and the derivatives of the motion of the bodies they carry, outward, O(n).

    V = Vₚ + S q̇,   A = Aₚ + S q̈ + Ψ̇ q̇,   Ψ̇ = Vₚ × S,   Ψ̈ = Aₚ × S + Vₚ × Ψ̇,   Ω = Ψ̇ + V × S

Singh, Russell, Wensing 2022, and Carpentier, Mansard 2018. Everything is in the frame of the root (``root_frame``). For
a body b carried by the joint, the derivative of its velocity with respect to q is Ψ̇, that of its acceleration is
Ψ̈ - V_b × Ψ̇, and the derivative of its acceleration with respect to q̇ is Ω - V_b × S.

For a joint whose subspace varies with q, with σₖ = (∂S/∂qₖ) q̇ and the bias c = Ṡ q̇:

    A += c     Ψ̇ₖ += σₖ     Ψ̈ₖ += Vₚ × σₖ + V × σₖ + (∂S/∂qₖ) q̈ + ∂c/∂qₖ     Ωₖ = Vₚ × Sₖ + V × Sₖ + ∂c/∂q̇ₖ
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import Field, JointValues, Tree, fields
from linkwork.joints.variation import variation
from linkwork.spatial import Columns, Motion, Subspace, Transform


class JointMotion(NamedTuple):
    """The motions of a joint's degrees of freedom, and their derivatives; all in the root's frame."""

    S: Columns
    Psi_d: Columns
    """Ψ̇: the derivative of V with respect to q."""
    Psi_dd: Columns
    """Ψ̈: the derivative of A with respect to q."""
    Omega: Columns
    """Ω: the derivative of A with respect to q̇."""
    S_q: list[Columns]
    """∂S/∂qₖ of a subspace that varies with q; empty otherwise."""


class JointMotions(NamedTuple):
    """The results, in the frame of each body's root."""

    X0: Field[Transform]
    joints: Field[JointMotion]
    V: Field[Motion]
    A: Field[Motion]


def joint_motions(tree: Tree, q: JointValues, v: JointValues, a: JointValues, gravity: bool = True) -> JointMotions:
    """The motions of all joints and bodies; with ``gravity`` the world accelerates by -g."""
    X0, lift = root_frames(tree, q)
    joints: Field[JointMotion] = tree.field()
    V, A = fields(tree, Motion, 2)
    V[tree.world] = A[tree.world] = Motion.zero()
    for body in tree.outward():
        X, own = X0[body], body.joint.subspace(q[body])
        Vp, Ap = V[body.parent], A[body.parent] + lift[body] if gravity else A[body.parent]
        S = _in_world(X, own)
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
            S_q = [_in_world(X, each) for each in varied.S_q]
            sigma = [each.times(v[body]) for each in S_q]
            Psi_d = [x + s for x, s in zip(turned, sigma, strict=True)]
            more = [
                V[body].cross(s) + each.times(a[body]) + X.to_parent(c)
                for s, each, c in zip(sigma, S_q, varied.c_q, strict=True)
            ]
            Omega = [x + X.to_parent(c) for x, c in zip(Omega, varied.c_v, strict=True)]
        Psi_dd = [Ap.cross(s) + Vp.cross(psi) + rest for s, psi, rest in zip(S.columns(), Psi_d, more, strict=True)]
        joints[body] = JointMotion(S, Columns(Psi_d), Columns(Psi_dd), Columns(Omega), S_q)
    return JointMotions(X0, joints, V, A)


def _in_world(X: Transform, S: Subspace) -> Columns:
    return Columns([X.to_parent(column) for column in S.columns()])
