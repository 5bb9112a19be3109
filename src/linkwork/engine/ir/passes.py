"""Passes over a traced program: dead code goes, what is left finds its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.engine.ir.program import ONE, Address, Block, Loop, Program, Repeat, inner, length


def schedule(program: Program) -> Program:
    """A program without loops in an order in which few values live at once.

    Dead code goes; a load moves to its first use, a store to where its value is made. So do what is repeated in it.
    """
    for each in dict.fromkeys(inner(program)):
        schedule(each.program)
    operations, operands = program.operations, program.operands
    live: set[int] = set()
    stores: dict[int, list[int]] = {}
    constant: list[int] = []
    for n in reversed(program.root.order):
        if operations[n] in ("keep", "map"):
            live.update((n, *(x for x in operands[n] if type(x) is int)))
        elif operations[n] == "store":
            (value,) = operands[n]
            if type(value) is int:
                live.add(value)
                stores.setdefault(value, []).append(n)
            else:
                constant.append(n)
        elif n in live:
            live.update(x for x in operands[n] if type(x) is int)
    order: list[int] = []
    placed: set[int] = set()
    for n in program.root.order:
        if n not in live or operations[n] == "load":
            continue
        for x in operands[n]:
            if type(x) is int and operations[x] == "load" and x not in placed:
                placed.add(x)
                order.append(x)
        order.append(n)
        order.extend(reversed(stores.get(n, ())))
    for value, numbers in stores.items():  # an argument handed through
        if operations[value] == "load":
            if value not in placed:
                placed.add(value)
                order.append(value)
            order.extend(reversed(numbers))
    order.extend(reversed(constant))
    program.root.order = order
    return program


def eliminate_dead_code(program: Program) -> None:
    """Take away what no result needs, stores that nothing reads included."""
    stores: dict[tuple[str, int], list[int]] = {}
    live: set[int] = set()
    todo: list[int] = []
    within: dict[int, list[int]] = {}  # the loops around an instruction

    def visit(block: Block, around: list[int]) -> None:
        for n in block.order:
            within[n] = around
            detail = program.details[n]
            if program.operations[n] in ("keep", "map"):
                todo.append(n)
            elif program.operations[n] in ("store", "store_index"):
                if detail.array.startswith(("field", "matrix")):
                    stores.setdefault((detail.array, detail.offset), []).append(n)
                else:
                    todo.append(n)
            elif program.operations[n] == "loop":
                for _, case in detail.cases:
                    visit(case, [*around, n])

    visit(program.root, [])
    while todo:
        n = todo.pop()
        if n in live or n == ONE:
            continue
        live.add(n)
        detail = program.details[n]
        todo.extend(within.get(n, ()))
        todo.extend(x for x in program.operands[n] if type(x) is int)
        if isinstance(detail, Address | Loop):
            todo.extend(detail.integers)
        for address in _read(detail) if program.operations[n] in ("load", "index", "loop") else ():
            found = stores.get((address.array, address.offset), ())
            todo.extend(m for m in found if program.details[m].terms or not _is_of_a_body(program, address))

    def sweep(block: Block) -> None:
        block.order = [n for n in block.order if n in live]
        for n in block.order:
            if program.operations[n] == "loop":
                for _, case in program.details[n].cases:
                    sweep(case)

    sweep(program.root)


def _read(detail: Address | Loop) -> list[Address]:
    """Where a load, an index or a loop reads."""
    read = [detail] if isinstance(detail, Address) else [detail.kind, detail.successor]
    return [address for address in read if address is not None]


def _is_of_a_body(program: Program, address: Address) -> bool:
    """Whether a field is read at a loop's counter, which is never the world: that has no terms."""
    return bool(address.terms) and all(program.operations[index] == "counter" for index, _ in address.terms)


IN_SQUARE = ("cell", "place", "post", "knot")
"""What ``square`` consists of."""


