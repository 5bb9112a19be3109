"""From intermediate code to LLVM's: the same program over one state, or over the lanes of a vector.

A module has up to three functions.

    kernel   the program, for one tile: an element k of an array is ``lanes`` numbers at k * lanes
    batch    i64 (ptr to a list of 8-byte words): packs states into tiles, runs the kernel, unpacks (or has a kernel
             that writes rows, rows.py); returns a status
    single   a builtin for one state that takes its arrays by the buffer protocol (builtin.py)

Words of the list that ``batch`` takes: number of states, tile buffer, then for each argument its address and the
distance of its states in numbers, then each result's address, then the addresses of ``work``, ``square``, ``data``,
``ints``, and the sizes. Status bits: 1 an argument is not finite, 2 a result is not finite. No fast-math flag is ever
set, and nothing is contracted, so results have the same bits for every number of lanes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from linkwork.engine.ir import Address, Block, Loop, Operand, Program
from linkwork.engine.tiles import TABLES, Interface, batch, pack, unpack, vector

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def module(program: Program, interface: Interface, lanes: int, more: str = "") -> str:
    """The text of an LLVM module; ``more`` is the text of further functions, which may call the kernel."""
    kernel = Kernel(program, interface, lanes).text()
    widths = {lanes, *map(program.lanes, program.root.order)}
    return "\n".join([kernel, pack(lanes), unpack(lanes), batch(interface, lanes), more, declarations(widths)])


def constants(numbers: Sequence[int]) -> str:
    """A function ``constant`` that tells whole numbers which the code was made with, after how many there are."""
    numbers = [len(numbers), *numbers]
    array = ", ".join(f"i64 {number}" for number in numbers)
    return f"""
