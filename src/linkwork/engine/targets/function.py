"""A program as functions of a language: one, or the pieces of a long one and the function that calls these.

A function takes the arrays of its program that it uses, ``memory`` of its own, and ``shared``: the rows that are kept
while all programs run, and the number of a problem that was not solved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import (
    ARITHMETIC,
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
    Rows,
    Subroutine,
)
from linkwork.engine.targets.pieces import Pieces

if TYPE_CHECKING:
    from linkwork.engine.targets.source import Source

_INNER = "@inner@"
"""Stands for the place in memory where that of functions begins which are called, until it is known."""
_READ_ONLY = "argument"
_COPIED = 4
"""Numbers that are worth a loop that copies them."""
_LAST = ("work", "square", "memory", "shared")


class Body:
    """One function that is being written."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.first: list[str] = []
        self.lines: list[str] = []
        self.uses: set[str] = set()
        self.known: set[int] = set()
        """Values of other functions, or in memory, that it has read."""
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)


class Writer:
    """Writes the functions of a program.

    Args:
        names: how arrays are called that have other names than in the program.
        sizes: of a mechanism, by the names that the program has for them.
        may_cut: whether it may be cut into pieces.

    Attributes:
        memory: how many numbers it needs, those of functions that it calls included.
        parameters: the arrays that it takes, in order.
    """

    def __init__(
        self,
        source: Source,
        program: Program,
        name: str,
        names: Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        may_cut: bool = True,
    ) -> None:
        self.source, self.program, self.name = source, program, name
        self.names, self.sizes = dict(names or {}), dict(sizes or {})
        self.language = source.language
        self.pieces = Pieces(program, may_cut)
        self.own = self.pieces.size
        self.inner = 0
        self.regions: dict[int, int] = {}
        """Where the results of calls and of programs inside lie."""
        self.givens: dict[tuple[Operand, ...], int] = {}
        self.texts: list[str] = []
        self.early: dict[int, int] = {}
        """Of a program that overwrites its argument: the instructions that read it, by place."""
        if "argument0" in self.names:
            loads = [n for n in program.root.order if program.operations[n] == "load"]
            self.early = {program.details[n].offset: n for n in loads if program.details[n].array == "argument0"}
        self.written: set[int] = set()
        body = Body(name, 0)
        self.block(body, program.root)
        self.parameters = self._finish(body)
        self.memory = self.own + self.inner
        source.functions += [text.replace(_INNER, str(self.own)) for text in self.texts]

    # Functions

    def _finish(self, body: Body) -> list[str]:
        """End a function; the arrays that it takes."""
        taken = sorted(body.uses, key=_order)
        parameters = ", ".join(self._parameter(array) for array in taken) or "void"
        kind = self.language.apart if body.number else self.language.function
        lines = [f"{kind} {body.name}({parameters})", "{", *body.first, *body.lines, "}", ""]
        self.texts.append("\n".join(lines))
        return taken

    def _parameter(self, array: str) -> str:
        constant = array.startswith(_READ_ONLY)
        form = self.language.constant_array if constant else self.language.array
        return form.format(name=array)

    def call(self, body: Body, arrays: Mapping[str, str]) -> None:
        """A call of this from another function, given all arrays that it may take."""
        given = [arrays[array] for array in self.parameters]
        body.uses.update(each.split()[0] for each in given)
        body.line(f"{self.name}({', '.join(given)});")

    def block(self, body: Body, block: Block) -> None:
        pieces = self.pieces.cut.get(id(block))
        if pieces is None:
            self.instructions(body, block.order)
            return
        for number, order in pieces:
            piece = Body(f"{self.name}_{number}", number)
            self.instructions(piece, order)
            taken = self._finish(piece)
            body.uses.update(taken)
            body.line(f"{piece.name}({', '.join(taken)});")

    # Memory

    def region(self, count: int) -> int:
        """Memory for so many numbers."""
        self.own += count
        return self.own - count

    def inside(self, size: int) -> str:
        """The memory of a function that is called, which needs so much."""
        self.inner = max(self.inner, size)
        return f"memory + {_INNER}"

    def number(self, body: Body, place: object, array: str = "memory") -> str:
        """A number in memory."""
        body.uses.add(array)
        return f"{array}[{place}]"

    def put(self, body: Body, place: int, values: Sequence[Operand]) -> None:
        """Store values side by side."""
        k, places = 0, [self._place_of(x) for x in values]
        while k < len(values):
            run = _run_of(places[k:])
            if run < _COPIED:
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

    def _lies_at(self, values: Sequence[Operand]) -> tuple[str, int] | None:
        """The array and the place where values lie side by side already."""
        places = [self._place_of(x) for x in values]
        return places[0] if places and _run_of(places) == len(places) else None

    def _place_of(self, x: Operand) -> tuple[str, int] | None:
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
        """Where values lie that a program inside is given; they are stored once."""
        there = self._lies_at(values)
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
            if x not in body.known:
                body.known.add(x)
                place = self.regions[self.program.operands[x][0]] + detail
                body.line(f"const {self.language.real} v{x} = {self.number(body, place)};")
            return f"v{x}"
        anew = self.reads_anew(x)
        if (anew or self.pieces.home[x] != body.number) and x not in body.known:
            body.known.add(x)
            read = self.element(body, detail) if anew else self.number(body, self.pieces.slots[x])
            line = f"const {self.language.real} v{x} = {read};"
            body.line(line) if body.depth == 1 else body.first.append(f"    {line}")
        return f"v{x}"

    def reads_anew(self, x: int) -> bool:
        """Whether functions read a value where they need it first."""
        return not self.early and self.pieces.is_read_anew(x)

    def index(self, body: Body, x: int) -> str:
        """The name of an integer."""
        if self.pieces.home[x] != body.number and x not in body.known:
            body.known.add(x)
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
        self._keep_index(body, n)

    def _keep_index(self, body: Body, n: int) -> None:
        if n in self.pieces.slots:
            body.line(f"{self.number(body, self.pieces.slots[n])} = ({self.language.real})i{n};")

    # Instructions

    def instructions(self, body: Body, order: Sequence[int]) -> None:
        """Instructions in order; numbers that are stored side by side as they lie are copied in a loop."""
        silent = [n for n in order if self.program.operations[n] in ("final", "part", "constant") or self.reads_anew(n)]
        spoken = [n for n in order if n not in set(silent)] if silent else list(order)
        k = 0
        while k < len(spoken):
            run = self._run_of_copies(spoken, k)
            if run < _COPIED:
                self.instruction(body, spoken[k])
                k += 1
                continue
            detail, (array, start) = self.program.details[spoken[k]], self._stored_from(spoken[k]) or ("", 0)
            body.uses.update((detail.array, array))
            self.copy(body, run, f"{detail.array}[{detail.offset} + k]", f"{array}[{start} + k]")
            k += run

    def _run_of_copies(self, order: Sequence[int], first: int) -> int:
        """How many instructions from one on store numbers side by side as they lie."""
        start, address = self._stored_from(order[first]), self.program.details[order[first]]
        if start is None:
            return 0
        array, place = start
        for run, n in enumerate(order[first:]):
            there = address._replace(offset=address.offset + run)
            if self.program.details[n] != there or self._stored_from(n) != (array, place + run):
                return run
        return len(order) - first

    def _stored_from(self, n: int) -> tuple[str, int] | None:
        """The array and the place from which an instruction copies a number into a result."""
        address = self.program.details[n]
        if self.program.operations[n] != "store" or self.early or address.terms:
            return None
        (x,) = self.program.operands[n]
        if type(x) is int and self.program.operations[x] in ("final", "part"):
            behind = self.program.operands[x][0]
            return ("memory", self.regions[behind] + self.program.details[x]) if behind in self.regions else None
        return self._place_of(x)

    def instruction(self, body: Body, n: int) -> None:
        operation, operands, detail = self.program.operations[n], self.program.operands[n], self.program.details[n]
        if self.program.widths[n] != 1:
            raise ValueError(f"{operation} of several lanes has no text")
        if operation in ARITHMETIC:
            values = [self.value(body, x) for x in operands]
            expression = self.language.operations[operation].format(*values)
            self.source.need_for(expression)
            self.define(body, n, expression)
        else:
            _WRITTEN[operation](self, body, n, operands, detail)

    def load(self, body: Body, n: int, _: Any, address: Address) -> None:
        if n not in self.written and not self.reads_anew(n):
            self.written.add(n)
            self.define(body, n, self.element(body, address))

    def store(self, body: Body, _: int, operands: Sequence[Operand], address: Address) -> None:
        before = self.early.get(address.offset) if address.array == "result0" else None
        if before is not None:
            if operands[0] == before and type(operands[0]) is int:
                return
            self.load(body, before, (), self.program.details[before])
        value = self.value(body, operands[0])
        body.line(f"{self.element(body, address)} = {value};")

    def read_index(self, body: Body, n: int, _: Any, address: Address) -> None:
        self.define_index(body, n, self.integer(body, address))

    def integer(self, body: Body, address: Address) -> str:
        """An integer of a table, or of ``work``."""
        element = self.element(body, address)
        return element if address.array == "ints" else f"({self.language.integer}){element}"

    def store_index(self, body: Body, _: int, operands: Sequence[int], address: Address) -> None:
        value = f"({self.language.real}){self.index(body, operands[0])}"
        body.line(f"{self.element(body, address)} = {value};")

    def define_affine(self, body: Body, n: int, _: Any, address: Address) -> None:
        self.define_index(body, n, self.affine(body, address))

    def gather(self, body: Body, n: int, operands: Sequence[Operand], cell: Cell) -> None:
        self.define(body, n, self.cell(body, operands[0], cell))

    def scatter(self, body: Body, _: int, operands: Sequence[Operand], cell: Cell) -> None:
        row, x = operands
        place = self.cell(body, row, cell._replace(array="argument0"))
        body.line(f"{place} = {place} + {self.value(body, x)};")

    def cell(self, body: Body, row: Operand, cell: Cell) -> str:
        """A number of a row of a table."""
        array = self.names.get(cell.array, cell.array)
        body.uses.add(array)
        self.source.need("lw_row")
        value = self.value(body, row)
        return f"{array}[{cell.offset} + {cell.width} * lw_row({value}, {float(cell.rows)!r})]"

    # Loops

    def loop(self, body: Body, _: int, __: Any, loop: Loop) -> None:
        counter, kind = f"i{loop.counter}", self.language.integer
        body.line(f"for ({kind} {counter} = {self._bounds(body, loop)}) {{")
        body.depth += 1
        self._keep_index(body, loop.counter)
        if loop.kind is None:
            self.block(body, loop.cases[0][1])
        else:
            body.line(f"switch ({self.integer(body, loop.kind)}) {{")
            for number, block in loop.cases:
                alike = [number, *(other for other, first in loop.same.items() if first == number)]
                body.line(" ".join(f"case {each}:" for each in alike) + " {")
                body.depth += 1
                self.block(body, block)
                body.line("break;")
                body.depth -= 1
                body.line("}")
            body.line("default:")
            body.line("    break;")
            body.line("}")
        body.depth -= 1
        body.line("}")

    def _bounds(self, body: Body, loop: Loop) -> str:
        """First value, condition and next value of a loop's counter."""
        i = f"i{loop.counter}"
        if loop.walk == "climb":
            assert loop.start is not None and loop.successor is not None
            stop = "0" if loop.stop is None else self.index(body, loop.stop)
            return f"{self.index(body, loop.start)}; {i} != {stop}; {i} = {self.integer(body, loop.successor)}"
        if loop.start is not None and loop.stop is not None:
            return f"{self.index(body, loop.start)}; {i} < {self.index(body, loop.stop)}; ++{i}"
        end = loop.start if loop.walk == "down" else loop.stop
        last = str(self._size(loop.last)) if end is None else self.index(body, end)
        first = str(self._size(loop.first))
        return f"{last}; {i} >= {first}; --{i}" if loop.walk == "down" else f"{first}; {i} <= {last}; ++{i}"

    def _size(self, x: int | str) -> int:
        return self.sizes[x] if isinstance(x, str) else x

    # Other code, and programs inside this one

    def called(self, body: Body, n: int, operands: Sequence[Operand], what: Any) -> None:
        """A call of code with loops."""
        writer, loops = self.source.loops(what)
        count = sum(loops.results)
        edges = [*accumulate(loops.arguments, initial=0)]
        given = [self.given_at(body, operands[first:last]) for first, last in pairwise(edges)]
        made = self.regions[n] = self.region(count)
        if loops.zeroed:
            self.copy(body, count, f"memory[{made} + k]", "0.0")
        inner = self.inside(loops.work + loops.square + writer.memory)
        arrays = {f"argument{k}": place for k, place in enumerate(given)}
        arrays |= {f"result{k}": f"memory + {place}" for k, place in enumerate(_starts(made, loops.results))}
        arrays |= {"work": inner, "square": f"{inner} + {loops.work}"}
        arrays |= {"memory": f"{inner} + {loops.work + loops.square}"}
        writer.call(body, arrays)

    def repeat(self, body: Body, n: int, operands: Sequence[Operand], what: Repeat) -> None:
        writer = Writer(self.source, what.program, f"{self.name}_repeat{n}")
        given = self.given_at(body, operands[what.state :])
        state = self.regions[n] = self.region(what.state)
        following, flag = self.region(what.state), self.region(1)
        self.put(body, state, operands[: what.state])
        kind = self.language.integer
        body.line("{")
        body.depth += 1
        body.line(f"{kind} turn;")
        body.line(f"for (turn = 0; turn < {what.most}; ++turn) {{")
        body.depth += 1
        places = {"argument0": state, "result0": following, "result1": flag}
        self._run(body, writer, places, {"argument1": given})
        self.copy(body, what.state, f"memory[{state} + k]", f"memory[{following} + k]")
        body.line(f"if (!({self.number(body, flag)} > 0.5)) {{")
        body.line("    break;")
        body.line("}")
        body.depth -= 1
        body.line("}")
        if what.may_stop:
            body.line("(void)turn;")
        else:
            body.line(f"if (turn == {what.most}) {{")
            body.depth += 1
            self._unsolved(body, what, state)
            body.depth -= 1
            body.line("}")
        body.depth -= 1
        body.line("}")

    def _unsolved(self, body: Body, what: Repeat, state: int) -> None:
        """A problem was not solved: its results are NaN."""
        self.source.need("lw_number")
        self.source.need("lw_finite")
        problem, flag = self.source.problem(what.name), self.number(body, 0, "shared")
        body.line(f"{self.language.real} solvable = {problem}.0;")
        body.line(f"for ({self.language.integer} k = 0; k < {what.state}; ++k) {{")
        body.line(f"    solvable = lw_finite(memory[{state} + k]) ? solvable : 0.0;")
        body.line(f"    memory[{state} + k] = {self.language.nan};")
        body.line("}")
        body.line(f"{flag} = (solvable > 0.0) ? solvable : {flag};")

    def subroutine(self, body: Body, n: int, operands: Sequence[Operand], what: Subroutine) -> None:
        writer = self.source.subroutine(what)
        given = self.given_at(body, operands)
        made = self.regions[n] = self.region(what.state)
        self._run(body, writer, {"result0": made}, {"argument0": given})

    def _run(self, body: Body, writer: Writer, places: Mapping[str, int], others: Mapping[str, str]) -> None:
        """Call the function of a program inside this one, with arrays in memory and others."""
        arrays = {array: f"memory + {place}" for array, place in places.items()}
        arrays |= {"memory": f"memory + {_INNER}", "shared": "shared", **others}
        self.inner = max(self.inner, writer.memory)
        writer.call(body, arrays)

    # Rows

    def keep(self, body: Body, _: int, operands: Sequence[Operand], what: Keep) -> None:
        flag, *values = [self.value(body, x) for x in operands]
        start, count = self._rows(body, what.rows)
        if what.first:
            body.line(f"{count} = 0.0;")
        body.line(f"if ({flag} > 0.5) {{")
        body.depth += 1
        kind = self.language.integer
        body.line(f"const {kind} first = {start} + {what.rows.width} * ({kind}){count};")
        for k, value in enumerate(values):
            body.line(f"shared[first + {k}] = {value};")
        body.line(f"{count} = {count} + 1.0;")
        body.depth -= 1
        body.line("}")

    def _rows(self, body: Body, rows: Rows) -> tuple[int, str]:
        """Where rows begin, and the number of them."""
        place = self.source.rows[rows]
        return place + 1, self.number(body, place, "shared")

    def _over_rows(self, body: Body, rows: Rows) -> str:
        """The beginning of a loop over rows; where its row is."""
        start, count = self._rows(body, rows)
        kind = self.language.integer
        body.line(f"for ({kind} row = 0; row < ({kind}){count}; ++row) {{")
        return f"shared + {start} + {rows.width} * row"

    def map(self, body: Body, n: int, operands: Sequence[Operand], what: Map) -> None:
        writer = Writer(self.source, what.program, f"{self.name}_map{n}")
        given, made = self.given_at(body, operands), self.region(1 + what.target.width)
        start, count = self._rows(body, what.target)
        if what.first:
            body.line(f"{count} = 0.0;")
        row = self._over_rows(body, what.source)
        body.depth += 1
        self._run(body, writer, {"result0": made}, {"argument0": row, "argument1": given})
        body.line(f"if ({self.number(body, made)} > 0.5) {{")
        body.depth += 1
        kind = self.language.integer
        body.line(f"const {kind} first = {start} + {what.target.width} * ({kind}){count};")
        self.copy(body, what.target.width, "shared[first + k]", f"memory[{made + 1} + k]")
        body.line(f"{count} = {count} + 1.0;")
        for _ in range(2):
            body.depth -= 1
            body.line("}")

    def fold(self, body: Body, n: int, operands: Sequence[Operand], what: Fold) -> None:
        """The program writes each next state over the last."""
        state = {"argument0": "state", "result0": "state"}
        writer = Writer(self.source, what.program, f"{self.name}_fold{n}", state, may_cut=False)
        given = self.given_at(body, operands[what.state :])
        place = self.regions[n] = self.region(what.state)
        self.put(body, place, operands[: what.state])
        row = self._over_rows(body, what.rows)
        body.depth += 1
        self._run(body, writer, {"state": place}, {"argument1": given, "argument2": row})
        body.depth -= 1
        body.line("}")


