"""A pass over programs with loops, for one state: items of a list that are computed alike take the lanes of a vector.

A field whose values are lists of motions or forces, such as those of several right-hand sides, has the same component
of up to four items side by side (``layout``). Stores of these are the roots of packs, and so are values stored at the
same place of several rows of a matrix: they are packed if the same operation makes them, then its operands, and so on,
down to loads of such lists. Values that are not packed are inserted lane by lane, or extracted from a pack; a block in
which that is more work than it saves is left alone. Each
lane of a wide instruction does what the narrow one did, so results keep their bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Operand, Program, Seat

MOST_LANES = 4
"""Items at most that are taken together."""

Members = tuple[int, ...]
"""Instructions that are one in the wide program, in the order of their lanes."""


def width_of(lanes: int) -> int:
    """How wide a value for so many items is; the last of three is duplicated."""
    return lanes if lanes < 3 else MOST_LANES


def find_lists(program: Program, sizes: Mapping[str, int]) -> None:
    """Give loads and stores of lists their seats; ``sizes`` has how many numbers an item of such a field has."""
    for n in program.walk():
        detail = program.details[n]
        if isinstance(detail, Address) and detail.array in sizes:
            item, component = divmod(detail.offset, sizes[detail.array])
            program.seats[n] = Seat((detail.array, item // MOST_LANES, component), item % MOST_LANES)


def pack_lists(program: Program) -> Program:
    """The wide form of a program."""
    wide = Program([*program.operations], [*program.operands], [*program.details], [*program.widths])
    renamed: dict[int, int] = {}

    def written(block: Block) -> Block:
        for n in block.order:
            if wide.operations[n] == "loop":
                loop = wide.details[n]
                wide.details[n] = replace(loop, cases=[(kind, written(case)) for kind, case in loop.cases])
        return _Packs(wide, block, program.seats).written(renamed)

    wide.root = written(program.root)
    for n in wide.walk():
        wide.operands[n] = tuple(renamed.get(x, x) if type(x) is int else x for x in wide.operands[n])
    return wide


def instructions(column: tuple[Operand, ...]) -> Members | None:
    """Operands that are instructions, all of them; None if one is a constant."""
    members = tuple(x for x in column if type(x) is int)
    return members if len(members) == len(column) else None


_PACKABLE = ("add", "sub", "mul", "div", "neg", "load", "store")


def _as_one(
    operations: Sequence[str], operands: Sequence[tuple[Operand, ...]]
) -> tuple[str | None, Sequence[tuple[Operand, ...]]]:
    """The operation that several are, if there is one, and the operands that it has in each."""
    every = set(operations)
    if every == {"sub", "neg"}:  # -x is -0 - x
        return "sub", [x if len(x) == 2 else (-0.0, *x) for x in operands]
    return (None if len(every) > 1 else operations[0]), operands


class _Packs:
    """What is packed in a block."""

    def __init__(self, program: Program, block: Block, seats: Mapping[int, Seat]) -> None:
        self.program, self.order, self.seats = program, block.order, seats
        self.position = {n: k for k, n in enumerate(block.order)}
        self.columns: dict[Members, tuple[str, list[tuple[Operand, ...]]]] = {}
        """The operation of each pack, and its operands."""
        self.packed: dict[int, Members] = {}
        for members in self.roots():
            self.pack(members)

    def roots(self) -> list[Members]:
        """Stores of the same number of several items, the last ones first: earlier ones may belong to an intermediate
        step that does more for some items than for others, and would pack unrelated values. Then values stored at the
        same place of several rows, which are not adjacent.
        """
        runs: dict[object, dict[int, int]] = defaultdict(dict)
        rows: dict[object, list[Operand]] = defaultdict(list)
        for n in self.order:
            if self.program.operations[n] != "store":
                continue
            address, (value,) = self.program.details[n], self.program.operands[n]
            if n in self.seats:
                runs[self.seats[n].run, address.terms][self.seats[n].lane] = n
            elif address.terms:
                (_, stride), *others = address.terms
                rows[address.array, address.offset, stride, *others].append(value)
        of_items = [tuple(run[lane] for lane in sorted(run)) for run in reversed(runs.values())]
        of_rows = [x[k : k + MOST_LANES] for x in rows.values() for k in range(0, len(x), MOST_LANES)]
        return [*of_items, *filter(None, (instructions(tuple(values)) for values in of_rows))]

    def pack(self, root: Members) -> None:
        todo = [root]
        while todo:
            members = todo.pop()
            columns = self.packable(members)
            if columns is not None:
                self.columns[members] = columns
                self.packed.update(dict.fromkeys(members, members))
                todo += filter(None, map(instructions, columns[1]))

    def packable(self, members: Members) -> tuple[str, list[tuple[Operand, ...]]] | None:
        """The operation and operands of instructions as one, if they can be packed."""
        program = self.program
        new = all(n in self.position and n not in self.packed for n in members)
        if not new or not 1 < len(set(members)) == len(members):
            return None
        operation, operands = _as_one([program.operations[n] for n in members], [program.operands[n] for n in members])
        if operation not in _PACKABLE or (operation in ("load", "store") and not self.side_by_side(members)):
            return None
        if operation in ("add", "mul"):
            first = self.kind(operands[0][0])
            operands = [x[::-1] if self.kind(x[0]) != first == self.kind(x[1]) else x for x in operands]
        return operation, list(zip(*operands, strict=True))

    def kind(self, x: Operand) -> object:
        """Equal for operands that should be packed together."""
        if type(x) is not int:
            return None
        return self.seats[x].run if x in self.seats else self.program.operations[x]

    def side_by_side(self, members: Members) -> bool:
        """Whether loads or stores are of contiguous numbers, with nothing in between that might alias them."""
        program, seats = self.program, [self.seats[n] for n in members if n in self.seats]
        if [seat.lane for seat in seats] != list(range(len(members))):
            return False
        if len({(seat.run, program.details[n].terms) for n, seat in zip(members, seats, strict=True)}) > 1:
            return False
        positions = [self.position[n] for n in members]
        return not any(self.may_alias(members[0], n) for n in self.order[min(positions) : max(positions)])

    def may_alias(self, own: int, n: int) -> bool:
        """Whether an instruction may touch the numbers of a load or a store in another way."""
        operation, other, detail = self.program.operations[own], self.program.operations[n], self.program.details[n]
        if other not in ("load", "store", "index", "store_index"):
            return other == "loop"
        same: bool = detail.array == self.program.details[own].array
        return same and other != operation

    # The wide form

    def written(self, renamed: dict[int, int]) -> Block:
        """The block in its wide form; ``renamed`` gets the replacement of a pack's member elsewhere."""
        if not self.columns or self.saved() <= 0:
            return Block([*self.order])
        nodes = self.in_order()
        if nodes is None:
            return Block([*self.order])
        return _Written(self, renamed).block(nodes)

    def saved(self) -> int:
        """Instructions that packs save, less those that insert and extract lanes."""
        total = sum(len(members) - 1 for members in self.columns)
        put_together = {tuple(map(repr, column)): column for column in self.mixed()}
        for column in put_together.values():
            total -= 1 if len(set(column)) == 1 else len(column)
        return total - len(self.used_apart())

    def mixed(self) -> list[tuple[Operand, ...]]:
        """Operands of packs that are neither packs nor constants."""
        every = [column for _, columns in self.columns.values() for column in columns]
        some = [column for column in every if any(type(x) is int for x in column)]
        return [column for column in some if instructions(column) not in self.columns]

    def used_apart(self) -> set[int]:
        """Members of packs that are needed as scalars."""
        found: set[int] = set()
        for n in self.order:
            if n not in self.packed:
                found.update(x for x in self.needed(n) if x in self.packed)
        for column in self.mixed():
            found.update(x for x in column if type(x) is int and x in self.packed)
        return found

    def needed(self, n: int) -> Iterable[int]:
        """The instructions of this block that an instruction depends on, with everything inside it."""
        program, detail = self.program, self.program.details[n]
        yield from (x for x in program.inputs(n) if x in self.position)
        if isinstance(detail, Address | Loop):
            yield from (x for x in detail.integers if x in self.position)
        if isinstance(detail, Loop):
            for _, case in detail.cases:
                for inner in case.order:
                    yield from self.needed(inner)

    def in_order(self) -> list[Members] | None:
        """Packs and single instructions in an order that respects dependencies; None if there is none."""
        nodes = {self.packed.get(n, (n,)): 0 for n in self.order}
        first = {node: min(self.position[n] for n in node) for node in nodes}
        last = {node: max(self.position[n] for n in node) for node in nodes}
        before: dict[Members, set[Members]] = {}
        for node in nodes:
            before[node] = {self.packed.get(x, (x,)) for n in node for x in self.needed(n)} - {node}
        self.keep_memory_in_order(sorted(nodes, key=first.__getitem__), before)
        return _sorted(before, last)

    def keep_memory_in_order(self, nodes: list[Members], before: dict[Members, set[Members]]) -> None:
        """Loads come after stores before them, stores after both, loops after and before all."""
        barrier: Members | None = None
        stores: dict[str, Members] = {}
        touched: dict[str, list[Members]] = defaultdict(list)
        for node in nodes:
            operation, detail = self.program.operations[node[0]], self.program.details[node[0]]
            if operation not in ("load", "store", "index", "store_index", "loop"):
                continue
            if barrier is not None:
                before[node].add(barrier)
            if operation == "loop":
                before[node].update(other for each in touched.values() for other in each)
                barrier = node
                stores.clear()
                touched.clear()
                continue
            if operation.startswith("store"):
                before[node].update(touched[detail.array])
                stores[detail.array], touched[detail.array] = node, [node]
            else:
                if detail.array in stores:
                    before[node].add(stores[detail.array])
                touched[detail.array].append(node)


