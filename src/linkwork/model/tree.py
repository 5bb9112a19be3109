"""A mechanism as the algorithms see it: a tree of nodes, walked outward or inward, with values stored at its nodes.

This is the plain form, in which a walk is an ordinary loop and a field an ordinary store; the scalars may be floats,
NumPy arrays or mpmath numbers. Engines have their own forms with the same methods, which ``algorithms.tree`` lists.
One rule makes that possible: a value that outlives its iteration of a loop is kept in a field, never in a local
variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from linkwork.errors import ModelError
from linkwork.joints import Joint
from linkwork.model.doubtful import doubtful_joints
from linkwork.model.fields import Constant, Field
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.loop_walks import LoopWalks, groups_of
from linkwork.model.model import Frame, Model
from linkwork.model.part_walks import PartWalks
from linkwork.model.path_walks import PathWalks
from linkwork.model.reductions import Unknown, reduction
from linkwork.model.segments import cut, limbs
from linkwork.spatial import Force, Inertia, Motion, Transform, Vec3

Item = TypeVar("Item")


class Node:
    """A body (index from 1) or the world (index 0) in a walk."""

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
    """A frame that was asked for, at ``placement`` on ``body``."""

    __slots__ = ("body", "index", "placement")

    def __init__(self, index: int, body: Node, placement: Transform) -> None:
        self.index, self.body, self.placement = index, body, placement


class Junction:
    """A body at which the paths of frames to the world meet; the ground, where all paths end, is number 0.

    ``next`` is the junction that its own path comes to.
    """

    __slots__ = ("body", "index", "next")

    body: Node
    index: int
    next: Junction


class Segment:
    """A stretch of a chain, or a side branch, its bodies numbered from 0."""

    __slots__ = ("before", "behind", "bodies", "index")

    def __init__(self, index: int, bodies: Sequence[Node], seams: Sequence[Seam] = ()) -> None:
        """Of a stretch of a chain with all its ``seams``."""
        self.index, self.bodies = index, bodies
        self.before: Any = seams[index] if seams else None
        self.behind: Any = seams[index + 1] if seams else None

    @property
    def first(self) -> Node:
        return self.bodies[0]

    @property
    def last(self) -> Node:
        return self.bodies[-1]

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Node]:
        """The bodies from number ``start`` up to but without ``stop``, which may count from the end."""
        return iter(self.bodies[start:stop])

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Node]:
        """The same, the last first."""
        return iter(self.bodies[start:stop][::-1])


class Seam:
    """Where segments meet: the last joint before one of them, and of a chain."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def alone(parents: Sequence[int]) -> list[bool]:
    """Which bodies that stand on these stand there alone, or on the world."""
    count = Counter(parents)
    return [not parent or count[parent] == 1 for parent in parents]


class DepthFirst(NamedTuple):
    """A body's place in depth-first order: the body after it, and the one after all that it carries, 0 behind the last;
    and how many joints it is away from the world.
    """

    after: int
    stop: int
    depth: int


def depth_first(parents: Sequence[int]) -> list[DepthFirst]:
    """The places of bodies that stand on these, the world first."""
    children: list[list[int]] = [[] for _ in parents]
    for body, parent in enumerate(parents[1:], 1):
        children[parent].append(body)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(children[order[-1]]))
    after, stop, depth = ([0] * len(parents) for _ in range(3))
    for body in order[1:]:
        depth[body] = depth[parents[body]] + 1
    for body, following in pairwise(order):
        after[body] = following
    for body in order:
        for one, following in pairwise(children[body]):
            stop[one] = following
        if children[body]:
            stop[children[body][-1]] = stop[body]
    return [*map(DepthFirst, after, stop, depth)]


class Walks:
    """What every form of a tree has in common."""

    world: Any

    def path(self, body: Any, until: Any = None) -> Iterator[Any]:
        """The body and its ancestors, up to but without ``until``, an ancestor of it, or the world."""
        end = until or self.world
        while body.index != end.index:
            yield body
            body = body.parent

    def ancestors(self, body: Any) -> Iterator[Any]:
        """The body's ancestors, nearest first, without the world."""
        return self.path(body.parent)

    def joint_before(self, body: Any) -> Iterator[Any]:
        """A body's parent, as one whose joint is looked at; nothing for the world."""
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