def _order(array: str) -> tuple[int, int]:
    """Arguments, results, then the others."""
    for k, kind in enumerate(("state", "argument", "result")):
        if array.startswith(kind):
            return k, int(array.removeprefix(kind) or 0)
    return 3, _LAST.index(array)


def _run_of(places: Sequence[tuple[str, int] | None]) -> int:
    """How many places follow one another, from the first on."""
    if places[0] is None:
        return 0
    array, start = places[0]
    expected = enumerate(places)
    return next((k for k, place in expected if place != (array, start + k)), len(places))


def _starts(first: int, sizes: Sequence[int]) -> list[int]:
    """Where arrays of these sizes begin, one after the other."""
    return [first + edge for edge in [*accumulate(sizes, initial=0)][: len(sizes)]]


_WRITTEN: dict[str, Callable[..., None]] = {
    "load": Writer.load,
    "store": Writer.store,
    "index": Writer.read_index,
    "store_index": Writer.store_index,
    "affine": Writer.define_affine,
    "loop": Writer.loop,
    "gather": Writer.gather,
    "scatter": Writer.scatter,
    "keep": Writer.keep,
    "call": Writer.called,
    **{name: getattr(Writer, name) for name in WITHIN},
    **dict.fromkeys(("final", "part", "constant"), lambda *_: None),
}
"""What is written for an instruction that is no arithmetic."""
