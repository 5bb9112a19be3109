"""Passes over a traced program: dead code is eliminated, the rest is scheduled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkwork.engine.ir.address import ONE, Address
from linkwork.engine.ir.program import (
    WITHIN,
    Block,
    Fold,
    Loop,
    Map,
    Program,
    Repeat,
    Rows,
    Subroutine,
    inner,
    length,
    programs,
)


def schedule(program: Program) -> Program:
    """A program without loops in an order with few live values.

    Dead code is eliminated; a load moves to its first use, a store to where its value is defined. The same is done to
    repeated programs in it.
    """
    for what in dict.fromkeys(inner(program)):
        for each in programs(what):
            schedule(each)
    operations, operands = program.operations, program.operands
    live = _live(program)
    stores: dict[int | None, list[int]] = {}
    for n in live:
        if operations[n] == "store":
            (value,) = operands[n]
            stores.setdefault(value if type(value) is int else None, []).append(n)
    constants = stores.pop(None, [])
    loaded: set[int] = set()
    order: list[int] = []

    def load(values: Iterable[int]) -> None:
        new = [x for x in dict.fromkeys(values) if operations[x] == "load" and x not in loaded]
        loaded.update(new)
        order.extend(new)

    for n in live:
        if operations[n] not in ("load", "store"):
            load(program.inputs(n))
            order.extend([n, *stores.get(n, ())])
    for value, numbers in stores.items():  # arguments passed through
        if value is not None and operations[value] == "load":
            load([value])
            order.extend(numbers)
    program.root.order = order + constants
    return program


Kinds = dict[int, tuple[object, frozenset[int]]]
"""For counters of loops: the address of kinds, and those that the counter has in a case."""


def _kinds_of(loop: Loop, kind: int) -> Kinds:
    """What a case implies for its loop's counter."""
    if loop.kind is None:
        return {}
    told = loop.kind.array, loop.kind.offset, tuple((x == loop.counter or x, s) for x, s in loop.kind.terms)
    return {loop.counter: (told, frozenset({kind, *(other for other, first in loop.same.items() if first == kind)}))}


def _apart(a: Address, kinds: Kinds, b: Address, others: Kinds) -> bool:
    """Whether two places of a field certainly belong to different kinds."""
    places = {stride: index for index, stride in b.terms}
    for index, stride in a.terms:
        x, y = kinds.get(index), others.get(places.get(stride, ONE))
        if x and y and x[0] == y[0] and x[1].isdisjoint(y[1]):
            return True
    return False


def eliminate_dead_code(program: Program) -> None:
    """Remove everything that no result depends on, including stores that nothing reads."""
    if not _PLACES.intersection(program.operations):
        program.root.order = _live(program)
        return
    stores: dict[tuple[str, int], list[int]] = {}
    live: set[int] = set()
    todo: list[int] = []
    within: dict[int, list[int]] = {}  # the loops around an instruction
    kinds: dict[int, Kinds] = {}  # of each instruction, with the loop counters

    def visit(block: Block, around: list[int], here: Kinds) -> None:
        for n in block.order:
            within[n], kinds[n] = around, here
            detail = program.details[n]
            if program.operations[n] in ("keep", "map", "scatter"):
                todo.append(n)
            elif program.operations[n] in ("store", "store_index"):
                if detail.array.startswith(("field", "matrix")):
                    stores.setdefault((detail.array, detail.offset), []).append(n)
                else:
                    todo.append(n)
            elif program.operations[n] == "loop":
                for kind, case in detail.cases:
                    visit(case, [*around, n], here | _kinds_of(detail, kind))

    visit(program.root, [], {})
    while todo:
        n = todo.pop()
        if n in live or n == ONE:
            continue
        live.add(n)
        detail = program.details[n]
        todo.extend(within.get(n, ()))
        todo.extend(program.inputs(n))
        if isinstance(detail, Address | Loop):
            todo.extend(detail.integers)
        for address in _read(detail) if program.operations[n] in ("load", "index", "loop") else ():
            of_body = _is_of_a_body(program, address)
            for m in stores.get((address.array, address.offset), ()):
                other = program.details[m]
                if (other.terms or not of_body) and not _apart(address, kinds.get(n, {}), other, kinds[m]):
                    todo.append(m)

    def sweep(block: Block) -> None:
        block.order = [n for n in block.order if n in live]
        for n in block.order:
            if program.operations[n] == "loop":
                for _, case in program.details[n].cases:
                    sweep(case)

    sweep(program.root)