@numbers = internal constant [{len(numbers)} x i64] [{array}]
define i64 @constant(i64 %which) nounwind {{
  %place = getelementptr inbounds [{len(numbers)} x i64], ptr @numbers, i64 0, i64 %which
  %number = load i64, ptr %place, align 8
  ret i64 %number
}}
"""


def _bits(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constant(value: float, lanes: int) -> str:
    return _bits(value) if lanes == 1 else f"splat (double {_bits(value)})"


class Kernel:
    """Writes the kernel."""

    returns = "void"

    def __init__(self, program: Program, interface: Interface, lanes: int) -> None:
        self.program, self.interface, self.lanes = program, interface, lanes
        self.type = vector(lanes)
        self.lines: list[str] = []
        self.fresh = 0
        self.label = "entry"

    def text(self) -> str:
        pointers = ", ".join(f"ptr noalias nocapture %{name}" for name in self.interface.arrays)
        sizes = "".join(f", i64 %{name}" for name in self.interface.sizes)
        tables = ", ".join(f"ptr noalias nocapture %{name}" for name in TABLES)
        self.body()
        return (
            f"define internal {self.returns} @kernel({pointers}, {tables}{sizes}) nounwind {{\nentry:\n"
            + "\n".join(self.lines)
            + "\n}\n"
        )

    def body(self) -> None:
        self.block(self.program.root)
        self.lines.append("  ret void")

    def name(self) -> str:
        self.fresh += 1
        return f"%t{self.fresh}"

    def value(self, x: Operand | tuple[float, ...]) -> str:
        if isinstance(x, tuple):
            return "<" + ", ".join(f"double {_bits(number)}" for number in x) + ">"
        return f"%v{x}" if type(x) is int else constant(x, self.lanes)

    def place(self, address: Address, lanes: int) -> str:
        """A pointer to the element."""
        index = self.scaled(self.whole(address), lanes)
        pointer = self.name()
        element = "i64" if address.array == "ints" else "double"
        self.lines.append(f"  {pointer} = getelementptr inbounds {element}, ptr %{address.array}, i64 {index}")
        return pointer

    def whole(self, address: Address) -> str:
        """offset + Σ stride · index."""
        total = None
        for number, stride in address.terms:
            term = f"%v{number}" if number >= 0 else f"%{stride}"
            if stride != 1 and number >= 0:
                term = self.name()
                factor = stride if isinstance(stride, int) else f"%{stride}"
                self.lines.append(f"  {term} = mul i64 %v{number}, {factor}")
            total = term if total is None else self.sum(total, term)
        if total is None:
            return str(address.offset)
        return self.sum(total, str(address.offset)) if address.offset else total

    def sum(self, a: str, b: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = add i64 {a}, {b}")
        return name

    def scaled(self, index: str, factor: int) -> str:
        if factor == 1 or not index.startswith("%"):
            return index if factor == 1 else str(int(index) * factor)
        name = self.name()
        self.lines.append(f"  {name} = mul i64 {index}, {factor}")
        return name

    def block(self, block: Block) -> None:
        operations, operands, details = self.program.operations, self.program.operands, self.program.details
        value, lines = self.value, self.lines
        for n in block.order:
            operation, args, detail = operations[n], operands[n], details[n]
            lanes = max(self.lanes, self.program.lanes(n))
            kind = vector(lanes)
            if operation in BINARY:
                lines.append(f"  %v{n} = {BINARY[operation]} {kind} {value(args[0])}, {value(args[1])}")
            elif operation == "neg":
                lines.append(f"  %v{n} = fneg {kind} {value(args[0])}")
            elif operation == "sqrt":
                lines.append(f"  %v{n} = call {kind} @llvm.sqrt.{_suffix(lanes)}({kind} {value(args[0])})")
            elif operation == "less":
                condition = self.name()
                bit = "i1" if lanes == 1 else f"<{lanes} x i1>"
                lines.append(f"  {condition} = fcmp olt {kind} {value(args[0])}, {value(args[1])}")
                lines.append(f"  %v{n} = select {bit} {condition}, {kind} {value(args[2])}, {kind} {value(args[3])}")
            elif operation in ("turn_sin", "turn_cos"):
                self.turn(n, lanes, operation == "turn_cos", *map(value, args))
            elif operation == "gather":
                self.gather(n, kind, args)
            elif operation == "lane":
                wide = vector(self.program.lanes(args[0]))
                lines.append(f"  %v{n} = extractelement {wide} {value(args[0])}, i32 {detail}")
            elif operation == "load":
                self.load(n, detail)
            elif operation == "store":
                self.store(args[0], detail)
            elif operation == "index":
                pointer = self.place(detail, 1)
                lines.append(f"  %v{n} = load i64, ptr {pointer}, align 8")
            elif operation == "whole":
                lines.append(f"  %v{n} = add i64 {self.whole(detail)}, 0")
            elif operation == "loop":
                self.loop(detail)
            else:
                raise ValueError(f"no machine code for {operation!r}; trace with expand=True")

    def gather(self, n: int, kind: str, args: Sequence[Operand]) -> None:
        so_far = "poison"
        for lane, x in enumerate(args):
            name = f"%v{n}" if lane == len(args) - 1 else self.name()
            self.lines.append(f"  {name} = insertelement {kind} {so_far}, double {self.value(x)}, i32 {lane}")
            so_far = name

    def turn(self, n: int, lanes: int, cosine: bool, turns: str, s: str, c: str) -> None:
        """Sine: s, c, -s, -c by the quarter; cosine: c, -s, -c, s. The sign is flipped as a bit."""
        whole = "i64" if lanes == 1 else f"<{lanes} x i64>"
        bit = "i1" if lanes == 1 else f"<{lanes} x i1>"

        def number(x: int) -> str:
            return str(x) if lanes == 1 else f"splat (i64 {x})"

        a, b = (s, c) if cosine else (c, s)
        t, kind, lines = [self.name() for _ in range(9)], vector(lanes), self.lines
        lines += [
            f"  {t[0]} = bitcast {kind} {turns} to {whole}",
            f"  {t[1]} = and {whole} {t[0]}, {number(1)}",
            f"  {t[2]} = icmp ne {whole} {t[1]}, {number(0)}",
            f"  {t[3]} = select {bit} {t[2]}, {kind} {a}, {kind} {b}",
            f"  {t[4]} = add {whole} {t[0]}, {number(1 if cosine else 0)}",
            f"  {t[5]} = shl {whole} {t[4]}, {number(62)}",
            f"  {t[6]} = and {whole} {t[5]}, {number(-(2**63))}",
            f"  {t[7]} = bitcast {kind} {t[3]} to {whole}",
            f"  {t[8]} = xor {whole} {t[7]}, {t[6]}",
            f"  %v{n} = bitcast {whole} {t[8]} to {kind}",
        ]

    @property
    def align(self) -> int:
        return 8 * self.lanes

    def load(self, n: int, address: Address) -> None:
        if address.array == "data" and self.lanes > 1:  # a model's number, the same for all lanes
            pointer, one, first = self.place(address, 1), self.name(), self.name()
            self.lines += [
                f"  {one} = load double, ptr {pointer}, align 8",
                f"  {first} = insertelement {self.type} poison, double {one}, i32 0",
                f"  %v{n} = shufflevector {self.type} {first}, {self.type} poison, "
                f"<{self.lanes} x i32> zeroinitializer",
            ]
            return
        pointer = self.place(address, self.lanes)
        self.lines.append(f"  %v{n} = load {self.type}, ptr {pointer}, align {self.align}")

    def store(self, x: Operand, address: Address) -> None:
        pointer = self.place(address, self.lanes)
        self.lines.append(f"  store {self.type} {self.value(x)}, ptr {pointer}, align {self.align}")

    def loop(self, loop: Loop) -> None:
        self.fresh += 1
        tag, lines, counter = f"L{self.fresh}", self.lines, f"%v{loop.counter}"
        first, last = (bound if isinstance(bound, int) else f"%{bound}" for bound in (loop.first, loop.last))
        start = str(last if loop.walk == "down" else first) if loop.start is None else f"%v{loop.start}"
        before = self.label
        lines += [f"  br label %{tag}.head", f"{tag}.head:"]
        lines.append(f"  {counter} = phi i64 [ {start}, %{before} ], [ %{tag}.next, %{tag}.turn ]")
        if loop.walk == "climb":
            stop = "0" if loop.stop is None else f"%v{loop.stop}"
            lines.append(f"  %{tag}.more = icmp ne i64 {counter}, {stop}")
        elif loop.walk == "down":
            lines.append(f"  %{tag}.more = icmp sge i64 {counter}, {first}")
        else:
            lines.append(f"  %{tag}.more = icmp sle i64 {counter}, {last}")
        lines.append(f"  br i1 %{tag}.more, label %{tag}.body, label %{tag}.done")
        lines.append(f"{tag}.body:")
        self.label = f"{tag}.body"
        if len(loop.cases) == 1:
            self.block(loop.cases[0][1])
            lines.append(f"  br label %{tag}.turn")
        else:
            where = self.place(loop.kind or Address("ints", 0, ((loop.counter, _INTS),)), 1)
            lines.append(f"  %{tag}.kind = load i64, ptr {where}, align 8")
            targets = " ".join(f"i64 {kind}, label %{tag}.case{kind}" for kind, _ in loop.cases)
            lines.append(f"  switch i64 %{tag}.kind, label %{tag}.turn [ {targets} ]")
            for kind, block in loop.cases:
                lines.append(f"{tag}.case{kind}:")
                self.label = f"{tag}.case{kind}"
                self.block(block)
                lines.append(f"  br label %{tag}.turn")
        lines.append(f"{tag}.turn:")
        if loop.walk == "climb":
            self.label = f"{tag}.turn"
            where = self.place(Address("ints", 1, ((loop.counter, _INTS),)), 1)
            lines.append(f"  %{tag}.next = load i64, ptr {where}, align 8")
        else:
            lines.append(f"  %{tag}.next = add i64 {counter}, {-1 if loop.walk == 'down' else 1}")
        lines += [f"  br label %{tag}.head", f"{tag}.done:"]
        self.label = f"{tag}.done"


_INTS = 4
"""Whole numbers for each body in ``ints``: kind, parent, start in q, start in v."""


def _suffix(lanes: int) -> str:
    return "f64" if lanes == 1 else f"v{lanes}f64"


def declarations(widths: set[int]) -> str:
    """What code with values of so many lanes calls."""
    return "".join(f"declare {vector(n)} @llvm.sqrt.{_suffix(n)}({vector(n)})\n" for n in sorted(widths))
