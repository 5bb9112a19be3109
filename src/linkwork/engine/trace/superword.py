"""Superword parallelism over isomorphic branches: in a program for one state, instructions of several such branches are
packed into one over the lanes of a vector.

A value's lane is that of the numbers it is computed from, or, if these belong to the trunk, of its uses. Two
instructions of different lanes are isomorphic if they apply the same operation to isomorphic operands; constants may
differ. They then have the same distance from the arguments, so packing them makes no cycle. Each lane of the wide
instruction does what the narrow one did, so results keep their bits.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import ARITHMETIC, Block, Operand, Program, Subroutine, programs
from linkwork.engine.trace.isomorphic import Seed
from linkwork.model.isomorphism import MOST_LANES, Lane

Members = tuple[int, ...]
"""Instructions that are one in the wide program, in the order of their lanes."""

_COMMUTATIVE = ("add", "mul")


def pack_isomorphic(program: Program, seeds: Mapping[tuple[str, int], Seed]) -> Program:
    """The wide form of a program without loops; ``seeds`` says which numbers of the arguments correspond."""
    packs = _Packs(program, seeds)
    return _Packer(program, packs).write(_in_order(program, packs))


_WHOLE = ("repeat", "subroutine", "final")
"""What stays unpacked among packs: it has no effect besides its value."""


def can_be_packed(program: Program) -> bool:
    """Whether it has no effects except stores, and no loops."""
    known = {*ARITHMETIC, "load", "store", "constant", *_WHOLE}
    return known.issuperset(program.operations[n] for n in program.root.order)


_DECIDING = {"less": 2, **dict.fromkeys(("pow2", "exponent", "mantissa"), 1)}
"""Operations that may return a number for a NaN operand, and how many of their operands they depend on."""


def doubtful(program: Program) -> list[int] | None:
    """Values that zeros of only some branches, which narrow code does not have, may turn into NaN, and which decide
    something, so that results might not show it; None if that is inside a subroutine.
    """
    found: dict[int, None] = {}
    touched: set[int] = set()
    for n in program.root.order:
        operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
        own = [x for x in program.inputs(n) if x in touched]
        hidden = _may_hide_zeros(operation, detail)
        if operation == "subroutine" and hidden and any(doubtful(each) != [] for each in programs(detail)):
            return None
        if operation in ("repeat", "subroutine"):
            found |= dict.fromkeys(own)
        elif operation in _DECIDING:
            found |= dict.fromkeys(x for x in operands[: _DECIDING[operation]] if x in own)
        if own or hidden:
            touched.add(n)
    return list(found)


def _may_hide_zeros(operation: str, detail: Any) -> bool:
    """Whether an instruction is a zero, or has constants inside."""
    if operation == "subroutine":
        return any("constant" in each.operations for each in programs(detail))
    return operation == "constant" and bool(detail == 0.0)


def told_by_results(program: Program, doubts: Sequence[int]) -> Program:
    """The program whose first result is NaN if one of these values is not finite."""
    first = next((n for n in program.root.order if program.operations[n] == "store"), None)
    if not doubts or first is None:
        return program
    block = Block([n for n in program.root.order if n != first])
    lists = [*program.operations], [*program.operands], [*program.details], [*program.widths]
    found = Program(*lists, block, program.seats, program.seeds)
    total, *others = [found.instruction(block, "mul", (x, 0.0)) for x in doubts]
    for other in others:
        total = found.instruction(block, "add", (total, other))
    (value,) = program.operands[first]
    told = found.instruction(block, "less", (total, 1.0, value, math.nan))
    found.instruction(block, "store", (told,), program.details[first])
    return found


class _Packs:
    """Which instructions are isomorphic, and packed together."""

    def __init__(self, program: Program, seeds: Mapping[tuple[str, int], Seed]) -> None:
        self.program, self.seeds = program, seeds
        self.lanes = self._lanes()
        self.names: dict[int, int] = {}
        """Equal for isomorphic instructions; the same number for every constant."""
        self.packed: dict[int, Members] = {}
        """The members of an instruction's pack."""
        self._pack(self._name())

    def members(self, n: int) -> Members:
        return self.packed.get(n, (n,))

    def name(self, x: Operand) -> int:
        return self.names[x] if type(x) is int else -1

    def _lanes(self) -> dict[int, Lane]:
        program, order = self.program, self.program.root.order
        lanes: dict[int, Lane] = {}
        uses: dict[int, list[int]] = {}
        for n in order:
            operands = program.inputs(n)
            for x in operands:
                uses.setdefault(x, []).append(n)
            address = program.details[n]
            if program.operations[n] == "load":
                lanes[n] = self.seeds.get((address.array, address.offset), ((), ()))[1]
            else:
                lanes[n] = _joined([lanes[x] for x in operands])
        for n in reversed(order):
            if n in uses and program.operations[n] not in ("load", "constant"):
                purpose = _shared([lanes[user] for user in uses[n]])
                if purpose[: len(lanes[n])] == lanes[n]:
                    lanes[n] = purpose
        return lanes

    def _name(self) -> dict[int, dict[Lane, list[int]]]:
        """Name all instructions; those that may be packed, by name and lane."""
        program, names = self.program, self.names
        known: dict[Hashable, int] = {}
        groups: dict[int, dict[Lane, list[int]]] = {}
        for n in program.root.order:
            operation, address = program.operations[n], program.details[n]
            if operation in ("store", "constant"):
                names[n] = -1
                continue
            key: Hashable = n
            if operation == "load":
                key = self.seeds.get((address.array, address.offset), (n, ()))[0]
            elif operation not in _WHOLE:
                those = [names[x] if type(x) is int else -1 for x in program.operands[n]]
                key = (operation, *(sorted(those) if operation in _COMMUTATIVE else those))
            name = names[n] = known.setdefault(key, len(known))
            if self.lanes[n] and operation not in _WHOLE:
                groups.setdefault(name, {}).setdefault(self.lanes[n], []).append(n)
        return groups

    def _pack(self, groups: Mapping[int, Mapping[Lane, list[int]]]) -> None:
        for of_lanes in groups.values():
            if len(of_lanes) == 1:
                continue
            rows = [of_lanes[lane] for lane in sorted(of_lanes)]
            for k in range(max(map(len, rows))):
                every = [row[k] for row in rows if k < len(row)]
                for start in range(0, len(every) - 1, MOST_LANES):
                    members = tuple(every[start : start + MOST_LANES])
                    self.packed.update(dict.fromkeys(members, members))


