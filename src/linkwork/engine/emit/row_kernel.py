"""A kernel that writes rows: of a tile's states the numbers of the first, then those of the second, and so on, as they
lie in the caller's array.

As soon as the numbers of a strip of the rows are ready (``strips``), their negative zeros are cleared, they are checked
for finiteness, transposed and stored for all states. So a number need not wait for the others, and stores, which wait
for cache lines, overlap with arithmetic. Strips of zeros are stored by a loop at the end.

Long programs are scheduled around latency (``ir/waiting.py``). A value with a long live range is spilled to a slot of
``work`` (``slots``), and reloaded.

Cache lines that will be written are prefetched, or the stores would stall on them: evenly over the program, however
unevenly it writes, since a core can have only some two dozen misses outstanding. Those that are written soon after the
start are prefetched while the previous tile is computed. So are lines of arguments, those that the next tile is packed
from. LLVM moves a prefetch freely, so it is in inline assembly that a value goes through.

If a program has time enough for that, results are never stored past the caches (``streaming``).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

from linkwork.engine.emit.arithmetic import BINARY
from linkwork.engine.emit.call_frame import Interface, listed
from linkwork.engine.emit.packing import AHEAD, batch, compile_time_integers, following, next_rows
from linkwork.engine.emit.slotted import SlottedKernel
from linkwork.engine.emit.sparing import Spared, symbols, usual_numbers, usual_table
from linkwork.engine.emit.streaming import copy_lines
from linkwork.engine.emit.strips import Strip, evenly, lines, steps, strips
from linkwork.engine.emit.writer import Writer, constant, declarations
from linkwork.engine.ir.program import Operand, Program
from linkwork.engine.ir.waiting import without_waiting

_CACHE_LINE = 64
"""Bytes."""
_LEAD, _PART = 3_600, 4
"""Steps between the prefetch of a cache line and its first store, at least; this fraction of a program, if less."""
_ENOUGH = 30
"""Steps for each cache line of results in which it can be fetched, even from memory, behind the program's arithmetic.
"""
_TOGETHER = 40
"""Steps whose lines are all prefetched at once."""


class RowKernel(SlottedKernel):
    """Writes the kernel of a program without loops; it returns whether all results are finite. Nothing is prefetched
    without a ``constraint``.
    """

    returns = "i1"

    def __init__(
        self, program: Program, interface: Interface, lanes: int, constraint: str | None, symbol: str = "kernel"
    ) -> None:
        program = without_waiting(program)
        self.rows = dict[str, dict[int, Operand]]()
        for n in program.root.order:
            if program.operations[n] == "store":
                address, (x,) = program.details[n], program.operands[n]
                self.rows.setdefault(address.array, {})[address.offset] = x
        self.steps = steps(program, self.rows, lanes)
        used = [
            (None, each.numbers) if isinstance(each, Strip) else (each, program.operands[each]) for each in self.steps
        ]
        super().__init__(program, interface, lanes, constraint, symbol, used)
        self.further = [("ptr", following(k)) for k in next_rows(interface)]
        self.empty = {
            array: [strip for strip in strips(array, row, lanes) if strip.is_empty] for array, row in self.rows.items()
        }
        self.sizes = {array: len(row) for array, row in self.rows.items()}
        written = [(k, step) for k, step in enumerate(self.steps) if isinstance(step, Strip)]
        written += [(len(self.steps), strip) for empty in self.empty.values() for strip in empty]
        self.written = lines(written, self.sizes, lanes, _CACHE_LINE)
        """Cache lines of results by the step in which they are first written."""
        self.sum = constant(0.0, lanes)
        self.tables: list[str] = []

    def body(self) -> None:
        self.point_into_slots()
        prefetched = self.prefetches()
        for position, step in enumerate(self.steps):
            self.position = position
            if isinstance(step, Strip):
                self.write(step)
                continue
            self.made(step)
            for array, how, where in prefetched.get(position, ()):
                self.prefetch(step, array, where, how)
        for array in self.rows:
            self.write_zeros(array)
        self.do(f"ret i1 {self.is_finite(self.sum, self.lanes)}")

    @property
    def is_streamed(self) -> bool:
        """Whether large results bypass the caches, since the program is too short to prefetch their lines."""
        return self.constraint is None or len(self.steps) < _ENOUGH * sum(map(len, self.written.values()))

    def prefetches(self) -> dict[int, list[tuple[str, str, list[int]]]]:
        """After which steps cache lines are prefetched, and how: those of results, and of the next tile's rows of
        arguments.
        """
        operations = self.program.operations
        places = [k for k, n in enumerate(self.steps) if not isinstance(n, Strip) and operations[n] in BINARY]
        found: dict[int, list[tuple[str, str, list[int]]]] = {}
        if self.constraint is None or not places:
            return found
        together: dict[tuple[int, str], list[int]] = {}
        for step, array, line in evenly(self.written, len(self.steps), min(_LEAD, len(self.steps) // _PART)):
            tile, k = divmod(step, len(self.steps))
            later = -tile * 8 * self.lanes * self.sizes[array]
            together.setdefault((k // _TOGETHER, array), []).append(later + line)
        for (group, array), near in together.items():
            place = places[min(bisect(places, group * _TOGETHER), len(places) - 1)]
            found.setdefault(place, []).append((array, "prefetchw", sorted(near)))
        given = [
            (following(k), line)
            for k, count in next_rows(self.interface).items()
            for line in range(0, 8 * self.lanes * count, _CACHE_LINE)
        ]
        for k, (array, line) in enumerate(given if len(given) <= len(places) else ()):
            found.setdefault(places[len(places) * k // len(given)], []).append((array, "prefetcht0", [line]))
        return found

    def prefetch(self, n: int, array: str, where: Sequence[int], how: str) -> None:
        """Prefetch cache lines once a value is known."""
        text = "\\0A".join(f"{how} {line}($2)" for line in where)
        through = f'asm "{text}", "={self.constraint},0,r"({self.type} {self.value(n)}, ptr %{array})'
        self.renamed[n] = self.let(f"call {self.type} {through}")

    def write(self, strip: Strip) -> None:
        """Store a strip of all states. Its finiteness check adds to the sum once, so that the next need not wait; empty
        inline assembly keeps it here, or LLVM would check all numbers at the end.
        """
        values = [self.value(x) for x in strip.numbers]
        first, *others = values = [self.let(f"fadd {self.type} {value}, zeroinitializer") for value in values]
        (own,) = self.watch_all([self.let(f"fmul {self.type} {first}, zeroinitializer")], others, self.lanes)
        self.sum = self.let(f"fadd {self.type} {self.sum}, {own}")
        if self.constraint is not None:
            self.sum = self.let(f'call {self.type} asm sideeffect "", "={self.constraint},0"({self.type} {self.sum})')
        self.put(strip.array, strip.start, self.transpose([*values, *["poison"] * (self.lanes - len(values))]))

    def write_zeros(self, array: str) -> None:
        """The loop that stores strips of zeros, and prefetches later ones."""
        if not self.empty[array]:
            return
        table, name = _with_later([strip.start for strip in self.empty[array]]), f"{self.symbol}.{array}.zeros"
        numbers = listed(("i32", str(number)) for both in table for number in both)
        self.tables.append(f"@{name} = internal constant [{2 * len(table)} x i32] [{numbers}]")
        with self.loop(0, 2 * len(table), 2) as each:
            both = [self.load(self.at(f"@{name}", self.add(each.counter, n), "i32"), "i32", 4) for n in range(2)]
            start, later = (self.let(f"zext i32 {number} to i64") for number in both)
            for state in range(self.lanes):
                self.prefetch_line(self.at(self.at(f"%{array}", state * self.sizes[array]), later))
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


def _with_later(starts: Sequence[int]) -> list[list[int]]:
    """Each with the one that is stored so many strips after it, which need not be adjacent."""
    return [[start, starts[min(k + AHEAD, len(starts) - 1)]] for k, start in enumerate(starts)]


def module(
    program: Program, interface: Interface, lanes: int, constraint: str | None, spared: Sequence[Spared] = ()
) -> str:
    """The text of an LLVM module of such a kernel, ``batch``, how many slots ``work`` has, and the room for calls
    (``integer``). Tiles may run one of the ``spared`` programs.
    """
    kinds = zip((*(each.program for each in spared), program), symbols("kernel", spared), strict=True)
    kernels = [RowKernel(each, interface, lanes, constraint, symbol) for each, symbol in kinds]
    parts = [kernel.text() for kernel in kernels]
    counts = dict(zip(interface.argument_names, interface.arguments, strict=True))
    parts += [usual_table(name, int(counts[name]), own, lanes) for name, own in usual_numbers(spared).items()]
    driver = batch(interface, lanes, rows=True, spared=spared, streams=kernels[-1].is_streamed)
    parts += [_copy(), copy_lines(), driver, _declarations(lanes)]
    parts.append(compile_time_integers([max(kernel.work for kernel in kernels), interface.room_size]))
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
