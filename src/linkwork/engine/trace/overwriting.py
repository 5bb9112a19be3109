"""Which cells of fields may be overwritten after they were read, or written: what a reverse pass must keep.

A field is read at the numbers of its loops, or below them. Two places are distinguished by what the tables guarantee:
the parent of a body has a smaller number, the next row of a walk a greater one. Otherwise a cell is assumed to be
overwritten.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Program
from linkwork.engine.trace.tables import BODIES, CROSSINGS, FAMILIES, LOOP_ENDS, PATHS, POINTS, STATIONS, Section

_SMALLER: tuple[tuple[Section, str], ...] = (
    (BODIES, "parent"),
    (FAMILIES, "older"),
    (STATIONS, "above"),
    (LOOP_ENDS, "previous"),
)
"""Columns whose integers are smaller than the numbers of their rows."""
_GREATER: tuple[tuple[Section, str], ...] = tuple(
    (section, "next") for section in (PATHS, STATIONS, POINTS, LOOP_ENDS, CROSSINGS)
)
"""Columns whose integers are greater."""


class _Place(NamedTuple):
    """The position of an instruction: the loops around it with the number of the case, and its order in the program."""

    loops: tuple[tuple[int, int], ...]
    turn: int


def overwritten(program: Program) -> dict[int, set[int]]:
    """The loads from fields, and stores into them, whose cells may be written to later; with the counters of the loops
    in which the cell, or its content, is not always the same.
    """
    return _Overwriting(program).found()


class _Overwriting:
    """The positions of a program's instructions, and what may execute after what."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places: dict[int, _Place] = {}
        self.loops: dict[int, Loop] = {}
        """Loops by their counters."""
        self.within: dict[int, set[int]] = {}
        """The counters of the loops that an integer is made in."""
        self._visit(program.root, ())

    def _visit(self, block: Block, around: tuple[tuple[int, int], ...]) -> None:
        for n in block.order:
            self.places[n] = _Place(around, len(self.places))
            self.within[n] = counters = {self.program.details[one].counter for one, _ in around}
            if self.program.operations[n] == "loop":
                loop: Loop = self.program.details[n]
                self.loops[loop.counter] = loop
                self.within[loop.counter] = {*counters, loop.counter}
                for number, (_, case) in enumerate(loop.cases):
                    self._visit(case, (*around, (n, number)))

    def found(self) -> dict[int, set[int]]:
        stores: dict[tuple[str, int], list[int]] = {}
        reads: list[int] = []
        for n in self.places:
            operation, detail = self.program.operations[n], self.program.details[n]
            if operation in ("load", "store") and detail.array.startswith("field"):
                reads.append(n)
                if operation == "store":
                    stores.setdefault((detail.array, detail.offset), []).append(n)
        found: dict[int, set[int]] = {}
        for n in reads:
            detail = self.program.details[n]
            hits = [store for store in stores.get((detail.array, detail.offset), ()) if self.hits(n, store)]
            if hits:
                moving = (self.within[index] for index, _ in detail.terms)
                found[n] = self.within[n].intersection(set().union(*moving, *(self.within[store] for store in hits)))
        return found

    def hits(self, read: int, store: int) -> bool:
        """Whether a store, or a load, may access the same cell after ``read``, or another store."""
        here, there = self.places[read], self.places[store]
        a, b = ({stride: index for index, stride in self.program.details[n].terms} for n in (read, store))
        pairs = [(a.get(stride), b.get(stride)) for stride in a.keys() | b.keys()]
        for (one, case), (other, its) in zip(here.loops, there.loops, strict=False):
            if one != other:
                break
            if not any(self._differ_later(self.program.details[one], x, y) for x, y in pairs):
                return True
            if case != its:  # another case is another iteration
                return False
        return there.turn > here.turn and not any(self._differ(x, y) for x, y in pairs)

    def _differ_later(self, loop: Loop, x: int | None, y: int | None) -> bool:
        """Whether x differs from y in any later iteration of a loop."""
        if x is None or y is None:
            return self._differ(x, y)
        if x == y == loop.counter:
            return True
        for small, great in ((x, y), (y, x)):
            if loop.counter not in self.within[great] and self._bounded(small, great, strictly=True):
                return True  # one is loop-invariant
        growing = self._grows(loop)
        if growing is None:
            return False
        return (y == loop.counter and self._bounded(x, y)) if growing else (x == loop.counter and self._bounded(y, x))

    def _differ(self, x: int | None, y: int | None) -> bool:
        """Whether two integers of one iteration certainly differ."""
        if x is None or y is None:
            other = y if x is None else x
            return other is not None and self._is_positive(other)
        return self._bounded(x, y, strictly=True) or self._bounded(y, x, strictly=True)

    def _grows(self, loop: Loop) -> bool | None:
        """Whether the counter becomes greater, or smaller; None if not known."""
        if loop.walk != "climb":
            return loop.walk == "up"
        assert loop.successor is not None
        row = [index for index, _ in loop.successor.terms if index == loop.counter]
        for columns, growing in ((_SMALLER, False), (_GREATER, True)):
            if row and any(loop.successor == section.address(column, row[0]) for section, column in columns):
                return growing
        return None

    def _is_positive(self, x: int) -> bool:
        loop = self.loops.get(x)
        return loop is not None and (loop.first == 1 or loop.walk == "climb") and loop.stop is None

    def _bounded(self, x: int, y: int, strictly: bool = False) -> bool:
        """Whether x is no greater than y, or ``strictly`` smaller, in one iteration."""
        while x != y:
            loop, detail = self.loops.get(x), self.program.details[x]
            if loop is not None and loop.start is not None and self._grows(loop) is False:
                x = loop.start
            elif isinstance(detail, Address) and (row := self._row_above(detail)) is not None:
                x, strictly = row, False
            else:
                return False
        return not strictly

    def _row_above(self, address: Address) -> int | None:
        """The row whose column at an address holds a smaller integer."""
        if address.array != "ints" or not address.terms:
            return None
        row = address.terms[-1][0]
        smaller = any(address == section.address(column, row) for section, column in _SMALLER)
        return row if smaller else None