def _joined(lanes: Sequence[Lane]) -> Lane:
    """The lane of a value computed from values of these lanes."""
    if not lanes or lanes.count(lanes[0]) == len(lanes):  # as most are
        return lanes[0] if lanes else ()
    longest = max(lanes, key=len)
    return longest if all(longest[: len(lane)] == lane for lane in lanes) else _shared(lanes)


def _shared(lanes: Sequence[Lane]) -> Lane:
    """The common prefix of lanes."""
    if lanes.count(lanes[0]) == len(lanes):
        return lanes[0]
    low, high = min(lanes), max(lanes)
    same = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:same]


def _in_order(program: Program, packs: _Packs) -> list[Members]:
    """The packs, each as early as the last of its members was, and after its dependencies."""
    position = {n: k for k, n in enumerate(program.root.order)}
    height: dict[int, int] = {}
    for n in program.root.order:
        height[n] = 1 + max([height[x] for x in program.inputs(n)], default=0)
    groups = list(dict.fromkeys(packs.members(n) for n in program.root.order))
    keys: dict[Members, tuple[int, bool, int, int]] = {}
    ready_at: dict[int, int] = {}
    for group in sorted(groups, key=lambda members: height[members[0]]):
        needed = [x for n in group for x in program.inputs(n)]
        own = max([position[n] for n in group])
        ready = max([own, *[ready_at[x] for x in needed]])
        ready_at.update(dict.fromkeys(group, ready))
        keys[group] = (ready, ready > own, height[group[0]], own)
    return sorted(groups, key=keys.__getitem__)


