"""Jacobians of frames, and the part J̇ v of their acceleration that needs no q̈.

    column of joint j for frame f:   X₀f⁻¹ X₀ⱼ Sⱼ     for j on the path from f to the world, O(path) for each frame

Featherstone, Rigid Body Dynamics Algorithms (2008), section 4.3. In the frame's own axes ("local").
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.kinematics import frame_motions, placements
from linkwork.model.tree import Tree


def jacobian(tree: Tree, q: Any) -> tuple[Any]:
    """The motion of each frame for a unit rate of each degree of freedom, in the frame's own axes."""
    X0, J = placements(tree, q), tree.field()
    for frame in tree.frames():
        for body in tree.path(frame.body):
            X = (X0[frame.body] * frame.placement).inverse() * X0[body]
            J[frame, body] = [X.to_parent(column) for column in body.joint.subspace(q[body]).columns()]
    return (J,)


def jacobian_drift(tree: Tree, q: Any, v: Any) -> tuple[Any]:
    """J̇ v: the spatial acceleration of each frame when q̈ is zero, in the frame's own axes."""
    return (frame_motions(tree, q, v, tree.still())[1],)
