"""Rows that are kept while a program runs (``ir.program.Rows``), in LLVM IR.

Each lane of a tile appends its rows to those that it has; a flag before the numbers says which lanes have a row of that
index. So a tile iterates over as many rows as the lane with the most of them has. Rows that are not packed lie side by
side for all lanes, even those that only some lane has: keeping one is then a few stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.repeating import any_lane, tables_with
from linkwork.engine.emit.writer import Writer, constant, vector
from linkwork.engine.ir.program import Fold, Keep, Map, Program, Rows, inner

_HEAD = 2
"""Numbers before the rows, for each lane."""
_MOST = 4 * 2**20
"""The most bytes for all rows of a program, which are on the stack."""


def rows_of(program: Program) -> list[Rows]:
    """Everything in which a program, and those inside it, keep rows."""
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
    """Where rows lie: how many every lane has, the largest of these, and the rows, a flag before the numbers; the
    number of a problem that was left unsolved may come ``first``.
    """

    def __init__(self, rows: Sequence[Rows], lanes: int, pointer: str, first: bool = False) -> None:
        self.lanes, self.pointer = lanes, pointer
        self.places: dict[Rows, int] = {}
        self.size = lanes if first else 0
        for each in rows:
            self.places[each] = self.size
            self.size += lanes * (_HEAD + each.most * (1 + each.width))
        self.widest = max((1 + each.width for each in rows), default=0)
        if 8 * self.size > _MOST:
            raise ValueError(f"rows of {8 * self.size} bytes do not fit on a stack")

    def allocated(self) -> str:
        """The line that allocates them."""
        return f"  {self.pointer} = alloca [{self.size} x double], align 64"

    def buffer(self) -> str:
        """The line that allocates the buffer for a row to be kept, in each function that keeps rows."""
        return f"  %row = alloca [{self.lanes * self.widest} x double], align 64"

    def found_at(self, pointer: str) -> KeptRows:
        """The same, as another function sees them."""
        found = KeptRows((), self.lanes, pointer)
        found.places, found.size, found.widest = self.places, self.size, self.widest
        return found

    def place(self, w: Writer, rows: Rows) -> str:
        return w.at(self.pointer, self.places[rows])

    def emptied(self, w: Writer, rows: Rows) -> None:
        """No rows."""
        start = self.place(w, rows)
        for k in range(self.lanes + 1):
            w.store(0, w.at(start, k, "i64"), "i64")

    def count(self, w: Writer, rows: Rows) -> str:
        """How many there are, in the lane with the most."""
        return w.load(w.at(self.place(w, rows), self.lanes, "i64"), "i64")

    def row(self, w: Writer, rows: Rows, number: str) -> str:
        """The address of a row's flag; its numbers follow."""
        first = w.at(self.pointer, self.places[rows] + _HEAD * self.lanes)
        return w.at(first, w.mul(number, self.lanes * (1 + rows.width)))

    def keep(self, w: Writer, what: Keep, values: Sequence[str]) -> None:
        """A row, for the lanes that have it."""
        kind, align, rows = vector(self.lanes), 8 * self.lanes, what.rows
        if what.first:
            self.emptied(w, rows)
        some = any_lane(w, w.let(f"fcmp ogt {kind} {values[0]}, {constant(0.5, self.lanes)}"), self.lanes)
        with w.when(some):
            number = None if rows.packed else self.count(w, rows)
            place = "%row" if number is None else self.row(w, rows, number)
            for k, value in enumerate(values):
                w.store(value, w.at(place, k * self.lanes), kind, align)
            if number is not None:
                w.store(w.add(number, 1), w.at(self.place(w, rows), self.lanes, "i64"), "i64")
                return
            w.do(f"call void @keep_row(ptr %row, ptr {self.place(w, rows)}, i64 {1 + rows.width})")


