"""Checks that a program of intermediate code is well formed, for tests: engines may then rely on what tracing makes.

Every operand is defined before its use, in the same block or one around it; operations are known and have the operands
that they need; addresses are of known arrays, by integers; only results, ``work`` and ``square`` are written, integers
into ``work`` alone; loops are walks.
"""

from __future__ import annotations

from collections.abc import Collection

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import ARITHMETIC, Block, Fold, Keep, Loop, Map, Program, Repeat, Subroutine, programs

OPERANDS = {
    **ARITHMETIC,
    **dict.fromkeys(("load", "index", "affine", "loop"), 0),
    **dict.fromkeys(("store", "store_index", "extract", "final"), 1),
}
WALKS = ("up", "down", "parallel", "climb")


class InvalidProgram(Exception):
    """A program that tracing should never have made; the message names the instruction."""


def verify(program: Program, arrays: Collection[str], sizes: Collection[str] = ()) -> None:
    """Raise InvalidProgram unless the program is well formed over arrays and sizes of these names."""
    if not len(program.operations) == len(program.operands) == len(program.details) == len(program.widths):
        raise InvalidProgram("operations, operands, details and widths are not of one length")
    _Check(program, frozenset(arrays), frozenset(sizes)).block(program.root, set(), set())


class _Check:
    def __init__(self, program: Program, arrays: frozenset[str], sizes: frozenset[str]) -> None:
        self.program, self.arrays, self.sizes = program, arrays, sizes
        self.seen: set[int] = set()

    def block(self, block: Block, floats: set[int], integers: set[int]) -> None:
        """Check a block, given the values and the integers that the blocks around it have defined."""
        floats, integers = set(floats), set(integers)
        for n in block.order:
            self.instruction(n, floats, integers)
            if self.program.operations[n] in ("index", "affine"):
                integers.add(n)
            elif self.program.operations[n] not in ("store", "store_index", "loop", "keep", "map"):
                floats.add(n)

    def instruction(self, n: int, floats: set[int], integers: set[int]) -> None:
        if not 0 <= n < len(self.program.operations):
            raise InvalidProgram(f"%{n}: there is no such instruction")
        operation, operands, detail = self.program.operations[n], self.program.operands[n], self.program.details[n]
        here = f"%{n} ({operation})"
        self.once(n, here)
        if operation == "repeat":
            needed = self.repeat(here, detail)
        elif operation == "subroutine":
            needed = self.subroutine(here, detail)
        elif operation in ("keep", "map", "fold"):
            needed = self.rows(here, operation, detail)
        elif operation not in OPERANDS and operation != "vector":
            raise InvalidProgram(f"{here}: there is no such operation")
        else:
            needed = self.program.widths[n] if operation == "vector" else OPERANDS[operation]
        if len(operands) != needed:
            raise InvalidProgram(f"{here}: has {len(operands)} operands instead of {needed}")
        if operation == "store_index":
            if operands[0] not in integers:
                raise InvalidProgram(f"{here}: operand {operands[0]!r} is no integer defined before it")
            operands = ()
        for x in operands:
            if type(x) not in (float, tuple) and (type(x) is not int or x not in floats):
                raise InvalidProgram(f"{here}: operand {x!r} is no constant and no value defined before it")
        self.lanes(n, here)
        if operation in ("load", "store", "index", "store_index", "affine"):
            self.address(here, operation, detail, integers)
        elif operation == "loop":
            self.loop(here, detail, floats, integers)
        elif operation == "final":
            self.final(here, operands[0], detail)
        elif detail is not None and operation not in ("extract", "repeat", "subroutine", "keep", "map", "fold"):
            raise InvalidProgram(f"{here}: has a detail, {detail!r}, that means nothing")

    def repeat(self, here: str, what: object) -> int:
        """Check a repeat; how many operands it takes."""
        if not isinstance(what, Repeat) or what.most < 1:
            raise InvalidProgram(f"{here}: repeats nothing, but {what!r}")
        verify(what.program, ("argument0", "argument1", "result0", "result1"))
        return what.state + what.given

    def subroutine(self, here: str, what: object) -> int:
        """Check a subroutine; how many operands it takes."""
        if not isinstance(what, Subroutine):
            raise InvalidProgram(f"{here}: uses no subroutine, but {what!r}")
        for each in programs(what):
            verify(each, ("argument0", "result0"))
        if any(not 0 <= k < what.given for zeros, _ in what.sparing for k in zeros):
            raise InvalidProgram(f"{here}: what is given has no such places as may be zero")
        return what.given

    def rows(self, here: str, operation: str, what: object) -> int:
        """Check an operation on rows; how many operands it takes."""
        if operation == "keep" and isinstance(what, Keep):
            return 1 + what.rows.width
        if operation == "map" and isinstance(what, Map):
            verify(what.program, ("argument0", "argument1", "result0"))
            return what.given
        if operation == "fold" and isinstance(what, Fold):
            verify(what.program, ("argument0", "argument1", "argument2", "result0"))
            return what.state + what.given
        raise InvalidProgram(f"{here}: does nothing with rows, but {what!r}")

    def final(self, here: str, of: object, k: object) -> None:
        """Check that the final state of a repeat, or the results, have such a number."""
        what = self.program.details[of] if type(of) is int else None
        if not isinstance(what, Repeat | Fold | Subroutine) or type(k) is not int or not 0 <= k < what.state:
            raise InvalidProgram(f"{here}: there is no number {k!r} of the state of {of!r}")

    def lanes(self, n: int, here: str) -> None:
        """Check that values are as wide as they should be."""
        operation, detail = self.program.operations[n], self.program.details[n]
        has = [self.program.lanes(x) for x in self.program.operands[n]]
        if operation == "extract":
            if type(detail) is not int or not 0 <= detail < has[0] or has[0] < 2:
                raise InvalidProgram(f"{here}: there is no lane {detail!r} of {has[0]}")
        elif any(lanes != (1 if operation == "vector" else self.program.widths[n]) for lanes in has):
            raise InvalidProgram(f"{here}: has operands of {has} lanes, and {self.program.widths[n]} itself")

    def once(self, n: int, here: str) -> None:
        if n in self.seen:
            raise InvalidProgram(f"{here}: stands in the program twice")
        self.seen.add(n)

    def address(self, here: str, operation: str, address: object, integers: set[int]) -> None:
        if not isinstance(address, Address):
            raise InvalidProgram(f"{here}: has no address but {address!r}")
        if address.array not in self.arrays and operation != "affine":
            raise InvalidProgram(f"{here}: array {address.array!r} is not among {', '.join(sorted(self.arrays))}")
        if operation in ("load", "store") and address.array == "ints":
            raise InvalidProgram(f"{here}: only integers are in 'ints'")
        if operation in ("index", "store_index") and address.array not in ("ints", "work"):
            raise InvalidProgram(f"{here}: integers are in 'ints' and 'work', not in {address.array!r}")
        if operation == "store_index" and address.array != "work":
            raise InvalidProgram(f"{here}: array {address.array!r} must not be written")
        if operation == "store" and not (address.array.startswith("result") or address.array in ("work", "square")):
            raise InvalidProgram(f"{here}: array {address.array!r} must not be written")
        for index, stride in address.terms:
            if index >= 0 and index not in integers:
                raise InvalidProgram(f"{here}: index %{index} is no integer defined before it")
            if isinstance(stride, str) and stride not in self.sizes:
                raise InvalidProgram(f"{here}: size {stride!r} is not known")
            if index < 0 and not isinstance(stride, str):
                raise InvalidProgram(f"{here}: a term without an index needs the name of a size, not {stride!r}")
        if address.lane is not None and address.lane not in integers:
            raise InvalidProgram(f"{here}: lane %{address.lane} is no integer defined before it")
        if isinstance(address.lane_stride, int) and address.lane_stride not in integers:
            raise InvalidProgram(f"{here}: lane stride %{address.lane_stride} is no integer defined before it")
        if isinstance(address.lane_stride, str) and address.lane_stride not in self.sizes:
            raise InvalidProgram(f"{here}: size {address.lane_stride!r} is not known")
        if address.offset < 0 and not address.terms:
            raise InvalidProgram(f"{here}: is before the beginning of {address.array!r}")

    def loop(self, here: str, loop: object, floats: set[int], integers: set[int]) -> None:
        if not isinstance(loop, Loop):
            raise InvalidProgram(f"{here}: has no loop but {loop!r}")
        if loop.walk not in WALKS:
            raise InvalidProgram(f"{here}: walks {loop.walk!r}, which is none of {', '.join(WALKS)}")
        if not 0 <= loop.counter < len(self.program.operations) or self.program.operations[loop.counter] != "counter":
            raise InvalidProgram(f"{here}: %{loop.counter} is no counter")
        self.once(loop.counter, here)
        if loop.start is None and loop.walk == "climb":
            raise InvalidProgram(f"{here}: climbs from nowhere")
        for end, value, never in (("start", loop.start, "up"), ("stop", loop.stop, "down")):
            if value is not None and loop.walk == never:
                raise InvalidProgram(f"{here}: walks {loop.walk!r}, which has no {end}")
            if value is not None and value not in integers:
                raise InvalidProgram(f"{here}: {end} %{value} is no integer defined before it")
        if loop.walk == "parallel" and (loop.start is None) != (loop.stop is None):
            raise InvalidProgram(f"{here}: a parallel loop has both start and stop, or neither")
        for bound in (loop.first, loop.last) if loop.walk != "climb" else ():
            if isinstance(bound, str) and bound not in self.sizes:
                raise InvalidProgram(f"{here}: size {bound!r} is not known")
        for address in (loop.kind, loop.successor):
            if address is not None:
                self.address(here, "index", address, integers | {loop.counter})
        if (loop.walk == "climb") != (loop.successor is not None):
            raise InvalidProgram(f"{here}: a climb, and nothing else, goes on by a successor")
        kinds = [kind for kind, _ in loop.cases]
        if not set(loop.same.values()) <= set(kinds):
            raise InvalidProgram(f"{here}: has kinds like others that have no case: {loop.same}")
        kinds += loop.same
        if len(set(kinds)) != len(kinds) or not kinds:
            raise InvalidProgram(f"{here}: has no cases, or one twice: {kinds}")
        if len(kinds) > 1 and loop.kind is None:
            raise InvalidProgram(f"{here}: has several cases and nothing that tells which")
        isolated = loop.walk == "parallel"  # iterations that may run anywhere
        for _, case in loop.cases:
            self.block(case, set() if isolated else floats, {loop.counter} | (set() if isolated else integers))