class _Packer:
    """Writes the wide program."""

    def __init__(self, program: Program, packs: _Packs) -> None:
        self.program, self.packs = program, packs
        self.wide = Program()
        self.numbers: dict[Members, int] = {}
        self.single: dict[int, int] = {}
        """A member as a value of its own, where something needs it."""
        self.vectors: dict[tuple[Hashable, ...], int] = {}
        self.subroutines: dict[Subroutine, Subroutine] = {}

    def write(self, order: Sequence[Members]) -> Program:
        for members in order:
            operation, detail = self.program.operations[members[0]], self.program.details[members[0]]
            if operation == "constant":
                continue
            if len(members) == 1:
                operands = tuple(self.narrow(x) for x in self.program.operands[members[0]])
                detail = self.within(detail) if operation == "subroutine" else detail
                self.numbers[members] = self.emit(operation, operands, detail)
            elif operation == "load":
                loads = tuple(self.emit("load", (), self.program.details[n]) for n in members)
                self.single.update(zip(members, loads, strict=True))
                self.numbers[members] = self.emit("vector", loads, width=len(members))
            else:
                columns = zip(*self.matched(operation, members), strict=True)
                self.numbers[members] = self.emit(operation, tuple(map(self.packed, columns)), width=len(members))
        eliminate_dead_code(self.wide)
        return self.wide

    def within(self, what: Subroutine) -> Subroutine:
        """A subroutine, packed as well."""
        if what not in self.subroutines:
            program = what.program
            packs = bool(program.seeds) and can_be_packed(program)
            self.subroutines[what] = replace(what, program=pack_isomorphic(program, program.seeds)) if packs else what
        return self.subroutines[what]

    def emit(self, operation: str, operands: tuple[Any, ...], detail: Any = None, width: int = 1) -> int:
        return self.wide.instruction(self.wide.root, operation, operands, detail, width)

    def matched(self, operation: str, members: Members) -> list[tuple[Operand, ...]]:
        """The operands of each member, in an order in which they correspond."""
        first, *others = (self.program.operands[n] for n in members)
        if operation in _COMMUTATIVE:
            wanted = self.group(first[0])
            others = [x[::-1] if self.group(x[0]) != wanted == self.group(x[1]) else x for x in others]
        return [first, *others]

    def group(self, x: Operand) -> Hashable:
        """Equal for operands that should be packed together."""
        found = self.packs.packed.get(x) if type(x) is int else None
        return found or self.packs.name(x)

    def constant(self, x: Operand) -> float | None:
        """The constant that an operand is, if it is one."""
        if type(x) is not int:
            return x
        found: float | None = self.program.details[x] if self.program.operations[x] == "constant" else None
        return found

    def narrow(self, x: Operand) -> Operand:
        """An operand as a scalar."""
        number = self.constant(x)
        if number is not None:
            return number
        n = int(x)
        members = self.packs.members(n)
        if len(members) == 1:
            return self.numbers[members]
        if n not in self.single:
            self.single[n] = self.emit("extract", (self.numbers[members],), members.index(n))
        return self.single[n]

    def packed(self, column: tuple[Operand, ...]) -> int | tuple[float, ...]:
        """Operands of all lanes as one wide value."""
        numbers = tuple(self.constant(x) for x in column)
        if None not in numbers:
            return numbers  # type: ignore[return-value]
        if numbers.count(None) == len(column) and column in self.numbers:
            return self.numbers[column]  # type: ignore[index]
        key = tuple(zip(column, numbers, strict=True))
        if key not in self.vectors:
            self.vectors[key] = self.packed_anew(column)
        return self.vectors[key]

    def packed_anew(self, column: tuple[Operand, ...]) -> int:
        """Values that were not packed, as one wide value. Values of the trunk that differ only in constants, such as
        multiples of the hull's velocity by the offsets of its legs, are recomputed, side by side.
        """
        numbers = [x for x in column if type(x) is int]
        names = {self.packs.names[n] for n in numbers}
        if len(numbers) == len(column) and len(set(numbers)) > len(names) == 1:
            operation = self.program.operations[numbers[0]]
            if operation in ARITHMETIC and not any(self.packs.lanes[n] for n in numbers):
                columns = zip(*self.matched(operation, tuple(numbers)), strict=True)
                return self.emit(operation, tuple(map(self.packed, columns)), width=len(column))
        return self.emit("vector", tuple(map(self.narrow, column)), width=len(column))
