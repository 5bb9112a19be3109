"""The parts in which a tree is assembled, as ordinary lists: the interface of ``algorithms.assembled_tree``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.model.assembly import assembly_of
from linkwork.properties import cached_property


class Hold(NamedTuple):
    """A hold on a link: the number of its loop, and its frame."""

    loop: int
    frame: Any


class Exit(NamedTuple):
    """An open joint behind a part, by its number, and that of the open joint before it."""

    joint: int
    entry: int


class Joint(NamedTuple):
    """A joint by its number, and the link whose joint it is."""

    number: int
    body: Any


class PartNode:
    """A part, with the parts it is made of."""

    __slots__ = (
        *("bare", "body", "closed", "entries", "exits", "holds", "index", "joints", "loops"),
        *("made", "open", "parts", "path", "whole"),
    )

    index: int
    made: str
    path: bool
    bare: bool
    body: Any
    entries: tuple[int, ...]
    exits: tuple[Exit, ...]
    joints: tuple[Joint, ...]
    whole: bool
    parts: tuple[PartNode, ...]
    holds: tuple[Hold, ...]
    loops: tuple[int, ...]
    open: tuple[int, ...]
    closed: tuple[int, ...]


class PartWalks:
    """The parts of a tree whose frames are the holds of its loops; it has nodes and frames by number."""

    _nodes: list[Any]
    _frames: list[Any]
    _holds: Sequence[tuple[int, int]]

    def all_bodies(self) -> Sequence[Any]:
        """Every body, in any order."""
        return self._nodes[1:]

    def levels(self) -> Iterator[Sequence[PartNode]]:
        """Parts in levels, each made of parts in earlier levels."""
        return iter(self._levels)

    def levels_back(self) -> Iterator[Sequence[PartNode]]:
        """The same in reverse order."""
        return reversed(self._levels)

    @cached_property
    def _levels(self) -> list[list[PartNode]]:
        assembly = assembly_of([0, *(node.parent.index for node in self._nodes[1:])], self._holds)
        nodes: list[PartNode] = []
        for part in assembly.parts:
            node = PartNode()
            node.index, node.made, node.whole = part.index, part.kind, part is assembly.parts[-1]
            node.path, node.bare, node.body = part.kind in ("link", "joined"), part.bare, self._nodes[part.body]
            node.entries, node.exits = part.entries, tuple(Exit(*each) for each in part.exits)
            node.joints = tuple(Joint(each, self._nodes[each]) for each in part.joints)
            node.parts = tuple(nodes[k] for k in part.parts)
            node.holds = tuple(Hold(self._holds[hold][0], self._frames[hold]) for hold in part.holds)
            node.loops, node.open, node.closed = part.loops, part.open, part.closed
            nodes.append(node)
        return [[nodes[part.index] for part in level] for level in assembly.levels]
