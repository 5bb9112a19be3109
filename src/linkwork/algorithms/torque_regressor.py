"""The regressor of inverse dynamics, O(n·depth): τ = Y π + rotor q̈ - Σ Jᵀ f, π the inertial parameters of bodies.

    outward   V and A of every body in its own frame, A of the world is -g
    rows of joint i, columns of body j behind it:   Sᵢ in j's frame, paired with each parameter's part of j's force

With the classical acceleration a′ = A.linear + ω × V.linear, the force on a body is m a′ + α × mc + ω × (ω × mc), its
moment J α + ω × J ω + mc × a′; Atkeson, An, Hollerbach 1986. A body's parameters are m, mc (three), Jxx, Jxy, Jyy, Jxz,
Jyz and Jzz about its own frame's origin, as Pinocchio orders them.
"""

from __future__ import annotations

from linkwork.algorithms.kinematics import motions
from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import Field, JointValues, Tree
from linkwork.spatial import Force, Inertia, Motion, Scalar, Sym3, Vec3
from linkwork.spatial.matrices import Column, Matrix


def torque_regressor(tree: Tree, q: JointValues, v: JointValues, a: JointValues) -> tuple[Field[Matrix]]:
    """Y, as blocks of a row for each degree of freedom of a joint and ten columns for each body behind it."""
    X0, _ = root_frames(tree, q)
    V, A = motions(tree, q, v, a, gravity=True)
    S: Field[list[Motion]] = tree.field()
    Y: Field[Matrix] = tree.field()
    for body in tree.outward():
        S[body] = [X0[body].to_parent(column) for column in body.joint.subspace(q[body]).columns()]
    for body in tree.outward():
        for ancestor in tree.path(body):
            seen = [X0[body].to_child(column) for column in S[ancestor]]
            Y[ancestor, body] = [by_parameter(motion, V[body], A[body]) for motion in seen]
    return (Y,)


def by_parameter(motion: Motion, V: Motion, A: Motion) -> Column:
    """The part of each parameter in the power of a body's inertial force on a motion; the body moves with V and A."""
    l, s, w, alpha = motion.linear, motion.angular, V.angular, A.angular
    classical = A.linear + w.cross(V.linear)
    moment = l.cross(alpha) + l.cross(w).cross(w) + classical.cross(s)
    r = s.cross(w)
    return [
        l.dot(classical),
        *moment.numbers(),
        s.x * alpha.x + r.x * w.x,
        (s.x * alpha.y + s.y * alpha.x) + (r.x * w.y + r.y * w.x),
        s.y * alpha.y + r.y * w.y,
        (s.x * alpha.z + s.z * alpha.x) + (r.x * w.z + r.z * w.x),
        (s.y * alpha.z + s.z * alpha.y) + (r.y * w.z + r.z * w.y),
        s.z * alpha.z + r.z * w.z,
    ]


def of_parameters(parameters: list[Scalar]) -> Inertia:
    """The inertia with these ten parameters."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = parameters
    return Inertia(m, Vec3(x, y, z), Sym3(xx, xy, xz, yy, yz, zz))


def inertial_force(inertia: Inertia, V: Motion, A: Motion) -> Force:
    """I A + V ×* I V."""
    return inertia * A + V.cross(inertia * V)
