"""Derivatives of a program with loops, in reverse mode: it is run, then its loops again from the last to the first,
each with its iterations in the opposite order.

Fields are the tape. An iteration is replayed from the fields that it read and wrote, and then reversed: each field has
a field of adjoints beside it. Values that were overwritten since are kept in separate fields, one number for each
iteration of the enclosing loops, and so are elementary functions, which cost more to recompute. Everything unused is
dead code.

An inward climb is reversed by links from each row to the one before it, which are written into ``work`` on the way up.
"""

from __future__ import annotations

from linkwork.engine.ir.address import ONE, Address
from linkwork.engine.ir.program import Block, Loop, Program
from linkwork.engine.trace.differentiate import add, pull
from linkwork.engine.trace.overwriting import overwritten
from linkwork.engine.trace.tables import BODIES
from linkwork.engine.trace.tracer import Traced, Tracer
from linkwork.engine.trace.transcribe import Transcriber, active, slot_of
from linkwork.spatial import Scalar
from linkwork.spatial.elementary import OPERATIONS

LOST = "field_lost"
"""An array that is read if a number is needed that was not kept."""
_STRIDES: dict[int, tuple[str, ...]] = {0: (), 1: ("row",), 2: ("square_row", "cell")}
"""The stride names of a number for each iteration, by the depth of loops."""


def pull_loops(program: Program, arguments: int, results: int) -> Program:
    """The program of a rolled one's results, and of a product from the left with its derivatives: of its arguments, so
    many, and a weight for each number of its results, so many; it returns its results, and a gradient for each
    argument. Its fields are not laid out, elementary functions not expanded.
    """
    pulling = _Pulling(program, Tracer(expand=False), arguments, results)
    pulling.block(program.root)
    for k in range(arguments):
        pulling.clear(f"result{results + k}", f"size{results + k}")
    pulling.back(program.root)
    return pulling.tracer.program


