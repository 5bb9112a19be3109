"""Derivatives of the velocities and accelerations of frames with respect to q, q̇ and q̈, O(path) for each frame.

    in the frame, for joint j on its path, all transformed from the root's frame:
    ∂V/∂q = Ψ̇     ∂V/∂q̇ = S     ∂A/∂q = Ψ̈ - V × Ψ̇     ∂A/∂q̇ = Ω - V × S     ∂A/∂q̈ = S

S, Ψ̇, Ψ̈ and Ω are those of ``joint_motions``. In another reference, as in ``jacobian``, a motion m of the frame
also varies because the frame moves with the joint: by S × m in the world's reference, by the angular part of S alone in
local_world_aligned, where accelerations are classical ones, A + ω × V.
"""

from __future__ import annotations

from linkwork.algorithms.jacobian import as_seen
from linkwork.algorithms.joint_motions import joint_motions
from linkwork.algorithms.kinematics import placements
from linkwork.algorithms.tree import Field, JointValues, PointedTree
from linkwork.spatial import Columns, Motion, Transform, Vec3

Derivative = Field[list[Motion]]
"""A column for each degree of freedom on a frame's path."""


def frame_velocity_derivatives(
    tree: PointedTree, q: JointValues, v: JointValues, reference: str
) -> tuple[Derivative, Derivative]:
    """∂V/∂q and ∂V/∂q̇ of each frame."""
    by_q, by_v, _, _ = _derivatives(tree, q, v, tree.still(), reference)
    return by_q, by_v


def frame_acceleration_derivatives(
    tree: PointedTree, q: JointValues, v: JointValues, a: JointValues, reference: str
) -> tuple[Derivative, Derivative, Derivative]:
    """∂A/∂q, ∂A/∂q̇ and ∂A/∂q̈ of each frame."""
    _, by_a, by_q, by_v = _derivatives(tree, q, v, a, reference)
    return by_q, by_v, by_a


def _derivatives(
    tree: PointedTree, q: JointValues, v: JointValues, a: JointValues, reference: str
) -> tuple[Derivative, ...]:
    X0, joints, V, A = joint_motions(tree, q, v, a, gravity=False)
    world = placements(tree, q)
    back: Field[Transform] = tree.field()
    view: Field[Transform] = tree.field()
    motion: Field[list[Motion]] = tree.field()
    V_q, V_v, A_q, A_v = (tree.field() for _ in range(4))
    for frame in tree.frames():
        pose = world[frame.body] * frame.placement
        back[frame] = (X0[frame.body] * frame.placement).inverse()
        view[frame] = as_seen(reference, pose)
        motion[frame] = [back[frame].to_parent(V[frame.body]), back[frame].to_parent(A[frame.body])]
        for body in tree.path(frame.body):
            S, Psi_d, Psi_dd, Omega = (_moved(back[frame], columns) for columns in joints[body][:4])
            here, faster = motion[frame]
            v_q, v_v = Psi_d, S
            a_q = [x - here.cross(y) for x, y in zip(Psi_dd, Psi_d, strict=True)]
            a_v = [x - here.cross(y) for x, y in zip(Omega, S, strict=True)]
            if reference == "world":
                v_q = [x + s.cross(here) for x, s in zip(v_q, S, strict=True)]
                a_q = [x + s.cross(faster) for x, s in zip(a_q, S, strict=True)]
            elif reference == "local_world_aligned":
                v_q, a_q, a_v = _aligned(here, faster, S, v_q, a_q, a_v)
            for field, columns in ((V_q, v_q), (V_v, v_v), (A_q, a_q), (A_v, a_v)):
                field[frame, body] = [view[frame].to_parent(column) for column in columns]
    return V_q, V_v, A_q, A_v


def _aligned(
    here: Motion, faster: Motion, S: list[Motion], v_q: list[Motion], a_q: list[Motion], a_v: list[Motion]
) -> tuple[list[Motion], list[Motion], list[Motion]]:
    """The derivatives at the frame's origin in axes that do not turn with it, and of classical acceleration."""
    turning = _turning(here)
    classical = faster + turning.cross(here)
    a_q = [
        x + _turning(y).cross(here) + turning.cross(y) + _turning(s).cross(classical)
        for x, y, s in zip(a_q, v_q, S, strict=True)
    ]
    a_v = [x + _turning(s).cross(here) + turning.cross(s) for x, s in zip(a_v, S, strict=True)]
    return [x + _turning(s).cross(here) for x, s in zip(v_q, S, strict=True)], a_q, a_v


def _moved(X: Transform, motions: Columns) -> list[Motion]:
    return [X.to_parent(motion) for motion in motions.columns()]


def _turning(motion: Motion) -> Motion:
    """The motion's angular part alone."""
    return Motion(Vec3.zero(), motion.angular)