class Tree(PathWalks, LoopWalks, PartWalks, Walks):
    """The plain form of a tree."""

    def __init__(
        self, model: Model, frames: Sequence[Frame] = (), number: Callable[[float], Any] | None = None
    ) -> None:
        """``number`` makes scalars of the model's floats, so that arithmetic among these is as precise as theirs."""

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
        self._held = groups_of(frames)
        self.gravity = Motion(as_scalars(Vec3(*model.gravity)), Vec3.zero())
        self._model = model

    @property
    def most_constraints(self) -> int:
        """The most wrenches that a joint of the chain transmits, those of rotors included."""
        head, segments, _ = self._segments
        chain = [*head, *(body for segment in segments for body in segment.bodies)]
        return max(6 if body.rotor else body.joint.most_held for body in chain)

    @property
    def branched(self) -> bool:
        """Whether a chain that is cut into segments has side branches."""
        return bool(self._segments[2])

    def field(self) -> Field:
        """A new store of values."""
        return Field()

    def persistent_field(self) -> Field:
        """A new store of values, which at bodies of a segment outlive its iteration of a loop over segments."""
        return Field()

    def path_field(self) -> Field:
        """A new store of values for walks in depth-first order: what is stored at a body is lost when something is
        stored at another that is as far from the world.
        """
        return Field()

    def outward(self) -> Iterator[Node]:
        """Every body after its parent."""
        return iter(self._nodes[1:])

    def inward(self) -> Iterator[Node]:
        """Every body before its parent."""
        return iter(self._nodes[:0:-1])

    def depth_first(self) -> Iterator[Node]:
        """Every body after its parent, and with all that it carries before any other."""
        return self.bodies_after(self.world)

    def bodies_before(self, body: Node) -> Iterator[Node]:
        """The bodies that come before a body in that order."""
        return self._stretch(self._depth_first[0].after, body.index)

    def bodies_after(self, body: Node) -> Iterator[Node]:
        """The bodies that come after it."""
        return self._stretch(self._depth_first[body.index].after, 0)

    def carried_by(self, body: Node) -> Iterator[Node]:
        """The bodies that a body carries, in that order."""
        place = self._depth_first[body.index]
        return self._stretch(place.after, place.stop)

    def _stretch(self, start: int, stop: int) -> Iterator[Node]:
        while start != stop:
            yield self._nodes[start]
            start = self._depth_first[start].after

    @cached_property
    def _depth_first(self) -> list[DepthFirst]:
        return depth_first([0, *(node.parent.index for node in self._nodes[1:])])

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items whose iterations are independent: one step of a method on enough processors."""
        return iter(items)

    def reduction(self, places: Sequence[Any]) -> Iterator[list[Unknown]]:
        """The steps of an odd-even reduction of unknowns at these places."""
        return iter(reduction(places))

    def reduction_back(self, places: Sequence[Any]) -> Iterator[list[Unknown]]:
        """The same, the last first, with those that go alone."""
        return iter([[one for one in step if one.goes] for step in reduction(places)[::-1]])

    @property
    def along(self) -> Seam:
        """Where to keep what goes along the chain."""
        return Seam(-1)

    @property
    def seams(self) -> list[Seam]:
        """The joint before the first segment and the last joints of all."""
        first, *rest = self._segments[1]
        return [first.before, first.behind, *(segment.behind for segment in rest)]

    @property
    def first_seam(self) -> Seam:
        return self.seams[0]

    @property
    def last_seam(self) -> Seam:
        return self.seams[-1]

    def all_seams(self) -> Iterator[Seam]:
        """The seams, whose iterations are independent."""
        return self.parallel(self.seams)

    def head(self) -> Iterator[Node]:
        """The bodies of a chain that come before its segments, the first first."""
        return iter(self._segments[0])

    def head_inward(self) -> Iterator[Node]:
        """The same, the last first."""
        return iter(self._segments[0][::-1])

    def segments(self, brief: bool = False) -> Iterator[Segment]:
        """The segments of a chain, whose iterations are independent, and ``brief`` where they are about few bodies."""
        return self.parallel(self._segments[1])

    def segments_outward(self) -> Iterator[Segment]:
        """The segments of a chain, one after the other from the first."""
        return iter(self._segments[1])

    def limbs(self) -> Iterator[Segment]:
        """The side branches of a chain that is cut into segments, each with all that hangs on it; iterations are
        independent. All bodies but the first have their parents among them.
        """
        return self.parallel(self._segments[2])

    def limbs_in_turn(self) -> Iterator[Segment]:
        """The same, one after the other."""
        return iter(self._segments[2])

    limbs_to_fill = limbs_in_turn
    """The same; where one may come several times, since several processors know it."""

    def children(self, body: Node) -> Sequence[Node]:
        """The bodies whose joints stand on a body, or on the world."""
        return self._children[body.index]

    def children_inward(self, body: Node) -> Iterator[Node]:
        """The same, the last first."""
        return reversed(self._children[body.index])

    def siblings_behind(self, body: Node) -> Iterator[Node]:
        """The children of a body's parent that are numbered after it, the last first."""
        return (child for child in self.children_inward(body.parent) if child.index > body.index)

    def main_chain(self, tip: int | None = None) -> list[Node]:
        """The longest path from the world, or the one to body number ``tip``, its first body first."""
        depths = [0]
        for node in self._nodes[1:]:
            depths.append(depths[node.parent.index] + 1)
        last = self._nodes[depths.index(max(depths)) if tip is None else tip]
        return list(self.path(last))[::-1]

    def branches(self, chain: Sequence[Node]) -> list[list[Node]]:
        """The bodies that are not on a chain from the world, in levels: each body's parent is in the level before, on
        the chain or the world.
        """
        on_chain = {0, *(node.index for node in chain)}
        levels: list[list[Node]] = []
        level = [self.world, *chain]
        while level:
            level = [child for node in level for child in self.children(node) if child.index not in on_chain]
            levels.append(level)
        return levels[:-1]

    def frames(self) -> Iterator[FrameNode]:
        """The frames that were asked for."""
        return iter(self._frames)

    def frames_back_from(self, frame: FrameNode) -> Iterator[FrameNode]:
        """A frame and those that were asked for before it: over all frames, every pair once."""
        return iter(self._frames[frame.index :: -1])

    def common_ancestor(self, a: FrameNode, b: FrameNode) -> Node:
        """The nearest body that is on both frames' paths; the world if there is none."""
        return self._nodes[common_ancestor(self._parents(), a.body.index, b.body.index)]

    @property
    def ground(self) -> Junction:
        """Where all paths end."""
        return self._junctions[0][0]

    def junctions(self) -> Iterator[Junction]:
        """Every junction after the one that its path leads to, without the ground."""
        return iter(self._junctions[0][1:])

    def junctions_inward(self) -> Iterator[Junction]:
        """Every junction before the one that its path leads to, without the ground."""
        return iter(self._junctions[0][:0:-1])

    def junction_of(self, frame: FrameNode) -> Junction:
        """The first junction on a frame's path; its own body may be one."""
        found, of_frames = self._junctions
        return found[of_frames[frame.index]]

    @cached_property
    def _junctions(self) -> tuple[list[Junction], list[int]]:
        table, of_frames = junctions_of(self._parents(), [frame.body.index for frame in self._frames])
        found: list[Junction] = []
        for index, (body, following) in enumerate(table):
            junction = Junction()
            found.append(junction)
            junction.index, junction.body, junction.next = index, self._nodes[body], found[following]
        return found, of_frames

    @cached_property
    def _segments(self) -> tuple[list[Node], list[Segment], list[Segment]]:
        found = cut(self._model)
        if found is None:
            raise ModelError(f"model {self._model.name!r} is no chain that is long enough to be cut into segments")
        starts = range(found.head + 1, found.chain + 1, found.length)
        seams = [Seam(i) for i in range(found.count + 1)]
        segments = [Segment(i, self._nodes[start : start + found.length], seams) for i, start in enumerate(starts)]
        firsts = [(same.first + k * same.length, same.length) for same in limbs(self._model) for k in range(same.count)]
        beside = [Segment(i, self._nodes[first : first + length]) for i, (first, length) in enumerate(firsts)]
        return self._nodes[1 : found.head + 1], segments, beside

    @cached_property
    def _children(self) -> list[list[Node]]:
        found: list[list[Node]] = [[] for _ in self._nodes]
        for node in self._nodes[1:]:
            found[node.parent.index].append(node)
        return found

    def _parents(self) -> list[int]:
        return [0, *(node.parent.index for node in self._nodes[1:])]
