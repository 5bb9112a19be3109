"""A mechanism as the algorithms see it: a tree of nodes, traversed outward or inward, with values stored at its nodes.

This is the plain form, in which a traversal is an ordinary loop and a field an ordinary store; the scalars may be
floats, NumPy arrays or mpmath numbers. Engines have their own forms with the same methods, which ``algorithms.tree``
lists. One rule makes that possible: a value that outlives its iteration of a loop is stored in a field, never in a
local variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from linkwork.joints import Joint
from linkwork.model.doubtful import doubtful_joints
from linkwork.model.fields import Constant, Field
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.loop_walks import LoopWalks, groups_of, pairs_of
from linkwork.model.model import Frame, Model
from linkwork.model.part_walks import PartWalks
from linkwork.model.path_walks import PathWalks
from linkwork.model.segment_walks import SegmentWalks
from linkwork.properties import cached_property
from linkwork.spatial import Force, Inertia, Motion, Transform, Vec3


class Node:
    """A body (index from 1) or the world (index 0) in a traversal."""

    __slots__ = ("alone", "doubtful", "index", "inertia", "joint", "parent", "placement", "rotor")

    index: int
    parent: Node
    joint: Joint
    placement: Transform
    inertia: Inertia
    rotor: Sequence[Any]
    """Rotor inertias of the joint; empty where there are none."""
    doubtful: bool
    alone: bool
    """Whether rounding could hide that the joint moves no inertia."""


class FrameNode:
    """A frame that an algorithm is asked about, at ``placement`` on ``body``."""

    __slots__ = ("body", "index", "placement")

    def __init__(self, index: int, body: Node, placement: Transform) -> None:
        self.index, self.body, self.placement = index, body, placement


class Junction:
    """A body at which the paths of frames to the world meet; the ground, where all paths end, is number 0.

    ``next`` is the next junction on its own path.
    """

    __slots__ = ("body", "index", "next")

    body: Node
    index: int
    next: Junction


def alone(parents: Sequence[int]) -> list[bool]:
    """For each body, given the parents: whether it is its parent's only child, or its parent is the world."""
    count = Counter(parents)
    return [not parent or count[parent] == 1 for parent in parents]


class DepthFirst(NamedTuple):
    """A body's position in depth-first order: the body before it, for the world the last; the body after it, and the
    one after its subtree, 0 behind the last; and its depth, the number of joints from the world.
    """

    before: int
    after: int
    stop: int
    depth: int


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """The bodies on each body of a tree; body 0 is the world."""
    children: list[list[int]] = [[] for _ in parents]
    for body, parent in enumerate(parents[1:], 1):
        children[parent].append(body)
    return children


def depth_first(parents: Sequence[int]) -> list[DepthFirst]:
    """The positions of bodies with these parents, the world first."""
    children = children_of(parents)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(children[order[-1]]))
    before, after, stop, depth = ([0] * len(parents) for _ in range(4))
    for body in order[1:]:
        depth[body] = depth[parents[body]] + 1
    for body, following in pairwise([*order, 0]):
        after[body], before[following] = following, body
    for body in order:
        for one, following in pairwise(children[body]):
            stop[one] = following
        if children[body]:
            stop[children[body][-1]] = stop[body]
    return [*map(DepthFirst, before, after, stop, depth)]


class Walks:
    """The part common to all forms of a tree."""

    world: Any

    def path(self, body: Any, until: Any = None) -> Iterator[Any]:
        """The body and its ancestors, up to but excluding ``until``, one of its ancestors, or the world."""
        end = until or self.world
        while body.index != end.index:
            yield body
            body = body.parent

    def ancestors(self, body: Any) -> Iterator[Any]:
        """The body's ancestors, nearest first, excluding the world."""
        return self.path(body.parent)

    def joint_before(self, body: Any) -> Iterator[Any]:
        """A body's parent, if it has a joint; nothing for the world."""
        return iter([body.parent] if body.parent.index else [])

    def still(self) -> Constant:
        """Zero for every degree of freedom."""
        return Constant(lambda node: [0.0] * node.joint.nv)

    def unloaded(self) -> Constant:
        """No force on any body."""
        return Constant(lambda node: Force.zero())

    def rotors(self) -> Constant:
        """The rotor inertias of each joint; empty where there are none."""
        return Constant(lambda node: node.rotor)


