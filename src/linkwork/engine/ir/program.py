"""The intermediate code: what an algorithm's text becomes before machine code.

A program is a tree of blocks. A block is a list of instructions in the order in which they run; an instruction has a
number (its value), an operation and operands, which are numbers of earlier instructions or Python floats (constants).

    add sub mul div               of two values
    neg sqrt                      of one
    sin cos atan2 exp log ...     elementary functions (``spatial.OPERATIONS``), which are expanded for machine code
    less                          of a, b, x, y: x where a < b, otherwise y
    quadrant_sin quadrant_cos     of t, s, c: sine and cosine after so many quarter turns, by the two lowest bits of t
    pow2                          of t = k + 1.5 * 2**52: 2**k
    exponent mantissa             of x = m 2**k, with m from 0.7071 to 1.4142: k + 1.5 * 2**52, and m
    load                          from an array at an address
    store                         of one value into an array at an address
    index                         an integer read from an integer array, or from ``work``, at an address
    store_index                   of one integer into ``work`` at an address
    affine                        an integer that is an address itself: offset + Σ stride · index
    loop                          over a walk, with a case for each kind of iteration
    vector                        of several values: one wide value
    extract                       one lane of a wide value
    call                          of many values: the results of other code, such as that with loops over bodies
    part                          one of the numbers that a call returns
    repeat                        of a state and what is given: the state after a program has been repeated
    subroutine                    of what is given: the results of a program that is emitted once, used anywhere
    final                         one of the numbers that a repeat, a fold or a subroutine ends with
    keep                          of a flag and numbers: a row of these, kept where the flag is more than 0.5
    map                           of what is given: rows made from the kept ones, by a program
    fold                          of a state and what is given: the state after a program has taken all rows into it
    gather                        of the number of a row: one of its numbers, in a table that a program over rows has
    scatter                       of the number of a row, and a value to add to one of its numbers, in a fold's state
    constant                      a number that the tracer does not fold; ``superword`` puts it into operands

An address is an offset plus strides times integers (the values of ``index`` and ``affine`` instructions and loop
counters). Arrays: the arguments, the results, ``work`` and ``square`` (fields of the rolled form), ``data`` and
``ints`` (a model's tables there).

An instruction has a width, the lanes of its value: 1, or more for an arithmetic one whose operands are wide values or
tuples of constants, and for a load or a store of contiguous numbers.

Iterations of a "parallel" loop are independent and use no value from outside: several may run at once, on the lanes of
a vector and on threads. A number of ``work``, ``square`` or ``data`` is then one of a group that lies side by side,
from which an address selects by ``lane``; arguments and results lie ``lane_stride`` apart from lane to lane. Or every
lane has its own integers, which lie ``lane_stride`` apart in ``ints``, and gathers and scatters the numbers they point
to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkwork.engine.ir.address import Address
from linkwork.spatial.elementary import OPERATIONS

Operand = int | float
"""The number of an instruction, or a constant."""

ARITHMETIC = {
    **dict.fromkeys(("add", "sub", "mul", "div"), 2),
    **dict.fromkeys(("neg", "sqrt", "pow2", "exponent", "mantissa"), 1),
    **dict.fromkeys(("quadrant_sin", "quadrant_cos"), 3),
    "less": 4,
    **{name: operands for name, (operands, _) in OPERATIONS.items()},
}
"""The operations on values, with the number of their operands."""


@dataclass(slots=True)
class Block:
    """Instructions in order."""

    order: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    """Runs a block for every iteration of a walk; an integer read at ``kind`` selects one of several.

    walk: "up" (counter from ``first`` to ``last``, or ``stop``), "down" (from ``last``, or ``start``, to ``first``),
    "parallel" (in any order; or from ``start`` up to but without ``stop``), or "climb" (counter from ``start``,
    advanced to the integer read at ``successor``, up to but without ``stop``, or 0). Bounds are integers or names of
    sizes; ``start`` and ``stop`` are index values. A loop with one case needs no ``kind``.
    """

    walk: str
    counter: int
    first: int | str
    last: int | str
    start: int | None
    cases: list[tuple[int, Block]]
    stop: int | None = None
    kind: Address | None = None
    successor: Address | None = None
    same: dict[int, int] = field(default_factory=dict)
    """Kinds that share another kind's case."""
    fewest: int = 1
    """Of a parallel loop, the iterations from which on threads share it: for fewer, asking takes longer."""

    @property
    def integers(self) -> list[int]:
        """The instructions whose values are its bounds and its successor."""
        ends = [index for index in (self.start, self.stop) if index is not None]
        return [*ends, *(n for address in (self.kind, self.successor) if address for n in address.integers)]


@dataclass(frozen=True, eq=False)
class Repeat:
    """A program repeated over a state until that reports that it is done, at least once, at most so many times.

    The program takes the state ("argument0") and what is given ("argument1"); it returns the next state ("result0"),
    and one number ("result1"), more than 0.5 if it should continue. Each state of a batch iterates independently: one
    that is done keeps its numbers while others are repeated, so that it has the same bits whatever states share its
    tile. The numbers of one that is not done after so many times are NaN, unless it ``may_stop`` there. ``name`` is the
    problem that is solved, for messages.
    """

    program: Program
    state: int
    given: int
    most: int
    may_stop: bool = False
    name: str = "a repeated text"

    def __str__(self) -> str:
        last = ", which may stop it" if self.may_stop else ""
        return f"at most {self.most} times{last}, {self.state} of state, {self.given} given"


