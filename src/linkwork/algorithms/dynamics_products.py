"""Products of vectors with the derivatives of inverse and forward dynamics, O(n): no matrix is formed.

λᵀ times the derivatives of τ = ID(q, q̇, q̈), the vector-Jacobian product of reverse mode:

    outward   V, A as ``inverse_dynamics``,   W = X⁻¹ Wₚ + S λ,   F = I A + V ×* I V - f,   H = I W,   Z = Bᵀ W
    inward    Vₚ, Aₚ, Wₚ in the body's frame,   u = Z - Vₚ ×* H
              g_v = Sᵀ (u - V ×* H)     g_q = -Sᵀ (Vₚ ×* u + Aₚ ×* H + Wₚ ×* F)     g_a = Sᵀ H + rotor λ
              F, H and Z are added to the parent's                 with respect to f: -W;  to parameters: Yᵀ W

These are the columns of ``inverse_dynamics_derivatives`` times λ, with x × S paired with a force as -S paired with
x ×* the force. The derivatives times a vector (δq, δv, δa), the Jacobian-vector product of forward mode:

    outward   δV = X⁻¹ δVₚ + Vₚ × S δq + S δv,   δA = X⁻¹ δAₚ + Aₚ × S δq + S δa + δV × S q̇ + V × S δv
              δF = I δA + δV ×* I V + V ×* I δV - δf + (δI A + V ×* δI V)
    inward    δτ = Sᵀ δF + rotor δa,   δFₚ += X (δF + S δq ×* F)

For forward dynamics: λᵀ ∂q̈ = -(M⁻¹ λ)ᵀ ∂τ at q̈ = FD, and δq̈ = M⁻¹ (δτ - ∂τ δ). A subspace that varies with q adds the
terms of ``inverse_dynamics_derivatives``. Every body is in its own frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.torque_regressor import by_parameter, inertial_force, of_parameters
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree, Values, fields
from linkwork.joints.variation import variation
from linkwork.spatial import Columns, Coordinates, Force, Motion, Subspace, Transform, Vec3, combination, plus_rotor
from linkwork.spatial.coriolis import Coriolis
from linkwork.spatial.matrices import Column, dot, minus, plus

Parameters = Values[Column]
"""Ten numbers for each body, in the order of ``torque_regressor``."""


class Pullback(NamedTuple):
    """λᵀ times the derivatives of τ with respect to each argument."""

    q: JointField
    v: JointField
    a: JointField
    f_ext: Field[Motion]
    parameters: Field[Column]


class _Motions(NamedTuple):
    """The motion quantities that both modes need: V, A and F of each body, and Vₚ and Aₚ in its frame."""

    X: Field[Transform]
    S: Field[Subspace]
    V: Field[Motion]
    A: Field[Motion]
    Vp: Field[Motion]
    Ap: Field[Motion]
    F: Field[Force]


def _motions(tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces) -> _Motions:
    X: Field[Transform] = tree.field()
    S: Field[Subspace] = tree.field()
    V, A, Vp, Ap = fields(tree, Motion, 4)
    F: Field[Force] = tree.field()
    V[tree.world], A[tree.world] = Motion.zero(), -tree.gravity
    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        Vp[body], Ap[body] = X[body].to_child(V[body.parent]), X[body].to_child(A[body.parent])
        moved = S[body].times(v[body])
        V[body] = Vp[body] + moved
        A[body] = Ap[body] + S[body].times(a[body]) + body.joint.bias(q[body], v[body]) + V[body].cross(moved)
        F[body] = inertial_force(body.inertia, V[body], A[body]) - f_ext[body]
    return _Motions(X, S, V, A, Vp, Ap, F)


def pullback(
    tree: Tree, q: JointValues, v: JointValues, a: JointValues, f_ext: BodyForces, weights: JointValues
) -> Pullback:
    """λᵀ ∂τ, with λ the weights."""
    X, S, V, A, Vp, Ap, F = _motions(tree, q, v, a, f_ext)
    W, Wp = fields(tree, Motion, 2)
    H: Field[Force] = tree.field()
    Z: Field[Vec3] = tree.field()
    g = Pullback(*(tree.field() for _ in Pullback._fields))
    W[tree.world] = Motion.zero()
    for body in tree.outward():
        Wp[body] = X[body].to_child(W[body.parent])
        W[body] = Wp[body] + S[body].times(weights[body])
        H[body] = body.inertia * W[body]
        Z[body] = Coriolis.of_body(body.inertia, V[body]).transposed(W[body])  # a pure moment
        g.f_ext[body] = -W[body]
        g.parameters[body] = by_parameter(W[body], V[body], A[body])

    F[tree.world], H[tree.world], Z[tree.world] = Force.zero(), Force.zero(), Vec3.zero()
    for body in tree.inward():
        u = Force(Vec3.zero(), Z[body]) - Vp[body].cross(H[body])
        g_v = S[body].dot(u - V[body].cross(H[body]))
        back = Vp[body].cross(u) + Ap[body].cross(H[body]) + Wp[body].cross(F[body])
        g_q = S[body].dot(-back)
        varied = variation(body.joint, q[body], v[body])
        if varied is not None:
            g_v = plus(g_v, [c.dot(H[body]) for c in varied.c_v])
            # σ pairs with Z + Vₚ × H and V × H, (∂S/∂q) q̈ and ∂c/∂q with H, (∂S/∂q) λ with F
            paired = u - V[body].cross(H[body])
            more = [
                S_q.times(v[body]).dot(paired)
                + S_q.times(a[body]).dot(H[body])
                + c.dot(H[body])
                + S_q.times(weights[body]).dot(F[body])
                for S_q, c in zip(varied.S_q, varied.c_q, strict=True)
            ]
            g_q = plus(g_q, more)
        g.q[body], g.v[body] = g_q, g_v
        g.a[body] = plus_rotor(S[body].dot(H[body]), body.rotor, weights[body])
        F[body.parent] = F[body.parent] + X[body].to_parent(F[body])
        H[body.parent] = H[body.parent] + X[body].to_parent(H[body])
        Z[body.parent] = Z[body.parent] + X[body].rotation.apply(Z[body])
    return g


def inverse_dynamics_jvp(
    tree: Tree,
    q: JointValues,
    v: JointValues,
    a: JointValues,
    dq: JointValues,
    dv: JointValues,
    da: JointValues,
    f_ext: BodyForces,
    df_ext: BodyForces,
    dparameters: Parameters | None = None,
) -> tuple[JointField]:
    """δτ."""
    X, S, V, A, Vp, Ap, F = _motions(tree, q, v, a, f_ext)
    dV, dA = fields(tree, Motion, 2)
    dF: Field[Force] = tree.field()
    dS: Field[Subspace] = tree.field()
    dtau: JointField = tree.field()
    dV[tree.world] = dA[tree.world] = Motion.zero()
    for body in tree.outward():
        moved, shift, rates = S[body].times(v[body]), S[body].times(dq[body]), S[body].times(dv[body])
        accelerated = S[body].times(da[body])
        varied = variation(body.joint, q[body], v[body])
        if varied is not None:
            dS[body] = _directed(varied.S_q, dq[body])
            rates = rates + dS[body].times(v[body])
            accelerated = accelerated + dS[body].times(a[body])
            for c_q, c_v, x, y in zip(varied.c_q, varied.c_v, dq[body], dv[body], strict=True):
                accelerated = accelerated + c_q * x + c_v * y
        dV[body] = X[body].to_child(dV[body.parent]) + Vp[body].cross(shift) + rates
        dA[body] = (
            X[body].to_child(dA[body.parent])
            + Ap[body].cross(shift)
            + accelerated
            + dV[body].cross(moved)
            + V[body].cross(rates)
        )
        I = body.inertia
        dF[body] = I * dA[body] + dV[body].cross(I * V[body]) + V[body].cross(I * dV[body]) - df_ext[body]
        if dparameters is not None:
            dF[body] = dF[body] + inertial_force(of_parameters(dparameters[body]), V[body], A[body])

    F[tree.world] = dF[tree.world] = Force.zero()
    for body in tree.inward():
        force = S[body].dot(dF[body])
        if variation(body.joint, q[body], v[body]) is not None:
            force = plus(force, dS[body].dot(F[body]))
        dtau[body] = plus_rotor(force, body.rotor, da[body])
        turned = S[body].times(dq[body]).cross(F[body])
        dF[body.parent] = dF[body.parent] + X[body].to_parent(dF[body] + turned)
        F[body.parent] = F[body.parent] + X[body].to_parent(F[body])
    return (dtau,)


def _directed(S_q: list[Columns], dq: Coordinates) -> Columns:
    """Σ (∂S/∂qₖ) δqₖ."""
    numbers = [[*each.numbers()] for each in S_q]
    return S_q[0].of([dot(column, dq) for column in zip(*numbers, strict=True)])


def _accelerations(tree: Tree, step: ArticulatedBodies, forces: JointValues) -> JointField:
    """M⁻¹ times joint forces, by the stored articulated-body quantities."""
    p: Field[Force] = tree.field()
    y: Field[Column] = tree.field()
    P: Field[Motion] = tree.field()
    x: JointField = tree.field()
    p[tree.world], P[tree.world] = Force.zero(), Motion.zero()
    for body in tree.outward():
        p[body] = Force.zero()
    for body in tree.inward():
        y[body] = step.D[body].solve(minus(forces[body], step.S[body].dot(p[body])))
        felt = p[body] + combination(step.U[body], y[body])
        p[body.parent] = p[body.parent] + step.X[body].to_parent(felt)
    for body in tree.outward():
        carried = step.X[body].to_child(P[body.parent])
        x[body] = minus(y[body], step.D[body].solve([carried.dot(column) for column in step.U[body]]))
        P[body] = carried + step.S[body].times(x[body])
    return x


# The entries of the catalogue


def inverse_dynamics_vjp(
    tree: Tree,
    q: JointValues,
    v: JointValues,
    a: JointValues,
    weights: JointValues,
    f_ext: BodyForces,
    wrt: tuple[str, ...],
) -> tuple[Field[Any], ...]:
    """λᵀ ∂τ with respect to the named arguments."""
    gradients = pullback(tree, q, v, a, f_ext, weights)
    return tuple(getattr(gradients, name) for name in wrt)


def forward_dynamics_vjp(
    tree: Tree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    weights: JointValues,
    f_ext: BodyForces,
    wrt: tuple[str, ...],
) -> tuple[Field[Any], ...]:
    """λᵀ ∂q̈ with respect to the named arguments."""
    motion = articulated_motion(tree, q, v, tau, f_ext)
    opposite: JointField = tree.field()
    for body in tree.outward():
        opposite[body] = [-number for number in weights[body]]
    response = _accelerations(tree, motion.step, opposite)
    g = pullback(tree, q, v, motion.qdd, f_ext, response)
    by_tau: JointField = tree.field()
    for body in tree.outward():
        by_tau[body] = [-number for number in response[body]]
    return tuple(by_tau if name == "tau" else getattr(g, name) for name in wrt)


def forward_dynamics_jvp(
    tree: Tree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    dq: JointValues,
    dv: JointValues,
    dtau: JointValues,
    f_ext: BodyForces,
    df_ext: BodyForces,
    dparameters: Parameters | None = None,
) -> tuple[JointField]:
    """δq̈."""
    motion = articulated_motion(tree, q, v, tau, f_ext)
    (taken,) = inverse_dynamics_jvp(tree, q, v, motion.qdd, dq, dv, tree.still(), f_ext, df_ext, dparameters)
    left: JointField = tree.field()
    for body in tree.outward():
        left[body] = minus(dtau[body], taken[body])
    return (_accelerations(tree, motion.step, left),)