class _Pulling(Transcriber):
    def __init__(self, program: Program, tracer: Tracer, arguments: int, results: int) -> None:
        super().__init__(program, tracer)
        self.arguments, self.results = arguments, results
        self.active, self.slots = active(program)
        self.overwritten = overwritten(program)
        self.used = _used_inside(program)
        self.adjoints = _Cells(self)

    # Forward: what the program does, what is kept, and adjoints that are zero

    def computed(self, n: int) -> Scalar:
        found = super().computed(n)
        if self.program.operations[n] in OPERATIONS:
            self.keep(n, found)
        return found

    def load(self, n: int) -> Scalar:
        found = super().load(n)
        if n in self.overwritten:
            self.keep(n, found)
        return found

    def store(self, n: int) -> None:
        super().store(n)
        address = self.program.details[n]
        if slot_of(address) in self.slots and not address.array.startswith("result"):
            self.tracer.store(self.placed(address, f"{address.array}a"), 0.0)

    def keep(self, n: int, value: Scalar) -> None:
        place = self.kept(n)
        if place is not None:
            self.tracer.store(place, value)

    def kept(self, n: int) -> Address | None:
        """Where the value of an instruction is kept for each iteration; None if nested too deeply."""
        varies = self.overwritten.get(n, self.around)
        counters = [self.integers[counter] for counter in self.around if counter in varies]
        strides = _STRIDES.get(len(counters))
        return None if strides is None else Address(f"field_kept{n}", 0, tuple(zip(counters, strides, strict=True)))

    def clear(self, array: str, size: str) -> None:
        """Set a result to zero."""
        counter, block = self.tracer.program.instruction(Block(), "counter", ()), Block()
        outside = self.tracer.block
        self.tracer.open(block)
        self.tracer.store(Address(array, -1, ((counter, 1),)), 0.0)
        self.tracer.close(outside)
        self.tracer.program.instruction(outside, "loop", (), Loop("up", counter, 1, size, None, [(0, block)]))

    # Reverse

    def back(self, block: Block) -> None:
        """An iteration, or all of them, reversed."""
        if self.around:
            self.replay(block)
        outside, self.adjoints = self.adjoints, _Cells(self)
        own, adjoint = set(block.order), dict[int, Scalar]()
        for n in reversed(block.order):
            operation = self.program.operations[n]
            if operation == "loop":
                self.back_through(n, own, adjoint)
            elif operation == "store":
                add(adjoint, self.program.operands[n][0], self.taken(n))
            elif n in adjoint and operation == "load":
                self.given(n, adjoint[n])
            elif n in adjoint:
                pull(self.program, n, self.values, adjoint)
        for n, more in adjoint.items():
            if n not in own and n in self.active:
                self.adjoints.add(_sum_of(n), more)
        self.adjoints.flush()
        self.adjoints = outside

    def back_through(self, n: int, own: set[int], adjoint: dict[int, Scalar]) -> None:
        """A loop reversed; adjoints of values that it used from outside are summed in cells."""
        sums = [x for x in self.used[n] if x in own and x in self.active]
        for x in sums:
            self.adjoints.put(_sum_of(x), 0.0)
        self.adjoints.flush()
        self.reversed(n, self.program.details[n])
        for x in sums:
            add(adjoint, x, self.adjoints.get(_sum_of(x)))

    def taken(self, n: int) -> Scalar:
        """The adjoint of a stored value, which is overwritten."""
        address = self.program.details[n]
        if address.array.startswith("result"):
            weights = f"argument{self.arguments + int(address.array.removeprefix('result'))}"
            return self.read(self.placed(address, weights))
        if slot_of(address) not in self.slots:
            return 0.0
        place = self.placed(address, f"{address.array}a")
        found = self.adjoints.get(place)
        self.adjoints.put(place, 0.0)
        return found

    def given(self, n: int, adjoint: Scalar) -> None:
        """Add the adjoint of a loaded value to that of its place."""
        address: Address = self.program.details[n]
        if address.array.startswith("argument"):
            gradient = f"result{self.results + int(address.array.removeprefix('argument'))}"
            self.adjoints.add(self.placed(address, gradient), adjoint)
        elif n in self.active:
            self.adjoints.add(self.placed(address, f"{address.array}a"), adjoint)

    def replay(self, block: Block) -> None:
        """Recompute the values of an iteration."""
        operations = self.program.operations
        for n in block.order:
            if operations[n] in ("index", "affine"):
                self.integer(n)
        stored = self.stored(block)
        for n in block.order:
            is_load = operations[n] == "load"
            place = self.kept(n) if (is_load and n in self.overwritten) or operations[n] in OPERATIONS else None
            if place is not None:
                self.values[n] = self.recalled(n, place)
            elif is_load and n in self.overwritten:
                self.values[n] = self.read(Address(LOST, n))
            elif is_load:
                self.values[n] = super().load(n)
            elif n in stored:
                self.values[n] = self.read(self.placed(stored[n]))
            elif operations[n] not in ("index", "affine", "loop", "store"):
                self.values[n] = super().computed(n)

    def stored(self, block: Block) -> dict[int, Address]:
        """Where fields have values of an iteration."""
        operations, details, operands = self.program.operations, self.program.details, self.program.operands
        stores = [n for n in block.order if operations[n] == "store" and n not in self.overwritten]
        in_fields = [n for n in stores if details[n].array.startswith("field")]
        return {operands[n][0]: details[n] for n in in_fields if type(operands[n][0]) is int}

    def recalled(self, n: int, place: Address) -> Scalar:
        """A value that was kept; the cosine is also the derivative of the sine, so it is not recomputed for that
        either.
        """
        found = self.read(place)
        if self.program.operations[n] in OPERATIONS:
            self.tracer.know(self.program.operations[n], [self.value(x) for x in self.program.operands[n]], found)
        return found

    # Loops in the opposite direction

    def reversed(self, n: int, loop: Loop) -> None:
        start, stop = (None if end is None else self.integers[end] for end in (loop.start, loop.stop))
        if loop.walk == "climb":
            assert start is not None
            self.descend(n, loop, start, stop)
            return
        walk = {"up": "down", "down": "up"}[loop.walk]
        new = Loop(walk, self.counter(loop), loop.first, loop.last, stop, [], start)
        self.walk(loop, new, self.back)

    def descend(self, n: int, loop: Loop, start: int, stop: int | None) -> None:
        """A climb reversed: each row is linked to the one before it, the end to the last, the first to the end."""
        end = stop if stop is not None else self.tracer.emit("affine", (), Address("", 0))

        def link(row: int) -> Address:
            return Address(f"field_link{n}", 0, ((row, "row"),))

        def linked(_: Block) -> None:
            assert loop.successor is not None
            following = self.tracer.emit("index", (), self.placed(loop.successor))
            self.store_index(link(following), self.integers[loop.counter])

        self.store_index(link(start), end)
        counter = self.counter(loop)
        assert loop.successor is not None
        up = Loop("climb", counter, 1, 1, start, [], stop, None, self.placed(loop.successor))
        self.walk(Loop("climb", loop.counter, 1, 1, None, [(0, Block())]), up, linked)
        last = self.tracer.program.instruction(self.tracer.block, "index", (), link(end))
        counter = self.counter(loop)
        self.walk(loop, Loop("climb", counter, 1, 1, last, [], end, None, link(counter)), self.back)


