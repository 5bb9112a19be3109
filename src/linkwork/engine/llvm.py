"""From intermediate code to LLVM's: the same program over one state, or over the lanes of a vector.

A module has up to three functions.

    kernel   the program, for one tile: an element k of an array is ``lanes`` numbers at k * lanes
    batch    i64 (ptr to a list of 8-byte words): packs states into tiles, runs the kernel, unpacks; returns a status
    single   a builtin for one state that takes its arrays by the buffer protocol (builtin.py)

Words of the list that ``batch`` takes: number of states, tile buffer, then for each argument its address and the distance of
its states in numbers, then each result's address, then the addresses of ``work``, ``square``, ``data``, ``ints``, and the sizes.
Status bits: 1 an argument is not finite, 2 a result is not finite. No fast-math flag is ever set, and nothing is contracted, so
results have the same bits for every number of lanes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.ir import Address, Block, Loop, Operand, Program

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


@dataclass(frozen=True)
class Interface:
    """The arrays of a program: how many numbers a state has in each, as a whole number or the name of a size."""

    arguments: tuple[int | str, ...]
    results: tuple[int | str, ...]
    sizes: tuple[str, ...] = ()

    @property
    def arrays(self) -> list[str]:
        return [
            *(f"argument{k}" for k in range(len(self.arguments))),
            *(f"result{k}" for k in range(len(self.results))),
        ]


def module(program: Program, interface: Interface, lanes: int, more: str = "") -> str:
    """The text of an LLVM module; ``more`` is the text of further functions, which may call the kernel."""
    kernel = _Kernel(program, interface, lanes).text()
    return "\n".join([kernel, _pack(lanes), _unpack(lanes), _batch(interface, lanes), more, _declarations(lanes)])


def constants(numbers: Sequence[int]) -> str:
    """A function ``constant`` that tells whole numbers which the code was made with."""
    array = ", ".join(f"i64 {number}" for number in numbers)
    return f"""
