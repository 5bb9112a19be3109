"""A kernel that writes rows: of a tile's states the numbers of the first, then those of the second, and so on, as they
lie in the caller's array.

A value of the results waits in a slot of ``work``; what stands in several places, as in a symmetric matrix, has one
slot. At the end, loops go over strips of the rows, as many numbers as there are lanes: a table tells their slots; they
lose the sign of zeros, are looked at, whether they are finite, transposed and stored for all states. (LLVM would move
what looks at them there anyway, and keep each number on the stack until then.) Strips of zeros have a loop of their
own.

A value that is not used for long waits in a slot of ``work``, too, and is loaded again (a result, from its own): a
slot that is free again is taken by the next, while LLVM would give most of these values places of their own, more than
the first-level cache has.

Cache lines that will be written are prefetched, or the stores would wait for them: by the loops, and, if the rows of a
tile fit into the first-level cache, or there is much to do for each line, while arithmetic goes on. So are those of
arguments that the next tile is packed from. LLVM moves a prefetch to wherever it pleases, so it stands in inline
assembly that a value goes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from heapq import heappop, heappush

from linkwork.engine.emit.call_frame import Interface, listed
from linkwork.engine.emit.kernel import BINARY, Kernel, declarations
from linkwork.engine.emit.packing import AHEAD, batch, compile_time_integers, following, next_rows
from linkwork.engine.emit.sparing import Spared, usual_table
from linkwork.engine.emit.streaming import copy_lines
from linkwork.engine.emit.writer import SUMS, Writer, constant
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import ARITHMETIC, Block, Operand, Program

_LONG_WAIT = 150
"""Instructions without a use, after which a value is not in a register any more."""
_CACHE_LINE = 64
"""Bytes."""
_TOGETHER = 4
"""Cache lines that are prefetched at once: as many as memory brings while some fifty operations run."""
_EARLY = 0.6
"""The part of a program in which lines are prefetched; what is prefetched later may come too late."""
_NEAR = 40_000
"""Bytes that stay in the first-level cache until they are written."""
_NEAR_ENOUGH, _MUCH = 500_000, 10
"""The same of the second-level cache, and the operations for each line from which on that is worth while."""


class RowKernel(Kernel):
    """Writes the kernel of a program without loops; it returns whether all results are finite.

    ``constraint`` is the inline-assembly constraint of a register for all lanes, None where nothing can be prefetched.
    """

    returns = "i1"

    def __init__(
        self, program: Program, interface: Interface, lanes: int, constraint: str | None, symbol: str = "kernel"
    ) -> None:
        super().__init__(program, interface, lanes, symbol)
        self.constraint = constraint
        self.further = [("ptr", following(k)) for k in next_rows(interface)]
        self.rows: dict[str, dict[int, Operand]] = {}
        for n in program.root.order:
            if program.operations[n] == "store":
                address, (x,) = program.details[n], program.operands[n]
                self.rows.setdefault(address.array, {})[address.offset] = x
        self.renamed: dict[int, str] = {}  # the names of values that have gone through a prefetch
        self.slots: dict[tuple[type, Operand], int] = {}
        self.sums = [constant(0.0, lanes)] * SUMS
        self.tables: list[str] = []
        self.waiting, self.work = waiting(program, {(type(x), x) for row in self.rows.values() for x in row.values()})
        self.position, self.used = 0, dict[int, int]()  # where values were last used

    def body(self) -> None:
        order, done = self.program.root.order, 0
        for position, array, lines, how in self.prefetches():
            self.instructions(Block(order[done : position + 1]))
            self.prefetch(order[position], array, lines, how)
            done = position + 1
        self.instructions(Block(order[done:]))
        for array in self.rows:
            self.write(array)
        self.do(f"ret i1 {self.is_finite(self.total(self.sums, self.type), self.lanes)}")

    def value(self, x: Operand | tuple[float, ...]) -> str:
        if type(x) is not int:
            return super().value(x)
        operation, last = self.program.operations[x], self.used.get(x, self.position)
        self.used[x] = self.position
        slot = self.waiting.get(x, self.slots.get((int, x)))
        if self.position - last > _LONG_WAIT and (slot is not None or operation == "load"):
            place = self.element(self.program.details[x], self.lanes) if slot is None else self.slot(slot)
            self.renamed[x] = self.load(place, self.type, self.align)
        return self.renamed.get(x) or super().value(x)

    def instructions(self, block: Block) -> None:
        for n in block.order:
            self.position += 1
            self.used[n] = self.position
            super().instructions(Block([n]))
            if n in self.waiting:
                self.store(f"%v{n}", self.slot(self.waiting[n]), self.type, self.align)

    def prefetches(self) -> list[tuple[int, str, range, str]]:
        """After which position in the order which cache lines are prefetched, and how: of results, none if they do not
        fit; and of arguments the rows of the next tile.
        """
        if self.constraint is None:
            return []
        order, operations = self.program.root.order, self.program.operations
        positions = [k for k in range(len(order)) if operations[order[k]] in BINARY]
        early = [k for k in positions if k < int(_EARLY * len(order))]
        sizes = {array: 8 * self.lanes * len(row) for array, row in self.rows.items()}
        size = sum(sizes.values())
        near = size <= _NEAR or (size <= _NEAR_ENOUGH and len(early) * _CACHE_LINE >= _MUCH * size)
        found = _over(early, _groups(sizes, _TOGETHER), "prefetchw") if near else []
        given = {following(k): 8 * self.lanes * count for k, count in next_rows(self.interface).items()}
        return sorted([*found, *_over(positions, _groups(given, 1), "prefetcht0")])

    def prefetch(self, n: int, array: str, lines: range, how: str) -> None:
        """Prefetch cache lines when a value is known."""
        text = "\\0A".join(f"{how} {line}($2)" for line in lines)
        through = f'asm "{text}", "={self.constraint},0,r"({self.type} {self.value(n)}, ptr %{array})'
        self.renamed[n] = self.let(f"call {self.type} {through}")

    def emit_store(self, x: Operand, address: Address) -> None:
        """The first store of a value puts it into its slot."""
        key = (type(x), x)
        if key in self.slots:
            return
        value = self.value(x)
        self.store(value, self.slot(self.slots.setdefault(key, len(self.slots))), self.type, self.align)

    def write(self, array: str) -> None:
        """The loops that store the rows of a result; the last strip of a row overlaps the one before it."""
        row = self.rows[array]
        width = min(len(row), self.lanes)
        starts = [min(k, len(row) - width) for k in range(0, len(row), self.lanes)]
        strips = {start: [row[k] for k in range(start, start + width)] for start in starts}
        empty = [start for start, numbers in strips.items() if all(type(x) is float and x == 0.0 for x in numbers)]
        full = [start for start in starts if start not in empty]
        if full:
            table = [[*both, *(self.slots[type(x), x] for x in strips[both[0]])] for both in _with_later(full)]
            with self.each(f"{array}.strips", table) as (start, later, *slots):
                values = [self.load(self.slot(slot), self.type, self.align) for slot in slots]
                values = [self.let(f"fadd {self.type} {value}, zeroinitializer") for value in values]
                self.sums = self.watch_all(self.sums, values, self.lanes)
                missing = ["poison"] * (self.lanes - width)
                self.put(array, start, later, self.transpose([*values, *missing]), width)
        if empty:
            with self.each(f"{array}.zeros", _with_later(empty)) as (start, later):
                self.put(array, start, later, ["zeroinitializer"] * self.lanes, width)

    def slot(self, number: int | str) -> str:
        return self.at("%work", number, self.type)

    @contextmanager
    def each(self, name: str, table: Sequence[Sequence[int]]) -> Iterator[list[str]]:
        """A loop over the rows of a table: the values of a row's numbers. The sums go through it."""
        width, count = len(table[0]), len(table) * len(table[0])
        numbers, name = listed(("i32", str(number)) for row in table for number in row), f"{self.symbol}.{name}"
        self.tables.append(f"@{name} = internal constant [{count} x i32] [{numbers}]")
        with self.loop(0, count, width, [(self.type, total) for total in self.sums]) as each:
            row, self.sums = self.at(f"@{name}", each.counter, "i32"), each.carried
            short = [self.load(self.at(row, n, "i32"), "i32", 4) for n in range(width)]
            yield [self.let(f"zext i32 {number} to i64") for number in short]
            each.carry(*self.sums)
        self.sums = each.carried

    def put(self, array: str, start: str, later: str, vectors: Sequence[str], width: int) -> None:
        """Store a strip of all states, and prefetch a later one."""
        mask = listed(("i1", str(int(k < width))) for k in range(self.lanes))
        for state, values in enumerate(vectors):
            row = self.let(f"getelementptr double, ptr %{array}, i64 {state * len(self.rows[array])}")
            strip = self.let(f"getelementptr double, ptr {row}, i64 {start}")
            self.prefetch_line(self.let(f"getelementptr double, ptr {row}, i64 {later}"))
            if width == self.lanes:
                self.store(values, strip, self.type)
            else:
                part = f"{self.type} {values}, ptr {strip}, i32 8, <{self.lanes} x i1> <{mask}>"
                self.do(f"call void @llvm.masked.store.v{self.lanes}f64.p0({part})")