@dataclass(frozen=True, eq=False)
class Subroutine:
    """A program that takes what is given ("argument0") and returns so many numbers ("result0").

    ``sparing`` has variants of the program that assume some given numbers, by their places, to be zero: the same
    results with fewer operations. Code runs the first whose numbers are zero in all lanes of a tile, else the program.

    ``symmetric`` says that the results are a symmetric matrix times as many first given numbers, such as the solution
    of linear equations by iteration: that is its derivative, whatever the program does. The other given numbers, and
    the rows that it reads, are constant.
    """

    program: Program
    given: int
    state: int
    sparing: tuple[tuple[tuple[int, ...], Program], ...] = ()
    symmetric: bool = False

    def __str__(self) -> str:
        spared = "".join(f", fewer operations where {len(zeros)} are zero" for zeros, _ in self.sparing)
        return f"{self.given} given, {self.state} results{spared}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are kept while a program runs, and read by programs inside it: of so many numbers each, at most so
    many. Each state of a batch has its own subset of them; those of others are as if they were not there.

    Rows that are read often are worth packing: each lane of a tile then keeps its own contiguously, and the tile has as
    many as the lane with the most. Otherwise it has one for all lanes wherever some lane has one.
    """

    name: str
    width: int
    most: int
    packed: bool = True

    def __str__(self) -> str:
        return f"{self.name} ({self.most} x {self.width}{'' if self.packed else ', not packed'})"


@dataclass(frozen=True)
class Keep:
    """Where a row is kept; the first to be kept there clears the others."""

    rows: Rows
    first: bool

    def __str__(self) -> str:
        return f"{'first ' if self.first else ''}in {self.rows}"


@dataclass(frozen=True, eq=False)
class Map:
    """A program that maps each row of ``source`` ("argument0"), and what is given ("argument1"), to a flag and a row of
    ``target`` ("result0"), kept where the flag is more than 0.5; the first to be kept there clears the others.
    """

    program: Program
    source: Rows
    target: Rows
    given: int
    first: bool = True

    def __str__(self) -> str:
        return f"{self.source} {'first ' if self.first else ''}to {self.target}, {self.given} given"


@dataclass(frozen=True, eq=False)
class Fold:
    """A program that maps a state ("argument0"), what is given ("argument1") and a row ("argument2") to the next state
    ("result0"): for each row, in the order in which they were kept. What it does not store of a state remains.
    """

    program: Program
    rows: Rows
    state: int
    given: int

    def __str__(self) -> str:
        return f"{self.rows}, {self.state} of state, {self.given} given"


class Cell(NamedTuple):
    """Which number of a row, the first at ``offset``, of so many rows, ``width`` numbers each, in an array."""

    array: str
    offset: int
    width: int
    rows: int

    def __str__(self) -> str:
        return f"{self.array}[{self.offset} + {self.width}*row]"


class Seat(NamedTuple):
    """Which number of a field a load or a store accesses, if its values are lists of motions or forces: the few items
    that may be packed together, which number of each; and which of these items.
    """

    run: tuple[str, int, int]
    lane: int


@dataclass(slots=True)
class Program:
    """A whole function. ``details``: the address of a load, store, index or affine, the loop of a loop, the lane of an
    extract, the number of a constant.
    """

    operations: list[str] = field(default_factory=list)
    operands: list[tuple[Any, ...]] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    root: Block = field(default_factory=Block)
    seats: dict[int, Seat] = field(default_factory=dict)
    """Of loads and stores of lists."""
    seeds: dict[tuple[str, int], Any] = field(default_factory=dict)
    """Which numbers of the arguments correspond, by array and place (``trace.isomorphic``)."""

    def instruction(
        self, block: Block, operation: str, operands: tuple[Any, ...], detail: Any = None, width: int = 1
    ) -> int:
        """Append an instruction; its number."""
        number = len(self.operations)
        self.operations.append(operation)
        self.operands.append(operands)
        self.details.append(detail)
        self.widths.append(width)
        block.order.append(number)
        return number

    def lanes(self, x: Operand | tuple[float, ...]) -> int:
        """How many lanes a value or a constant has."""
        if isinstance(x, tuple):
            return len(x)
        return self.widths[x] if type(x) is int else 1

    def inputs(self, n: int) -> list[int]:
        """The instructions among the operands of one."""
        return [x for x in self.operands[n] if type(x) is int]

    def walk(self, block: Block | None = None) -> Iterator[int]:
        """All instructions, a loop before its cases."""
        for number in (block or self.root).order:
            yield number
            if self.operations[number] == "loop":
                for _, case in self.details[number].cases:
                    yield from self.walk(case)


def constants(program: Program, array: str) -> dict[int, float]:
    """The numbers of an array that a program without loops stores as constants, by their places."""
    found: dict[int, float] = {}
    for n in program.root.order:
        if program.operations[n] == "store" and program.details[n].array == array:
            (value,) = program.operands[n]
            if type(value) is not int:
                found[program.details[n].offset] = value
    return found


WITHIN = ("repeat", "subroutine", "map", "fold")
"""Instructions that have a program of their own."""


def inner(program: Program) -> list[Repeat | Subroutine | Map | Fold]:
    """The repeats, subroutines, maps and folds of a program, in order."""
    return [program.details[n] for n in program.walk() if program.operations[n] in WITHIN]


def programs(what: Repeat | Subroutine | Map | Fold) -> list[Program]:
    """Its program, and the variants that code may run instead."""
    return [what.program, *(program for _, program in what.sparing)] if isinstance(what, Subroutine) else [what.program]


def calls(program: Program) -> list[Any]:
    """The details of all calls of other code, those in programs inside included."""
    own = [program.details[n] for n in program.walk() if program.operations[n] == "call"]
    return own + [callee for each in inner(program) for some in programs(each) for callee in calls(some)]


def count(program: Program) -> Counter[str]:
    """How often each arithmetic operation is done in a program without loops over bodies; ``sin`` or ``exp`` count as
    one each, and a repeated program counts once.
    """
    own = Counter(op for op in (program.operations[n] for n in program.walk()) if op in ARITHMETIC)
    return sum((count(each.program) for each in inner(program)), own)


def length(program: Program) -> int:
    """How many instructions the code of a program without loops over bodies has, including repeated programs; a
    subroutine counts once.
    """
    own = dict.fromkeys(inner(program))
    return len(program.root.order) + sum(length(each) for what in own for each in programs(what))


def same(a: Program, b: Program) -> bool:
    """Whether two programs have the same text; most that have are equal number by number."""
    alike = (a.details, a.operations, a.root.order) == (b.details, b.operations, b.root.order)
    return (alike and repr(a.operands) == repr(b.operands)) or text(a) == text(b)  # 2 and 2.0 are different operands


_LINES = {
    **dict.fromkeys(("store", "store_index"), "{of} = {operands}"),
    **dict.fromkeys(("load", "index", "affine"), "%{n} = {called} {of}"),
    **dict.fromkeys(("call", *WITHIN), "%{n} = {called} {of}: {operands}"),
    **dict.fromkeys(("extract", "part", "final"), "%{n} = {called} {operands}, {of}"),
    **dict.fromkeys(("keep", "scatter"), "{called} {of}: {operands}"),
    "gather": "%{n} = {called} {of}: {operands}",
}
"""How instructions with a detail are shown."""


def text(program: Program, subroutines: dict[Subroutine, int] | None = None) -> str:
    """The program in a form to read and to compare; ``subroutines`` are those that have been shown, by number."""
    lines: list[str] = []
    shown_before = {} if subroutines is None else subroutines

    def loop(detail: Loop, indent: str) -> None:
        lines.append(f"{indent}{_loop_text(detail)}")
        for kind, case in detail.cases:
            also = "".join(f", {other}" for other, first in detail.same.items() if first == kind)
            lines.append(f"{indent}  case {kind}{also}")
            block(case, indent + "    ")

    def block(b: Block, indent: str) -> None:
        for n in b.order:
            operation, detail = program.operations[n], program.details[n]
            if operation == "loop":
                loop(detail, indent)
                continue
            new = operation in WITHIN and detail not in shown_before
            operands = ", ".join(f"%{x}" if isinstance(x, int) else repr(x) for x in program.operands[n])
            of = _address_text(detail) if isinstance(detail, Address) else detail
            called = operation
            if operation == "subroutine":
                called = f"{operation} {shown_before.setdefault(detail, len(shown_before))},"
            line = _LINES.get(operation, "%{n} = {called} {operands}")
            lines.append(indent + line.format(n=n, called=called, of=of, operands=operands).rstrip())
            if new:
                lines.extend(f"{indent}  {line}" for line in text(detail.program, shown_before).splitlines())

    block(program.root, "")
    return "\n".join(lines) + "\n"


def _address_text(address: Address) -> str:
    terms = "".join(f" + {stride}*%{index}" for index, stride in address.terms)
    lane = "" if address.lane is None else f"; lane %{address.lane}"
    stride = f"%{address.lane_stride}" if isinstance(address.lane_stride, int) else address.lane_stride
    apart = "" if stride is None else f"; lanes {stride} apart"
    return f"{address.array}[{address.offset}{terms}{lane}{apart}]"


def _loop_text(loop: Loop) -> str:
    climb = f"%{loop.start}" + ("" if loop.stop is None else f" to %{loop.stop}")
    end = loop.start if loop.walk == "down" else loop.stop
    last = loop.last if end is None else f"%{end}"
    bounds = climb if loop.walk == "climb" else f"{loop.first}..{last}"
    by = "" if loop.kind is None else f" by {_address_text(loop.kind)}"
    on = "" if loop.successor is None else f" on to {_address_text(loop.successor)}"
    return f"loop %{loop.counter} {loop.walk} {bounds}{by}{on}"