class Tree(SegmentWalks, PathWalks, LoopWalks, PartWalks, Walks):
    """The plain form of a tree."""

    def __init__(
        self, model: Model, frames: Sequence[Frame] = (), number: Callable[[float], Any] | None = None
    ) -> None:
        """``number`` converts the model's floats to scalars, so that arithmetic with them has their precision."""

        def as_scalars(constants: Any) -> Any:
            return constants.of([number(x) for x in constants.numbers()]) if number else constants

        self.world = Node()
        self.world.index = 0
        self._nodes = [self.world]
        doubtful = doubtful_joints(model)
        self.doubtful, lone = any(doubtful), alone([body.parent for body in model.bodies])
        for index, body in enumerate(model.bodies, 1):
            node = Node()
            node.index, node.parent = index, self._nodes[body.parent]
            node.joint, node.placement, node.inertia = map(as_scalars, (body.joint, body.placement, body.inertia))
            node.rotor = tuple(map(number, body.armature)) if number else body.armature
            node.doubtful, node.alone = doubtful[index - 1], lone[index - 1]
            self._nodes.append(node)
        self._frames = [
            FrameNode(i, self._nodes[frame.body], as_scalars(frame.placement)) for i, frame in enumerate(frames)
        ]
        self._holds, self._ends = groups_of(frames), pairs_of(frames)
        self.gravity = Motion(as_scalars(Vec3(*model.gravity)), Vec3.zero())
        self._model = model

    def set_rotors(self, values: Any) -> None:
        """Set the rotor inertias of each joint, by a field."""
        for node in self._nodes[1:]:
            node.rotor = tuple(values[node])

    def field(self) -> Field:
        """A new field."""
        return Field()

    def persistent_field(self) -> Field:
        """A new field whose values at bodies of a segment outlive its iteration of a loop over segments."""
        return Field()

    def path_field(self) -> Field:
        """A new field for depth-first traversals: a value at a body is lost when one is stored at another body at the
        same depth.
        """
        return Field()

    def outward(self) -> Iterator[Node]:
        """Every body after its parent."""
        return iter(self._nodes[1:])

    def inward(self) -> Iterator[Node]:
        """Every body before its parent."""
        return iter(self._nodes[:0:-1])

    def depth_first(self) -> Iterator[Node]:
        """Every body after its parent, in depth-first order: each subtree is completed before the next begins."""
        return self.bodies_after(self.world)

    def rows_inward(self) -> Iterator[list[Node]]:
        """The same order backwards, in runs of one body."""
        return ([body] for body in reversed([*self.depth_first()]))

    def bodies_before(self, body: Node) -> Iterator[Node]:
        """The bodies that come before a body in that order."""
        return self._stretch(self._depth_first[0].after, body.index)

    def bodies_after(self, body: Node) -> Iterator[Node]:
        """The bodies that come after it."""
        return self._stretch(self._depth_first[body.index].after, 0)

    def carried_by(self, body: Node) -> Iterator[Node]:
        """The bodies of the subtree behind a body, in that order."""
        place = self._depth_first[body.index]
        return self._stretch(place.after, place.stop)

    def _stretch(self, start: int, stop: int) -> Iterator[Node]:
        while start != stop:
            yield self._nodes[start]
            start = self._depth_first[start].after

    @cached_property
    def _depth_first(self) -> list[DepthFirst]:
        return depth_first(self._parents())

    def children(self, body: Node) -> Sequence[Node]:
        """The children of a body, or of the world."""
        return self._children[body.index]

    def children_inward(self, body: Node) -> Iterator[Node]:
        """The same in reverse order."""
        return reversed(self._children[body.index])

    def siblings_behind(self, body: Node) -> Iterator[Node]:
        """The children of a body's parent that are numbered after it, the last first."""
        return (child for child in self.children_inward(body.parent) if child.index > body.index)

    def main_chain(self, tip: int | None = None) -> list[Node]:
        """The longest path from the world, or the path to body number ``tip``, in outward order."""
        depths = [0]
        for node in self._nodes[1:]:
            depths.append(depths[node.parent.index] + 1)
        last = self._nodes[depths.index(max(depths)) if tip is None else tip]
        return list(self.path(last))[::-1]

    def branches(self, chain: Sequence[Node]) -> list[list[Node]]:
        """The bodies off a chain from the world, in levels: each body's parent is in the level before, on the chain or
        the world.
        """
        on_chain = {0, *(node.index for node in chain)}
        levels: list[list[Node]] = []
        level = [self.world, *chain]
        while level:
            level = [child for node in level for child in self.children(node) if child.index not in on_chain]
            levels.append(level)
        return levels[:-1]

    def frames(self) -> Iterator[FrameNode]:
        """The frames that the algorithm is asked about."""
        return iter(self._frames)

    def frames_back_from(self, frame: FrameNode) -> Iterator[FrameNode]:
        """A frame and those listed before it: over all frames, every pair once."""
        return iter(self._frames[frame.index :: -1])

    def common_ancestor(self, a: FrameNode, b: FrameNode) -> Node:
        """The nearest body that is on both frames' paths; the world if there is none."""
        return self._nodes[common_ancestor(self._parents(), a.body.index, b.body.index)]

    @property
    def ground(self) -> Junction:
        """Where all paths end."""
        return self._junctions[0][0]

    def junctions(self) -> Iterator[Junction]:
        """Every junction after the next one on its path, excluding the ground."""
        return iter(self._junctions[0][1:])

    def junctions_inward(self) -> Iterator[Junction]:
        """Every junction before the next one on its path, excluding the ground."""
        return iter(self._junctions[0][:0:-1])

    def junction_of(self, frame: FrameNode) -> Junction:
        """The first junction on a frame's path; its own body may be one."""
        junctions, of_frames = self._junctions
        return junctions[of_frames[frame.index]]

    @cached_property
    def _junctions(self) -> tuple[list[Junction], list[int]]:
        table, of_frames = junctions_of(self._parents(), [frame.body.index for frame in self._frames])
        junctions: list[Junction] = []
        for index, (body, following) in enumerate(table):
            junction = Junction()
            junctions.append(junction)
            junction.index, junction.body, junction.next = index, self._nodes[body], junctions[following]
        return junctions, of_frames

    @cached_property
    def _children(self) -> list[list[Node]]:
        return [[self._nodes[child] for child in row] for row in children_of(self._parents())]

    def _parents(self) -> list[int]:
        return [0, *(node.parent.index for node in self._nodes[1:])]
