"""A program as functions of a language: one, or the pieces of a long one and the function that calls these.

A function takes the arrays of its program that it uses, ``memory`` of its own, and ``shared``: the rows that are kept
while all programs run, and the number of a problem that was not solved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import ARITHMETIC, Block, Cell, Loop, Operand, Program
from linkwork.engine.targets.statements import COPIED, INNER, Body, Statements

if TYPE_CHECKING:
    from linkwork.engine.targets.source import Source

_READ_ONLY = "argument"
_LAST = ("work", "square", "memory", "shared")


class Writer(Statements):
    """Writes the functions of a program.

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
        super().__init__(source, program, names, sizes, may_cut)
        self.name = name
        self.texts: list[str] = []
        self.written: set[int] = set()
        body = Body(name, 0)
        self.block(body, program.root)
        self.parameters = self._finish(body)
        self.memory = self.own + self.inner
        source.functions += [text.replace(INNER, str(self.own)) for text in self.texts]

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
        """A call of this from another function, with all arrays that it may take."""
        places = [arrays[array] for array in self.parameters]
        body.uses.update(each.split()[0] for each in places)
        body.line(f"{self.name}({', '.join(places)});")

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

    # Instructions

    def instructions(self, body: Body, order: Sequence[int]) -> None:
        """Instructions in order; numbers that are stored side by side as they lie are copied in a loop."""
        silent = [n for n in order if self.program.operations[n] in ("final", "part", "constant") or self.reads_anew(n)]
        spoken = [n for n in order if n not in set(silent)] if silent else list(order)
        k = 0
        while k < len(spoken):
            run = self._run_of_copies(spoken, k)
            if run < COPIED:
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
        return self.place_of(x)

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
            from linkwork.engine.targets.inside import INSIDE  # which writes functions, too

            (_WRITTEN.get(operation) or INSIDE[operation])(self, body, n, operands, detail)

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
        self.keep_index(body, loop.counter)
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


def _order(array: str) -> tuple[int, int]:
    """Arguments, results, then the others."""
    for k, kind in enumerate(("state", "argument", "result")):
        if array.startswith(kind):
            return k, int(array.removeprefix(kind) or 0)
    return 3, _LAST.index(array)


_WRITTEN: dict[str, Callable[..., None]] = {
    "load": Writer.load,
    "store": Writer.store,
    "index": Writer.read_index,
    "store_index": Writer.store_index,
    "affine": Writer.define_affine,
    "loop": Writer.loop,
    "gather": Writer.gather,
    "scatter": Writer.scatter,
    **dict.fromkeys(("final", "part", "constant"), lambda *_: None),
}
"""What is written for an instruction that is no arithmetic, and runs nothing else."""
