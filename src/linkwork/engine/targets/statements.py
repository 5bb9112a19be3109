"""Statements of one function: values by their names, numbers in memory, and copies.

A value has a name in its own function. In another one it is read from memory, where it is put if others need it, or
again from an argument. The results of other code lie in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Operand, Program
from linkwork.engine.targets.pieces import Pieces

if TYPE_CHECKING:
    from linkwork.engine.targets.source import Source

INNER = "@inner@"
"""Stands for the place in memory where that of functions begins which are called, until that is clear."""
COPIED = 4
"""Numbers that are worth a loop that copies them."""


class Body:
    """One function that is being written."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.first: list[str] = []
        self.lines: list[str] = []
        self.uses: set[str] = set()
        self.read: set[int] = set()
        """Values of other functions, or in memory, that it has read."""
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)


class Statements:
    """Writes statements of a program's functions.

    Args:
        names: how arrays are called that have other names than in the program.
        sizes: of a mechanism, by the names that the program has for them.
        may_cut: whether it may be cut into pieces.
    """

    def __init__(
        self,
        source: Source,
        program: Program,
        names: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        may_cut: bool = True,
    ) -> None:
        self.source, self.program = source, program
        self.names, self.sizes = dict(names or {}), dict(sizes or {})
        self.language = source.language
        self.pieces = Pieces(program, may_cut)
        self.own = self.pieces.size
        self.inner = 0
        self.regions: dict[int, int] = {}
        """Where the results of calls and of programs inside lie."""
        self.givens: dict[tuple[Operand, ...], int] = {}
        self.early: dict[int, int] = {}
        """Of a program that overwrites its argument: the instructions that read it, by place."""
        if "argument0" in self.names:
            loads = [n for n in program.root.order if program.operations[n] == "load"]
            self.early = {program.details[n].offset: n for n in loads if program.details[n].array == "argument0"}

    # Memory

    def region(self, count: int) -> int:
        """Memory for so many numbers."""
        self.own += count
        return self.own - count

    def inside(self, size: int) -> str:
        """The memory of a function that is called, which needs so much."""
        self.inner = max(self.inner, size)
        return f"memory + {INNER}"

    def number(self, body: Body, place: object, array: str = "memory") -> str:
        """A number in memory."""
        body.uses.add(array)
        return f"{array}[{place}]"

    def put(self, body: Body, place: int, values: Sequence[Operand]) -> None:
        """Store values side by side."""
        k, places = 0, [self.place_of(x) for x in values]
        while k < len(values):
            run = run_of(places[k:])
            if run < COPIED:
                body.line(f"{self.number(body, place + k)} = {self.value(body, values[k])};")
                k += 1
                continue
            array, start = places[k] or ("", 0)
            body.uses.update(("memory", array))
            self.copy(body, run, f"memory[{place + k} + k]", f"{array}[{start} + k]")
            k += run

    def copy(self, body: Body, count: int, target: str, source: str) -> None:
        body.line(f"for ({self.language.integer} k = 0; k < {count}; ++k) {{")
        body.line(f"    {target} = {source};")
        body.line("}")

    def lies_at(self, values: Sequence[Operand]) -> tuple[str, int] | None:
        """The array and the place where values lie side by side already."""
        places = [self.place_of(x) for x in values]
        return places[0] if places and run_of(places) == len(places) else None

    def place_of(self, x: Operand) -> tuple[str, int] | None:
        """The array and the place where a value lies: an argument's, or that of the results of other code."""
        if type(x) is not int:
            return None
        operation, detail = self.program.operations[x], self.program.details[x]
        if operation in ("final", "part"):
            return "memory", self.regions[self.program.operands[x][0]] + int(detail)
        if self.reads_anew(x) and detail.array.startswith("argument"):
            return detail.array, detail.offset
        return None

    def given_at(self, body: Body, values: Sequence[Operand]) -> str:
        """Where values lie for a program inside; they are stored once."""
        there = self.lies_at(values)
        if there is not None:
            return f"{there[0]} + {there[1]}"
        key = tuple(values)
        if key not in self.givens:
            self.givens[key] = self.region(len(values))
            self.put(body, self.givens[key], values)
        return f"memory + {self.givens[key]}"

    # Values

    def value(self, body: Body, x: Operand) -> str:
        """An operand: a literal, or the name of a value, which is read first if it is elsewhere."""
        if type(x) is not int:
            return self.language.literal(float(x))
        operation, detail = self.program.operations[x], self.program.details[x]
        if operation == "constant":
            return self.language.literal(detail)
        if operation in ("final", "part"):
            if x not in body.read:
                body.read.add(x)
                place = self.regions[self.program.operands[x][0]] + detail
                body.line(f"const {self.language.real} v{x} = {self.number(body, place)};")
            return f"v{x}"
        anew = self.reads_anew(x)
        if (anew or self.pieces.home[x] != body.number) and x not in body.read:
            body.read.add(x)
            read = self.element(body, detail) if anew else self.number(body, self.pieces.slots[x])
            line = f"const {self.language.real} v{x} = {read};"
            body.line(line) if body.depth == 1 else body.first.append(f"    {line}")
        return f"v{x}"

    def reads_anew(self, x: int) -> bool:
        """Whether functions read a value where they need it first."""
        return not self.early and self.pieces.is_read_anew(x)

    def index(self, body: Body, x: int) -> str:
        """The name of an integer."""
        if self.pieces.home[x] != body.number and x not in body.read:
            body.read.add(x)
            kind = self.language.integer
            body.first.append(f"    const {kind} i{x} = ({kind}){self.number(body, self.pieces.slots[x])};")
        return f"i{x}"

    def affine(self, body: Body, address: Address) -> str:
        """offset + Σ stride · index."""
        total, terms = address.offset, []
        for index, stride in address.terms:
            size = self.sizes[stride] if isinstance(stride, str) else stride
            if index < 0:
                total += size
            elif size:
                name = self.index(body, index)
                terms.append(name if size == 1 else f"{size} * {name}")
        return " + ".join([*([str(total)] if total or not terms else []), *terms])

    def element(self, body: Body, address: Address) -> str:
        array = self.names.get(address.array, address.array)
        if address.array not in self.language.kinds:  # no table
            body.uses.add(array)
        return f"{array}[{self.affine(body, address)}]"

    def define(self, body: Body, n: int, expression: str) -> None:
        """A value, which is stored if other functions need it."""
        body.line(f"const {self.language.real} v{n} = {expression};")
        if n in self.pieces.slots:
            body.line(f"{self.number(body, self.pieces.slots[n])} = v{n};")

    def define_index(self, body: Body, n: int, expression: str) -> None:
        body.line(f"const {self.language.integer} i{n} = {expression};")
        self.keep_index(body, n)

    def keep_index(self, body: Body, n: int) -> None:
        if n in self.pieces.slots:
            body.line(f"{self.number(body, self.pieces.slots[n])} = ({self.language.real})i{n};")


def run_of(places: Sequence[tuple[str, int] | None]) -> int:
    """How many places follow one another, from the first on."""
    if places[0] is None:
        return 0
    array, start = places[0]
    expected = enumerate(places)
    return next((k for k, place in expected if place != (array, start + k)), len(places))
