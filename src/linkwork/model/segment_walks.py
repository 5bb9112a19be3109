"""Segments of a chain and the seams where they meet, as ordinary lists: what ``algorithms.segmented_tree`` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from linkwork.errors import ModelError
from linkwork.model.model import Model
from linkwork.model.reductions import Unknown, reduction
from linkwork.model.segments import cut, limbs
from linkwork.properties import cached_property

Item = TypeVar("Item")


class Seam:
    """Where segments meet: the last joint before one of them, and of a chain."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Segment:
    """A stretch of a chain, or a side branch, its bodies numbered from 0."""

    __slots__ = ("before", "behind", "bodies", "index")

    def __init__(self, index: int, bodies: Sequence[Any], seams: Sequence[Seam] = ()) -> None:
        """Of a stretch of a chain with all its ``seams``."""
        self.index, self.bodies = index, bodies
        self.before: Any = seams[index] if seams else None
        self.behind: Any = seams[index + 1] if seams else None

    @property
    def first(self) -> Any:
        return self.bodies[0]

    @property
    def last(self) -> Any:
        return self.bodies[-1]

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """The bodies from number ``start`` up to but without ``stop``, which may count from the end."""
        return iter(self.bodies[start:stop])

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """The same, the last first."""
        return iter(self.bodies[start:stop][::-1])


class SegmentWalks:
    """The segments of a tree that is a chain with side branches; it has nodes by their numbers."""

    _nodes: list[Any]
    _model: Model

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

    def head(self) -> Iterator[Any]:
        """The bodies of a chain that come before its segments, the first first."""
        return iter(self._segments[0])

    def head_inward(self) -> Iterator[Any]:
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

    @cached_property
    def _segments(self) -> tuple[list[Any], list[Segment], list[Segment]]:
        found = cut(self._model)
        if found is None:
            raise ModelError(f"model {self._model.name!r} is no chain that is long enough to be cut into segments")
        starts = range(found.head + 1, found.chain + 1, found.length)
        seams = [Seam(i) for i in range(found.count + 1)]
        segments = [Segment(i, self._nodes[start : start + found.length], seams) for i, start in enumerate(starts)]
        firsts = [(same.first + k * same.length, same.length) for same in limbs(self._model) for k in range(same.count)]
        beside = [Segment(i, self._nodes[first : first + length]) for i, (first, length) in enumerate(firsts)]
        return self._nodes[1 : found.head + 1], segments, beside
