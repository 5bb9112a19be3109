"""A kernel that writes rows: of a tile's states the numbers of the first, then those of the second, and so on, as they
lie in the caller's array.

A value of the results waits in a slot of ``work``; what stands in several places, as in a symmetric matrix, has one
slot. It loses the sign of its zeros once, and is looked at once, whether it is finite. At the end, loops go over strips
of the rows, as many numbers as there are lanes: a table tells their slots, and they are turned and stored for all
states. Strips of zeros have a loop of their own.

Memory that will be written is asked for ahead, or the stores would wait for it: by the loops, and, if the rows of a
tile fit into the first cache, while arithmetic goes on. LLVM moves such a request to wherever it pleases, so it stands
in a piece of assembly that a value goes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from linkwork.engine.ir import Address, Block, Operand, Program
from linkwork.engine.llvm import BINARY, Kernel, constant, declarations
from linkwork.engine.tiles import Interface, all_ordered, batch, pack, transpose

_SUMS = 4
"""Sums that become NaN by what is not finite: several, so that one addition need not wait for the last."""
_LINE = 64
"""Bytes of memory that come together."""
_TOGETHER = 4
"""Lines that are asked for at once: as many as memory brings while some fifty operations run."""
_ASKED = 0.6
"""The part of a program in which lines are asked for; what is asked for later may come too late."""
_NEAR = 40_000
"""Bytes that stay in the first cache until they are written."""
_AHEAD = 4
"""Strips by which a loop asks ahead."""


class RowKernel(Kernel):
    """Writes the kernel of a program without loops; it returns whether all results are finite.

    ``register`` is the letter by which assembly calls a register for all lanes, None where lines cannot be asked for.
    """

    returns = "i1"

    def __init__(self, program: Program, interface: Interface, lanes: int, register: str | None) -> None:
        super().__init__(program, interface, lanes)
        self.register = register
        self.rows: dict[str, dict[int, Operand]] = {}
        for n in program.root.order:
            if program.operations[n] == "store":
                address, (x,) = program.details[n], program.operands[n]
                self.rows.setdefault(address.array, {})[address.offset] = x
        self.asked: dict[int, str] = {}  # the names of values that have gone through a request
        self.slots: dict[tuple[type, Operand], int] = {}
        self.sums = [constant(0.0, lanes)] * _SUMS
        self.tables: list[str] = []

    def body(self) -> None:
        done = 0
        for place, array, lines in self.requests():
            self.block(Block(self.program.root.order[done : place + 1]))
            self.ask(self.program.root.order[place], array, lines)
            done = place + 1
        self.block(Block(self.program.root.order[done:]))
        for array in self.rows:
            self.write(array)
        total = self.sums[0]
        for other in self.sums[1:]:
            total, last = self.name(), total
            self.lines.append(f"  {total} = fadd {self.type} {last}, {other}")
        self.lines += [*all_ordered(self.lanes, total), "  ret i1 %fine"]

    def value(self, x: Operand | tuple[float, ...]) -> str:
        return self.asked[x] if type(x) is int and x in self.asked else super().value(x)

    def requests(self) -> list[tuple[int, str, range]]:
        """After which place in the order which lines of a result are asked for; none if there is no room for that."""
        order, operations = self.program.root.order, self.program.operations
        places = [k for k in range(int(_ASKED * len(order))) if operations[order[k]] in BINARY]
        sizes = {array: 8 * self.lanes * len(row) for array, row in self.rows.items()}
        groups = [
            (array, range(first, min(first + _TOGETHER * _LINE, size), _LINE))
            for array, size in sizes.items()
            for first in range(0, size, _TOGETHER * _LINE)
        ]
        if self.register is None or len(places) < len(groups) or sum(sizes.values()) > _NEAR:
            return []
        return [(places[len(places) * k // len(groups)], *group) for k, group in enumerate(groups)]

    def ask(self, n: int, array: str, lines: range) -> None:
        """Ask for lines when a value is known."""
        text, name = "\\0A".join(f"prefetchw {line}($2)" for line in lines), self.name()
        through = f'asm "{text}", "={self.register},0,r"({self.type} {self.value(n)}, ptr %{array})'
        self.lines.append(f"  {name} = call {self.type} {through}")
        self.asked[n] = name

    def store(self, x: Operand, address: Address) -> None:
        """The first store of a value puts it into its slot."""
        key = (type(x), x)
        if key in self.slots:
            return
        place = self.slot(self.slots.setdefault(key, len(self.slots)))
        settled, total = self.name(), self.name()
        terms = f"{self.type} {settled}, {self.type} zeroinitializer, {self.type} {self.sums[0]}"
        self.lines += [
            f"  {settled} = fadd {self.type} {self.value(x)}, zeroinitializer",
            f"  {total} = call {self.type} @llvm.fmuladd.v{self.lanes}f64({terms})",
            f"  store {self.type} {settled}, ptr {place}, align {self.align}",
        ]
        self.sums = [*self.sums[1:], total]

    def write(self, array: str) -> None:
        """The loops that store the rows of a result; the last strip of a row overlaps the one before it."""
        row = self.rows[array]
        width = min(len(row), self.lanes)
        starts = [min(k, len(row) - width) for k in range(0, len(row), self.lanes)]
        strips = {start: [row[k] for k in range(start, start + width)] for start in starts}
        empty = [start for start, numbers in strips.items() if all(type(x) is float and x == 0.0 for x in numbers)]
        full = [start for start in starts if start not in empty]
        if full:
            table = [[start, *(self.slots[type(x), x] for x in strips[start])] for start in full]
            with self.each(f"{array}.strips", table) as (start, *waiting):
                values = [self.name() for _ in waiting]
                for slot, value in zip(waiting, values, strict=True):
                    place = self.slot(slot)
                    self.lines.append(f"  {value} = load {self.type}, ptr {place}, align {self.align}")
                missing = ["poison"] * (self.lanes - width)
                lines, turned = transpose([*values, *missing], self.lanes, f"{array}.turned")
                self.lines += lines
                self.put(array, start, turned, width)
        if empty:
            with self.each(f"{array}.zeros", [[start] for start in empty]) as (start,):
                self.put(array, start, ["zeroinitializer"] * self.lanes, width)

    def slot(self, number: int | str) -> str:
        place = self.name()
        self.lines.append(f"  {place} = getelementptr inbounds {self.type}, ptr %work, i64 {number}")
        return place

    @contextmanager
    def each(self, name: str, table: Sequence[Sequence[int]]) -> Iterator[list[str]]:
        """A loop over the rows of a table: the names of a row's numbers. What is written meanwhile is the loop's."""
        listed = ", ".join(f"i32 {number}" for row in table for number in row)
        width, count = len(table[0]), len(table) * len(table[0])
        self.tables.append(f"@{name} = internal constant [{count} x i32] [{listed}]")
        numbers = [self.name() for _ in range(width)]
        self.lines += [
            f"  br label %{name}.before",
            f"{name}.before:",
            f"  br label %{name}.turn",
            f"{name}.turn:",
            f"  %{name}.k = phi i64 [ 0, %{name}.before ], [ %{name}.next, %{name}.turn ]",
            f"  %{name}.row = getelementptr inbounds i32, ptr @{name}, i64 %{name}.k",
        ]
        for k, number in enumerate(numbers):
            self.lines += [
                f"  {number}.at = getelementptr inbounds i32, ptr %{name}.row, i64 {k}",
                f"  {number}.short = load i32, ptr {number}.at, align 4",
                f"  {number} = zext i32 {number}.short to i64",
            ]
        yield numbers
        self.lines += [
            f"  %{name}.next = add i64 %{name}.k, {width}",
            f"  %{name}.more = icmp slt i64 %{name}.next, {count}",
            f"  br i1 %{name}.more, label %{name}.turn, label %{name}.done",
            f"{name}.done:",
        ]

    def put(self, array: str, start: str, vectors: Sequence[str], width: int) -> None:
        """Store a strip of all states, and ask for a later one."""
        mask = ", ".join(f"i1 {int(k < width)}" for k in range(self.lanes))
        for state, values in enumerate(vectors):
            row, place, later = (self.name() for _ in range(3))
            self.lines += [
                f"  {row} = getelementptr double, ptr %{array}, i64 {state * len(self.rows[array])}",
                f"  {place} = getelementptr double, ptr {row}, i64 {start}",
                f"  {later} = getelementptr double, ptr {place}, i64 {_AHEAD * self.lanes}",
                f"  call void @llvm.prefetch.p0(ptr {later}, i32 1, i32 3, i32 1)",
            ]
            if width == self.lanes:
                self.lines.append(f"  store {self.type} {values}, ptr {place}, align 8")
            else:
                part = f"{self.type} {values}, ptr {place}, i32 8, <{self.lanes} x i1> <{mask}>"
                self.lines.append(f"  call void @llvm.masked.store.v{self.lanes}f64.p0({part})")


def module(program: Program, interface: Interface, lanes: int, register: str | None) -> str:
    """The text of an LLVM module of such a kernel and ``batch``."""
    kernel = RowKernel(program, interface, lanes, register)
    text = kernel.text()
    rest = [pack(lanes), _COPY, batch(interface, lanes, rows=True), _declarations(lanes)]
    return "\n".join([*kernel.tables, text, *rest])


def _declarations(lanes: int) -> str:
    kind = f"<{lanes} x double>"
    return declarations({lanes}) + (
        f"declare {kind} @llvm.fmuladd.v{lanes}f64({kind}, {kind}, {kind})\n"
        f"declare void @llvm.masked.store.v{lanes}f64.p0({kind}, ptr, i32, <{lanes} x i1>)\n"
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    )


_COPY = """
define internal void @copy(ptr nocapture %from, ptr nocapture %to, i64 %count) nounwind {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %end
body:
  %here = getelementptr inbounds double, ptr %from, i64 %k
  %number = load double, ptr %here, align 8
  %there = getelementptr inbounds double, ptr %to, i64 %k
  store double %number, ptr %there, align 8
  %k.next = add i64 %k, 1
  br label %head
end:
  ret void
}
"""
"""The rows of a tile that is not full go into the caller's array by this."""
