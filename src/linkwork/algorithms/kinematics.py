"""Forward kinematics: placements, velocities and accelerations of bodies and frames, outward, O(n).

    X₀ᵢ = X₀ₚ Xᵢ        Vᵢ = Xᵢ⁻¹ Vₚ + Sᵢ q̇ᵢ        Aᵢ = Xᵢ⁻¹ Aₚ + Ṡᵢ q̇ᵢ + Vᵢ × Sᵢ q̇ᵢ + Sᵢ q̈ᵢ

Featherstone, Rigid Body Dynamics Algorithms (2008), sections 4.1 and 5.3. A body's quantities are in its own frame;
accelerations are spatial ones (the classical acceleration of the frame's origin is A.linear + ω × V.linear).
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.tree import Field, JointValues, PointedTree, Tree, fields
from linkwork.spatial import Motion, Transform


class Motions(NamedTuple):
    """Velocities and accelerations of bodies or frames."""

    velocities: Field[Motion]
    accelerations: Field[Motion]


def placements(tree: Tree, q: JointValues) -> Field[Transform]:
    """The placement of every body in the world."""
    X0: Field[Transform] = tree.field()
    X0[tree.world] = Transform.identity()
    for body in tree.outward():
        X0[body] = X0[body.parent] * (body.placement * body.joint.transform(q[body]))
    return X0


def joint_placements(tree: Tree, q: JointValues) -> Field[Transform]:
    """The placement of every body in its parent."""
    X: Field[Transform] = tree.field()
    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
    return X


def frame_placements(tree: PointedTree, q: JointValues) -> tuple[Field[Transform]]:
    """The placement of every frame in the world."""
    X0 = placements(tree, q)
    poses: Field[Transform] = tree.field()
    for frame in tree.frames():
        poses[frame] = X0[frame.body] * frame.placement
    return (poses,)


def motions(tree: Tree, q: JointValues, v: JointValues, a: JointValues, gravity: bool = False) -> Motions:
    """Velocity and acceleration of every body, in its own frame; with ``gravity`` that of the world is -g."""
    V, A = fields(tree, Motion, 2)
    V[tree.world], A[tree.world] = Motion.zero(), -tree.gravity if gravity else Motion.zero()
    for body in tree.outward():
        X = body.placement * body.joint.transform(q[body])
        S = body.joint.subspace(q[body])
        moved = S.times(v[body])
        V[body] = X.to_child(V[body.parent]) + moved
        c = body.joint.bias(q[body], v[body]) + V[body].cross(moved)
        A[body] = X.to_child(A[body.parent]) + c + S.times(a[body])  # summed in the order of articulated bodies
    return Motions(V, A)
