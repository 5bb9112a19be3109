"""Rows that a traced text keeps where a condition holds, and iterates over later, such as the contacts that touch.

A row that no lane of a tile has costs one comparison; the code that processes rows is emitted once, whatever their
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.compiled.repeating import program_of
from linkwork.compiled.scalars import number
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Cell, Fold, Keep, Map, Program, Rows
from linkwork.engine.trace.tracer import Traced, Tracer


class Table(NamedTuple):
    """Rows of so many numbers, one after the other; programs over kept rows look them up by their number."""

    numbers: Sequence[Any]
    width: int

    def cells(self, array: str, first: int = 0) -> list[Cell]:
        """Its columns, where it begins at a number of an array."""
        rows = len(self.numbers) // self.width
        return [Cell(array, first + k, self.width, rows) for k in range(self.width)]


LookUp = Callable[[Any], list[Any]]
"""Returns the row of a table with this number, a traced one."""


class KeptRows:
    """Rows of so many numbers, at most so many; nothing is kept at the start. Rows that are read only once need not be
    ``packed``.
    """

    def __init__(self, name: str, width: int, most: int, packed: bool = True) -> None:
        self.rows = Rows(name, width, max(1, most), packed)
        self.any = False

    def keep(self, flag: Any, row: Sequence[Any]) -> None:
        """Keep a row where a traced flag is more than 0.5."""
        if not isinstance(flag, Traced):
            raise ValueError("what is kept whatever the arguments are needs no rows")
        flag.kept(Keep(self.rows, not self.any), [flag, *row])
        self.any = True

    def mapped(
        self,
        name: str,
        text: Callable[..., Sequence[Any]],
        width: int,
        given: Sequence[Any],
        tables: Sequence[Table] = (),
    ) -> KeptRows:
        """Rows ``text(row, given, *tables)`` of other width, a list of scalars each, for scalars that are given, one of
        them traced, and tables, each as a ``LookUp``.
        """
        made = KeptRows(name, width, self.rows.most)
        self.keep_in(made, lambda row, given, *those: [1.0, *text(row, given, *those)], given, tables)
        return made

    def keep_in(
        self,
        target: KeptRows,
        text: Callable[..., Sequence[Any]],
        given: Sequence[Any],
        tables: Sequence[Table] = (),
    ) -> None:
        """Keep rows ``text(row, given, *tables)`` in others, where their first number, a flag that is not kept, is more
        than 0.5.
        """
        if not target.rows.packed:
            raise ValueError("rows that are made of others are packed")
        if not self.any:
            return
        inputs = _Inputs(given, tables)

        def body(tracer: Tracer) -> list[Any]:
            row = [tracer.load(Address("argument0", k)) for k in range(self.rows.width)]
            return list(text(row, *inputs.inside(tracer)))

        program = _program(body, 1 + target.rows.width)
        what = Map(program, self.rows, target.rows, len(inputs.operands), not target.any)
        _traced(inputs.operands).mapped(what, inputs.operands)
        target.any = True

    def fold(
        self,
        text: Callable[..., Sequence[Any]],
        state: Sequence[Any],
        given: Sequence[Any],
        tables: Sequence[Table] = (),
    ) -> list[Any]:
        """The state, a list of scalars, after ``state = text(state, row, given, *tables)`` for each row."""
        if not self.any:
            return list(state)
        inputs = _Inputs(given, tables)

        def body(tracer: Tracer) -> list[Any]:
            own = [tracer.load(Address("argument0", k)) for k in range(len(state))]
            row = [tracer.load(Address("argument2", k)) for k in range(self.rows.width)]
            return list(text(own, row, *inputs.inside(tracer)))

        what = Fold(_program(body, len(state)), self.rows, len(state), len(inputs.operands))
        operands = [*state, *inputs.operands]
        return _traced(operands).folded(what, operands)

    def added(
        self, text: Callable[..., Sequence[tuple[Any, Sequence[Any]]]], to: Table, given: Sequence[Any],
        tables: Sequence[Table] = (),
    ) -> Table:  # fmt: skip
        """A table after each row has added to it: ``text(row, given, *tables)`` returns numbers of rows of the table,
        with what is added to each.
        """
        if not self.any:
            return to
        inputs, size = _Inputs(given, tables), len(to.numbers)

        def body(tracer: Tracer) -> list[Any]:
            row = [tracer.load(Address("argument2", k)) for k in range(self.rows.width)]
            for which, numbers in text(row, *inputs.inside(tracer)):
                for cell, x in zip(to.cells("result0"), numbers, strict=True):
                    which.scattered(cell, x)
            return []

        what = Fold(_program(body, 0), self.rows, size, len(inputs.operands))
        operands = [*to.numbers, *inputs.operands]
        return Table(_traced(operands).folded(what, operands), to.width)


class _Inputs:
    """What a program over rows takes besides them: given scalars, and tables."""

    def __init__(self, given: Sequence[Any], tables: Sequence[Table]) -> None:
        self.given, self.tables = given, tables
        self.loaded = [k for k, x in enumerate(given) if isinstance(x, Traced)]
        self.operands = [*(given[k] for k in self.loaded), *(x for table in tables for x in table.numbers)]

    def inside(self, tracer: Tracer) -> list[Any]:
        """The given scalars, as the program sees them, constants as they are; then each table as a ``LookUp``."""
        found, place = list(self.given), len(self.loaded)
        for number_of_operand, k in enumerate(self.loaded):
            found[k] = tracer.load(Address("argument1", number_of_operand))
        lookups: list[LookUp] = []
        for table in self.tables:
            cells = table.cells("argument1", place)
            lookups.append(lambda row, cells=cells: [row.gathered(cell) for cell in cells])  # type: ignore[misc]
            place += len(table.numbers)
        return [found, *lookups]


def _traced(operands: Sequence[Any]) -> Traced:
    return next(x for x in operands if isinstance(x, Traced))


def _program(body: Callable[[Tracer], list[Any]], size: int) -> Program:
    tracer = Tracer(expand=False)
    results = body(tracer)
    if len(results) != size:
        raise ValueError(f"a text over rows gives {len(results)} numbers instead of {size}")
    return program_of(tracer, list(map(number, results)))
