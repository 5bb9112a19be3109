"""Where the fields of a program with loops lie.

A number of a field at a place becomes one of a row of ``work``, or of a cell or another part of ``square``. In rows,
the same numbers of up to four items of a list lie side by side (``lists``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from linkwork.engine import optimisations
from linkwork.engine.ir.address import ONE, Address
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


def laid_out(program: Program, lists: bool = True) -> dict[str, int]:
    """Give a program with loops its memory, without dead code and cases alike; its ``WIDTHS``. ``lists`` says whether
    items of lists lie side by side.
    """
    eliminate_dead_code(program)
    if optimisations.on("merging"):
        merge_cases(program)
    return lay_out_fields(program, lists)


def lay_out_fields(program: Program, lists: bool = False) -> dict[str, int]:
    """Give each used number of each field its place in a row of ``work``, or in a cell or another part of ``square`` if
    it is addressed by these, and each matrix its place in ``square``; how wide a "row" and each of these become, and
    how many "matrices" there are. ``lists`` says whether items of lists lie side by side.
    """
    used = [program.details[n] for n in program.walk() if _is_of_field(program.details[n])]
    part_of = {address.array: str(s) for address in used for _, s in address.terms if s in IN_SQUARE}
    program.seats = {n: seat for n, seat in program.seats.items() if lists and seat.run[0] not in part_of}
    slots = _slots(used, part_of, _runs(program))
    widths = {part: len(own) for part, own in slots.items()}
    widths["seam"] = -(-widths["seam"] // CACHE_LINE) * CACHE_LINE  # rows that lanes gather

    def placed(address: Address) -> Address:
        part = part_of.get(address.array, "row")
        terms = tuple((i, widths.get(s, s) if isinstance(s, str) else s) for i, s in address.terms)
        slot = slots[part][address.array, address.offset]
        return address._replace(array="work" if part == "row" else "square", offset=slot, terms=terms)

    for n in program.walk():
        detail = program.details[n]
        if _is_of_field(detail):
            program.details[n] = placed(detail)
        elif isinstance(detail, Loop) and _is_of_field(detail.successor):
            detail.successor = placed(detail.successor)
    return {**widths, "matrices": _lay_out_matrices(program)}


def _slots(
    used: Sequence[Address], part_of: Mapping[str, str], runs: Mapping[Number, Sequence[Number]]
) -> dict[str, dict[Number, int]]:
    """The place of each number in its part, in the order of their use; those of a run side by side in a row."""
    slots: dict[str, dict[Number, int]] = {part: {} for part in ("row", *IN_SQUARE)}
    for address in used:
        number, part = (address.array, address.offset), part_of.get(address.array, "row")
        for each in runs.get(number, [number]) if part == "row" else [number]:
            slots[part].setdefault(each, len(slots[part]))
    return slots


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
