"""Jacobians of frames, their velocities and accelerations, and the part J̇ v of an acceleration that needs no q̈.

    column of joint j for frame f:   Bⱼ Sⱼ     for j on the path from f to the world, O(path) for each frame

B places bodies in the reference: Xf⁻¹ X₀ⱼ. In the frame itself the world's part would cancel, so there B goes inward
from joint to joint, Bₚ = Bⱼ Xⱼ⁻¹.

Featherstone, Rigid Body Dynamics Algorithms (2008), section 4.3. The reference gives the axes and origin, as
in Pinocchio:

    local                 in the frame, about its origin
    world                 in the world, about the world's origin
    local_world_aligned   in the world's axes, about the frame's origin; accelerations are then classical ones
"""

from __future__ import annotations

from linkwork.algorithms.kinematics import Motions, joint_placements, motions, placements
from linkwork.algorithms.tree import Field, JointValues, PointedTree, fields
from linkwork.spatial import Mat3, Motion, Transform, Vec3


def seen(reference: str, pose: Transform) -> Transform:
    """The placement of the reference in the world."""
    if reference == "local":
        return pose
    return Transform(Mat3.identity(), Vec3.zero() if reference == "world" else pose.translation)


def as_seen(reference: str, pose: Transform) -> Transform:
    """The placement of a frame in the reference."""
    return Transform.identity() if reference == "local" else seen(reference, pose).inverse() * pose


def jacobian(tree: PointedTree, q: JointValues, reference: str) -> tuple[Field[list[Motion]]]:
    """The motion of each frame for a unit velocity of each degree of freedom."""
    local = reference == "local"
    X0, X = placements(tree, q), joint_placements(tree, q)
    B: Field[Transform] = tree.field()
    J: Field[list[Motion]] = tree.field()
    for frame in tree.frames():
        B[frame] = (frame.placement if local else seen(reference, X0[frame.body] * frame.placement)).inverse()
        for body in tree.path(frame.body):
            view = B[frame] if local else B[frame] * X0[body]
            J[frame, body] = [view.to_parent(column) for column in body.joint.subspace(q[body]).columns()]
            if local:
                B[frame] = B[frame].over(X[body])
    return (J,)


def frame_velocities(tree: PointedTree, q: JointValues, v: JointValues, reference: str) -> tuple[Field[Motion]]:
    """J v, by one outward recursion."""
    return (_frame_motions(tree, q, v, tree.still(), reference).velocities,)


def frame_accelerations(
    tree: PointedTree, q: JointValues, v: JointValues, a: JointValues, reference: str
) -> tuple[Field[Motion]]:
    """J q̈ + J̇ v."""
    return (_frame_motions(tree, q, v, a, reference).accelerations,)


def jacobian_drift(tree: PointedTree, q: JointValues, v: JointValues, reference: str) -> tuple[Field[Motion]]:
    """J̇ v: the acceleration of each frame when q̈ is zero."""
    return (_frame_motions(tree, q, v, tree.still(), reference).accelerations,)


def _frame_motions(tree: PointedTree, q: JointValues, v: JointValues, a: JointValues, reference: str) -> Motions:
    X0, (V, A) = placements(tree, q), motions(tree, q, v, a)
    velocities, accelerations = fields(tree, Motion, 2)
    for frame in tree.frames():
        pose = X0[frame.body] * frame.placement
        X = as_seen(reference, pose)
        velocity, acceleration = frame.placement.to_child(V[frame.body]), frame.placement.to_child(A[frame.body])
        if reference == "local_world_aligned":  # its axes do not turn with the frame: d/dt (R V) = R (A + ω × V)
            turning = Motion(Vec3.zero(), velocity.angular)
            acceleration = acceleration + turning.cross(velocity)
        velocities[frame] = X.to_parent(velocity)
        accelerations[frame] = X.to_parent(acceleration)
    return Motions(velocities, accelerations)
