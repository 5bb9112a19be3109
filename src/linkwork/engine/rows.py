"""A kernel that writes rows: of a tile's states the numbers of the first, then those of the second, and so on, as they
lie in the caller's array. Nothing is left to unpack, and memory is written while arithmetic goes on.

Numbers are written in strips, as many of a row as there are lanes: when the last of a strip is known, it is turned and
stored for all states. Until then a value waits in a slot of ``work``. What stands in several places of a result, as in
a symmetric matrix, has one slot; it loses the sign of its zeros once, and is looked at once, whether it is finite.

Memory that will be written is asked for on the way, or the stores would wait for it. LLVM moves such a request to
wherever it pleases, so it stands in a piece of assembly that a value goes through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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


@dataclass(eq=False)
class _Strip:
    """Numbers of a row that are stored at once, and the values among them that are not known yet."""

    array: str
    start: int
    numbers: list[Operand]
    missing: set[int]


class RowKernel(Kernel):
    """Writes the kernel of a program without loops; it returns whether all results are finite.

    ``register`` is the letter by which assembly calls a register for all lanes, None where lines cannot be asked for.
    """

    returns = "i1"

    def __init__(self, program: Program, interface: Interface, lanes: int, register: str | None) -> None:
        super().__init__(program, interface, lanes)
        self.register = register
        self.sizes: dict[str, int] = {}
        self.strips = self._strips()
        self.wanted: dict[int, list[_Strip]] = {}  # by value, the strips that are still to be written
        for strip in self.strips:
            for x in strip.missing:
                self.wanted.setdefault(x, []).append(strip)
        self.names: dict[int, str] = {}  # of values that have gone through a request
        self.slots: dict[int, int] = {}
        self.free: list[int] = []
        fine = all(math.isfinite(x) for strip in self.strips for x in strip.numbers if type(x) is float)
        self.sums = [constant(0.0 if fine else math.nan, lanes)] * _SUMS

    def _strips(self) -> list[_Strip]:
        """All strips; the last of a row overlaps the one before it."""
        rows: dict[str, dict[int, Operand]] = {}
        for n in self.program.root.order:
            if self.program.operations[n] == "store":
                address, (x,) = self.program.details[n], self.program.operands[n]
                rows.setdefault(address.array, {})[address.offset] = x
        strips = []
        for array, row in rows.items():
            size = self.sizes[array] = len(row)
            for k in range(0, size, self.lanes):
                start = max(0, min(k, size - self.lanes))
                numbers = [row[i] for i in range(start, min(start + self.lanes, size))]
                strips.append(_Strip(array, start, numbers, {x for x in numbers if type(x) is int}))
        return strips

    def body(self) -> None:
        for strip in self.strips:
            if not strip.missing:
                self.write(strip, {})
        done = 0
        for place, array, lines in self.requests():
            self.block(Block(self.program.root.order[done : place + 1]))
            self.ask(self.program.root.order[place], array, lines)
            done = place + 1
        self.block(Block(self.program.root.order[done:]))
        total = self.sums[0]
        for other in self.sums[1:]:
            total, last = self.name(), total
            self.lines.append(f"  {total} = fadd {self.type} {last}, {other}")
        self.lines += [*all_ordered(self.lanes, total), "  ret i1 %fine"]

    def value(self, x: Operand | tuple[float, ...]) -> str:
        return self.names[x] if type(x) is int and x in self.names else super().value(x)

    def requests(self) -> list[tuple[int, str, range]]:
        """After which place in the order which lines of a result are asked for; none if there is no room for that."""
        order, operations = self.program.root.order, self.program.operations
        places = [k for k in range(int(_ASKED * len(order))) if operations[order[k]] in BINARY]
        groups = [
            (array, range(first, min(first + _TOGETHER * _LINE, 8 * self.lanes * size), _LINE))
            for array, size in self.sizes.items()
            for first in range(0, 8 * self.lanes * size, _TOGETHER * _LINE)
        ]
        if self.register is None or len(places) < len(groups):
            return []
        return [(places[len(places) * k // len(groups)], *group) for k, group in enumerate(groups)]

    def ask(self, n: int, array: str, lines: range) -> None:
        """Ask for lines when a value is known."""
        text, name = "\\0A".join(f"prefetchw {line}($2)" for line in lines), self.name()
        through = f'asm "{text}", "={self.register},0,r"({self.type} {self.value(n)}, ptr %{array})'
        self.lines.append(f"  {name} = call {self.type} {through}")
        self.names[n] = name

    def store(self, x: Operand, address: Address) -> None:
        """The first store of a value tells that it is known; constants were known before."""
        if type(x) is int and any(x in strip.missing for strip in self.wanted[x]):
            self.know(x)

    def know(self, x: int) -> None:
        """Take the sign off a value's zeros, look whether it is finite, and write the strips that lacked it alone."""
        strips = list(self.wanted[x])
        settled, total = self.name(), self.name()
        terms = f"{self.type} {settled}, {self.type} zeroinitializer, {self.type} {self.sums[0]}"
        self.lines.append(f"  {settled} = fadd {self.type} {self.value(x)}, zeroinitializer")
        self.lines.append(f"  {total} = call {self.type} @llvm.fmuladd.v{self.lanes}f64({terms})")
        self.sums = [*self.sums[1:], total]
        for strip in strips:
            strip.missing.remove(x)
        if any(strip.missing for strip in strips):
            self.slots[x] = self.free.pop() if self.free else len(self.slots)
            self.lines.append(f"  store {self.type} {settled}, ptr {self.slot(x)}, align {self.align}")
        for strip in strips:
            if not strip.missing:
                self.write(strip, {x: settled})

    def slot(self, x: int) -> str:
        name = self.name()
        self.lines.append(f"  {name} = getelementptr inbounds {self.type}, ptr %work, i64 {self.slots[x]}")
        return name

    def write(self, strip: _Strip, known: dict[int, str]) -> None:
        """Turn and store a strip; what is not ``known`` by name is in its slot."""
        columns = []
        for x in strip.numbers:
            if type(x) is int and x not in known:
                pointer, known[x] = self.slot(x), self.name()
                self.lines.append(f"  {known[x]} = load {self.type}, ptr {pointer}, align {self.align}")
            columns.append(known[x] if type(x) is int else constant(x + 0.0, self.lanes))
        for x in {x for x in strip.numbers if type(x) is int}:
            self.wanted[x].remove(strip)
            if not self.wanted[x] and x in self.slots:
                self.free.append(self.slots.pop(x))
        width, self.fresh = len(columns), self.fresh + 1
        lines, rows = transpose([*columns, *["poison"] * (self.lanes - width)], self.lanes, f"s{self.fresh}")
        self.lines += lines
        mask = ", ".join(f"i1 {int(k < width)}" for k in range(self.lanes))
        for r, row in enumerate(rows):
            pointer, place = self.name(), r * self.sizes[strip.array] + strip.start
            self.lines.append(f"  {pointer} = getelementptr inbounds double, ptr %{strip.array}, i64 {place}")
            if width == self.lanes:
                self.lines.append(f"  store {self.type} {row}, ptr {pointer}, align 8")
            else:
                part = f"{self.type} {row}, ptr {pointer}, i32 8, <{self.lanes} x i1> <{mask}>"
                self.lines.append(f"  call void @llvm.masked.store.v{self.lanes}f64.p0({part})")


def module(program: Program, interface: Interface, lanes: int, register: str | None) -> str:
    """The text of an LLVM module of such a kernel and ``batch``."""
    kernel = RowKernel(program, interface, lanes, register).text()
    return "\n".join([kernel, pack(lanes), _COPY, batch(interface, lanes, rows=True), _declarations(lanes)])


def _declarations(lanes: int) -> str:
    kind = f"<{lanes} x double>"
    return declarations(lanes) + (
        f"declare {kind} @llvm.fmuladd.v{lanes}f64({kind}, {kind}, {kind})\n"
        f"declare void @llvm.masked.store.v{lanes}f64.p0({kind}, ptr, i32, <{lanes} x i1>)\n"
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
