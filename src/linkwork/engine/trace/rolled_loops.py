"""Walks over the loops of a mechanism as loops in the code, by tables of ``model.loops``: row by row, to a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from linkwork.engine.ir.address import Address
from linkwork.engine.trace.tables import CROSSINGS, ENDS, JOININGS, LOOP_ENDS, PAIRS, Section
from linkwork.engine.trace.tracer import Tracer
from linkwork.model.loop_walks import Pair

_AT_LOOPS = -2
"""The kind of things that belong to no body."""


class Numbered:
    """A loop, a strand, or a coupling, by the instruction that is its number."""

    kind = None

    def __init__(self, index: int) -> None:
        self.index = index


class OpenLoop:
    """A loop at a step of the joining: a row of ``CROSSINGS``, or of ``LOOP_ENDS``."""

    def __init__(self, tree: LoopWalks, section: Section, index: int, kind: int | None) -> None:
        self.tree, self.section, self.index, self.kind = tree, section, index, kind

    def integer(self, column: str) -> int:
        """The value in a column of its row."""
        return self.tree.integer(self.section, column, self.index)

    @property
    def loop(self) -> Numbered:
        return Numbered(self.integer("loop"))

    @property
    def strand(self) -> Numbered:
        return Numbered(self.integer("strand"))

    @property
    def onward(self) -> Numbered:
        return Numbered(self.integer("onward"))

    @property
    def body(self) -> Any:
        return self.tree.node(self.integer("body"), None)

    @property
    def frame(self) -> Any:
        return self.tree.frame(self.integer("frame"))


class LoopWalks:
    """The part of ``LoopedTree`` for a tree whose walks are loops."""

    tracer: Tracer
    _loop: Callable[..., Iterator[tuple[int, int]]]
    node: Callable[[int, int | None], Any]
    frame: Callable[[int], Any]
    integer: Callable[[Section, str, int], int]

    def pairs(self, conditions: int) -> Iterator[Pair]:
        kind = partial(ENDS.address, "condition")
        for counter, condition in self._loop("up", 0, "last_pair", range(conditions), kind):
            one, other = (self.frame(self.integer(ENDS, end, counter)) for end in ("one", "other"))
            yield Pair(counter, condition, one, other)

    def loops(self) -> Iterator[Numbered]:
        return self._numbered("last_loop")

    def strands(self) -> Iterator[Numbered]:
        return self._numbered("last_strand")

    def couplings(self) -> Iterator[Numbered]:
        return self._numbered("last_coupling")

    def coupling(self, one: OpenLoop, other: OpenLoop) -> Numbered:
        address = PAIRS.address("coupling", other.integer("place"), ((one.integer("pairs"), 1),))
        return Numbered(self.tracer.emit("index", (), address))

    def attached(self, body: Any) -> Iterator[OpenLoop]:
        return self._ends(body, "attached")

    def closed(self, body: Any, back: bool = False) -> Iterator[OpenLoop]:
        return self._ends(body, "closed", back)

    def closed_behind(self, body: Any, back: bool = False) -> Iterator[OpenLoop]:
        return self._ends(body, "behind", back)

    def crossings(self, body: Any) -> Iterator[OpenLoop]:
        ends = (self.integer(JOININGS, column, body.number) for column in ("crossings", "crossings_stop"))
        return self._steps(CROSSINGS, "next", body.kind, *ends)

    def others(self, step: OpenLoop) -> Iterator[OpenLoop]:
        return self._steps(CROSSINGS, "next", _AT_LOOPS, step.integer("others"), step.integer("others_stop"))

    def from_here(self, crossing: OpenLoop) -> Iterator[OpenLoop]:
        return self._steps(CROSSINGS, "next", crossing.kind, crossing.index, crossing.integer("stop"))

    def _ends(self, body: Any, column: str, back: bool = False) -> Iterator[OpenLoop]:
        start, stop = (self.integer(JOININGS, name, body.number) for name in (column, f"{column}_stop"))
        if back:
            start, stop = (self.integer(LOOP_ENDS, "previous", row) for row in (stop, start))
        return self._steps(LOOP_ENDS, "previous" if back else "next", _AT_LOOPS, start, stop)

    def _steps(self, section: Section, following: str, kind: int | None, start: int, stop: int) -> Iterator[OpenLoop]:
        def successor(counter: int) -> Address:
            return section.address(following, counter)

        for counter, _ in self._loop("climb", 1, 1, start=start, stop=stop, successor=successor):
            yield OpenLoop(self, section, counter, kind)

    def _numbered(self, last: str) -> Iterator[Numbered]:
        for counter, _ in self._loop("up", 0, last):
            yield Numbered(counter)
