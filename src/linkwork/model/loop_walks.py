"""Traversals of the loops of a tree, as ordinary loops: the interface of ``LoopedTree`` in ``algorithms.tree``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.model.loops import Attached, Closed, Crossing, Loops, loops_of
from linkwork.model.model import Frame
from linkwork.properties import cached_property


def groups_of(frames: Sequence[Frame]) -> list[tuple[int, int]]:
    """The loop, numbered from 0, and the body of each frame: frames of one name are the holds of one loop."""
    numbers: dict[str, int] = {}
    return [(numbers.setdefault(frame.name, len(numbers)), frame.body) for frame in frames]


@dataclass(frozen=True)
class End(Frame):
    """One of the two frames between which a loop is closed; ``condition`` is the number of its kind of condition."""

    condition: int = 0


def pairs_of(frames: Sequence[Frame]) -> list[tuple[int, int, int]]:
    """For each loop between two ends, which are listed side by side: its kind of condition, and their numbers."""
    return [
        (frame.condition, first, first + 1)
        for first, frame in enumerate(frames[:-1])
        if isinstance(frame, End) and first % 2 == 0
    ]


class Pair:
    """The two frames between which a loop is closed, by their number and their kind of ``condition``."""

    __slots__ = ("condition", "index", "one", "other")

    kind = None

    def __init__(self, index: Any, condition: int, one: Any, other: Any) -> None:
        self.index, self.condition, self.one, self.other = index, condition, one, other


class Numbered:
    """A loop, a strand, or a pair of loops, by its number."""

    __slots__ = ("index",)

    def __init__(self, index: Any) -> None:
        self.index = index


class OpenLoop:
    """A loop at a step of the joining, possibly that of a hold or of its closing."""

    __slots__ = ("body", "frame", "index", "loop", "onward", "rest", "strand")

    index: tuple[int, ...]
    loop: Numbered
    strand: Numbered
    onward: Numbered
    body: Any
    frame: Any
    rest: tuple[Crossing, ...]
    """The other loops of the step; for one of these, those after it."""


class LoopWalks:
    """The loops of a tree whose frames are their holds; it has nodes and frames by number."""

    _nodes: list[Any]
    _frames: list[Any]
    _holds: Sequence[tuple[int, int]]
    _ends: Sequence[tuple[int, int, int]]

    def pairs(self, conditions: int) -> Iterator[Pair]:
        for index, (condition, one, other) in enumerate(self._ends):
            yield Pair(index, condition, self._frames[one], self._frames[other])

    def loops(self) -> Iterator[Numbered]:
        return map(Numbered, range(self._loops.loops))

    def strands(self) -> Iterator[Numbered]:
        return map(Numbered, range(self._loops.strands + 1))

    def couplings(self) -> Iterator[Numbered]:
        return map(Numbered, sorted(self._pairs))

    def coupling(self, one: OpenLoop, other: OpenLoop) -> Numbered:
        return Numbered((one.loop.index, other.loop.index))

    def attached(self, body: Any) -> Iterator[OpenLoop]:
        for step in self._loops.steps[body.index].attached:
            yield self._open(step, (), self._frames[step.hold])

    def closed(self, body: Any, back: bool = False) -> Iterator[OpenLoop]:
        return map(self._open, self._loops.steps[body.index].closed[:: -1 if back else 1])

    def closed_behind(self, body: Any, back: bool = False) -> Iterator[OpenLoop]:
        return map(self._open, self._loops.steps[body.index].closed_behind[:: -1 if back else 1])

    def crossings(self, body: Any) -> Iterator[OpenLoop]:
        return self._crossings(self._loops.steps[body.index].crossings, (body.index,))

    def others(self, step: OpenLoop) -> Iterator[OpenLoop]:
        return self._crossings(step.rest, step.index)

    def from_here(self, crossing: OpenLoop) -> Iterator[OpenLoop]:
        yield crossing
        yield from self._crossings(crossing.rest, crossing.index[:-1], crossing.index[-1] + 1)

    def _crossings(self, crossings: tuple[Crossing, ...], where: tuple[int, ...], first: int = 0) -> Iterator[OpenLoop]:
        for k, crossing in enumerate(crossings):
            one = OpenLoop()
            one.index, one.loop = (*where, first + k), Numbered(crossing.loop)
            one.strand, one.onward, one.rest = Numbered(crossing.strand), Numbered(crossing.onward), crossings[k + 1 :]
            yield one

    def _open(self, step: Attached | Closed, kind: tuple[int, ...] = (0,), frame: Any = None) -> OpenLoop:
        one = OpenLoop()
        one.index, one.loop, one.onward = (step.loop, step.body, *kind), Numbered(step.loop), Numbered(step.strand)
        one.strand, one.body, one.frame, one.rest = one.onward, self._nodes[step.body], frame, step.others
        return one

    @cached_property
    def _loops(self) -> Loops:
        return loops_of([0, *(node.parent.index for node in self._nodes[1:])], self._holds)

    @cached_property
    def _pairs(self) -> set[tuple[int, int]]:
        """Pairs of loops that are ever open together, and of each with itself."""
        pairs = {(loop, loop) for loop in range(self._loops.loops)}
        for step in self._loops.steps:
            ends: list[Attached | Closed] = [*step.attached, *step.closed_behind, *step.closed]
            groups = [step.crossings, *((*end.others, end) for end in ends)]
            pairs |= {(one.loop, other.loop) for group in groups for one in group for other in group}
        return pairs
