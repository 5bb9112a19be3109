"""Branches abreast: a program for one state in which instructions of several branches that are alike become one, over
the lanes of a vector.

A value's lane is that of the numbers it is made from, or, where these are of the trunk, of what it is for. Two
instructions of different lanes are alike if they do the same with operands that are alike; constants may differ. They
have the same distance from the arguments then, so that taking them together makes no circle. Each lane of the wide
instruction does what the narrow one did, so results keep their bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from linkwork.engine.alike import Seed
from linkwork.engine.ir import ARITHMETIC, Address, Operand, Program
from linkwork.engine.passes import prune
from linkwork.model.likeness import MOST_LANES, Lane

Members = tuple[int, ...]
"""Instructions that are one in the wide program, in the order of their lanes."""

_COMMUTATIVE = ("add", "mul")


def abreast(program: Program, seeds: Mapping[tuple[str, int], Seed]) -> Program:
    """The wide form of a program without loops; ``seeds`` tells which numbers of the arguments are alike."""
    alike = _Alike(program, seeds)
    return _Writer(program, alike).write(_in_order(program, alike))


class _Alike:
    """Which instructions are alike."""

    def __init__(self, program: Program, seeds: Mapping[tuple[str, int], Seed]) -> None:
        self.program, self.seeds = program, seeds
        self.lanes = self._lanes()
        self.names: dict[int, int] = {}
        """Equal for instructions that are alike; the same number for every constant."""
        self.together: dict[int, Members] = {}
        """The members of an instruction's group."""
        self._name()

    def members(self, n: int) -> Members:
        return self.together.get(n, (n,))

    def name(self, x: Operand) -> int:
        return self.names[x] if type(x) is int else -1

    def _lanes(self) -> dict[int, Lane]:
        program, order = self.program, self.program.root.order
        lanes: dict[int, Lane] = {}
        uses: dict[int, list[int]] = {}
        for n in order:
            operands = [x for x in program.operands[n] if type(x) is int]
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

    def _name(self) -> None:
        program = self.program
        known: dict[Hashable, int] = {}
        groups: dict[int, dict[Lane, list[int]]] = {}
        for n in program.root.order:
            operation, address = program.operations[n], program.details[n]
            if operation in ("store", "constant"):
                self.names[n] = -1
                continue
            key: Hashable = n
            if operation == "load":
                key = self.seeds.get((address.array, address.offset), (n, ()))[0]
            else:
                names = [self.name(x) for x in program.operands[n]]
                key = (operation, *(sorted(names) if operation in _COMMUTATIVE else names))
            self.names[n] = known.setdefault(key, len(known))
            if self.lanes[n]:
                groups.setdefault(self.names[n], {}).setdefault(self.lanes[n], []).append(n)
        for of_lanes in groups.values():
            rows = [of_lanes[lane] for lane in sorted(of_lanes)]
            for k in range(max(map(len, rows))):
                every = [row[k] for row in rows if k < len(row)]
                for start in range(0, len(every) - 1, MOST_LANES):
                    members = tuple(every[start : start + MOST_LANES])
                    self.together.update(dict.fromkeys(members, members))


def _joined(lanes: Sequence[Lane]) -> Lane:
    """The lane of what is made from values of these lanes."""
    longest = max(lanes, key=len, default=())
    return longest if all(longest[: len(lane)] == lane for lane in lanes) else _shared(lanes)


def _shared(lanes: Sequence[Lane]) -> Lane:
    """The beginning that lanes have in common."""
    low, high = min(lanes), max(lanes)
    same = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:same]


def _in_order(program: Program, alike: _Alike) -> list[Members]:
    """The groups, each as early as the last of its members stood, and after all that it needs."""
    position = {n: k for k, n in enumerate(program.root.order)}
    height: dict[int, int] = {}
    for n in program.root.order:
        height[n] = 1 + max((height[x] for x in program.operands[n] if type(x) is int), default=0)
    groups = list(dict.fromkeys(alike.members(n) for n in program.root.order))
    keys: dict[Members, tuple[int, bool, int, int]] = {}
    for group in sorted(groups, key=lambda members: height[members[0]]):
        needed = [alike.members(x) for n in group for x in program.operands[n] if type(x) is int]
        own = max(position[n] for n in group)
        ready = max([own, *(keys[members][0] for members in needed)])
        keys[group] = (ready, ready > own, height[group[0]], own)
    return sorted(groups, key=keys.__getitem__)


