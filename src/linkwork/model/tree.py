"""A mechanism as the algorithms see it: a tree of nodes, walked outward or inward, with values stored at its nodes.

This is the plain form, in which a walk is an ordinary loop and a field an ordinary store; the scalars may be floats,
NumPy arrays or mpmath numbers. Engines have their own forms with the same methods. One rule makes that possible:
a value that outlives its turn of a loop is kept in a field, never in a local variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from linkwork.joints import Joint
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.model import Frame, Model
from linkwork.spatial import Force, Inertia, Motion, Transform, Vec3


class Node:
    """A body (index from 1) or the world (index 0) in a walk."""

    __slots__ = ("index", "inertia", "joint", "parent", "placement", "rotor")

    index: int
    parent: Node
    joint: Joint
    placement: Transform
    inertia: Inertia
    rotor: Sequence[Any]
    """Rotor inertias of the joint; empty where there are none."""


class FrameNode:
    """A frame that was asked for, at ``placement`` on ``body``."""

    __slots__ = ("body", "index", "placement")

    def __init__(self, index: int, body: Node, placement: Transform) -> None:
        self.index, self.body, self.placement = index, body, placement


class Junction:
    """A body at which the ways of frames to the world meet; the ground, where all ways end, is number 0.

    ``next`` is the junction that its own way comes to.
    """

    __slots__ = ("body", "index", "next")

    body: Node
    index: int
    next: Junction


class Field:
    """Values at nodes, at frames, at junctions, or at pairs of them."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._values[_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_key(key)] = value

    def get(self, index: Any) -> Any:
        """By number; None where nothing was stored."""
        return self._values.get(index)

    def put(self, index: Any, value: Any) -> None:
        """By number."""
        self._values[index] = value


def _key(key: Any) -> Any:
    return (key[0].index, key[1].index) if isinstance(key, tuple) else key.index


class Constant:
    """A field that holds the same at every node: ``make(node)``."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __getitem__(self, node: Any) -> Any:
        return self._make(node)


class Walks:
    """What every form of a tree has in common."""

    def still(self) -> Constant:
        """Zero for every degree of freedom."""
        return Constant(lambda node: [0.0] * node.joint.nv)

    def unloaded(self) -> Constant:
        """No force on any body."""
        return Constant(lambda node: Force.zero())


class Tree(Walks):
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
        for index, body in enumerate(model.bodies, 1):
            node = Node()
            node.index, node.parent = index, self._nodes[body.parent]
            node.joint, node.placement, node.inertia = map(as_scalars, (body.joint, body.placement, body.inertia))
            node.rotor = tuple(map(number, body.armature)) if number else body.armature
            self._nodes.append(node)
        self._frames = [
            FrameNode(i, self._nodes[frame.body], as_scalars(frame.placement)) for i, frame in enumerate(frames)
        ]
        self.gravity = Motion(as_scalars(Vec3(*model.gravity)), Vec3.zero())

    def field(self) -> Field:
        """A new store of values."""
        return Field()

    def outward(self) -> Iterator[Node]:
        """Every body after its parent."""
        return iter(self._nodes[1:])

    def inward(self) -> Iterator[Node]:
        """Every body before its parent."""
        return iter(self._nodes[:0:-1])

    def path(self, body: Node, until: Node | None = None) -> Iterator[Node]:
        """The body and its ancestors, up to but without ``until``, an ancestor of it, or the world."""
        end = until or self.world
        while body.index != end.index:
            yield body
            body = body.parent

    def ancestors(self, body: Node) -> Iterator[Node]:
        """The body's ancestors, nearest first, without the world."""
        return self.path(body.parent)

    def frames(self) -> Iterator[FrameNode]:
        """The frames that were asked for."""
        return iter(self._frames)

    def common_ancestor(self, a: FrameNode, b: FrameNode) -> Node:
        """The nearest body that is on both frames' paths; the world if there is none."""
        return self._nodes[common_ancestor(self._parents(), a.body.index, b.body.index)]

    @property
    def ground(self) -> Junction:
        """Where all ways end."""
        return self._junctions[0][0]

    def junctions(self) -> Iterator[Junction]:
        """Every junction after the one that its way leads to, without the ground."""
        return iter(self._junctions[0][1:])

    def junctions_inward(self) -> Iterator[Junction]:
        """Every junction before the one that its way leads to, without the ground."""
        return iter(self._junctions[0][:0:-1])

    def junction_of(self, frame: FrameNode) -> Junction:
        """The first junction on a frame's way; its own body may be one."""
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

    def _parents(self) -> list[int]:
        return [0, *(node.parent.index for node in self._nodes[1:])]
