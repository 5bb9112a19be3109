"""Rows that are kept while a program runs (``ir.program.Rows``), in LLVM's text.

All lanes of a tile keep a row together, if one of them has it; a flag before its numbers tells which. So the rows of a
tile lie at addresses that are the same for all lanes, and cost nothing where no state has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.repeating import ROWS, any_lane, tables_with
from linkwork.engine.emit.writer import Writer, constant, vector
from linkwork.engine.ir.program import Fold, Keep, Map, Program, Rows, inner

_MOST = 4 * 2**20
"""Bytes for all rows of a program, which lie on the stack."""


def rows_of(program: Program) -> list[Rows]:
    """All that a program, and those inside it, keep rows in."""
    found: dict[Rows, None] = {}
    for n in program.walk():
        if program.operations[n] == "keep":
            found[program.details[n].rows] = None
    for each in inner(program):
        if isinstance(each, Map):
            found |= {each.source: None, each.target: None}
        elif isinstance(each, Fold):
            found[each.rows] = None
        found |= dict.fromkeys(rows_of(each.program))
    return list(found)


class KeptRows:
    """Where rows lie: of each the number of rows, then the rows, a flag before the numbers of each."""

    def __init__(self, rows: Sequence[Rows], lanes: int, pointer: str) -> None:
        self.lanes, self.pointer = lanes, pointer
        self.places: dict[Rows, int] = {}
        self.size = 0
        for each in rows:
            self.places[each] = self.size
            self.size += lanes * (1 + each.most * (1 + each.width))
        if 8 * self.size > _MOST:
            raise ValueError(f"rows of {8 * self.size} bytes do not fit on a stack")

    def allocated(self) -> str:
        """The line that makes them."""
        return f"  {self.pointer} = alloca [{self.size} x double], align 64"

    def inside(self) -> KeptRows:
        """The same, as a program inside another finds them."""
        found = KeptRows((), self.lanes, f"%{ROWS}")
        found.places, found.size = self.places, self.size
        return found

    def count(self, w: Writer, rows: Rows) -> str:
        """The address of how many there are."""
        return w.at(self.pointer, self.places[rows])

    def row(self, w: Writer, rows: Rows, number: str) -> str:
        """The address of a row's flag; its numbers follow."""
        first = w.at(self.pointer, self.places[rows] + self.lanes)
        return w.at(first, w.mul(number, self.lanes * (1 + rows.width)))

    def keep(self, w: Writer, what: Keep, values: Sequence[str]) -> None:
        """A row, if a lane has it."""
        kind, align, rows = vector(self.lanes), 8 * self.lanes, what.rows
        count = self.count(w, rows)
        if what.first:
            w.store(0, count, "i64")
        some = any_lane(w, w.let(f"fcmp ogt {kind} {values[0]}, {constant(0.5, self.lanes)}"), self.lanes)
        with w.when(some):
            number = w.load(count, "i64")
            row = self.row(w, rows, number)
            for k, value in enumerate(values):
                w.store(value, w.at(row, k * self.lanes), kind, align)
            w.store(w.add(number, 1), count, "i64")


def map_rows(name: str, what: Map, kept: KeptRows) -> str:
    """void name(given, rows), given the kernel ``name.program``."""
    w, lanes, kind = Writer(), kept.lanes, vector(kept.lanes)
    here = _at(kept)
    count = w.load(here.count(w, what.source), "i64")
    w.store(count, here.count(w, what.target), "i64")
    with w.loop(0, count) as one:
        source, target = here.row(w, what.source, one.counter), here.row(w, what.target, one.counter)
        w.store(w.load(source, kind, 8 * lanes), target, kind, 8 * lanes)
        arrays = [("ptr", place) for place in (w.at(source, lanes), "%given", w.at(target, lanes))]
        w.do(f"call void @{name}.program({listed([*arrays, *tables_with('%rows')])})")
    w.do("ret void")
    return w.function(f"internal void @{name}(ptr nocapture %given, ptr %rows)")


def fold_rows(name: str, what: Fold, kept: KeptRows) -> str:
    """void name(memory, rows), given the kernel ``name.program``; the memory has the state, and what is given."""
    w, lanes = Writer(), kept.lanes
    here = _at(kept)
    given = w.at("%memory", lanes * what.state)
    with w.loop(0, w.load(here.count(w, what.rows), "i64")) as one:
        row = w.at(here.row(w, what.rows, one.counter), lanes)
        arrays = [("ptr", place) for place in ("%memory", given, row)]
        w.do(f"call void @{name}.program({listed([*arrays, *tables_with('%rows')])})")
    w.do("ret void")
    return w.function(f"internal void @{name}(ptr nocapture %memory, ptr %rows)")


def _at(kept: KeptRows) -> KeptRows:
    """The same, as a function that takes %rows finds them."""
    found = KeptRows((), kept.lanes, "%rows")
    found.places, found.size = kept.places, kept.size
    return found