class _Writer:
    """Writes the wide program."""

    def __init__(self, program: Program, alike: _Alike) -> None:
        self.program, self.alike = program, alike
        self.wide = Program()
        self.numbers: dict[Members, int] = {}
        self.single: dict[int, int] = {}
        """A member as a value of its own, where something needs it."""
        self.gathered: dict[tuple[Hashable, ...], int] = {}

    def write(self, order: Sequence[Members]) -> Program:
        for members in order:
            operation, detail = self.program.operations[members[0]], self.program.details[members[0]]
            if operation == "constant":
                continue
            if len(members) == 1:
                operands = tuple(self.narrow(x) for x in self.program.operands[members[0]])
                self.numbers[members] = self.emit(operation, operands, detail)
            elif operation == "load":
                loads = tuple(self.emit("load", (), self.program.details[n]) for n in members)
                self.single.update(zip(members, loads, strict=True))
                self.numbers[members] = self.emit("gather", loads, len(members))
            else:
                columns = zip(*self.matched(operation, members), strict=True)
                self.numbers[members] = self.emit(operation, tuple(map(self.beside, columns)), len(members))
        prune(self.wide)
        return self.wide

    def emit(self, operation: str, operands: tuple[Any, ...], detail: Address | int | None) -> int:
        return self.wide.instruction(self.wide.root, operation, operands, detail)

    def matched(self, operation: str, members: Members) -> list[tuple[Operand, ...]]:
        """The operands of each member, in an order in which they are alike."""
        first, *others = (self.program.operands[n] for n in members)
        if operation in _COMMUTATIVE:
            wanted = self.group(first[0])
            others = [x[::-1] if self.group(x[0]) != wanted == self.group(x[1]) else x for x in others]
        return [first, *others]

    def group(self, x: Operand) -> Hashable:
        """Equal for operands that should meet."""
        found = self.alike.together.get(x) if type(x) is int else None
        return found or self.alike.name(x)

    def constant(self, x: Operand) -> float | None:
        """The number that an operand is, if it is one."""
        if type(x) is not int:
            return x
        found: float | None = self.program.details[x] if self.program.operations[x] == "constant" else None
        return found

    def narrow(self, x: Operand) -> Operand:
        """An operand as one value."""
        number = self.constant(x)
        if number is not None:
            return number
        n = int(x)
        members = self.alike.members(n)
        if len(members) == 1:
            return self.numbers[members]
        if n not in self.single:
            self.single[n] = self.emit("lane", (self.numbers[members],), members.index(n))
        return self.single[n]

    def beside(self, column: tuple[Operand, ...]) -> int | tuple[float, ...]:
        """Operands of all lanes as one wide value."""
        numbers = tuple(self.constant(x) for x in column)
        if None not in numbers:
            return numbers  # type: ignore[return-value]
        if numbers.count(None) == len(column) and column in self.numbers:
            return self.numbers[column]  # type: ignore[index]
        key = tuple(zip(column, numbers, strict=True))
        if key not in self.gathered:
            self.gathered[key] = self.spread(column)
        return self.gathered[key]

    def spread(self, column: tuple[Operand, ...]) -> int:
        """Values that were not taken together, as one wide value. Values of the trunk that differ in constants only,
        such as multiples of the hull's velocity by the offsets of its legs, are computed anew, side by side.
        """
        numbers = [x for x in column if type(x) is int]
        names = {self.alike.names[n] for n in numbers}
        if len(numbers) == len(column) and len(set(numbers)) > len(names) == 1:
            operation = self.program.operations[numbers[0]]
            if operation in ARITHMETIC and not any(self.alike.lanes[n] for n in numbers):
                columns = zip(*self.matched(operation, tuple(numbers)), strict=True)
                return self.emit(operation, tuple(map(self.beside, columns)), len(column))
        return self.emit("gather", tuple(map(self.narrow, column)), len(column))
