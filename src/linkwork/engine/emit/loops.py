"""Loops over bodies, and the values that they carry: what an iteration reads that the one before it has just stored.

A walk along a chain goes from a body to its child: the motion of the parent is what the last iteration has stored. The
round trip through memory takes longer than several additions. So such numbers also go from iteration to iteration in
registers, along with the row that they were stored in; an iteration that reads another row, where branches part, reads
memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from linkwork.engine import optimisations
from linkwork.engine.emit.writer import vector
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Operand, Program

if TYPE_CHECKING:
    from linkwork.engine.emit.kernel import Kernel

MOST = 12
"""The most numbers that are carried: more would not stay in registers."""

Place = tuple[int, object, int]
"""A number of a row: its place there, the layout of the rows, and how many lanes it has."""


class Case(NamedTuple):
    """One case of a loop: the row that it stores and the values, and the row that it reads and the instructions."""

    row: int
    stored: dict[Place, Operand]
    source: int
    loaded: dict[Place, int]


class Carried(NamedTuple):
    """What is loop-carried: numbers that every case stores."""

    places: list[Place]
    cases: dict[int, Case]


def carried(program: Program, loop: Loop) -> Carried | None:
    """The loop-carried values of a loop; None if there are none, or too many."""
    if loop.walk == "parallel":
        return None
    cases = {kind: _case(program, block) for kind, block in loop.cases}
    stored = set.intersection(*(set(case.stored) for case in cases.values()))
    places = sorted({place for case in cases.values() for place in case.loaded} & stored, key=repr)
    if not 0 < len(places) <= MOST:
        return None
    for kind, case in cases.items():
        loaded = {place: n for place, n in case.loaded.items() if place in places}
        cases[kind] = case._replace(stored={place: case.stored[place] for place in places}, loaded=loaded)
    return Carried(places, cases)


def _case(program: Program, block: Block) -> Case:
    """What a case stores in one row, each number once, and which of these it reads before in another row."""
    stores: dict[int, dict[Place, Operand]] = defaultdict(dict)
    loads: dict[int, dict[Place, int]] = defaultdict(dict)
    for n, row, place in _single(program, block):
        if program.operations[n] == "store":
            stores[row][place] = program.operands[n][0]
        elif not any(place in each for each in stores.values()):
            loads[row].setdefault(place, n)
    row = max(stores, key=lambda each: len(stores[each]), default=-1)
    stored = stores[row] if stores else {}
    found = {other: {p: n for p, n in each.items() if p in stored} for other, each in loads.items() if other != row}
    source = max(found, key=lambda each: len(found[each]), default=-1)
    return Case(row, stored, source, found.get(source, {}))


def _single(program: Program, block: Block) -> Iterator[tuple[int, int, Place]]:
    """The loads and stores of a block in rows of ``work``, of numbers stored once, with their rows and places."""
    times = Counter(each for address, width in _stores(program, block) for each in _numbers(address, width))
    for n in block.order:
        operation, address = program.operations[n], program.details[n]
        if operation not in ("load", "store") or (row := _row(address)) is None:
            continue
        width = program.widths[n] if operation == "load" else program.lanes(program.operands[n][0])
        if all(times[number] == 1 for number in _numbers(address, width)):
            yield n, row, (address.offset, _rows(address), width)


def _stores(program: Program, block: Block) -> Iterator[tuple[Address, int]]:
    """All stores into ``work``, those of loops inside included, and their widths."""
    for n in block.order:
        operation, detail = program.operations[n], program.details[n]
        if isinstance(detail, Loop):
            for _, inside in detail.cases:
                yield from _stores(program, inside)
        elif operation in ("store", "store_index") and detail.array == "work":
            yield detail, program.lanes(program.operands[n][0]) if operation == "store" else 1


def _numbers(address: Address, width: int) -> list[tuple[int, object]]:
    """The single numbers of a row that a wide one covers."""
    return [(address.offset + k, _rows(address)) for k in range(width)]


def _rows(address: Address) -> object:
    """The layout of the rows: their length, and where they begin."""
    return address.terms[0][1] if address.terms else None, address.terms[1:]


def _row(address: Address) -> int | None:
    """The integer that selects the row of ``work`` that a number is in, if it is such a number."""
    if address.array != "work" or not address.terms or address.lane is not None:
        return None
    index, stride = address.terms[0]
    return index if index >= 0 and isinstance(stride, int) else None


class Registers:
    """Writes the lines of a loop for its carried values, as phis; none, if nothing is carried."""

    def __init__(self, kernel: Kernel, what: Carried | None, tag: str) -> None:
        self.kernel, self.what, self.tag = kernel, what, tag
        places = what.places if what else []
        kinds = [vector(max(kernel.lanes, width)) for _, _, width in places]
        self.names = [("i64", f"%{tag}.row", "-1")] if what else []
        self.names += [(kind, f"%{tag}.left{k}", "zeroinitializer") for k, kind in enumerate(kinds)]
        """The types and names of the row that was stored last and of its numbers, and what they begin with."""
        cases = what.cases.values() if what else ()
        self.loads = {n: partial(self.take_over, case) for case in cases for n in case.loaded.values()}
        """What writes the instructions that read what is carried."""
        self.taken: set[int] = set()
        self.ends: list[tuple[str, list[str]]] = []

    def begin(self, before: str) -> None:
        """The start of an iteration, the first one entered from the block ``before``."""
        for kind, name, first in self.names:
            self.kernel.let(f"phi {kind} [ {first}, %{before} ], [ {name}.next, %{self.tag}.latch ]", name)

    def take_over(self, case: Case, n: int, _address: Address) -> None:
        """A number carried from the iteration before, or loaded from memory if that stored another row: with the first
        of them, everything that the case reads.
        """
        if self.what is None or n in self.taken:
            return
        w = self.kernel
        self.taken.update(case.loaded.values())
        here, there, then = w.label, w.block("read"), w.block("taken")
        w.branch(w.compare("eq", f"%v{case.source}", f"%{self.tag}.row"), then, there)
        w.begin(there)
        for (_, _, width), load in case.loaded.items():
            pointer = w.element(w.program.details[load], w.lanes)
            w.load(pointer, vector(max(w.lanes, width)), w.align, f"%v{load}.read")
        w.jump(then)
        w.begin(then)
        for place, load in case.loaded.items():
            kind, left, _ = self.names[1 + self.what.places.index(place)]
            w.let(f"phi {kind} [ {left}, %{here} ], [ %v{load}.read, %{there} ]", f"%v{load}")

    def leave(self, number: int | None) -> None:
        """The end of a case, or no case was selected."""
        if self.what is None:
            return
        if number is None:
            self.ends.append((self.kernel.label, [name for _, name, _ in self.names]))
            return
        case = self.what.cases[number]
        values = [self.kernel.value(case.stored[place]) for place in self.what.places]
        self.ends.append((self.kernel.label, [f"%v{case.row}", *values]))

    def end(self) -> None:
        """The end of an iteration, whichever case it was."""
        for k, (kind, name, _) in enumerate(self.names):
            ends = ", ".join(f"[ {left[k]}, %{label} ]" for label, left in self.ends)
            self.kernel.let(f"phi {kind} {ends}", f"{name}.next")


def walk(w: Kernel, loop: Loop) -> None:
    """A loop over bodies, pairs of bodies, or paths."""
    tag, counter = w.block("L"), f"%v{loop.counter}"
    first, last = (bound if isinstance(bound, int) else f"%{bound}" for bound in (loop.first, loop.last))
    last = f"%v{loop.stop}" if loop.walk == "up" and loop.stop is not None else last
    start = str(last if loop.walk == "down" else first) if loop.start is None else f"%v{loop.start}"
    before, registers = w.label, registers_of(w, loop, tag)
    w.jump(f"{tag}.head")
    w.begin(f"{tag}.head")
    w.let(f"phi i64 [ {start}, %{before} ], [ %{tag}.next, %{tag}.latch ]", counter)
    registers.begin(before)
    if loop.walk == "climb":
        more = w.compare("ne", counter, "0" if loop.stop is None else f"%v{loop.stop}")
    elif loop.start is not None and loop.stop is not None:
        more = w.compare("slt", counter, f"%v{loop.stop}")
    else:
        more = w.compare("sge", counter, first) if loop.walk == "down" else w.compare("sle", counter, last)
    w.branch(more, f"{tag}.body", f"{tag}.done")
    w.begin(f"{tag}.body")
    cases(w, loop, tag, registers)
    w.begin(f"{tag}.latch")
    registers.end()
    if loop.successor is not None:
        w.load(w.integer(loop.successor), "i64", name=f"%{tag}.next")
    else:
        w.let(f"add i64 {counter}, {-1 if loop.walk == 'down' else 1}", f"%{tag}.next")
    w.jump(f"{tag}.head")
    w.begin(f"{tag}.done")


def cases(w: Kernel, loop: Loop, tag: str, registers: Registers) -> None:
    """The block of an iteration, or one of several."""
    w.handed |= registers.loads
    if loop.kind is None:
        number, block = loop.cases[0]
        w.instructions(block)
        registers.leave(number)
        w.jump(f"{tag}.latch")
        return
    kind = w.load(w.element(loop.kind, 1), "i64")
    labels = {kind: kind for kind, _ in loop.cases} | loop.same
    targets = " ".join(f"i64 {kind}, label %{tag}.case{first}" for kind, first in labels.items())
    registers.leave(None)
    w.do(f"switch i64 {kind}, label %{tag}.latch [ {targets} ]")
    for number, block in loop.cases:
        w.begin(f"{tag}.case{number}")
        w.instructions(block)
        registers.leave(number)
        w.jump(f"{tag}.latch")


def registers_of(w: Kernel, loop: Loop, tag: str) -> Registers:
    """The loop-carried registers of a loop: only for one state; several lanes have none to spare."""
    alone = w.lanes == 1 and optimisations.on("carrying")
    return Registers(w, carried(w.program, loop) if alone else None, tag)
