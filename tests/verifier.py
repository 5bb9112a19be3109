"""Checks that a program of intermediate code is well formed, for tests: engines may then rely on what tracing makes.

Every operand is defined before its use, in the same block or one around it; operations are known and have the operands
that they need; addresses are of known arrays, by integers; only results, ``work`` and ``square`` are written, integers
into ``work`` alone; loops are walks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import (
    ARITHMETIC,
    Block,
    Cell,
    Fold,
    Keep,
    Loop,
    Map,
    Program,
    Repeat,
    Subroutine,
    programs,
)

OPERANDS = {
    **ARITHMETIC,
    **dict.fromkeys(("load", "index", "affine", "loop"), 0),
    **dict.fromkeys(("store", "store_index", "extract", "final", "gather"), 1),
    "scatter": 2,
}
WALKS = {"up": ("stop",), "down": ("start",), "parallel": ("start", "stop"), "climb": ("start", "stop")}
"""The ends that each walk may have."""
ADDRESSED = ("load", "store", "index", "store_index", "affine")


class InvalidProgram(Exception):
    """A program that tracing should never have made; the message names the instruction."""


def verify(program: Program, arrays: Collection[str], sizes: Collection[str] = ()) -> None:
    """Raise InvalidProgram unless the program is well formed over arrays and sizes of these names."""
    if not len(program.operations) == len(program.operands) == len(program.details) == len(program.widths):
        raise InvalidProgram("operations, operands, details and widths are not of one length")
    _Check(program, frozenset(arrays), frozenset(sizes)).block(program.root, set(), set())


class _Check:
    def __init__(self, program: Program, arrays: frozenset[str], sizes: frozenset[str]) -> None:
        self.program, self.arrays, self.sizes = program, arrays, sizes
        self.seen: set[int] = set()

    def block(self, block: Block, floats: set[int], integers: set[int]) -> None:
        """Check a block, given the values and the integers that the blocks around it have defined."""
        floats, integers = set(floats), set(integers)
        for n in block.order:
            self.instruction(n, floats, integers)
            if self.program.operations[n] in ("index", "affine"):
                integers.add(n)
            elif self.program.operations[n] not in ("store", "store_index", "loop", "keep", "map", "scatter"):
                floats.add(n)

    def instruction(self, n: int, floats: set[int], integers: set[int]) -> None:
        if not 0 <= n < len(self.program.operations):
            raise InvalidProgram(f"%{n}: there is no such instruction")
        operation, operands, detail = self.program.operations[n], self.program.operands[n], self.program.details[n]
        here = f"%{n} ({operation})"
        self.once(n, here)
        needed = self.operands_of(n, here)
        if len(operands) != needed:
            raise InvalidProgram(f"{here}: has {len(operands)} operands instead of {needed}")
        if operation == "store_index":
            self.integer(here, "operand", operands[0], integers)
            operands = ()
        for x in operands:
            if type(x) not in (float, tuple) and (type(x) is not int or x not in floats):
                raise InvalidProgram(f"{here}: operand {x!r} is no constant and no value defined before it")
        self.lanes(n, here)
        if operation in ADDRESSED:
            self.address(here, operation, detail, integers)
        elif operation == "loop":
            self.loop(here, detail, floats, integers)
        elif operation == "final":
            self.final(here, operands[0], detail)
        elif operation in ("gather", "scatter"):
            self.cell(here, operation, detail)
        elif detail is not None and operation != "extract" and operation not in INNER:
            raise InvalidProgram(f"{here}: has a detail, {detail!r}, that means nothing")

    def operands_of(self, n: int, here: str) -> int:
        """How many operands an instruction takes; checks the programs and rows that decide it."""
        operation, detail = self.program.operations[n], self.program.details[n]
        if operation == "vector":
            return self.program.widths[n]
        if operation in OPERANDS:
            return OPERANDS[operation]
        if operation not in INNER:
            raise InvalidProgram(f"{here}: there is no such operation")
        inner = INNER[operation]
        if not isinstance(detail, inner.kind) or (isinstance(detail, Repeat) and detail.most < 1):
            raise InvalidProgram(f"{here}: {inner.otherwise}, but {detail!r}")
        for each in programs(detail) if inner.arrays else ():
            verify(each, inner.arrays)
        sparing = detail.sparing if isinstance(detail, Subroutine) else ()
        if any(not 0 <= k < detail.given for zeros, _ in sparing for k in zeros):
            raise InvalidProgram(f"{here}: what is given has no such places as may be zero")
        return inner.operands(detail)

    def final(self, here: str, of: object, k: object) -> None:
        """Check that the final state of a repeat, or the results, have such a number."""
        what = self.program.details[of] if type(of) is int else None
        if not isinstance(what, Repeat | Fold | Subroutine) or type(k) is not int or not 0 <= k < what.state:
            raise InvalidProgram(f"{here}: there is no number {k!r} of the state of {of!r}")

    def cell(self, here: str, operation: str, cell: object) -> None:
        """Check that a table is one that may be read, or written."""
        if not isinstance(cell, Cell) or not cell.offset >= 0 or min(cell.width, cell.rows) < 1:
            raise InvalidProgram(f"{here}: has no table but {cell!r}")
        if cell.array not in self.arrays or cell.array.startswith("argument") != (operation == "gather"):
            raise InvalidProgram(f"{here}: array {cell.array!r} is no table for it")

    def lanes(self, n: int, here: str) -> None:
        """Check that values are as wide as they should be."""
        operation, detail = self.program.operations[n], self.program.details[n]
        has = [self.program.lanes(x) for x in self.program.operands[n]]
        if operation == "extract":
            if type(detail) is not int or not 0 <= detail < has[0] or has[0] < 2:
                raise InvalidProgram(f"{here}: there is no lane {detail!r} of {has[0]}")
        elif any(lanes != (1 if operation == "vector" else self.program.widths[n]) for lanes in has):
            raise InvalidProgram(f"{here}: has operands of {has} lanes, and {self.program.widths[n]} itself")

    def once(self, n: int, here: str) -> None:
        if n in self.seen:
            raise InvalidProgram(f"{here}: stands in the program twice")
        self.seen.add(n)

    def integer(self, here: str, what: str, n: object, integers: set[int]) -> None:
        if n not in integers:
            raise InvalidProgram(f"{here}: {what} %{n} is no integer defined before it")

    def size(self, here: str, size: object) -> None:
        """Check a number, which may be the name of a size."""
        if isinstance(size, str) and size not in self.sizes:
            raise InvalidProgram(f"{here}: size {size!r} is not known")

    def address(self, here: str, operation: str, address: object, integers: set[int]) -> None:
        if not isinstance(address, Address):
            raise InvalidProgram(f"{here}: has no address but {address!r}")
        if operation != "affine":
            self.array(here, operation, address.array)
        for index, stride in address.terms:
            if index >= 0:
                self.integer(here, "index", index, integers)
            elif not isinstance(stride, str):
                raise InvalidProgram(f"{here}: a term without an index needs the name of a size, not {stride!r}")
            self.size(here, stride)
        if address.lane is not None:
            self.integer(here, "lane", address.lane, integers)
        if isinstance(address.lane_stride, int):
            self.integer(here, "lane stride", address.lane_stride, integers)
        self.size(here, address.lane_stride)
        if address.offset < 0 and not address.terms:
            raise InvalidProgram(f"{here}: is before the beginning of {address.array!r}")

    def array(self, here: str, operation: str, array: str) -> None:
        """Check that an array has what an operation reads, or may be written."""
        if array not in self.arrays:
            raise InvalidProgram(f"{here}: array {array!r} is not among {', '.join(sorted(self.arrays))}")
        if operation in ("index", "store_index"):
            if array not in ("ints", "work"):
                raise InvalidProgram(f"{here}: integers are in 'ints' and 'work', not in {array!r}")
        elif array == "ints":
            raise InvalidProgram(f"{here}: only integers are in 'ints'")
        written = array == "work" or (operation == "store" and (array.startswith("result") or array == "square"))
        if operation in ("store", "store_index") and not written:
            raise InvalidProgram(f"{here}: array {array!r} must not be written")

    def loop(self, here: str, loop: object, floats: set[int], integers: set[int]) -> None:
        if not isinstance(loop, Loop):
            raise InvalidProgram(f"{here}: has no loop but {loop!r}")
        if not 0 <= loop.counter < len(self.program.operations) or self.program.operations[loop.counter] != "counter":
            raise InvalidProgram(f"{here}: %{loop.counter} is no counter")
        self.once(loop.counter, here)
        self.walk(here, loop, integers)
        for address in (loop.kind, loop.successor):
            if address is not None:
                self.address(here, "index", address, integers | {loop.counter})
        self.kinds(here, loop)
        isolated = loop.walk == "parallel"  # iterations that may run anywhere
        for _, case in loop.cases:
            self.block(case, set() if isolated else floats, {loop.counter} | (set() if isolated else integers))

    def walk(self, here: str, loop: Loop, integers: set[int]) -> None:
        """Check where a loop begins and ends, and how it goes on."""
        if loop.walk not in WALKS:
            raise InvalidProgram(f"{here}: walks {loop.walk!r}, which is none of {', '.join(WALKS)}")
        if loop.start is None and loop.walk == "climb":
            raise InvalidProgram(f"{here}: climbs from nowhere")
        ends = {end: value for end, value in (("start", loop.start), ("stop", loop.stop)) if value is not None}
        for end, value in ends.items():
            if end not in WALKS[loop.walk]:
                raise InvalidProgram(f"{here}: walks {loop.walk!r}, which has no {end}")
            self.integer(here, end, value, integers)
        if loop.walk == "parallel" and len(ends) == 1:
            raise InvalidProgram(f"{here}: a parallel loop has both start and stop, or neither")
        for bound in (loop.first, loop.last) if loop.walk != "climb" else ():
            self.size(here, bound)
        if (loop.walk == "climb") != (loop.successor is not None):
            raise InvalidProgram(f"{here}: a climb, and nothing else, goes on by a successor")

    def kinds(self, here: str, loop: Loop) -> None:
        """Check which cases a loop has."""
        kinds = [kind for kind, _ in loop.cases]
        if not set(loop.same.values()) <= set(kinds):
            raise InvalidProgram(f"{here}: has kinds like others that have no case: {loop.same}")
        kinds += loop.same
        if len(set(kinds)) != len(kinds) or not kinds:
            raise InvalidProgram(f"{here}: has no cases, or one twice: {kinds}")
        if len(kinds) > 1 and loop.kind is None:
            raise InvalidProgram(f"{here}: has several cases and nothing that tells which")


class Inner(NamedTuple):
    """What an instruction with a program, or on rows, has as its detail, else what it lacks; the program's arrays; and
    how many operands the instruction takes.
    """

    kind: type[Any]
    otherwise: str
    arrays: tuple[str, ...]
    operands: Callable[[Any], int]


INNER = {
    "repeat": Inner(
        Repeat,
        "repeats nothing",
        ("argument0", "argument1", "result0", "result1"),
        lambda repeat: repeat.state + repeat.given,
    ),
    "subroutine": Inner(Subroutine, "uses no subroutine", ("argument0", "result0"), lambda used: used.given),
    "keep": Inner(Keep, "does nothing with rows", (), lambda keep: 1 + keep.rows.width),
    "map": Inner(Map, "does nothing with rows", ("argument0", "argument1", "result0"), lambda rows: rows.given),
    "fold": Inner(
        Fold,
        "does nothing with rows",
        ("argument0", "argument1", "argument2", "result0"),
        lambda fold: fold.state + fold.given,
    ),
}
