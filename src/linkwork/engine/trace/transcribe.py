"""Rewrites a program with loops: by another tracer, as it stands, or with more beside its instructions."""

from __future__ import annotations

from collections.abc import Callable

from linkwork.engine.ir.address import ONE, Address
from linkwork.engine.ir.evaluator import ARITHMETIC
from linkwork.engine.ir.program import Block, Loop, Operand, Program
from linkwork.engine.trace.tracer import Traced, Tracer
from linkwork.errors import TracingError
from linkwork.spatial import Scalar


class Transcriber:
    """Writes each instruction of ``program`` by ``tracer``, which folds constants and leaves elementary functions as
    they are, or expands them. ``values`` and ``integers`` map instructions to their replacements.
    """

    def __init__(self, program: Program, tracer: Tracer) -> None:
        self.program, self.tracer = program, tracer
        self.values: dict[int, Scalar] = {}
        self.integers: dict[int, int] = {ONE: ONE}
        self.around: list[int] = []
        """The counters of the loops around what is being written, the outermost first."""

    def block(self, block: Block) -> None:
        for n in block.order:
            operation = self.program.operations[n]
            if operation in ("index", "affine"):
                self.integer(n)
            elif operation == "store_index":
                self.store_index(self.placed(self.program.details[n]), self.integers[self.program.operands[n][0]])
            elif operation == "loop":
                self.loop(self.program.details[n], self.block)
            elif operation == "store":
                self.store(n)
            else:
                self.values[n] = self.load(n) if operation == "load" else self.computed(n)

    def computed(self, n: int) -> Scalar:
        """The value of an arithmetic instruction."""
        operation = self.program.operations[n]
        if operation not in ARITHMETIC:
            raise TracingError(f"a loop over bodies with a {operation!r} in it is not differentiated", "")
        found: Scalar = ARITHMETIC[operation](*map(self.value, self.program.operands[n]))
        return found

    def load(self, n: int) -> Scalar:
        return self.read(self.placed(self.program.details[n]))

    def store(self, n: int) -> None:
        self.tracer.store(self.placed(self.program.details[n]), self.value(self.program.operands[n][0]))

    # Values, integers, addresses

    def value(self, x: Operand) -> Scalar:
        return self.values[x] if type(x) is int else x

    def integer(self, n: int) -> None:
        operation, address = self.program.operations[n], self.placed(self.program.details[n])
        if changes(address.array):
            self.integers[n] = self.tracer.program.instruction(self.tracer.block, operation, (), address)
        else:
            self.integers[n] = self.tracer.emit(operation, (), address)

    def store_index(self, address: Address, integer: int) -> None:
        self.tracer.program.instruction(self.tracer.block, "store_index", (integer,), address)

    def placed(self, address: Address, array: str | None = None) -> Address:
        """The same place, in this array or another."""
        terms = tuple((self.integers[index], stride) for index, stride in address.terms)
        return address._replace(array=array or address.array, terms=terms)

    def read(self, address: Address) -> Scalar:
        if not changes(address.array):
            return self.tracer.load(address)
        return Traced(self.tracer, self.tracer.program.instruction(self.tracer.block, "load", (), address))

    # Loops

    def loop(self, loop: Loop, inside: Callable[[Block], None]) -> None:
        """The same loop, each of its cases written by ``inside``."""
        ends = [None if end is None else self.integers[end] for end in (loop.start, loop.stop)]
        counter = self.counter(loop)
        successor = None if loop.successor is None else self.placed(loop.successor)
        self.walk(loop, Loop(loop.walk, counter, loop.first, loop.last, ends[0], [], ends[1], None, successor), inside)

    def counter(self, loop: Loop) -> int:
        """A new counter that replaces a loop's own."""
        found = self.integers[loop.counter] = self.tracer.program.instruction(Block(), "counter", ())
        return found

    def walk(self, loop: Loop, new: Loop, inside: Callable[[Block], None]) -> None:
        """Write a new loop with the cases of another."""
        new.kind, new.same = None if loop.kind is None else self.placed(loop.kind), dict(loop.same)
        outside = self.tracer.block
        self.around.append(loop.counter)
        for kind, case in loop.cases:
            block = Block()
            new.cases.append((kind, block))
            self.tracer.open(block)
            inside(case)
            self.tracer.close(outside)
        self.around.pop()
        self.tracer.program.instruction(outside, "loop", (), new)


def changes(array: str) -> bool:
    """Whether an array changes while a program runs."""
    return array.startswith(("field", "result"))


def active(program: Program) -> tuple[set[int], set[tuple[str, int]]]:
    """The instructions whose values depend on arguments, and the numbers of fields and results that do."""
    values: set[int] = set()
    slots: set[tuple[str, int]] = set()
    while True:
        before = len(slots)
        for n in program.walk():
            operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
            if operation == "load":
                depends = detail.array.startswith("argument") or slot_of(detail) in slots
            else:
                chosen = operands[2:] if operation == "less" else operands
                depends = any(type(x) is int and x in values for x in chosen)
            if depends and operation == "store":
                slots.add(slot_of(detail))
            elif depends and operation != "store_index":
                values.add(n)
        if len(slots) == before:
            return values, slots


def slot_of(address: Address) -> tuple[str, int]:
    """Which number of a field it is; a result is one whole."""
    return address.array, address.offset if address.array.startswith("field") else 0
