"""Derivatives of forward dynamics with respect to configuration, velocity and joint forces, O(n²).

The derivative of τ = ID(q, q̇, q̈) with respect to q of joint j (``inverse_dynamics_derivatives``) is the effect of a
force B_b Ψ̇ + I_b Ψ̈ on each body b behind it, and of S ×* F on its parent; with respect to q̇ the force is B_b S + I_b Ω.
The response of articulated bodies to these forces:

    inward    C = B + Σ (C + K Sᵀ C) of the children,   Y = -D⁻¹ Sᵀ C                     of any Ψ̇
              f = C Ψ̇ + Iᴬ Ψ̈,   x = -D⁻¹ Sᵀ f,   P = Ψ̈ + S x                             while the parent is held
              force on the parent:   -(f + K Sᵀ f + S ×* F)                                K = -U D⁻¹
    outward   behind j   x = Y Ψ̇ + Kᵀ Pₚ,   P = Pₚ + S x
    all       response of all joints to these forces (``mass_matrix_inverse``), which also gives ∂q̈/∂τ = M⁻¹

So ∂τ is never formed. The derivative with respect to q̇ is the same with S, Ω and zero in place of Ψ̇, Ψ̈ and F. C has
three columns, as B has columns for angular velocities only. A subspace that varies with q adds (∂S/∂qₖ)ᵀ F to Sᵀ f.
Everything but Iᴬ is in the frame of the root.

A joint of six degrees of freedom, without rotors and with a fixed subspace, transmits no force: it takes up Ψ̈ entirely,
so that P = -S D⁻¹ Sᵀ C Ψ̇, and the bodies it carries depend on angular velocities only. Three columns go outward from a
floating base, not twelve.

That ∂q̈ = -M⁻¹ ∂τ is from Carpentier, Mansard 2018; how τ varies, from Singh, Russell, Wensing 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.algorithms.articulated_body import ArticulatedMotion, articulated_motion
from linkwork.algorithms.inverse_dynamics_derivatives import Moving, moving
from linkwork.algorithms.mass_matrix_inverse import GivingWay, Taken, giving_way, respond, zeros
from linkwork.algorithms.tree import Body, BodyForces, Field, JointValues, OrderedTree, Tree
from linkwork.spatial import Force, Motion, Vec3, combination
from linkwork.spatial.coriolis import Coriolis
from linkwork.spatial.matrices import Column, Matrix, columns, negated, plus, units


def forward_dynamics_derivatives(
    tree: OrderedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[Field[Matrix], Field[Matrix], Field[Matrix]]:
    """∂q̈/∂q, ∂q̈/∂q̇ and M⁻¹, a block for each pair of joints."""
    articulated = articulated_motion(tree, q, v, tau, f_ext)
    by_q, by_v, inverse = zeros(tree, 3)
    accelerations_vary(tree, articulated, moving(tree, q, v, articulated.qdd, f_ext), by_q, by_v, inverse)
    return by_q, by_v, inverse


def accelerations_vary(
    tree: OrderedTree,
    articulated: ArticulatedMotion,
    motion: Moving,
    by_q: Field[Matrix],
    by_v: Field[Matrix],
    inverse: Field[Matrix],
    taken: Taken | None = None,
) -> None:
    """The same from the results of recursions, into fields of zeros, or to ``taken`` if it is given."""
    joints = giving_way(tree, motion.X0, articulated.step)
    pushed = _pushed(tree, articulated, motion, joints, by_q, by_v)
    respond(tree, joints, inverse, (by_q, by_v), pushed, taken)


_DIRECTIONS = [Vec3(*unit) for unit in units(3)]
"""Unit angular velocities."""


class _Coupled(NamedTuple):
    """C of a body, a force for each angular velocity of its supporting joints, and Y of its joint."""

    C: Field[list[Force]]
    Y: Field[list[Vec3]]


def _coupled(tree: Tree, B: Field[Coriolis], joints: Field[GivingWay]) -> _Coupled:
    """C and Y, inward."""
    C, Y = coupled = _Coupled(tree.field(), tree.field())
    C[tree.world] = Coriolis.zero().columns()
    for body in tree.outward():
        C[body] = B[body].columns()
    for body in tree.inward():
        S, K, D = joints[body]
        u = [S.dot(force) for force in C[body]]
        Y[body] = [-Vec3(*row) for row in columns([D.solve(each) for each in u], body.joint.nv)]
        handed = [force + combination(K, each) for force, each in zip(C[body], u, strict=True)]
        C[body.parent] = [x + force for x, force in zip(C[body.parent], handed, strict=True)]
    return coupled


def _pushed(
    tree: OrderedTree, articulated: ArticulatedMotion, motion: Moving, joints: Field[GivingWay], *X: Field[Matrix]
) -> Field[list[Force]]:
    """The forces on held parents due to a change of a joint's q, then of its q̇; X: accelerations of it and the joints
    behind it.
    """
    C, Y = _coupled(tree, motion.B, joints)
    P, pushed = tree.path_field(), tree.field()
    motion.F[tree.world] = Force.zero()
    for joint in tree.inward():
        S, _, D = joints[joint]
        turned, A, x, pushed[joint] = _own(joint, articulated, motion, joints[joint], C[joint])
        _put(X, joint, joint, x)
        held = joint.joint.nv < 6 or bool(articulated.step.rotor[joint] or motion.joints[joint].S_q)
        P[joint] = _behind(joints[joint], A, x) if held else [-S.times(D.solve(S.dot(force))) for force in C[joint]]
        for body in tree.carried_by(joint):
            x = _followed(joints[body], turned if held else _DIRECTIONS, Y[body], P[body.parent])
            P[body] = _behind(joints[body], P[body.parent], x)
            if not held:
                follows = [Vec3(*row) for row in columns(x, body.joint.nv)]
                x = [[w.dot(each) for each in follows] for w in turned]
            _put(X, body, joint, x)
        motion.F[joint.parent] = motion.F[joint.parent] + motion.F[joint]
    return pushed


def _own(
    joint: Body, articulated: ArticulatedMotion, motion: Moving, giving: GivingWay, C: list[Force]
) -> tuple[list[Vec3], list[Motion], Matrix, list[Force]]:
    """The angular velocities of changes of a joint's q, then of its q̇, the accelerations with the joint at rest, those
    of the joint, and the forces on its parent.
    """
    (S, K, D), X0, F = giving, motion.X0[joint], motion.F[joint]
    _, Psi_d, Psi_dd, Omega, S_q = motion.joints[joint]
    turned = [each.angular for each in (*Psi_d.columns(), *S.columns())]
    A = [*Psi_dd.columns(), *Omega.columns()]
    f = [X0.to_parent(articulated.IA[joint] * X0.to_child(a)) for a in A]
    f = [combination(C, w.numbers()) + force for w, force in zip(turned, f, strict=True)]
    u = [S.dot(force) for force in f]
    own = [plus(each, varied.dot(F)) for each, varied in zip(u, S_q, strict=False)]
    u = [*own, *u[len(own) :]]
    x = negated([D.solve(each) for each in u])
    f = [force + combination(K, each) for force, each in zip(f, u, strict=True)]
    turning = [column.cross(F) for column in S.columns()]
    pushed = [
        *(-(each + force) for each, force in zip(f, turning, strict=False)),
        *(-each for each in f[joint.joint.nv :]),
    ]
    return turned, A, x, pushed


def _behind(joint: GivingWay, A: Sequence[Motion], x: Matrix) -> list[Motion]:
    """The accelerations behind a joint, from those before it and its own."""
    return [a + joint.S.times(rates) for a, rates in zip(A, x, strict=True)]


def _followed(joint: GivingWay, turned: Sequence[Vec3], Y: Sequence[Vec3], A: Sequence[Motion]) -> Matrix:
    """The acceleration of a joint that gives way to those before it."""
    turning = [[w.dot(y) for y in Y] for w in turned]
    return [plus(y, [a.dot(force) for force in joint.K]) for y, a in zip(turning, A, strict=True)]


def _put(X: tuple[Field[Matrix], ...], body: Body, joint: Body, x: list[Column]) -> None:
    """Write columns of accelerations to their places in each matrix."""
    n = joint.joint.nv
    for k, each in enumerate(X):
        each[body, joint] = columns(x[k * n : k * n + n], body.joint.nv)