_EFFECTS = frozenset(("store", "keep", "map", "scatter"))
_PLACES = frozenset(("loop", "index", "affine", "store_index"))
"""Operations without which all stores are into results."""


def _live(program: Program) -> list[int]:
    """What results depend on, of a program without loops: found in one sweep, from the end."""
    operations, details = program.operations, program.details
    order: list[int] = []
    live: set[int] = set()
    read: set[Rows] = set()
    for n in reversed(program.root.order):
        needed = details[n].target in read if operations[n] == "map" else operations[n] in _EFFECTS
        if n in live or needed:
            order.append(n)
            live.update(program.inputs(n))
            if operations[n] in WITHIN:
                read |= rows_read(details[n])
    order.reverse()
    return order


def rows_read(what: Repeat | Subroutine | Map | Fold) -> set[Rows]:
    """The rows that an instruction with a program reads."""
    own = {what.source} if isinstance(what, Map) else {what.rows} if isinstance(what, Fold) else set()
    return own.union(*(rows_read(each) for program in programs(what) for each in inner(program)))


def needed(program: Program) -> int:
    """How many instructions the results of a program without loops need, inner programs included: those on which only
    derivatives depend do not count.
    """
    live: set[int] = set()
    count, inside = 0, dict[object, int]()
    for n in reversed(program.root.order):
        operation, detail = program.operations[n], program.details[n]
        if n in live or operation in _EFFECTS:
            count += 1
            live.update(program.inputs(n)[:1] if operation == "varying_as" else program.inputs(n))
            if operation in WITHIN:
                inside[detail] = sum(map(needed, programs(detail)))
    return count + sum(inside.values())


def _read(detail: Address | Loop) -> list[Address]:
    """Where a load, an index or a loop reads."""
    read = [detail] if isinstance(detail, Address) else [detail.kind, detail.successor]
    return [address for address in read if address is not None]


def _is_of_a_body(program: Program, address: Address) -> bool:
    """Whether a field is read at a loop's counter, which is never the world: that has no terms."""
    return bool(address.terms) and all(program.operations[index] == "counter" for index, _ in address.terms)


@dataclass(frozen=True)
class Around:
    """A program that has one repeat: what comes before it, from the arguments to the repeat's initial numbers
    ("result0"), and what comes after it, from the arguments and the final state, as one more argument, to the results.
    """

    before: Program
    what: Repeat
    after: Program


def around_repeat(program: Program, arguments: int) -> Around | None:
    """A program of so many arguments split at its repeat; None if it has none, or several, or if the repeated program
    is not longer than the rest.
    """
    operations, order = program.operations, program.root.order
    repeats = [n for n in order if operations[n] == "repeat"]
    if len(repeats) != 1 or "keep" in operations:
        return None  # rows are kept for all lanes of a tile at once
    (repeat,) = repeats
    what: Repeat = program.details[repeat]
    before, after = copied(program), copied(program)
    later = {repeat}
    for n in order:
        if not later.isdisjoint(program.inputs(n)):
            later.add(n)
    before.root.order = [n for n in order if n not in later and operations[n] != "store"]
    for k, x in enumerate(program.operands[repeat]):
        before.instruction(before.root, "store", (x,), Address("result0", k))
    after.root.order.remove(repeat)
    for n in order:
        if operations[n] == "final":
            place = Address(f"argument{arguments}", program.details[n])
            after.operations[n], after.operands[n], after.details[n] = "load", (), place
    found = Around(schedule(before), what, schedule(after))
    others = length(found.before) + length(found.after)
    return found if length(what.program) > others else None


def copied(program: Program) -> Program:
    """A copy of a program without loops, whose instructions may be changed."""
    operations, operands, details = list(program.operations), list(program.operands), list(program.details)
    return Program(operations, operands, details, list(program.widths), Block(list(program.root.order)))