def keep_row(lanes: int) -> str:
    """void keep_row(row, place, width): appends a flag and numbers to the rows at a place, for each lane after its
    last.
    """
    w = Writer()
    most = w.at("%place", lanes, "i64")
    rows = w.at("%place", _HEAD * lanes)
    with w.loop(0, lanes) as lane:
        own = w.let(f"fcmp ogt double {w.load(w.at('%row', lane.counter))}, {constant(0.5, 1)}")
        with w.when(own):
            count = w.at("%place", lane.counter, "i64")
            number = w.load(count, "i64")
            target = w.at(rows, w.mul(w.mul(number, "%width"), lanes))
            with w.when(w.compare("eq", number, w.load(most, "i64"))):  # the first of all lanes
                with w.loop(0, lanes) as other:
                    w.store("0.0", w.at(target, other.counter))
                w.store(w.add(number, 1), most, "i64")
            with w.loop(0, "%width") as one:
                at = w.add(w.mul(one.counter, lanes), lane.counter)
                w.store(w.load(w.at("%row", at)), w.at(target, at))
            w.store(w.add(number, 1), count, "i64")
    w.do("ret void")
    return w.function("internal void @keep_row(ptr nocapture %row, ptr nocapture %place, i64 %width)")


def map_rows(name: str, what: Map, kept: KeptRows) -> str:
    """void name(given, rows), given the kernel ``name.program``."""
    w, here = Writer(), kept.found_at("%rows")
    if what.first and what.source.packed and _keeps_all(what.program):
        _map_each(w, name, what, here)
    else:
        _map_some(w, name, what, here)
    w.do("ret void")
    return w.function(f"internal void @{name}(ptr nocapture %given, ptr %rows)")


def _keeps_all(program: Program) -> bool:
    """Whether the flag that a program returns is always set."""
    flags = [n for n in program.root.order if program.operations[n] == "store" and program.details[n].offset == 0]
    return [program.operands[n] for n in flags] == [(1.0,)]


def _run(w: Writer, name: str, source: str, target: str, lanes: int) -> None:
    arrays = [("ptr", place) for place in (w.at(source, lanes), "%given", target)]
    w.do(f"call void @{name}.program({listed([*arrays, *tables_with('%rows')])})")


def _map_each(w: Writer, name: str, what: Map, here: KeptRows) -> None:
    """Each row at the index of its source, for the same lanes."""
    kind, lanes = vector(here.lanes), here.lanes
    source, target = (here.place(w, rows) for rows in (what.source, what.target))
    for k in range(lanes + 1):
        w.store(w.load(w.at(source, k, "i64"), "i64"), w.at(target, k, "i64"), "i64")
    with w.loop(0, here.count(w, what.source)) as one:
        old, new = (here.row(w, rows, one.counter) for rows in (what.source, what.target))
        _run(w, name, old, new, lanes)
        w.store(w.load(old, kind, 8 * lanes), new, kind, 8 * lanes)


def _map_some(w: Writer, name: str, what: Map, here: KeptRows) -> None:
    """Appends the rows whose flags are set."""
    lanes, kind = here.lanes, vector(here.lanes)
    made = w.let(f"alloca [{lanes * (1 + what.target.width)} x double], align 64")
    if what.first:
        here.emptied(w, what.target)
    bit = "i1" if lanes == 1 else f"<{lanes} x i1>"
    with w.loop(0, here.count(w, what.source)) as one:
        source = here.row(w, what.source, one.counter)
        _run(w, name, source, made, lanes)
        flags = [w.load(place, kind, 8 * lanes) for place in (source, made)]
        own, also = (w.let(f"fcmp ogt {kind} {flag}, {constant(0.5, lanes)}") for flag in flags)
        both = w.let(f"and {bit} {own}, {also}")
        flag = w.let(f"select {bit} {both}, {kind} {constant(1.0, lanes)}, {kind} {constant(0.0, lanes)}")
        w.store(flag, made, kind, 8 * lanes)
        with w.when(any_lane(w, both, lanes)):
            w.do(f"call void @keep_row(ptr {made}, ptr {here.place(w, what.target)}, i64 {1 + what.target.width})")


def fold_rows(name: str, what: Fold, kept: KeptRows) -> str:
    """void name(state, given, rows), given the kernel ``name.program``."""
    w, lanes = Writer(), kept.lanes
    here = kept.found_at("%rows")
    with w.loop(0, here.count(w, what.rows)) as one:
        row = w.at(here.row(w, what.rows, one.counter), lanes)
        arrays = [("ptr", place) for place in ("%state", "%given", row)]
        w.do(f"call void @{name}.program({listed([*arrays, *tables_with('%rows')])})")
    w.do("ret void")
    return w.function(f"internal void @{name}(ptr nocapture %state, ptr nocapture %given, ptr %rows)")
