"""The intermediate code: what an algorithm's text becomes before machine code.

A program is a tree of blocks. A block is a list of instructions in the order in which they run; an instruction has a
number (its value), an operation and operands, which are numbers of earlier instructions or Python floats (constants).

    add sub mul div           of two values
    neg sqrt sin cos          of one
    atan2                     of y and x
    less                      of a, b, x, y: x where a < b, otherwise y
    turn_sin turn_cos         of t, s, c: sine and cosine after as many quarter turns as the two lowest bits of t say
    load                      from an array at an address
    store                     of one value into an array at an address
    index                     a whole number read from an integer array at an address
    whole                     a whole number that is an address itself
    loop                      over a walk, with a case for each joint kind
    gather                    of several values: one wide value
    lane                      of a wide value: one of its lanes
    constant                  a number that the tracer does not fold; ``abreast`` puts it into operands

An address is an offset plus strides times whole numbers (the values of ``index`` instructions and loop counters).
Arrays: the arguments, the results, ``work`` and ``square`` (fields of the rolled form), ``data`` and ``ints`` (a
model's tables there).

An arithmetic instruction with a whole number as its detail is wide: it has so many lanes, and its operands are wide
values or tuples of constants.

Turns of a "spread" loop need nothing of each other and use no value from outside: several may run at once, on the lanes
of a vector and on threads. A number of ``work``, ``square`` or ``data`` is then one of a group that lies side by side,
which an address chooses by ``lane``; arguments and results lie ``apart`` from lane to lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Operand = int | float
"""The number of an instruction, or a constant."""

Terms = tuple[tuple[int, int | str], ...]
"""Whole numbers (by instruction) with strides: fixed ones, or names of sizes known when the code runs."""

ARITHMETIC = {
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "neg": 1,
    "sqrt": 1,
    "sin": 1,
    "cos": 1,
    "atan2": 2,
    "less": 4,
    "turn_sin": 3,
    "turn_cos": 3,
}
"""The operations on values, with the number of their operands."""


ONE = -1
"""Stands for the whole number 1 in an address."""


@dataclass(frozen=True, slots=True)
class Address:
    """array[offset + Σ stride · index]; a stride is a whole number or the name of a size known when the code runs."""

    array: str
    offset: int
    terms: Terms = ()
    lane: int | None = None
    """The whole number that tells which of a group; None in a spread loop, where it is all of them, or the first."""
    apart: str | None = None
    """The size that tells how far apart lanes are in a spread loop; None for what lies side by side."""


@dataclass(slots=True)
class Block:
    """Instructions in order."""

    order: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    """Runs a block for every turn of a walk; which of several is told by the case of the turn's counter.

    walk: "up" (counter from ``first`` to ``last``), "down" (from ``last``, or ``start``), "spread" (in any order), or
    "climb" (counter from ``start`` through the parents, up to but without ``stop``, or 0). Bounds are whole numbers or
    names of sizes; ``start`` and ``stop`` are index values. The case is read at ``kind``, or in the counter's row of
    ``ints``.
    """

    walk: str
    counter: int
    first: int | str
    last: int | str
    start: int | None
    cases: list[tuple[int, Block]]
    stop: int | None = None
    kind: Address | None = None


@dataclass(slots=True)
class Program:
    """A whole function."""

    operations: list[str] = field(default_factory=list)
    operands: list[tuple[Any, ...]] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)
    root: Block = field(default_factory=Block)

    def instruction(self, block: Block, operation: str, operands: tuple[Operand, ...], detail: Any = None) -> int:
        """Append an instruction; its number."""
        number = len(self.operations)
        self.operations.append(operation)
        self.operands.append(operands)
        self.details.append(detail)
        block.order.append(number)
        return number

    def lanes(self, x: Operand | tuple[float, ...]) -> int:
        """How many lanes a value or a constant has."""
        if isinstance(x, tuple):
            return len(x)
        detail = self.details[x] if type(x) is int and self.operations[x] != "lane" else None
        return detail if type(detail) is int else 1

    def walk(self, block: Block | None = None) -> Iterator[int]:
        """All instructions, a loop before its cases."""
        for number in (block or self.root).order:
            yield number
            if self.operations[number] == "loop":
                for _, case in self.details[number].cases:
                    yield from self.walk(case)


def count(program: Program) -> Counter[str]:
    """How often each arithmetic operation stands in a program without loops; ``sin`` and ``cos`` count one each."""
    return Counter(op for op in (program.operations[n] for n in program.walk()) if op in ARITHMETIC)


def text(program: Program) -> str:
    """The program in a form to read and to compare."""
    lines: list[str] = []

    def operand(x: Any) -> str:
        return f"%{x}" if isinstance(x, int) else repr(x)

    def place(address: Address) -> str:
        terms = "".join(f" + {stride}*%{index}" for index, stride in address.terms)
        lane = "" if address.lane is None else f"; lane %{address.lane}"
        apart = "" if address.apart is None else f"; apart {address.apart}"
        return f"{address.array}[{address.offset}{terms}{lane}{apart}]"

    def block(b: Block, indent: str) -> None:
        for n in b.order:
            op, detail = program.operations[n], program.details[n]
            shown = ", ".join(operand(x) for x in program.operands[n])
            if op == "loop":
                climb = f"%{detail.start}" + ("" if detail.stop is None else f" to %{detail.stop}")
                last = detail.last if detail.start is None else f"%{detail.start}"
                bounds = climb if detail.walk == "climb" else f"{detail.first}..{last}"
                by = "" if detail.kind is None else f" by {place(detail.kind)}"
                lines.append(f"{indent}loop %{detail.counter} {detail.walk} {bounds}{by}")
                for kind, case in detail.cases:
                    lines.append(f"{indent}  case {kind}")
                    block(case, indent + "    ")
            elif op == "store":
                lines.append(f"{indent}{place(detail)} = {shown}")
            elif op in ("load", "index", "whole"):
                lines.append(f"{indent}%{n} = {op} {place(detail)}")
            elif op == "counter":
                lines.append(f"{indent}%{n} = counter")
            else:
                lines.append(f"{indent}%{n} = {op} {shown}")

    block(program.root, "")
    return "\n".join(lines) + "\n"
