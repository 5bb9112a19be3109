"""Segments of a chain and the seams between them, as ordinary lists: the interface of ``algorithms.segmented_tree``."""

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
    """A seam of a chain: the last joint before a segment, or of the chain."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Segment:
    """A stretch of a chain, or a side branch, with bodies numbered from 0."""

    __slots__ = ("before", "behind", "bodies", "index")

    def __init__(self, index: int, bodies: Sequence[Any], seams: Sequence[Seam] = ()) -> None:
        """A stretch of a chain, given all ``seams`` of the chain."""
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
        """The bodies from ``start`` up to but excluding ``stop``, which may count from the end."""
        return iter(self.bodies[start:stop])

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """The same in reverse order."""
        return iter(self.bodies[start:stop][::-1])


class SegmentWalks:
    """The segments of a tree that is a chain with side branches; it has nodes by number."""

    _nodes: list[Any]
    _model: Model

    @property
    def most_constraints(self) -> int:
        """The largest number of constraint wrenches of a joint of the chain, those of rotors included."""
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
        """The same in reverse order, with the eliminated unknowns only."""
        return iter([[one for one in step if one.goes] for step in reduction(places)[::-1]])

    @property
    def along(self) -> Seam:
        """The place for values that are carried along the chain."""
        return Seam(-1)

    @property
    def seams(self) -> list[Seam]:
        """The joint before the first segment and the last joints of all segments."""
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
        """The bodies of a chain before its segments, in outward order."""
        return iter(self._segments[0])

    def head_inward(self) -> Iterator[Any]:
        """The same in inward order."""
        return iter(self._segments[0][::-1])

    def segments(self, brief: bool = False) -> Iterator[Segment]:
        """The segments of a chain; iterations are independent, and ``brief`` if they visit few bodies."""
        return self.parallel(self._segments[1])

    def segments_outward(self) -> Iterator[Segment]:
        """The segments of a chain in sequence, from the first."""
        return iter(self._segments[1])

    def limbs(self) -> Iterator[Segment]:
        """The side branches of a chain that is cut into segments, each with its whole subtree; iterations are
        independent. The parent of every body but the first is in the same branch.
        """
        return self.parallel(self._segments[2])

    def limbs_in_turn(self) -> Iterator[Segment]:
        """The same in sequence."""
        return iter(self._segments[2])

    limbs_to_fill = limbs_in_turn
    """The same, but a branch may occur several times, once for each processor that needs it."""

    @cached_property
    def _segments(self) -> tuple[list[Any], list[Segment], list[Segment]]:
        division = cut(self._model)
        if division is None:
            raise ModelError(f"model {self._model.name!r} is no chain that is long enough to be cut into segments")
        starts = range(division.head + 1, division.chain + 1, division.length)
        seams = [Seam(i) for i in range(division.count + 1)]
        segments = [Segment(i, self._nodes[start : start + division.length], seams) for i, start in enumerate(starts)]
        firsts = [(same.first + k * same.length, same.length) for same in limbs(self._model) for k in range(same.count)]
        beside = [Segment(i, self._nodes[first : first + length]) for i, (first, length) in enumerate(firsts)]
        return self._nodes[1 : division.head + 1], segments, beside
