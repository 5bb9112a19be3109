"""A long program cut into pieces, each of which becomes a function: compilers take time that grows faster than the
length of a function. Values that a piece needs from others are carried in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.passes import copied
from linkwork.engine.ir.program import Block, Loop, Program
from linkwork.engine.targets.language import OPERATIONS

LENGTH = 800
"""The most instructions of a piece."""
_EARLIEST = 0.6
"""The part of this length from which on a piece may end, where the fewest values are carried."""


class Pieces:
    """The pieces of a program; none if it may not be cut.

    Attributes:
        home: the function that each instruction is in, by number; that of the program's root is 0.
        cut: the pieces of each block that is cut, by the identity of the block: the number of its function, and its
            instructions.
        slots: the place in memory of each value that another function needs; ``size`` is how many places there are.
    """

    def __init__(self, program: Program, may_cut: bool = True, length: int = LENGTH) -> None:
        self.program, self.length = program, length
        self.home: dict[int, int] = {}
        self.cut: dict[int, list[tuple[int, list[int]]]] = {}
        self._functions = 1
        self._lengths: dict[int, int] = {}
        self._place(program.root, 0, may_cut)
        self.slots: dict[int, int] = {}
        self.size = 0
        if self.cut:
            self._allocate()

    # Pieces

    def _length(self, block: Block) -> int:
        """The instructions of a block, those inside its loops included."""
        length = self._lengths.get(id(block))
        if length is None:
            length = self._lengths[id(block)] = sum(map(self._weight, block.order))
        return length

    def _weight(self, n: int) -> int:
        loop = self.program.details[n]
        if self.program.operations[n] != "loop":
            return 1
        return 1 + sum(min(self._length(case), self.length) for _, case in loop.cases)

    def _place(self, block: Block, function: int, may_cut: bool = True) -> None:
        """Say in which function each instruction of a block is."""
        if not may_cut or self._length(block) <= self.length:
            self._all_in(block.order, function)
            return
        pieces = self.cut[id(block)] = []
        for order in self._parts(block):
            pieces.append((self._functions, order))
            self._functions += 1
            self._all_in(order, pieces[-1][0])

    def _all_in(self, order: Sequence[int], function: int) -> None:
        for n in order:
            self.home[n] = function
            if self.program.operations[n] == "loop":
                loop: Loop = self.program.details[n]
                self.home[loop.counter] = function
                for _, case in loop.cases:
                    self._place(case, function)

    def _parts(self, block: Block) -> Iterator[list[int]]:
        """The instructions of a block, some at a time."""
        order, alive = block.order, self._alive(block)
        first, weights = 0, [0, *accumulate(map(self._weight, block.order))]
        while first < len(order):
            last = first + 1
            while last < len(order) and weights[last + 1] - weights[first] <= self.length:
                last += 1
            if last < len(order):
                earliest = first + max(1, int(_EARLIEST * (last - first)))
                last = min(range(last, earliest - 1, -1), key=lambda k: alive[k])
            yield order[first:last]
            first = last

    def _alive(self, block: Block) -> list[int]:
        """Before each instruction of a block, how many values are used from there on."""
        position = {n: k for k, n in enumerate(block.order)}
        last: dict[int, int] = {}
        for k, n in enumerate(block.order):
            for x in self.program.inputs(n):
                if x in position and not self.is_read_anew(x):
                    last[x] = k
        changes = [0] * (len(block.order) + 1)
        for n, k in last.items():
            changes[position[n] + 1] += 1
            changes[k + 1 if k + 1 < len(changes) else k] -= 1
        return list(accumulate(changes))

    # Values that are carried

    def is_read_anew(self, n: int) -> bool:
        """Whether a value is read again where it is needed: a number of an argument or of a table."""
        program = self.program
        if program.operations[n] != "load":
            return False
        address = program.details[n]
        return address.array.startswith(("argument", "data")) and not address.terms

    def needs(self, n: int) -> Iterator[int]:
        """The values that an instruction uses, integers included, those of instructions inside it not."""
        yield from self.program.inputs(n)
        detail = self.program.details[n]
        if isinstance(detail, (Address, Loop)):
            yield from (x for x in detail.integers if x >= 0)

    def _allocate(self) -> None:
        """Places in memory; one is used again once its value is not needed any more, outside of loops."""
        piece = {n: k for k, (_, order) in enumerate(self.cut.get(id(self.program.root), ())) for n in order}
        last: dict[int, int | None] = {}
        for n in self.program.walk():
            for x in self.needs(n):
                if self.home[x] != self.home[n] and not self.is_read_anew(x) and not self.is_memory(x):
                    inside = x not in piece or n not in piece
                    before = last.get(x, 0)
                    last[x] = None if inside or before is None else max(before, piece[n])
        self.slots, self.size = _places({n: (piece.get(n, 0), end) for n, end in last.items()})

    def is_memory(self, n: int) -> bool:
        """Whether an instruction has its results in memory already."""
        return self.program.operations[n] in ("call", "repeat", "subroutine", "map", "fold", "keep")


def in_pieces(program: Program) -> tuple[list[Program], int]:
    """Programs that are to run one after the other, and how many numbers they carry in ``work``. A program stays whole
    if it is short, or has other instructions than arithmetic on numbers.
    """
    pieces = Pieces(program)
    cut = pieces.cut.get(id(program.root), [])
    operations = {program.operations[n] for n in program.root.order}
    if not cut or not operations <= {"load", "store", "constant", *OPERATIONS}:
        return [program], 0
    return [_piece(program, order, pieces) for _, order in cut], pieces.size


def _piece(program: Program, order: Sequence[int], pieces: Pieces) -> Program:
    """One of these programs: it loads what others carry to it, and stores what others need."""
    own = copied(program)
    own.root.order = []
    here = dict(zip(order, order, strict=True))
    for n in order:
        for x in program.inputs(n):
            if x not in here:
                anew = pieces.is_read_anew(x)
                place = program.details[x] if anew else Address("work", pieces.slots[x])
                here[x] = own.instruction(own.root, "load", (), place, program.widths[x])
        own.operands[n] = tuple(here[x] if type(x) is int else x for x in program.operands[n])
        own.root.order.append(n)
        if n in pieces.slots:
            own.instruction(own.root, "store", (n,), Address("work", pieces.slots[n]))
    return own


def _places(spans: dict[int, tuple[int, int | None]]) -> tuple[dict[int, int], int]:
    """A place for each value, by the pieces in which it is first and last needed, None for always."""
    free: list[int] = []
    ends: dict[int, list[int]] = defaultdict(list)
    places: dict[int, int] = {}
    size = now = 0
    for n, (first, end) in sorted(spans.items(), key=lambda item: (item[1][0], item[0])):
        while now < first:
            free += ends.pop(now, [])
            now += 1
        if free:
            places[n] = free.pop()
        else:
            places[n], size = size, size + 1
        if end is not None:
            ends[end].append(places[n])
    return places, size
