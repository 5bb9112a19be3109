"""Placements in the frame of the root: of the body that stands on the world, at the foot of a body's path.

Quantities of bodies that are each other's ancestors can be combined without moving them from frame to frame if all are
given in one frame. The world's would do, but at a distance from its origin it costs digits, and a root that floats
would have a subspace of 36 numbers. In the root's own frame its subspace has no number that is not 0 or 1.

The root's frame is taken to be at rest at this instant, as the world's is: what is given in it moves, it does not.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.tree import Field, JointValues, Tree, fields
from linkwork.spatial import Motion, Scalar, Transform, Vec3


class RootFrames(NamedTuple):
    """What is seen from the root of each body."""

    X0: Field[Transform]
    """The placement of each body."""
    lift: Field[Motion]
    """-g for a root, the acceleration that it has of its own accord; zero for the others, which have it from their
    parents."""


def root_frames(tree: Tree, q: JointValues) -> RootFrames:
    """Placements in the frames of the roots, outward."""
    on_world: Field[Scalar] = tree.field()  # 1 at the world, so that its children take their own frames
    X0: Field[Transform] = tree.field()
    (lift,) = fields(tree, Motion, 1)
    on_world[tree.world], X0[tree.world] = 1.0, Transform.identity()
    for body in tree.outward():
        X = body.placement * body.joint.transform(q[body])
        own, inherited = on_world[body.parent], 1.0 - on_world[body.parent]
        carried, unmoved = X0[body.parent] * X, Transform.identity()
        numbers = zip(carried.numbers(), unmoved.numbers(), strict=True)
        X0[body] = unmoved.of([x * inherited + e * own for x, e in numbers])
        lift[body] = Motion(X.rotation.apply_transpose(-tree.gravity.linear) * own, Vec3.zero())
        on_world[body] = 0.0
    return RootFrames(X0, lift)
