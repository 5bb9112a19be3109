"""Where the fields of a program with loops lie: numbers that loops use together side by side.

A number of a field at a place becomes one of a row of ``work``, or of a cell or another part of ``square``. Rows may be
cut into groups, of numbers that the same nested loops use: these then find what they need in few pages and cache lines,
whatever else there is at a place. In these, the same numbers of up to four items of a list lie side by side
(``lists``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from linkwork.engine import optimisations
from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.engine.ir.handing import reuse_rows
from linkwork.engine.ir.lists import width_of
from linkwork.engine.ir.merge import merge_cases
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Block, Loop, Program

IN_SQUARE = ("cell", "place", "post", "knot", "seam")
"""What ``square`` consists of."""
WIDTHS = ("row", *IN_SQUARE, "matrices")
"""How wide a row of ``work`` and the parts of ``square`` are, and how many matrices there are."""

CACHE_LINE = 8
"""Numbers in a cache line."""

Number = tuple[str, int]
"""A field, and which of its numbers."""


def laid_out(program: Program, grouped: bool = True) -> dict[str, int]:
    """Give a program with loops its memory, without dead code and cases alike; its ``WIDTHS``. If ``grouped``, fields
    that loops use together are adjacent, and values that are only handed on are overwritten.
    """
    eliminate_dead_code(program)
    if optimisations.on("merging"):
        merge_cases(program)
    if grouped and optimisations.on("reuse"):
        reuse_rows(program)
    return lay_out_fields(program, grouped and optimisations.on("layout"))


def lay_out_fields(program: Program, grouped: bool = False) -> dict[str, int]:
    """Give each used number of each field its place in a row of ``work``, or in a cell or another part of ``square`` if
    it is addressed by these, and each matrix its place in ``square``; how wide a "row" and each of these become, and
    how many "matrices" there are. If rows are ``grouped``, the size "rows" is how many there are.
    """
    used = [program.details[n] for n in program.walk() if _is_of_field(program.details[n])]
    in_square = {address.array: str(s) for address in used for _, s in address.terms if s in IN_SQUARE}
    program.seats = {n: seat for n, seat in program.seats.items() if grouped and seat.run[0] not in in_square}
    inside, rows = _slots(program, used, in_square, grouped)
    widths = {"row": sum(map(len, rows)), **{part: len(slots) for part, slots in inside.items()}}
    widths["seam"] = -(-widths["seam"] // CACHE_LINE) * CACHE_LINE  # rows that lanes gather
    groups = _groups(program, rows)

    def placed(address: Address) -> Address:
        number, part = (address.array, address.offset), in_square.get(address.array)
        slot, width, begin = (inside[part][number], 0, ()) if part else groups[number]
        own = {**widths, "row": width}
        terms = tuple((i, own.get(s, s) if isinstance(s, str) else s) for i, s in address.terms)
        return address._replace(array="square" if part else "work", offset=slot, terms=(*terms, *begin))

    for n in program.walk():
        detail = program.details[n]
        if _is_of_field(detail):
            program.details[n] = placed(detail)
        elif isinstance(detail, Loop) and _is_of_field(detail.successor):
            detail.successor = placed(detail.successor)
    return {**widths, "matrices": _lay_out_matrices(program)}


def _slots(
    program: Program, used: list[Address], in_square: dict[str, str], grouped: bool
) -> tuple[dict[str, dict[Number, int]], list[dict[Number, int]]]:
    """The place of each number in a cell or another part of ``square``, or in the row of its group."""
    inside: dict[str, dict[Number, int]] = {part: {} for part in IN_SQUARE}
    rows: dict[frozenset[int], dict[Number, int]] = {}
    loops = _loops_that_use(program) if grouped else {}
    lists = _runs(program)
    for address in used:
        number = (address.array, address.offset)
        part = in_square.get(address.array)
        together = [number] if part else lists.get(number, [number])
        used_by = frozenset[int]().union(*(loops.get(each, ()) for each in together))
        slots = inside[part] if part else rows.setdefault(used_by, {})
        for each in together:
            slots.setdefault(each, len(slots))
    return inside, list(rows.values())


def _runs(program: Program) -> dict[Number, list[Number]]:
    """For each number of a list, the same of a few items, to lie side by side; three are padded to four."""
    lanes: dict[tuple[str, int, int], dict[int, Number]] = {}
    for n, (run, lane) in program.seats.items():
        address = program.details[n]
        lanes.setdefault(run, {})[lane] = (address.array, address.offset)
    found: dict[Number, list[Number]] = {}
    for run, numbers in lanes.items():
        place = [numbers.get(lane, (f"{run}", lane)) for lane in range(width_of(max(numbers) + 1))]
        found.update(dict.fromkeys(numbers.values(), place))
    return found


def _is_of_field(detail: object) -> TypeGuard[Address]:
    return isinstance(detail, Address) and detail.array.startswith("field")


def _groups(program: Program, rows: list[dict[Number, int]]) -> dict[Number, tuple[int, int, Terms]]:
    """For each number its place in the row of its group, how wide that is, and where the group begins."""
    found: dict[Number, tuple[int, int, Terms]] = {}
    count = program.instruction(Block(), "affine", (), Address("", 0, ((ONE, "rows"),)))
    begins: list[int] = []
    before = 0
    for slots in rows:
        if before:
            begins.append(program.instruction(Block(), "affine", (), Address("", 0, ((count, before),))))
        begin: Terms = ((begins[-1], 1),) if before else ()
        found.update({number: (slot, len(slots), begin) for number, slot in slots.items()})
        before += len(slots)
    program.root.order[:0] = [count, *begins] if begins else []
    return found


def _loops_that_use(program: Program) -> dict[Number, frozenset[int]]:
    """The innermost loops that use a number, if it is used in nested loops."""
    deepest: dict[Number, int] = {}
    loops: dict[Number, set[int]] = {}
    for n, around in _within(program, program.root, ()):
        detail = program.details[n]
        if not _is_of_field(detail):
            continue
        number, depth = (detail.array, detail.offset), len(around)
        if depth > deepest.get(number, 1):
            deepest[number], loops[number] = depth, set()
        if depth == deepest.get(number):
            loops[number].add(around[-1])
    return {number: frozenset(found) for number, found in loops.items()}


def _within(program: Program, block: Block, around: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """All instructions, with the loops around them."""
    for n in block.order:
        yield n, around
        if program.operations[n] == "loop":
            for _, case in program.details[n].cases:
                yield from _within(program, case, (*around, n))


def _lay_out_matrices(program: Program) -> int:
    """Put one matrix after the other, from where "matrices" says; how many there are."""
    numbers: dict[str, int] = {}
    size = program.instruction(Block(), "affine", (), Address("", 0, ((ONE, "nv_square"),)))
    for n in program.walk():
        address = program.details[n]
        if isinstance(address, Address) and address.array.startswith("matrix"):
            number = numbers.setdefault(address.array, len(numbers))
            before = ((ONE, "matrices"), *(((size, number),) if number else ()))
            program.details[n] = address._replace(array="square", terms=(*address.terms, *before))
    if len(numbers) > 1:
        program.root.order.insert(0, size)
    return len(numbers)
