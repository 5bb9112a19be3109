"""Strips of a result's row: adjacent numbers, as many as there are lanes; and when a kernel writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

from linkwork.engine.ir.program import Operand, Program

Row = Mapping[int, Operand]
"""The numbers of a result, by their places."""


@dataclass(frozen=True)
class Strip:
    """Numbers of a result from the place ``start`` on."""

    array: str
    start: int
    numbers: tuple[Operand, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it holds only zeros."""
        return all(type(x) is float and x == 0.0 for x in self.numbers)


def strips(array: str, row: Row, lanes: int) -> Iterator[Strip]:
    """Those of a row; the last may overlap the one before it."""
    width = min(len(row), lanes)
    for k in range(0, len(row), lanes):
        start = min(k, len(row) - width)
        yield Strip(array, start, tuple(row[place] for place in range(start, start + width)))


def steps(program: Program, rows: Mapping[str, Row], lanes: int) -> list[int | Strip]:
    """The instructions except stores, and each strip as soon as all of its numbers are ready; none of only zeros."""
    order = [n for n in program.root.order if program.operations[n] != "store"]
    places = {n: k for k, n in enumerate(order)}
    ready: dict[int, list[Strip]] = {}
    for array, row in rows.items():
        for strip in strips(array, row, lanes):
            if not strip.is_empty:
                last = max((places[x] for x in strip.numbers if type(x) is int), default=len(order) - 1)
                ready.setdefault(last, []).append(strip)
    found: list[int | Strip] = list(ready.get(-1, ()))
    for k, n in enumerate(order):
        found += [n, *ready.get(k, ())]
    return found


def lines(
    written: Sequence[tuple[int, Strip]], sizes: Mapping[str, int], lanes: int, line: int
) -> dict[int, list[tuple[str, int]]]:
    """Cache lines of results of such sizes, as array and byte, by the step in which they are first ``written``, if
    these begin with a line.
    """
    first: dict[tuple[str, int], int] = {}
    for k, strip in written:
        for state in range(lanes):
            begin = 8 * (state * sizes[strip.array] + strip.start)
            for number in range(begin // line, (begin + 8 * len(strip.numbers) - 1) // line + 1):
                first.setdefault((strip.array, line * number), k)
    found: dict[int, list[tuple[str, int]]] = {}
    for where, k in first.items():
        found.setdefault(k, []).append(where)
    return found


def evenly(first: Mapping[int, Sequence[tuple[str, int]]], count: int, lead: int) -> Iterator[tuple[int, str, int]]:
    """In which of ``count`` steps each cache line is prefetched, as step, array and byte: at least ``lead`` before the
    one in which it is ``first`` written, spread evenly over the steps. A negative step is one of the previous tile.
    """
    gap, step = count / max(1, sum(map(len, first.values()))), float(count)
    for k in sorted(first, reverse=True):
        for array, line in reversed(first[k]):
            step = min(step - gap, float(k - lead))
            yield floor(step), array, line
