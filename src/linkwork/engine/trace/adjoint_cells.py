"""Lifetimes of the adjoints of fields in a reverse pass: which ones an iteration initialises, so that they need not be
zero before it, and which ones nothing reads any more.

The last forward access to a cell is the first access to its adjoint in reverse. If that is at the iteration's own place
in a walk over all places, then every such cell is initialised there. And the first access to a cell, the store that
defines it, is the last to its adjoint.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.engine.ir.program import Block, Loop, Program
from linkwork.engine.trace.overwriting import Overwriting

Number = tuple[str, int]
"""A field, and which of its numbers."""


class AdjointCells(NamedTuple):
    """Attributes:
    begun: by the id of a loop's case, the numbers whose adjoints it is the first to touch, at its own place.
    unset: stores beside which no adjoint need be zeroed.
    fresh: stores after which, in reverse, nothing touches the adjoint.
    """

    begun: dict[int, list[Number]]
    unset: set[int]
    fresh: set[int]


class _Case(NamedTuple):
    """A case of a walk over all places that is not nested: the kinds that it is for, none for all; the block."""

    loop: Loop
    kinds: frozenset[int]
    block: Block

    def numbers(self, number: Number) -> set[tuple[object, ...]]:
        """A number of a field, at the places of the case's kinds."""
        return {(number, self.loop.first, self.loop.last, kind) for kind in self.kinds or (None,)}


def adjoint_cells(program: Program) -> AdjointCells:
    """Of a program with loops."""
    places = Overwriting(program)
    uses = dict[Number, list[int]]()
    for n in places.places:
        if _is_of_field(program, n):
            uses.setdefault(_number(program, n), []).append(n)
    own = _own(program)
    begun, covered = dict[int, list[Number]](), set[tuple[object, ...]]()
    for case, n in own:
        number = _number(program, n)
        if not any(places.hits(n, other) for other in uses[number]):
            begun.setdefault(id(case.block), []).append(number)
            covered |= case.numbers(number)
    unset = _made_before(program, program.root)
    unset.update(n for case, n in own if program.operations[n] == "store" and _is_covered(program, case, n, covered))
    stores = [n for n in places.places if _is_of_field(program, n) and program.operations[n] == "store"]
    fresh = {n for n in stores if not any(places.hits(other, n) for other in uses[_number(program, n)])}
    return AdjointCells(begun, unset, fresh)


def _is_covered(program: Program, case: _Case, n: int, covered: set[tuple[object, ...]]) -> bool:
    """Whether the adjoint of a number that a case stores is begun for all places, or for those of its kinds."""
    number = _number(program, n)
    return (number, case.loop.first, case.loop.last, None) in covered or case.numbers(number) <= covered


def _is_of_field(program: Program, n: int) -> bool:
    return program.operations[n] in ("load", "store") and program.details[n].array.startswith("field")


def _own(program: Program) -> list[tuple[_Case, int]]:
    """The instructions that use a field at the place of the iteration."""
    every = [(case, n) for case in _cases(program) for n in case.block.order if _is_of_field(program, n)]
    return [(case, n) for case, n in every if program.details[n].terms == ((case.loop.counter, "row"),)]


def _number(program: Program, n: int) -> Number:
    return program.details[n].array, program.details[n].offset


def _cases(program: Program) -> list[_Case]:
    found: list[_Case] = []
    for n in program.root.order:
        loop = program.details[n]
        if program.operations[n] != "loop" or loop.walk == "climb" or not loop.start is loop.stop is None:
            continue
        for kind, block in loop.cases:
            others = [other for other, first in loop.same.items() if first == kind]
            found.append(_Case(loop, frozenset() if loop.kind is None else frozenset({kind, *others}), block))
    return found


def _made_before(program: Program, block: Block) -> set[int]:
    """Stores into cells that were read before in the same iteration, and so had been defined."""
    found: set[int] = set()
    read: set[object] = set()
    for n in block.order:
        detail = program.details[n]
        if program.operations[n] == "load":
            read.add(detail)
        elif program.operations[n] == "store" and detail in read:
            found.add(n)
        elif program.operations[n] == "loop":
            found = found.union(*(_made_before(program, case) for _, case in detail.cases))
    return found
