"""From intermediate code to LLVM IR: the same program over one state, or over the lanes of a vector.

A module has these functions.

    kernel   the program, for one tile: an element k of an array is ``lanes`` numbers at k * lanes
    batch    i64 (ptr to the words of ``Interface.batch``): packs states into tiles, runs the kernel, unpacks (or has a
             kernel that writes rows, row_kernel.py), for one lane on the caller's arrays as they are; returns a status

Status bits: 1 an argument is not finite, 2 a result is not finite, 8 a number of an argument is larger than ``most`` of
the interface, which is no failure. No fast-math flag is ever set, and nothing is contracted, so results have the same
bits for every number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.engine.emit.arithmetic import Arithmetic
from linkwork.engine.emit.bitwise import each
from linkwork.engine.emit.call_frame import Interface, listed, parameters
from linkwork.engine.emit.calling import call
from linkwork.engine.emit.kept_rows import KeptRows, fold_rows, keep_row, map_rows, rows_of
from linkwork.engine.emit.loops import walk
from linkwork.engine.emit.packing import batch, pack, rows_in_place, unpack
from linkwork.engine.emit.repeating import ROWS, interface_of, memory_of, repeat, tables_with
from linkwork.engine.emit.sparing import Spared, calls_of, choice, passed_on, some_lane, symbols
from linkwork.engine.emit.writer import Value, bits, constant, declarations, vector
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import (
    WITHIN,
    Block,
    Cell,
    Fold,
    Keep,
    Loop,
    Map,
    Operand,
    Program,
    Repeat,
    Subroutine,
    programs,
)


def module(
    program: Program,
    interface: Interface,
    lanes: int,
    more: str = "",
    zeroed: bool = False,
    spared: Sequence[Spared] = (),
) -> str:
    """The text of an LLVM module; ``more`` is the text of further functions, which may call the kernel, ``pack`` and
    ``unpack``. The results may have to be ``zeroed`` before the kernel runs. Tiles may run one of the ``spared``
    programs.
    """
    kinds = zip((*(each.program for each in spared), program), symbols("kernel", spared), strict=True)
    parts = [Kernel(each, interface, lanes, symbol).text() for each, symbol in kinds]
    if spared:
        parts.append(choice("kernel", interface.kernel, Kernel.returns, spared, lanes))
    if lanes > 1 or more:
        parts += [pack(lanes), unpack(lanes)]
    parts += [batch(interface, lanes) if lanes > 1 else rows_in_place(interface, zeroed), more]
    return "\n".join([*parts, declarations({lanes, *map(program.lanes, program.root.order)})])


_CALL = ("used", "after")
"""Blocks around a call that may be skipped."""
_LONG, _LONGEST_BLOCK = 2_000, 500
"""Instructions of a long program, and of a basic block of one: LLVM's time is quadratic in the length of a block."""


