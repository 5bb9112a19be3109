"""States in and out of tiles: the part of a module that packs rows into lanes, runs the kernel and unpacks the
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TABLES = ("work", "square", "data", "ints")
"""The arrays that a kernel takes besides arguments and results."""


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


def vector(lanes: int) -> str:
    return "double" if lanes == 1 else f"<{lanes} x double>"


def transpose(rows: list[str], lanes: int, prefix: str) -> tuple[list[str], list[str]]:
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


def pack(lanes: int) -> str:
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
    lines += [*_blocks(lanes, "true"), "  br label %head", "head:"]
    lines += [
        "  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]",
        f"  %sum = phi {kind} [ {zero}, %entry ], [ %sum.next, %body ]",
        "  %more = icmp slt i64 %k, %whole",
        "  br i1 %more, label %body, label %rest",
        "body:",
        *_START,
    ]
    for r in range(lanes):
        lines += [
            f"  %q{r} = getelementptr inbounds double, ptr %p{r}, i64 %start",
            f"  %r{r} = load {kind}, ptr %q{r}, align 8",
        ]
    shuffles, columns = transpose([f"%r{r}" for r in range(lanes)], lanes, "s")
    lines += shuffles
    lines.append(f"  %kl = mul i64 %start, {lanes}")
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
        *all_ordered(lanes, "%rsum"),
        "  ret i1 %fine",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _blocks(lanes: int, wanted: str) -> list[str]:
    """%whole, the numbers of a state that go in blocks of ``lanes``: all, if there are so many. The last overlaps."""
    return [
        f"  %final = sub i64 %count, {lanes}",
        "  %many = icmp sge i64 %final, 0",
        f"  %blocks = and i1 %many, {wanted}",
        "  %whole = select i1 %blocks, i64 %count, i64 0",
    ]


_START = ("  %early = icmp slt i64 %k, %final", "  %start = select i1 %early, i64 %k, i64 %final")
"""Where the block of a turn begins: the last one ends with the state."""


def all_ordered(lanes: int, total: str) -> list[str]:
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


def unpack(lanes: int) -> str:
    """i1 unpack(tile, target, stride, valid, count): the first ``valid`` states of a tile into rows; true if finite.

    A zero loses its sign here, so that it has the same bits whichever way it was computed.
    """
    kind = vector(lanes)
    zero = "0.0" if lanes == 1 else "zeroinitializer"
    lines = [
        "define internal i1 @unpack(ptr nocapture %tile, ptr nocapture %target, i64 %stride, i64 %valid, i64 %count) "
        "nounwind {",
        "entry:",
        f"  %full = icmp eq i64 %valid, {lanes}",
        *_blocks(lanes, "%full"),
    ]
    for r in range(lanes):
        lines += [
            f"  %o{r} = mul i64 %stride, {r}",
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
        *_START,
        f"  %kl = mul i64 %start, {lanes}",
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
    shuffles, rows = transpose([f"%x{r}" for r in range(lanes)], lanes, "s")
    lines += shuffles
    for r, row in enumerate(rows):
        lines += [
            f"  %q{r} = getelementptr inbounds double, ptr %p{r}, i64 %start",
            f"  store {kind} {row}, ptr %q{r}, align 8",
        ]
    lines += [
        f"  %k.next = add i64 %k, {lanes}",
        "  br label %head",
        "rest:",
        *(all_ordered(lanes, "%sum")),
        "  %first = select i1 %fine, double 0.0, double 0x7FF8000000000000",
        "  br label %state",
        "state:",
        "  %s = phi i64 [ 0, %rest ], [ %s.next, %state.done ]",
        "  %bad = phi double [ %first, %rest ], [ %j.bad, %state.done ]",
        "  %smore = icmp slt i64 %s, %valid",
        "  br i1 %smore, label %numbers, label %done",
        "numbers:",
        "  %row.at = mul i64 %s, %stride",
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


def told(interface: Interface) -> list[tuple[str, str]]:
    """Types and names of what a kernel takes besides arguments and results."""
    return [*(("ptr", name) for name in TABLES), *(("i64", name) for name in interface.sizes)]


def read_words(names: Sequence[tuple[str, str]]) -> list[str]:
    """Reads the list of words that a function takes, given the types and names of what stands there."""
    lines = []
    for word, (kind, name) in enumerate(names):
        lines.append(f"  %{name}.at = getelementptr inbounds i64, ptr %words, i64 {word}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
    return lines


def room(counts: Sequence[str], lanes: int) -> tuple[list[str], list[str]]:
    """The buffer divided into tiles for so many numbers each, and the names of these."""
    lines, tiles = [], ["%buffer"]
    for k, count in enumerate(counts):
        lines.append(f"  %room{k} = mul i64 {count}, {lanes}")
        lines.append(f"  %tile{k} = getelementptr inbounds double, ptr {tiles[-1]}, i64 %room{k}")
        tiles.append(f"%tile{k}")
    return lines, tiles[:-1]


def batch(interface: Interface, lanes: int, rows: bool = False) -> str:
    """The function ``batch``, for a kernel that leaves its results in tiles, or one that writes ``rows``."""
    arguments, results = interface.arguments, interface.results
    names = [("i64", "states"), ("ptr", "buffer")]
    for k in range(len(arguments)):
        names += [("ptr", f"from{k}"), ("i64", f"stride{k}")]
    names += [*(("ptr", f"to{k}") for k in range(len(results))), *told(interface)]
    counts = [str(n) if isinstance(n, int) else f"%{n}" for n in (*arguments, *results)]
    rooms, tiles = room(counts, lanes)
    lines = ["define i64 @batch(ptr nocapture %words) nounwind {", "entry:", *read_words(names), *rooms]
    lines += [
        "  br label %head",
        "head:",
        "  %done = phi i64 [ 0, %entry ], [ %done.next, %body ]",
        "  %status = phi i64 [ 0, %entry ], [ %status.next, %body ]",
        "  %more = icmp slt i64 %done, %states",
        "  br i1 %more, label %body, label %end",
        "body:",
        "  %left = sub i64 %states, %done",
        f"  %full = icmp sge i64 %left, {lanes}",
        f"  %valid = select i1 %full, i64 {lanes}, i64 %left",
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
    given, found = tiles[: len(arguments)], list(zip(counts, tiles, strict=True))[len(arguments) :]
    for k, (size, _) in enumerate(found):
        lines += [
            f"  %e{k} = mul i64 %done, {size}",
            f"  %f{k} = getelementptr inbounds double, ptr %to{k}, i64 %e{k}",
        ]
    run, good = (_run_rows if rows else _run_tiles)(given, found, interface.sizes)
    lines += [
        *run,
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


def _run_tiles(given: Sequence[str], found: Sequence[tuple[str, str]], sizes: Sequence[str]) -> tuple[list[str], str]:
    """The kernel, and its results out of their tiles; and the name of what tells whether these are finite."""
    lines = [f"  call void @kernel({_handed([*given, *(tile for _, tile in found)], sizes)})"]
    good = "true"
    for k, (size, tile) in enumerate(found):
        lines += [
            f"  %gk{k} = call i1 @unpack(ptr {tile}, ptr %f{k}, i64 {size}, i64 %valid, i64 {size})",
            f"  %good{k} = and i1 {good}, %gk{k}",
        ]
        good = f"%good{k}"
    return lines, good


def _run_rows(given: Sequence[str], found: Sequence[tuple[str, str]], sizes: Sequence[str]) -> tuple[list[str], str]:
    """The same for a kernel that writes rows: into the caller's array, or into the tile's place if that ends within."""
    lines = [f"  %row{k} = select i1 %full, ptr %f{k}, ptr {tile}" for k, (_, tile) in enumerate(found)]
    lines.append(f"  %good = call i1 @kernel({_handed([*given, *(f'%row{k}' for k in range(len(found)))], sizes)})")
    for k, (size, tile) in enumerate(found):
        lines += [
            f"  %some{k} = mul i64 %valid, {size}",
            f"  %copied{k} = select i1 %full, i64 0, i64 %some{k}",
            f"  call void @copy(ptr {tile}, ptr %f{k}, i64 %copied{k})",
        ]
    return lines, "%good"


def _handed(arrays: Sequence[str], sizes: Sequence[str]) -> str:
    """What a kernel is called with."""
    pointers = [*arrays, *(f"%{name}" for name in TABLES)]
    return ", ".join([*(f"ptr {name}" for name in pointers), *(f"i64 %{name}" for name in sizes)])
