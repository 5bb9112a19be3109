"""A kernel that writes rows: of a tile's states the numbers of the first, then those of the second, and so on, as they
lie in the caller's array.

As soon as the numbers of a strip of the rows, as many as there are lanes, are ready, their negative zeros are cleared,
they are checked for finiteness, transposed and stored for all states. So a number need not wait for the others, and
stores, which wait for cache lines, overlap with arithmetic. Strips of zeros are stored by a loop at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.emit.call_frame import Interface, listed
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.packing import batch, pack
from linkwork.engine.emit.sparing import Spared, choice, symbols
from linkwork.engine.emit.streaming import copy_lines
from linkwork.engine.emit.writer import Writer, constant, declarations
from linkwork.engine.ir.program import Operand, Program


@dataclass(frozen=True)
class Strip:
    """Adjacent numbers of a result from the place ``start`` on."""

    array: str
    start: int
    numbers: tuple[Operand, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it holds only zeros."""
        return all(type(x) is float and x == 0.0 for x in self.numbers)


def strips(array: str, row: Mapping[int, Operand], lanes: int) -> Iterator[Strip]:
    """Those of a row, whose numbers are by their places; the last may overlap the one before it."""
    width = min(len(row), lanes)
    for k in range(0, len(row), lanes):
        start = min(k, len(row) - width)
        yield Strip(array, start, tuple(row[place] for place in range(start, start + width)))


class RowKernel(Kernel):
    """Writes the kernel of a program without loops; it returns whether all results are finite."""

    returns = "i1"

    def __init__(self, program: Program, interface: Interface, lanes: int, symbol: str = "kernel") -> None:
        super().__init__(program, interface, lanes, symbol)
        rows: dict[str, dict[int, Operand]] = {}
        for n in program.root.order:
            if program.operations[n] == "store":
                address, (x,) = program.details[n], program.operands[n]
                rows.setdefault(address.array, {})[address.offset] = x
        self.sizes = {array: len(row) for array, row in rows.items()}
        self.strips = [strip for array, row in rows.items() for strip in strips(array, row, lanes)]
        self.sum = constant(0.0, lanes)
        self.tables: list[str] = []

    def body(self) -> None:
        operations = self.program.operations
        order = [n for n in self.program.root.order if operations[n] != "store"]
        places = {n: k for k, n in enumerate(order)}
        ready: dict[int, list[Strip]] = {}
        for strip in self.strips:
            if not strip.is_empty:
                ready.setdefault(max(places[x] if type(x) is int else -1 for x in strip.numbers), []).append(strip)
        self.memory.append(f"  %sum = alloca {self.type}, align {self.align}")
        for strip in ready.get(-1, ()):
            self.write(strip)
        for k, n in enumerate(order):
            self.instruction(n)
            for strip in ready.get(k, ()):
                self.write(strip)
        for array in self.sizes:
            self.write_zeros(array)
        self.do(f"ret i1 {self.is_finite(self.sum, self.lanes)}")

    def write(self, strip: Strip) -> None:
        """Store a strip of all states. Its finiteness check adds to the sum once, so that the next need not wait; the
        sum is stored, or LLVM would keep all numbers, and check them at the end.
        """
        values = [self.let(f"fadd {self.type} {self.value(x)}, zeroinitializer") for x in strip.numbers]
        first, *others = values
        (own,) = self.watch_all([self.let(f"fmul {self.type} {first}, zeroinitializer")], others, self.lanes)
        self.sum = self.let(f"fadd {self.type} {self.sum}, {own}")
        self.do(f"store volatile {self.type} {self.sum}, ptr %sum, align {self.align}")
        self.put(strip.array, strip.start, self.transpose([*values, *["poison"] * (self.lanes - len(values))]))

    def write_zeros(self, array: str) -> None:
        """The loop that stores strips of zeros."""
        starts = [strip.start for strip in self.strips if strip.array == array and strip.is_empty]
        if not starts:
            return
        name = f"{self.symbol}.{array}.zeros"
        numbers = listed(("i64", str(start)) for start in starts)
        self.tables.append(f"@{name} = internal constant [{len(starts)} x i64] [{numbers}]")
        with self.loop(0, len(starts)) as each:
            start = self.load(self.at(f"@{name}", each.counter, "i64"), "i64")
            self.put(array, start, ["zeroinitializer"] * self.lanes)

    def put(self, array: str, start: str | int, vectors: Sequence[str]) -> None:
        """Store the numbers of a strip, a vector for each state."""
        count = self.sizes[array]
        mask = listed(("i1", str(int(k < count))) for k in range(self.lanes))
        for state, values in enumerate(vectors):
            strip = self.at(self.at(f"%{array}", state * count), start)
            if count >= self.lanes:
                self.store(values, strip, self.type)
            else:
                part = f"{self.type} {values}, ptr {strip}, i32 8, <{self.lanes} x i1> <{mask}>"
                self.do(f"call void @llvm.masked.store.v{self.lanes}f64.p0({part})")


def module(program: Program, interface: Interface, lanes: int, spared: Sequence[Spared] = ()) -> str:
    """The text of an LLVM module of such a kernel, and ``batch``. Tiles may run one of the ``spared`` programs."""
    kinds = zip((*(each.program for each in spared), program), symbols("kernel", spared), strict=True)
    kernels = [RowKernel(each, interface, lanes, symbol) for each, symbol in kinds]
    parts = [kernel.text() for kernel in kernels]
    if spared:
        parts.append(choice("kernel", interface.kernel, RowKernel.returns, spared, lanes))
    parts += [pack(lanes), _copy(), copy_lines(), batch(interface, lanes, rows=True), _declarations(lanes)]
    return "\n".join([*(table for kernel in kernels for table in kernel.tables), *parts])


def _declarations(lanes: int) -> str:
    kind = f"<{lanes} x double>"
    return declarations({lanes}) + (
        f"declare void @llvm.masked.store.v{lanes}f64.p0({kind}, ptr, i32, <{lanes} x i1>)\n"
    )


def _copy() -> str:
    """void copy(from, to, count): copies the rows of a partial tile into the caller's array."""
    w = Writer()
    with w.loop(0, "%count") as one:
        w.store(w.load(w.at("%from", one.counter)), w.at("%to", one.counter))
    w.do("ret void")
    return w.function("internal void @copy(ptr nocapture %from, ptr nocapture %to, i64 %count)")
