"""Placements in the frame of the root: the body at the foot of a body's path, whose parent is the world.

Quantities of bodies that are each other's ancestors can be combined without transforms between frames if all are
given in one frame. The world's would do, but far from its origin it costs digits, and a floating root
would have a subspace of 36 numbers. In the root's own frame all entries of its subspace are 0 or 1.

The root's frame is taken to be at rest at this instant, as the world's is: bodies move relative to it.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.tree import Field, JointValues, Tree, fields
from linkwork.spatial import Motion, Scalar, Transform, Vec3


class RootFrames(NamedTuple):
    """Quantities in the frame of each body's root."""

    X0: Field[Transform]
    """The placement of each body."""
    lift: Field[Motion]
    """-g for a root, as its base acceleration; zero for the other bodies, which inherit it from their
    parents."""


def root_frames(tree: Tree, q: JointValues) -> RootFrames:
    """Placements in the frames of the roots, outward."""
    on_world: Field[Scalar] = tree.field()  # 1 at the world: its children use their own frames
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