def _sorted(before: Mapping[Members, set[Members]], last: Mapping[Members, int]) -> list[Members] | None:
    """Nodes after those ``before`` each, which it empties, early ones first; None if there is a cycle."""
    after: dict[Members, list[Members]] = defaultdict(list)
    for node, needed in before.items():
        for other in needed:
            after[other].append(node)
    ready = [(last[node], node) for node, needed in before.items() if not needed]
    heapify(ready)
    found: list[Members] = []
    while ready:
        node = heappop(ready)[1]
        found.append(node)
        for following in after[node]:
            before[following].discard(node)
            if not before[following]:
                heappush(ready, (last[following], following))
    return found if len(found) == len(before) else None


class _Written:
    """Writes the wide form of a block."""

    def __init__(self, packs: _Packs, renamed: dict[int, int]) -> None:
        self.packs, self.program, self.renamed = packs, packs.program, renamed
        self.wide: dict[Members, int] = {}
        self.together: dict[tuple[str, ...], int] = {}
        self.into = Block()

    def block(self, nodes: list[Members]) -> Block:
        apart, columns = self.packs.used_apart(), self.packs.columns
        for node in nodes:
            if node not in columns:
                self.into.order.append(node[0])
                continue
            operation, operands = columns[node]
            width = width_of(len(node))
            values = tuple(self.value(column, width) for column in operands)
            self.wide[node] = self.emit(operation, values, self.program.details[node[0]], width)
            for lane, n in enumerate(node):
                if n in apart:
                    self.renamed[n] = self.emit("extract", (self.wide[node],), lane)
        return self.into

    def emit(
        self, operation: str, operands: tuple[Operand | tuple[float, ...], ...], detail: object, width: int = 1
    ) -> int:
        return self.program.instruction(self.into, operation, operands, detail, width)

    def value(self, column: tuple[Operand, ...], width: int) -> Operand | tuple[float, ...]:
        """Operands of all lanes as one wide value."""
        members = instructions(column)
        if members in self.wide:
            return self.wide[members]
        full = (*column, *column[-1:] * (width - len(column)))
        numbers = tuple(x for x in full if type(x) is float)
        if len(numbers) == width:
            return numbers
        key = tuple(map(repr, full))  # distinguishes constants from instructions, and zeros of either sign
        if key not in self.together:
            self.together[key] = self.emit("vector", full, None, width)
        return self.together[key]
