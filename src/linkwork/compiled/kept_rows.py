"""Rows that a traced text keeps where a condition holds, and iterates over later, such as the contacts that touch.

A row that no lane of a tile has costs one comparison; the code that processes rows is emitted once, whatever their
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.compiled.repeating import program_of
from linkwork.compiled.scalars import number
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Fold, Keep, Map, Program, Rows
from linkwork.engine.trace.tracer import Traced, Tracer


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

    def mapped(self, name: str, text: Callable[..., Sequence[Any]], width: int, given: Sequence[Any]) -> KeptRows:
        """Rows ``text(row, given)`` of other width, a list of scalars each, for scalars that are given, one of them
        traced.
        """
        made = KeptRows(name, width, self.rows.most)
        self.keep_in(made, lambda row, given: [1.0, *text(row, given)], given)
        return made

    def keep_in(self, target: KeptRows, text: Callable[..., Sequence[Any]], given: Sequence[Any]) -> None:
        """Keep rows ``text(row, given)`` in others, where their first number, a flag that is not kept, is more than
        0.5.
        """
        if not target.rows.packed:
            raise ValueError("rows that are made of others are packed")
        if not self.any:
            return
        loaded = [k for k, x in enumerate(given) if isinstance(x, Traced)]

        def body(tracer: Tracer) -> list[Any]:
            row = [tracer.load(Address("argument0", k)) for k in range(self.rows.width)]
            return list(text(row, _inside(tracer, given, loaded)))

        program = _program(body, 1 + target.rows.width)
        what = Map(program, self.rows, target.rows, len(loaded), not target.any)
        given[loaded[0]].mapped(what, [given[k] for k in loaded])
        target.any = True

    def fold(self, text: Callable[..., Sequence[Any]], state: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The state, a list of scalars, after ``state = text(state, row, given)`` for each row."""
        if not self.any:
            return list(state)
        loaded = [k for k, x in enumerate(given) if isinstance(x, Traced)]

        def body(tracer: Tracer) -> list[Any]:
            own = [tracer.load(Address("argument0", k)) for k in range(len(state))]
            row = [tracer.load(Address("argument2", k)) for k in range(self.rows.width)]
            return list(text(own, row, _inside(tracer, given, loaded)))

        what = Fold(_program(body, len(state)), self.rows, len(state), len(loaded))
        operands = [*state, *(given[k] for k in loaded)]
        traced = next(x for x in operands if isinstance(x, Traced))
        return traced.folded(what, operands)


def _inside(tracer: Tracer, given: Sequence[Any], loaded: Sequence[int]) -> list[Any]:
    """The given scalars, as the inner program sees them; constants stay what they are."""
    found = list(given)
    for place, k in enumerate(loaded):
        found[k] = tracer.load(Address("argument1", place))
    return found


def _program(body: Callable[[Tracer], list[Any]], size: int) -> Program:
    tracer = Tracer(expand=False)
    results = body(tracer)
    if len(results) != size:
        raise ValueError(f"a text over rows gives {len(results)} numbers instead of {size}")
    return program_of(tracer, list(map(number, results)))
