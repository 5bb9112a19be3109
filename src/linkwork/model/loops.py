"""Loops of a mechanism, and the order in which links are joined so that each loop is open for as few steps as possible.

A loop constrains several bodies of a tree relative to each other, with one hold on each. Its unknown forces are
attached at its holds, carried inward as strands, one at each body on the path, and closed where all its holds have been
joined. Bodies are numbered, parents first; the world is body 0 and does not move, so that a loop with one hold is
closed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Crossing:
    """An open loop at a step. Strands are numbered from 1; 0 means none."""

    loop: int
    strand: int
    """The strand at which the step starts: at the child of a joint."""
    onward: int
    """The strand at which it ends: at the joint's parent, or at the body of a hold or a closing."""


@dataclass(frozen=True)
class Attached:
    """A hold whose loop becomes an unknown of a body, and the other loops that are open there."""

    hold: int
    loop: int
    body: int
    strand: int
    others: tuple[Crossing, ...]


@dataclass(frozen=True)
class Closed:
    """A loop whose unknowns are eliminated at a body, and the other loops that are open there."""

    loop: int
    body: int
    strand: int
    others: tuple[Crossing, ...]


@dataclass
class Steps:
    """The loop operations when a body is joined to its parent, in this order."""

    attached: list[Attached] = field(default_factory=list)
    closed: list[Closed] = field(default_factory=list)
    """At the body itself."""
    crossings: tuple[Crossing, ...] = ()
    """The loops that are open at the body or at its parent."""
    closed_behind: list[Closed] = field(default_factory=list)
    """At its parent, as soon as they are joined."""


@dataclass(frozen=True)
class Loops:
    """``steps`` of each body, empty for the world; the numbers of loops and strands."""

    steps: list[Steps]
    loops: int
    strands: int

    @property
    def most_open(self) -> int:
        """The largest number of loops that are open at a joint."""
        return max((len(step.crossings) for step in self.steps), default=0)


def loops_of(parents: Sequence[int], holds: Sequence[tuple[int, int]]) -> Loops:
    """The steps of a tree for holds, each of a loop (numbered from 0) on a body. Holds on the world are ignored.

    Example:
        >>> loops = loops_of([0, 0, 1, 1], [(0, 2), (0, 3)])  # two fingers of a hand hold each other
        >>> loops.steps[2].closed_behind[0].body, loops.most_open
        (1, 1)
    """
    return _Walk(parents, holds).loops


class _Walk:
    """The state of the open loops during the pass from the last body to the first."""

    def __init__(self, parents: Sequence[int], holds: Sequence[tuple[int, int]]) -> None:
        self.strands: dict[tuple[int, int], int] = {}
        self.open: list[list[int]] = [[] for _ in parents]  # loops, by body
        self.places: list[int] = [0] * (1 + max((loop for loop, _ in holds), default=-1))  # bodies where each is open
        self.waiting: list[dict[int, list[int]]] = [{} for _ in self.places]  # for each loop, holds not yet attached
        on: list[list[int]] = [[] for _ in parents]
        for number, (loop, body) in enumerate(holds):
            if body:
                self.waiting[loop].setdefault(body, []).append(number)
                on[body].append(loop)
        steps = [Steps() for _ in parents]
        for body in reversed(range(1, len(parents))):
            parent, step = parents[body], steps[body]
            for loop in on[body]:
                self._attach(step, loop, body)
            step.closed += self._closed(body)
            for loop in list(self.open[body]):
                self._attach(step, loop, parent)
            step.crossings = self._join(body, parent)
            step.closed_behind += self._closed(parent)
        self.loops = Loops(steps, len(self.places), len(self.strands))

    def _strand(self, loop: int, body: int) -> int:
        return self.strands.setdefault((loop, body), len(self.strands) + 1)

    def _open_at(self, loop: int, body: int) -> None:
        if loop not in self.open[body]:
            self.open[body].append(loop)
            self.places[loop] += 1

    def _others(self, loop: int, body: int) -> tuple[Crossing, ...]:
        return tuple(Crossing(m, 0, self._strand(m, body)) for m in self.open[body] if m != loop)

    def _attach(self, step: Steps, loop: int, body: int) -> None:
        for hold in self.waiting[loop].pop(body, ()):
            step.attached.append(Attached(hold, loop, body, self._strand(loop, body), self._others(loop, body)))
            self._open_at(loop, body)

    def _join(self, body: int, parent: int) -> tuple[Crossing, ...]:
        crossings = []
        for loop in [*self.open[body], *(m for m in self.open[parent] if m not in self.open[body])]:
            here = self._strand(loop, body) if loop in self.open[body] else 0
            crossings.append(Crossing(loop, here, self._strand(loop, parent)))
        for loop in self.open[body]:
            self.places[loop] -= 1
            self._open_at(loop, parent)
        self.open[body] = []
        return tuple(crossings)

    def _closed(self, body: int) -> list[Closed]:
        closings = []
        for loop in list(self.open[body]):
            if not self.waiting[loop] and self.places[loop] == 1:
                closings.append(Closed(loop, body, self._strand(loop, body), self._others(loop, body)))
                self.open[body].remove(loop)
                self.places[loop] = 0
        return closings
