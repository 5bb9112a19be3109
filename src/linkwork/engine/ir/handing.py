"""A pass over programs with loops: values that iterations only hand on to later ones are kept in rows that are reused.

A field that is written at an iteration's own place and read at the place of its predecessor (``handed``), all within
one ascending walk, is never read later. An earlier row may then be overwritten once the last iteration has read it:
a chain of bodies takes one row, a tree one for each open branch. So a walk that runs again and again stays in the
first-level cache.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Program


def reuse_rows(program: Program) -> None:
    """Have fields that are only handed on keep their numbers in the rows given by ``Loop.handed``."""
    found = _Uses(program)
    for name, cases in found.cases.items():
        if name not in found.kept and _overwritten_in_time(cases):
            for case in cases:
                _use_rows(program, case, found.uses[name, id(case.block)])


@dataclass
class _Case:
    """A case of a loop, and in it the positions of loads and stores, by offset."""

    loop: Loop
    block: Block
    loads: dict[int, int] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)


class _Uses:
    """The uses of fields: by name the cases of loops, with the instructions; and which are used in other ways."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kept: set[str] = set()
        self.cases: dict[str, list[_Case]] = defaultdict(list)
        self.uses: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.block(program.root, None)

    def block(self, block: Block, loop: Loop | None) -> None:
        here: dict[str, _Case] = {}
        for position, n in enumerate(block.order):
            detail = self.program.details[n]
            if isinstance(detail, Loop):
                if detail.successor is not None:
                    self.kept.add(detail.successor.array)
                for _, inside in detail.cases:
                    self.block(inside, detail)
            elif isinstance(detail, Address) and detail.array.startswith("field") and detail.terms:
                if not self.handed(n, detail, loop):
                    self.kept.add(detail.array)
                    continue
                assert loop is not None
                if detail.array not in here:
                    here[detail.array] = _Case(loop, block)
                    self.cases[detail.array].append(here[detail.array])
                case = here[detail.array]
                if self.program.operations[n] == "load":
                    case.loads[detail.offset] = position  # the last one
                else:
                    case.stores.setdefault(detail.offset, position)  # the first one
                self.uses[detail.array, id(block)].append(n)

    def handed(self, n: int, address: Address, loop: Loop | None) -> bool:
        """Whether a number is stored at the iteration's own place, or loaded at that of its predecessor."""
        if loop is None or loop.handed is None or len(address.terms) != 1 or address.terms[0][1] != "row":
            return False
        ((index, _),) = address.terms
        if self.program.operations[n] == "store":
            return index == loop.counter
        earlier = self.program.operations[index] == "index" and self.program.details[index] == loop.handed[0]
        return self.program.operations[n] == "load" and earlier


def _overwritten_in_time(cases: list[_Case]) -> bool:
    """Whether each walk that loads numbers stores all of them in each of its cases, after it has loaded them; false if
    there is none.
    """
    by_loop: dict[int, list[_Case]] = defaultdict(list)
    for case in cases:
        by_loop[id(case.loop)].append(case)
    for each in by_loop.values():
        loaded = {offset for case in each for offset in case.loads}
        complete = len(each) == len(each[0].loop.cases) and all(loaded <= {*case.stores} for case in each)
        before = all(max(case.loads.values(), default=-1) < min(case.stores.values(), default=0) for case in each)
        if loaded and not (complete and before):
            return False
    return any(case.loads for case in cases)


def _use_rows(program: Program, case: _Case, uses: list[int]) -> None:
    assert case.loop.handed is not None
    _, own, earlier = case.loop.handed
    rows: dict[str, int] = {}
    for n in uses:
        operation = program.operations[n]
        if operation not in rows:
            place = own if operation == "store" else earlier
            rows[operation] = program.instruction(Block(), "index", (), place)
        program.details[n] = program.details[n]._replace(terms=((rows[operation], "row"),))
    case.block.order[:0] = rows.values()