class Kernel(Arithmetic):
    """Writes the kernel."""

    returns = "void"
    further: Sequence[tuple[str, str]] = ()  # its parameters besides the arrays of its interface
    never = ""
    """The block that returns if an argument is null, which never happens; none until it is needed. LLVM joins blocks
    between which control flow cannot branch.
    """

    def __init__(
        self, program: Program, interface: Interface, lanes: int, symbol: str = "kernel", kept: KeptRows | None = None
    ) -> None:
        super().__init__(lanes, symbol)
        self.kept = kept
        """Where rows are kept, of a program inside another."""
        self.tells = kept is None and bool(interface.problems)
        self.program, self.interface = program, interface
        self.inner: list[str] = []
        """The functions that it calls."""
        self.memory: list[str] = []
        self.subroutines: dict[Subroutine, str] = {}
        """Those that have been written, by the names of their functions."""
        self.merged: dict[int, list[str]] = {}
        """The results of subroutines that may be skipped."""
        self.left: set[int] = set()
        """Folds whose state lies in memory as they left it."""
        self.given: dict[tuple[str, ...], str] = {}  # where values lie that programs over rows are given
        self.handed: dict[int, Callable[[int, Address], None]] = {}
        """What writes loads of what the iteration before may have left in registers."""
        self.rows_in: dict[tuple[Operand, int], list[str]] = {}
        """Numbers of rows in a table of so many, for each lane."""
        self.until_cut = _LONGEST_BLOCK if len(program.root.order) > _LONG else -1

    def text(self) -> str:
        if self.kept is None and ((rows := rows_of(self.program)) or self.tells):
            self.kept = KeptRows(rows, self.lanes, "%rows", self.tells)
            self.memory.append(self.kept.allocated())
            self.inner += [keep_row(self.lanes)] if rows else []
        if self.tells:
            self.store(constant(0.0, self.lanes), "%rows", self.type, self.align)
        self.body()
        if self.never:
            self.begin(self.never)
            self.do(f"ret {self.returns}{' false' if self.returns == 'i1' else ''}")
        self.lines[:0] = self.memory  # allocated on the stack once, wherever it is used
        head = f"@{self.symbol}({parameters([*self.interface.kernel, *self.further])})"
        return "\n".join([*self.inner, self.function(f"internal {self.returns} {head}")])

    def body(self) -> None:
        self.instructions(self.program.root)
        if self.tells:
            self.store(self.load("%rows", self.type, self.align), "%work", self.type, self.align)
        self.do("ret void")

    def value(self, x: Operand | tuple[float, ...]) -> str:
        if type(x) is int:
            return f"%v{x}"
        if isinstance(x, tuple):
            return "<" + listed(("double", bits(number)) for number in x) + ">"
        return constant(x, self.lanes)

    def element(self, address: Address, lanes: int) -> str:
        """A pointer to an element of ``lanes`` numbers."""
        kind = "i64" if address.array == "ints" else "double"
        return self.at(f"%{address.array}", self.mul(self.affine(address), lanes), kind)

    def integer(self, address: Address) -> str:
        """A pointer to an integer; in ``work`` it lies where the first lane of a number would."""
        return self.element(address, 1 if address.array == "ints" else self.lanes)

    def affine(self, address: Address) -> str:
        """offset + Σ stride · index."""
        total = "0"
        for number, stride in address.terms:
            factor: Value = stride if isinstance(stride, int) else f"%{stride}"
            total = self.add(total, self.mul(f"%v{number}", factor) if number >= 0 else factor)
        return self.add(total, address.offset)

    def instructions(self, block: Block) -> None:
        for n in block.order:
            self.instruction(n)

    def instruction(self, n: int) -> None:
        self.until_cut -= 1
        if self.until_cut == 0:
            self.cut()
        program = self.program
        operation, operands = program.operations[n], program.operands[n]
        if operation in _EMITTED:
            _EMITTED[operation](self, n, operands, program.details[n])
        else:
            self.arithmetic(n, operation, max(self.lanes, program.widths[n]), *map(self.value, operands))

    def emit_store_index(self, x: int, address: Address) -> None:
        self.store(f"%v{x}", self.integer(address), "i64")

    def extract(self, n: int, operands: tuple[Any, ...], lane: int) -> None:
        (x,) = operands
        self.let(f"extractelement {vector(self.program.lanes(x))} {self.value(x)}, i32 {lane}", f"%v{n}")

    def inside(self, n: int, operands: tuple[Any, ...], what: Any) -> None:
        """Other code, or a program inside this one; constants are the same for all lanes."""
        given = [constant(x, self.lanes) if type(x) is float else self.value(x) for x in operands]
        getattr(self, self.program.operations[n])(n, what, given)

    def keep(self, _: int, operands: tuple[Any, ...], what: Keep) -> None:
        assert self.kept is not None
        if (buffer := self.kept.buffer()) not in self.memory:
            self.memory.append(buffer)
        self.kept.keep(self, what, [self.value(x) for x in operands])

    def number(self, n: int, operands: tuple[Any, ...], k: int) -> None:
        """One of several numbers in memory, or in registers."""
        if operands[0] in self.merged:
            self.let(f"bitcast {self.type} {self.merged[operands[0]][k]} to {self.type}", f"%v{n}")
            return
        self.load(self.at(self.value(operands[0]), k * self.lanes), self.type, self.align, f"%v{n}")

    def cut(self) -> None:
        """Continue in another basic block."""
        self.until_cut = _LONGEST_BLOCK
        self.never = self.never or self.block("never")
        nowhere = self.compare("eq", f"%{self.interface.argument_names[0]}", "null", "ptr")
        following = self.block("part")
        self.branch(nowhere, self.never, following)
        self.begin(following)

    def allocate(self, place: str, size: int, values: Sequence[str] = ()) -> None:
        """Memory for so many numbers, of which these are the first."""
        self.memory.append(f"  {place} = alloca [{self.lanes * max(1, size)} x double], align 64")
        for k, value in enumerate(values):
            self.store(value, self.at(place, k * self.lanes), self.type, self.align)

    def repeat(self, n: int, what: Repeat, values: Sequence[str]) -> None:
        """A call of the function that repeats; %v{n} is its memory, which holds the final state."""
        symbol = f"{self.symbol}.repeat{n}"
        self.allocate(f"%v{n}", memory_of(what), values)
        self.do(f"call void @{symbol}(ptr %v{n}, ptr {self.rows_at}, ptr %data, ptr %ints)")
        program = Kernel(
            what.program, interface_of(what, self.interface), self.lanes, f"{symbol}.program", self.kept_inside
        )
        problems = self.interface.problems
        number = 1 + problems.index(what.name) if problems and not what.may_stop else 0
        self.inner += [program.text(), repeat(symbol, what, self.lanes, number)]

    def subroutine(self, n: int, what: Subroutine, values: Sequence[str]) -> None:
        """A call of a program's kernel; %v{n} points to its results."""
        if what not in self.subroutines:
            symbol = self.subroutines[what] = f"{self.symbol}.subroutine{len(self.subroutines)}"
            for k, program in enumerate(programs(what)):
                own, interface = symbol + f".sparing{k}" * (k > 0), self.interface.inside((what.given,), (what.state,))
                self.inner.append(Kernel(program, interface, self.lanes, own, self.kept_inside).text())
        before = self.left_by(self.program.operands[n], what.given)
        if before is None and (skipped := passed_on(what)):
            self.skipping(n, what, values, skipped)
            return
        self.allocate(f"%v{n}", what.state)
        place = f"%v{before}" if before is not None else f"%given{n}"
        if before is None:
            self.allocate(place, what.given, values)
        arguments = listed([("ptr", place), ("ptr", f"%v{n}"), *tables_with(self.rows_at, calls=True)])
        calls_of(self, what, self.subroutines[what], f"({arguments})", place, self.lanes)

    def skipping(self, n: int, what: Subroutine, values: Sequence[str], skipped: Sequence[int | float]) -> None:
        """A call only if some lane needs it; otherwise its results are some of the given values, or constants. Nothing
        goes through memory then.
        """
        place, results = f"%given{n}", f"%v{n}"
        self.allocate(results, what.state)
        self.allocate(place, what.given)
        some, here, end = some_lane(self, [values[k] for k in what.sparing[0][0]], self.lanes), *map(self.block, _CALL)
        before = self.label
        self.branch(some, here, end)
        self.begin(here)
        for k, (x, value) in enumerate(zip(self.program.operands[n], values, strict=True)):
            if type(x) is int and self.program.operations[x] == "load":  # again: it need not be kept until here
                value = self.load(self.element(self.program.details[x], self.lanes), self.type, self.align)
            self.store(value, self.at(place, k * self.lanes), self.type, self.align)
        arrays = listed([("ptr", place), ("ptr", results), *tables_with(self.rows_at, calls=True)])
        self.do(f"call void @{self.subroutines[what]}({arrays})")
        ends = [self.load(self.at(results, k * self.lanes), self.type, self.align) for k in range(what.state)]
        self.jump(end)
        self.begin(end)
        known = [values[x] if type(x) is int else constant(x, self.lanes) for x in skipped]
        merged = zip(known, ends, strict=True)
        self.merged[n] = [self.let(f"phi {self.type} [ {x}, %{before} ], [ {y}, %{here} ]") for x, y in merged]

    def call(self, n: int, what: object, values: Sequence[str]) -> None:
        """A call of code with loops; %v{n} points to its results."""
        call(self, f"%v{n}", what, values, self.interface, self.lanes)

    @property
    def rows_at(self) -> str:
        return "null" if self.kept is None else self.kept.pointer

    @property
    def kept_inside(self) -> KeptRows | None:
        return None if self.kept is None else self.kept.found_at(f"%{ROWS}")

    def map(self, n: int, what: Map, values: Sequence[str]) -> None:
        """A call of the function that maps rows to others."""
        assert self.kept is not None
        symbol = f"{self.symbol}.map{n}"
        self.do(f"call void @{symbol}(ptr {self.given_at(values)}, ptr {self.rows_at})")
        sizes = (what.source.width, what.given), (1 + what.target.width,)
        interface = Interface(*sizes, problems=self.interface.problems)
        program = Kernel(what.program, interface, self.lanes, f"{symbol}.program", self.kept_inside)
        self.inner += [program.text(), map_rows(symbol, what, self.kept)]

    def fold(self, n: int, what: Fold, values: Sequence[str]) -> None:
        """A call of the function that folds rows into a state; %v{n} is its memory, which holds the result: the memory
        of another fold, if the state comes from there.
        """
        assert self.kept is not None
        symbol = f"{self.symbol}.fold{n}"
        before = self.left_by(self.program.operands[n][: what.state], what.state)
        self.left -= {before}
        if before is None:
            self.allocate(f"%v{n}", what.state, values[: what.state])
        else:
            self.let(f"getelementptr i8, ptr %v{before}, i64 0", f"%v{n}")
        self.left.add(n)
        self.do(f"call void @{symbol}(ptr %v{n}, ptr {self.given_at(values[what.state :])}, ptr {self.rows_at})")
        from linkwork.engine.emit.fold_kernel import FoldKernel  # which is a kernel, too

        program = FoldKernel(what, self.lanes, f"{symbol}.program", self.kept_inside, self.interface.problems)
        self.inner += [program.text(), fold_rows(symbol, what, self.kept)]

    def left_by(self, state: Sequence[Operand], size: int) -> int | None:
        """The fold whose state these values are, number by number, if its memory still holds it."""
        program = self.program
        finals = [x for x in state if type(x) is int and program.operations[x] == "final"]
        if not state or len(finals) < len(state):
            return None
        (before, *others) = {program.operands[x][0] for x in finals}
        same = not others and [program.details[x] for x in finals] == list(range(size))
        if not same or before not in self.left or program.details[before].state != size:
            return None
        return int(before)

    def given_at(self, values: Sequence[str]) -> str:
        """Where the given values of programs over rows are stored: once, for all that are given the same."""
        key = tuple(values)
        if key not in self.given:
            place = self.given[key] = f"%given{len(self.given)}"
            self.allocate(place, len(key), values)
        return self.given[key]

    def gather(self, n: int, operands: tuple[Any, ...], cell: Cell) -> None:
        places = self.cells(operands[0], cell)
        if self.lanes == 1:
            self.load(places[0], name=f"%v{n}")
        else:
            self.vector([self.load(place) for place in places], f"%v{n}")

    def scatter(self, row: Operand, x: Operand, cell: Cell) -> None:
        raise NotImplementedError("only a fold's state is added to")

    def cells(self, row: Operand, cell: Cell) -> list[str]:
        """Pointers to a number of a row, for each lane; of the first row where there is none of that number."""
        if (row, cell.rows) not in self.rows_in:
            kind, value, bit = self.type, self.value(row), each("i1", self.lanes)
            first, end = (constant(limit, self.lanes) for limit in (0.0, float(cell.rows)))
            above, below = self.let(f"fcmp oge {kind} {value}, {first}"), self.let(f"fcmp olt {kind} {value}, {end}")
            there = self.let(f"and {bit} {above}, {below}")
            number = self.let(f"select {bit} {there}, {kind} {value}, {kind} {first}")
            own = [number]
            if self.lanes > 1:
                own = [self.let(f"extractelement {kind} {number}, i32 {k}") for k in range(self.lanes)]
            self.rows_in[row, cell.rows] = [self.let(f"fptosi double {x} to i64") for x in own]
        first = self.at(f"%{cell.array}", cell.offset * self.lanes)
        rows = self.rows_in[row, cell.rows]
        return [self.at(first, self.add(self.mul(x, cell.width * self.lanes), k)) for k, x in enumerate(rows)]

    def emit_index(self, n: int, address: Address) -> None:
        self.load(self.integer(address), "i64", name=f"%v{n}")

    def emit_affine(self, n: int, address: Address) -> None:
        self.let(f"add i64 {self.affine(address)}, 0", f"%v{n}")

    def emit_load(self, n: int, address: Address) -> None:
        if address.array == "data" and self.lanes > 1:  # a model's number, the same for all lanes
            one = self.load(self.element(address, 1))
            self.vector([one] * self.lanes, f"%v{n}")
            return
        kind = vector(max(self.lanes, self.program.widths[n]))
        self.load(self.element(address, self.lanes), kind, self.align, f"%v{n}")

    def emit_store(self, x: Operand, address: Address) -> None:
        kind = vector(max(self.lanes, self.program.lanes(x)))
        self.store(self.value(x), self.element(address, self.lanes), kind, self.align)

    def emit_loop(self, loop: Loop) -> None:
        walk(self, loop)


_EMITTED: dict[str, Callable[[Kernel, int, tuple[Any, ...], Any], object]] = {
    "load": lambda kernel, n, _, address: kernel.handed.get(n, kernel.emit_load)(n, address),
    "store": lambda kernel, _, operands, address: kernel.emit_store(operands[0], address),
    "index": lambda kernel, n, _, address: kernel.emit_index(n, address),
    "store_index": lambda kernel, _, operands, address: kernel.emit_store_index(operands[0], address),
    "affine": lambda kernel, n, _, address: kernel.emit_affine(n, address),
    "loop": lambda kernel, _, __, loop: kernel.emit_loop(loop),
    "vector": lambda kernel, n, operands, _: kernel.vector([*map(kernel.value, operands)], f"%v{n}"),
    "extract": Kernel.extract,
    "gather": Kernel.gather,
    "scatter": lambda kernel, _, operands, cell: kernel.scatter(operands[0], operands[1], cell),
    "keep": Kernel.keep,
    **dict.fromkeys(("final", "part"), Kernel.number),
    **dict.fromkeys(("call", *WITHIN), Kernel.inside),
}
"""What is written for an instruction with a number, operands and a detail, if that is no arithmetic."""