def _groups(sizes: Mapping[str, int], together: int) -> list[tuple[str, range]]:
    """Cache lines of arrays of so many bytes, so many lines at a time."""
    step = together * _CACHE_LINE
    return [
        (array, range(first, min(first + step, size), _CACHE_LINE))
        for array, size in sizes.items()
        for first in range(0, size, step)
    ]


def _over(positions: Sequence[int], groups: Sequence[tuple[str, range]], how: str) -> list[tuple[int, str, range, str]]:
    """Groups of lines spread evenly over positions; none if these are too few."""
    if len(positions) < len(groups):
        return []
    return [(positions[len(positions) * k // len(groups)], *group, how) for k, group in enumerate(groups)]


def waiting(program: Program, results: Set[tuple[type, Operand]]) -> tuple[dict[int, int], int]:
    """The slots, behind those of the ``results``, of values that are not used for long; and how many slots there are
    then.
    """
    first = len(results)
    order, last, apart = program.root.order, dict[int, int](), dict[int, int]()
    made = {n: k for k, n in enumerate(order) if program.operations[n] in (*ARITHMETIC, "final")}
    for k, n in enumerate(order):
        for x in program.operands[n]:
            if type(x) is int and x in made:
                apart[x] = max(apart.get(x, 0), k - last.get(x, made[x]))
                last[x] = k
    slots: dict[int, int] = {}
    free: list[int] = []
    taken: list[tuple[int, int]] = []  # until when, and which
    for n in (n for n in order if apart.get(n, 0) > _LONG_WAIT and (int, n) not in results):
        while taken and taken[0][0] < made[n]:
            free.append(heappop(taken)[1])
        slots[n] = free.pop() if free else first + len(taken)
        heappush(taken, (last[n], slots[n]))
    return slots, max(slots.values(), default=first - 1) + 1


def _with_later(starts: Sequence[int]) -> list[list[int]]:
    """Each with the one that is stored so many strips after it, which need not lie right behind."""
    return [[start, starts[min(k + AHEAD, len(starts) - 1)]] for k, start in enumerate(starts)]


def module(
    program: Program, interface: Interface, lanes: int, constraint: str | None, spared: Spared | None = None
) -> str:
    """The text of an LLVM module of such a kernel, ``batch``, and how many slots ``work`` has (``integer``). Tiles may
    run a ``spared`` program.
    """
    kernels = [RowKernel(program, interface, lanes, constraint, "kernel" if spared is None else "kernel.full")]
    if spared is not None:
        kernels.append(RowKernel(spared.program, interface, lanes, constraint, "kernel.sparing"))
    parts = [kernel.text() for kernel in kernels]
    if spared is not None:
        counts = dict(zip(interface.argument_names, interface.arguments, strict=True))
        parts += [usual_table(name, int(counts[name]), own, lanes) for name, own in spared.often.items()]
    parts += [_copy(), copy_lines(), batch(interface, lanes, rows=True, spared=spared), _declarations(lanes)]
    parts.append(compile_time_integers([max(kernel.work for kernel in kernels)]))
    return "\n".join([*(table for kernel in kernels for table in kernel.tables), *parts])


def _declarations(lanes: int) -> str:
    kind = f"<{lanes} x double>"
    return declarations({lanes}) + (
        f"declare void @llvm.masked.store.v{lanes}f64.p0({kind}, ptr, i32, <{lanes} x i1>)\n"
    )


def _copy() -> str:
    """void copy(from, to, count): the rows of a tile that is not full go into the caller's array by this."""
    w = Writer()
    with w.loop(0, "%count") as one:
        w.store(w.load(w.at("%from", one.counter)), w.at("%to", one.counter))
    w.do("ret void")
    return w.function("internal void @copy(ptr nocapture %from, ptr nocapture %to, i64 %count)")