def lay_out_fields(program: Program) -> dict[str, int]:
    """Give each used slot of each field its place in a row of ``work``, or in a cell or another part of ``square`` if
    it is addressed by these, and each matrix its place in ``square``; how wide a "row" and each of these become, and
    how many "matrices" there are.
    """
    fields = [n for n in program.walk() if isinstance(program.details[n], Address)]
    fields = [n for n in fields if program.details[n].array.startswith("field")]
    in_square = {
        program.details[n].array: stride for n in fields for _, stride in program.details[n].terms
        if stride in IN_SQUARE
    }  # fmt: skip
    slots: dict[str, dict[tuple[str, int], int]] = {stride: {} for stride in ("row", *IN_SQUARE)}
    for n in fields:
        address = program.details[n]
        stride = in_square.get(address.array, "row")
        slots[stride].setdefault((address.array, address.offset), len(slots[stride]))
    widths = {stride: len(found) for stride, found in slots.items()}

    def placed(address: Address) -> Address:
        stride = in_square.get(address.array, "row")
        slot = slots[stride][address.array, address.offset]
        terms = tuple((i, widths.get(s, s) if isinstance(s, str) else s) for i, s in address.terms)
        return replace(address, array="work" if stride == "row" else "square", offset=slot, terms=terms)

    for n in program.walk():
        detail = program.details[n]
        if isinstance(detail, Address) and detail.array.startswith("field"):
            program.details[n] = placed(detail)
        elif isinstance(detail, Loop) and detail.successor and detail.successor.array.startswith("field"):
            detail.successor = placed(detail.successor)
    return {**widths, "matrices": _lay_out_matrices(program)}


def _lay_out_matrices(program: Program) -> int:
    """Put one matrix behind the other, from where "matrices" tells; how many there are."""
    numbers: dict[str, int] = {}
    size = program.instruction(Block(), "affine", (), Address("", 0, ((ONE, "nv_square"),)))
    for n in program.walk():
        address = program.details[n]
        if isinstance(address, Address) and address.array.startswith("matrix"):
            number = numbers.setdefault(address.array, len(numbers))
            before = ((ONE, "matrices"), *(((size, number),) if number else ()))
            program.details[n] = replace(address, array="square", terms=(*address.terms, *before))
    if len(numbers) > 1:
        program.root.order.insert(0, size)
    return len(numbers)


@dataclass(frozen=True)
class Around:
    """A program that has one repeat: what comes before it, from the arguments to the numbers that it begins with
    ("result0"), and what comes after it, from the arguments and the final state, as one more argument, to the results.
    """

    before: Program
    what: Repeat
    after: Program


def around_repeat(program: Program, arguments: int) -> Around | None:
    """A program of so many arguments taken apart at its repeat; None if it has none, or several, or if what is repeated
    is not longer than all else.
    """
    repeats = [n for n in program.root.order if program.operations[n] == "repeat"]
    if len(repeats) != 1 or "keep" in program.operations:
        return None  # rows are kept for all lanes of a tile at once
    what: Repeat = program.details[repeats[0]]
    before, after = copied(program), copied(program)
    later = set(repeats)
    for n in program.root.order:
        if later.intersection(x for x in program.operands[n] if type(x) is int):
            later.add(n)
    before.root.order = [n for n in program.root.order if n not in later and program.operations[n] != "store"]
    for k, x in enumerate(program.operands[repeats[0]]):
        before.instruction(before.root, "store", (x,), Address("result0", k))
    for n in program.root.order:
        if program.operations[n] == "final":
            place = Address(f"argument{arguments}", program.details[n])
            after.operations[n], after.operands[n], after.details[n] = "load", (), place
    after.root.order.remove(repeats[0])
    found = Around(schedule(before), what, schedule(after))
    others = length(found.before) + length(found.after)
    return found if length(what.program) > others else None


def copied(program: Program) -> Program:
    """A copy of a program without loops, whose instructions may be changed."""
    operations, operands, details = list(program.operations), list(program.operands), list(program.details)
    return Program(operations, operands, details, list(program.widths), Block(list(program.root.order)))