class _Cells:
    """Array elements that change, whose contents are cached in a block and written as late as possible."""

    def __init__(self, owner: _Pulling) -> None:
        self.owner = owner
        self.contents: dict[Address, Scalar] = {}
        self.read: dict[Address, Scalar] = {}
        """What was found there."""

    def get(self, place: Address) -> Scalar:
        if place not in self.contents:
            self._make_way(place)
            self.contents[place] = self.read[place] = self.owner.read(place)
        return self.contents[place]

    def put(self, place: Address, value: Scalar) -> None:
        if place not in self.contents:
            self._make_way(place)
        self.contents[place] = value

    def add(self, place: Address, more: Scalar) -> None:
        self.put(place, self.get(place) + more)

    def flush(self) -> None:
        """Write pending contents, and forget all."""
        for place in list(self.contents):
            self._write(place)

    def _make_way(self, place: Address) -> None:
        """Write and forget whatever may alias a place."""
        of_field = place.array.startswith("field")
        for other in [x for x in self.contents if x.array == place.array and x.terms != place.terms]:
            if of_field and (other.offset != place.offset or self._differ(other, place)):
                continue
            self._write(other)

    def _differ(self, a: Address, b: Address) -> bool:
        """Whether two places are those of a body and of its parent."""
        if not len(a.terms) == len(b.terms) == 1 or a.terms[0][1] != b.terms[0][1]:
            return False
        details, x, y = self.owner.tracer.program.details, a.terms[0][0], b.terms[0][0]
        return ONE not in (x, y) and (
            details[x] == BODIES.address("parent", y) or details[y] == BODIES.address("parent", x)
        )

    def _write(self, place: Address) -> None:
        value = self.contents.pop(place)
        before = self.read.pop(place, None)
        if not (isinstance(value, Traced) and isinstance(before, Traced) and value.number == before.number):
            self.owner.tracer.store(place, value)


def _sum_of(n: int) -> Address:
    """Where the adjoint of a value that inner loops use is summed."""
    return Address(f"field_sum{n}", 0)


def _used_inside(program: Program) -> dict[int, list[int]]:
    """The values that each loop uses from enclosing blocks, in their order."""
    found: dict[int, list[int]] = {}

    def uses(block: Block) -> set[int]:
        used: set[int] = set()
        for n in block.order:
            if program.operations[n] == "loop":
                inner = set[int]().union(*(uses(case) for _, case in program.details[n].cases))
                found[n] = sorted(inner)
                used |= inner
            used.update(program.inputs(n))
        return used - set(block.order)

    uses(program.root)
    return found