@numbers = internal constant [{len(numbers)} x i64] [{array}]
define i64 @constant(i64 %which) nounwind {{
  %place = getelementptr inbounds [{len(numbers)} x i64], ptr @numbers, i64 0, i64 %which
  %number = load i64, ptr %place, align 8
  ret i64 %number
}}
"""


def vector(lanes: int) -> str:
    return "double" if lanes == 1 else f"<{lanes} x double>"


def _constant(value: float, lanes: int) -> str:
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return bits if lanes == 1 else f"splat (double {bits})"


class _Kernel:
    """Writes the kernel."""

    def __init__(self, program: Program, interface: Interface, lanes: int) -> None:
        self.program, self.interface, self.lanes = program, interface, lanes
        self.type = vector(lanes)
        self.lines: list[str] = []
        self.fresh = 0
        self.label = "entry"

    def text(self) -> str:
        pointers = ", ".join(f"ptr noalias nocapture %{name}" for name in self.interface.arrays)
        sizes = "".join(f", i64 %{name}" for name in self.interface.sizes)
        tables = ", ".join(f"ptr noalias nocapture %{name}" for name in _TABLES)
        self.block(self.program.root)
        return (
            f"define internal void @kernel({pointers}, {tables}{sizes}) nounwind {{\nentry:\n" + "\n".join(self.lines) + "\n  ret void\n}\n"
        )

    def name(self) -> str:
        self.fresh += 1
        return f"%t{self.fresh}"

    def value(self, x: Operand) -> str:
        return f"%v{x}" if type(x) is int else _constant(x, self.lanes)

    def place(self, address: Address, lanes: int) -> str:
        """A pointer to the element."""
        index: str = str(address.offset * lanes)
        if address.terms:
            total = None
            for number, stride in address.terms:
                term = f"%v{number}" if number >= 0 else f"%{stride}"
                if stride != 1 and number >= 0:
                    scaled = self.name()
                    factor = stride if isinstance(stride, int) else f"%{stride}"
                    self.lines.append(f"  {scaled} = mul i64 %v{number}, {factor}")
                    term = scaled
                if total is not None:
                    both = self.name()
                    self.lines.append(f"  {both} = add i64 {total}, {term}")
                    term = both
                total = term
            if address.offset:
                both = self.name()
                self.lines.append(f"  {both} = add i64 {total}, {address.offset}")
                total = both
            if lanes > 1:
                scaled = self.name()
                self.lines.append(f"  {scaled} = mul i64 {total}, {lanes}")
                total = scaled
            index = str(total)
        pointer = self.name()
        element = "i64" if address.array == "ints" else "double"
        self.lines.append(f"  {pointer} = getelementptr inbounds {element}, ptr %{address.array}, i64 {index}")
        return pointer

    def block(self, block: Block) -> None:
        operations, operands, details = self.program.operations, self.program.operands, self.program.details
        kind, value, lines = self.type, self.value, self.lines
        for n in block.order:
            operation, args, detail = operations[n], operands[n], details[n]
            if operation in _BINARY:
                lines.append(f"  %v{n} = {_BINARY[operation]} {kind} {value(args[0])}, {value(args[1])}")
            elif operation == "neg":
                lines.append(f"  %v{n} = fneg {kind} {value(args[0])}")
            elif operation == "sqrt":
                suffix = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
                lines.append(f"  %v{n} = call {kind} @llvm.sqrt.{suffix}({kind} {value(args[0])})")
            elif operation == "less":
                condition = self.name()
                bit = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
                lines.append(f"  {condition} = fcmp olt {kind} {value(args[0])}, {value(args[1])}")
                lines.append(f"  %v{n} = select {bit} {condition}, {kind} {value(args[2])}, {kind} {value(args[3])}")
            elif operation in ("turn_sin", "turn_cos"):
                self.turn(n, operation == "turn_cos", *map(value, args))
            elif operation == "load":
                self.load(n, detail)
            elif operation == "store":
                pointer = self.place(detail, self.lanes)
                lines.append(f"  store {kind} {value(args[0])}, ptr {pointer}, align {self.align}")
            elif operation == "index":
                pointer = self.place(detail, 1)
                lines.append(f"  %v{n} = load i64, ptr {pointer}, align 8")
            elif operation == "loop":
                self.loop(detail)
            else:
                raise ValueError(f"no machine code for {operation!r}; trace with expand=True")

    def turn(self, n: int, cosine: bool, turns: str, s: str, c: str) -> None:
        """Sine: s, c, -s, -c by the quarter; cosine: c, -s, -c, s. The sign is flipped as a bit."""
        whole = "i64" if self.lanes == 1 else f"<{self.lanes} x i64>"
        bit = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

        def number(x: int) -> str:
            return str(x) if self.lanes == 1 else f"splat (i64 {x})"

        a, b = (s, c) if cosine else (c, s)
        t, kind, lines = [self.name() for _ in range(9)], self.type, self.lines
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
                f"  %v{n} = shufflevector {self.type} {first}, {self.type} poison, <{self.lanes} x i32> zeroinitializer",
            ]
            return
        pointer = self.place(address, self.lanes)
        self.lines.append(f"  %v{n} = load {self.type}, ptr {pointer}, align {self.align}")

    def loop(self, loop: Loop) -> None:
        self.fresh += 1
        tag, lines, counter = f"L{self.fresh}", self.lines, f"%v{loop.counter}"
        last = loop.last if isinstance(loop.last, int) else f"%{loop.last}"
        start = f"%v{loop.start}" if loop.walk == "climb" else str(loop.first if loop.walk == "up" else last)
        before = self.label
        lines += [f"  br label %{tag}.head", f"{tag}.head:"]
        lines.append(f"  {counter} = phi i64 [ {start}, %{before} ], [ %{tag}.next, %{tag}.turn ]")
        if loop.walk == "climb":
            lines.append(f"  %{tag}.more = icmp ne i64 {counter}, 0")
        elif loop.walk == "up":
            lines.append(f"  %{tag}.more = icmp sle i64 {counter}, {last}")
        else:
            lines.append(f"  %{tag}.more = icmp sge i64 {counter}, {loop.first}")
        lines.append(f"  br i1 %{tag}.more, label %{tag}.body, label %{tag}.done")
        lines.append(f"{tag}.body:")
        self.label = f"{tag}.body"
        if len(loop.cases) == 1:
            self.block(loop.cases[0][1])
            lines.append(f"  br label %{tag}.turn")
        else:
            where = self.place(Address("ints", 0, ((loop.counter, _INTS),)), 1)
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
            lines.append(f"  %{tag}.next = add i64 {counter}, {1 if loop.walk == 'up' else -1}")
        lines += [f"  br label %{tag}.head", f"{tag}.done:"]
        self.label = f"{tag}.done"


_TABLES = ("work", "square", "data", "ints")
_INTS = 4
"""Whole numbers for each body in ``ints``: kind, parent, start in q, start in v."""


def _transpose(rows: list[str], lanes: int, prefix: str) -> tuple[list[str], list[str]]:
    """Shuffles that turn ``lanes`` rows into columns, and the columns' names."""
    lines: list[str] = []
    kind = vector(lanes)
    current, step = list(rows), 1
    while step < lanes:
        following = list(current)
        for i in range(lanes):
            if i & step:
                continue
            a, b = current[i], current[i + step]
            low = [k if not k & step else lanes + (k ^ step) for k in range(lanes)]
            high = [(k ^ step) if not k & step else lanes + k for k in range(lanes)]
            for slot, mask in ((i, low), (i + step, high)):
                name = f"%{prefix}.{step}.{slot}"
                shown = ", ".join(f"i32 {m}" for m in mask)
                lines.append(f"  {name} = shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{shown}>")
                following[slot] = name
        current, step = following, 2 * step
    return lines, current


