"""Free fall: the accelerations of points when gravity alone acts on a mechanism at rest, -J M⁻¹ g, O(n).

    outward   Aᵢ = Lᵢᵀ Aₚ      A of the world is -g, which is subtracted again at the points

Lᵢᵀ maps the acceleration of a parent to that of the body across its free joint (force_propagators.py). A free root
joint transmits none of it: behind it everything accelerates by g itself.
"""

from __future__ import annotations

from linkwork.algorithms.force_propagators import Propagators
from linkwork.algorithms.jacobian import as_seen, seen
from linkwork.algorithms.kinematics import placements
from linkwork.algorithms.tree import Field, JointValues, PointedTree, fields
from linkwork.spatial import Motion


def free_fall(tree: PointedTree, q: JointValues, reference: str) -> tuple[Field[Motion]]:
    """The acceleration of each frame."""
    L, X0 = Propagators(tree, q), placements(tree, q)
    A, g, falling = fields(tree, Motion, 3)
    A[tree.world], g[tree.world] = -tree.gravity, tree.gravity
    for body in tree.outward():
        A[body] = L.outward(body, A[body.parent])
        g[body] = L.X[body].to_child(g[body.parent])
    for frame in tree.frames():
        pose = X0[frame.body] * frame.placement
        own = as_seen(reference, pose).to_parent(frame.placement.to_child(A[frame.body]))
        local = reference == "local"
        weight = frame.placement.to_child(g[frame.body]) if local else seen(reference, pose).to_child(tree.gravity)
        falling[frame] = own + weight
    return (falling,)