def _pack(lanes: int) -> str:
    """i1 pack(source, stride, valid, count, tile): true if all numbers are finite."""
    kind = vector(lanes)
    lines = [
        "define internal i1 @pack(ptr nocapture %source, i64 %stride, i64 %valid, i64 %count, ptr nocapture %tile) "
        "nounwind {",
        "entry:",
        "  %last = sub i64 %valid, 1",
    ]
    for r in range(lanes):
        lines += [
            f"  %c{r} = icmp slt i64 {r}, %last",
            f"  %i{r} = select i1 %c{r}, i64 {r}, i64 %last",
            f"  %o{r} = mul i64 %i{r}, %stride",
            f"  %p{r} = getelementptr inbounds double, ptr %source, i64 %o{r}",
        ]
    zero = "0.0" if lanes == 1 else "zeroinitializer"
    lines += [f"  %whole = and i64 %count, {-lanes}", "  br label %head", "head:"]
    lines += [
        "  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]",
        f"  %sum = phi {kind} [ {zero}, %entry ], [ %sum.next, %body ]",
        "  %more = icmp slt i64 %k, %whole",
        "  br i1 %more, label %body, label %rest",
        "body:",
    ]
    for r in range(lanes):
        lines += [
            f"  %q{r} = getelementptr inbounds double, ptr %p{r}, i64 %k",
            f"  %r{r} = load {kind}, ptr %q{r}, align 8",
        ]
    shuffles, columns = _transpose([f"%r{r}" for r in range(lanes)], lanes, "s")
    lines += shuffles
    lines.append(f"  %kl = mul i64 %k, {lanes}")
    total = "%sum"
    for r, column in enumerate(columns):
        name = "%sum.next" if r == lanes - 1 else f"%sum.{r}"
        lines += [
            f"  %w{r} = add i64 %kl, {r * lanes}",
            f"  %d{r} = getelementptr inbounds double, ptr %tile, i64 %w{r}",
            f"  store {kind} {column}, ptr %d{r}, align {8 * lanes}",
            f"  %z{r} = fsub {kind} {column}, {column}",
            f"  {name} = fadd {kind} {total}, %z{r}",
        ]
        total = name
    lines += [f"  %k.next = add i64 %k, {lanes}", "  br label %head", "rest:", "  br label %tail", "tail:"]
    lines += [
        "  %j = phi i64 [ %whole, %rest ], [ %j.next, %one ]",
        f"  %rsum = phi {kind} [ %sum, %rest ], [ %rsum.next, %one ]",
        "  %jmore = icmp slt i64 %j, %count",
        "  br i1 %jmore, label %one, label %done",
        "one:",
    ]
    current = "poison"
    for r in range(lanes):
        lines += [
            f"  %g{r} = getelementptr inbounds double, ptr %p{r}, i64 %j",
            f"  %h{r} = load double, ptr %g{r}, align 8",
        ]
        if lanes > 1:
            lines.append(f"  %e{r} = insertelement {kind} {current}, double %h{r}, i32 {r}")
            current = f"%e{r}"
    column = current if lanes > 1 else "%h0"
    lines += [
        f"  %jl = mul i64 %j, {lanes}",
        "  %jd = getelementptr inbounds double, ptr %tile, i64 %jl",
        f"  store {kind} {column}, ptr %jd, align {8 * lanes}",
        f"  %jz = fsub {kind} {column}, {column}",
        f"  %rsum.next = fadd {kind} %rsum, %jz",
        "  %j.next = add i64 %j, 1",
        "  br label %tail",
        "done:",
        *_all_ordered(lanes, "%rsum"),
        "  ret i1 %fine",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _all_ordered(lanes: int, total: str) -> list[str]:
    """%fine: no lane of the sum is NaN."""
    if lanes == 1:
        return [f"  %fine = fcmp ord double {total}, 0.0"]
    bits = [f"  %ord = fcmp ord <{lanes} x double> {total}, zeroinitializer"]
    current = None
    for r in range(lanes):
        bits.append(f"  %ord{r} = extractelement <{lanes} x i1> %ord, i32 {r}")
        if current is None:
            current = f"%ord{r}"
        else:
            name = "%fine" if r == lanes - 1 else f"%and{r}"
            bits.append(f"  {name} = and i1 {current}, %ord{r}")
            current = name
    return bits


def _unpack(lanes: int) -> str:
    """i1 unpack(tile, target, valid, count): the first ``valid`` states of a tile into rows; true if they are finite.

    A zero loses its sign here, so that it has the same bits whichever way it was computed.
    """
    kind = vector(lanes)
    zero = "0.0" if lanes == 1 else "zeroinitializer"
    lines = [
        "define internal i1 @unpack(ptr nocapture %tile, ptr nocapture %target, i64 %valid, i64 %count) nounwind {",
        "entry:",
        f"  %full = icmp eq i64 %valid, {lanes}",
        f"  %whole.0 = and i64 %count, {-lanes}",
        "  %whole = select i1 %full, i64 %whole.0, i64 0",
    ]
    for r in range(lanes):
        lines += [
            f"  %o{r} = mul i64 %count, {r}",
            f"  %p{r} = getelementptr inbounds double, ptr %target, i64 %o{r}",
        ]
    lines += [
        "  br label %head",
        "head:",
        "  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]",
        f"  %sum = phi {kind} [ {zero}, %entry ], [ %sum.next, %body ]",
        "  %more = icmp slt i64 %k, %whole",
        "  br i1 %more, label %body, label %rest",
        "body:",
        f"  %kl = mul i64 %k, {lanes}",
    ]
    total = "%sum"
    for r in range(lanes):
        name = "%sum.next" if r == lanes - 1 else f"%sum.{r}"
        lines += [
            f"  %w{r} = add i64 %kl, {r * lanes}",
            f"  %d{r} = getelementptr inbounds double, ptr %tile, i64 %w{r}",
            f"  %y{r} = load {kind}, ptr %d{r}, align {8 * lanes}",
            f"  %x{r} = fadd {kind} %y{r}, {zero}",
            f"  %z{r} = fsub {kind} %x{r}, %x{r}",
            f"  {name} = fadd {kind} {total}, %z{r}",
        ]
        total = name
    shuffles, rows = _transpose([f"%x{r}" for r in range(lanes)], lanes, "s")
    lines += shuffles
    for r, row in enumerate(rows):
        lines += [
            f"  %q{r} = getelementptr inbounds double, ptr %p{r}, i64 %k",
            f"  store {kind} {row}, ptr %q{r}, align 8",
        ]
    lines += [
        f"  %k.next = add i64 %k, {lanes}",
        "  br label %head",
        "rest:",
        *(_all_ordered(lanes, "%sum")),
        "  %first = select i1 %fine, double 0.0, double 0x7FF8000000000000",
        "  br label %state",
        "state:",
        "  %s = phi i64 [ 0, %rest ], [ %s.next, %state.done ]",
        "  %bad = phi double [ %first, %rest ], [ %j.bad, %state.done ]",
        "  %smore = icmp slt i64 %s, %valid",
        "  br i1 %smore, label %numbers, label %done",
        "numbers:",
        "  %row.at = mul i64 %s, %count",
        "  br label %number",
        "number:",
        "  %j = phi i64 [ %whole, %numbers ], [ %j.next, %one ]",
        "  %j.bad = phi double [ %bad, %numbers ], [ %one.bad, %one ]",
        "  %jmore = icmp slt i64 %j, %count",
        "  br i1 %jmore, label %one, label %state.done",
        "one:",
        f"  %jl = mul i64 %j, {lanes}",
        "  %js = add i64 %jl, %s",
        "  %jp = getelementptr inbounds double, ptr %tile, i64 %js",
        "  %jy = load double, ptr %jp, align 8",
        "  %jx = fadd double %jy, 0.0",
        "  %jt = add i64 %row.at, %j",
        "  %jq = getelementptr inbounds double, ptr %target, i64 %jt",
        "  store double %jx, ptr %jq, align 8",
        "  %jz = fsub double %jx, %jx",
        "  %one.bad = fadd double %j.bad, %jz",
        "  %j.next = add i64 %j, 1",
        "  br label %number",
        "state.done:",
        "  %s.next = add i64 %s, 1",
        "  br label %state",
        "done:",
        "  %all = fcmp ord double %bad, 0.0",
        "  ret i1 %all",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _batch(interface: Interface, lanes: int) -> str:
    arguments, results = interface.arguments, interface.results
    lines = ["define i64 @batch(ptr nocapture %words) nounwind {", "entry:"]
    word = 0

    def read(name: str, kind: str) -> None:
        nonlocal word
        lines.append(f"  %{name}.at = getelementptr inbounds i64, ptr %words, i64 {word}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
        word += 1

    read("states", "i64")
    read("buffer", "ptr")
    for k in range(len(arguments)):
        read(f"from{k}", "ptr")
        read(f"stride{k}", "i64")
    for k in range(len(results)):
        read(f"to{k}", "ptr")
    for name in _TABLES:
        read(name, "ptr")
    for name in interface.sizes:
        read(name, "i64")
    counts = [str(n) if isinstance(n, int) else f"%{n}" for n in (*arguments, *results)]
    place = "%buffer"
    tiles = []
    for k, size in enumerate(counts):
        tiles.append(place)
        lines.append(f"  %room{k} = mul i64 {size}, {lanes}")
        lines.append(f"  %tile{k} = getelementptr inbounds double, ptr {place}, i64 %room{k}")
        place = f"%tile{k}"
    lines += [
        "  br label %head",
        "head:",
        "  %done = phi i64 [ 0, %entry ], [ %done.next, %body ]",
        "  %status = phi i64 [ 0, %entry ], [ %status.next, %body ]",
        "  %more = icmp slt i64 %done, %states",
        "  br i1 %more, label %body, label %end",
        "body:",
        "  %left = sub i64 %states, %done",
        f"  %enough = icmp sge i64 %left, {lanes}",
        f"  %valid = select i1 %enough, i64 {lanes}, i64 %left",
    ]
    fine = "true"
    for k in range(len(arguments)):
        lines += [
            f"  %a{k} = mul i64 %done, %stride{k}",
            f"  %b{k} = getelementptr inbounds double, ptr %from{k}, i64 %a{k}",
            f"  %ok{k} = call i1 @pack(ptr %b{k}, i64 %stride{k}, i64 %valid, i64 {counts[k]}, ptr {tiles[k]})",
            f"  %fine{k} = and i1 {fine}, %ok{k}",
        ]
        fine = f"%fine{k}"
    passed = ", ".join(f"ptr {tile}" for tile in tiles)
    sizes = "".join(f", i64 %{name}" for name in interface.sizes)
    lines.append(f"  call void @kernel({passed}, {', '.join(f'ptr %{name}' for name in _TABLES)}{sizes})")
    good = "true"
    for k in range(len(results)):
        size, tile = counts[len(arguments) + k], tiles[len(arguments) + k]
        lines += [
            f"  %e{k} = mul i64 %done, {size}",
            f"  %f{k} = getelementptr inbounds double, ptr %to{k}, i64 %e{k}",
            f"  %gk{k} = call i1 @unpack(ptr {tile}, ptr %f{k}, i64 %valid, i64 {size})",
            f"  %good{k} = and i1 {good}, %gk{k}",
        ]
        good = f"%good{k}"
    lines += [
        f"  %bad.in = select i1 {fine}, i64 0, i64 1",
        f"  %bad.out = select i1 {good}, i64 0, i64 2",
        "  %bad = or i64 %bad.in, %bad.out",
        "  %status.next = or i64 %status, %bad",
        f"  %done.next = add i64 %done, {lanes}",
        "  br label %head",
        "end:",
        "  ret i64 %status",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _declarations(lanes: int) -> str:
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"
    return f"declare {vector(lanes)} @llvm.sqrt.{suffix}({vector(lanes)})\n"
