"""Code for a program over one column of matrices: the columns of a state take the lanes, so that one state is computed
as fast as each of many.

Arguments and results are matrices of as many columns, of which the program has one, or arrays that all columns share.
A row of a matrix is contiguous, so numbers are loaded and stored as vectors. The last vector ends with the last column;
the columns that it shares with the one before are computed twice.
"""

from __future__ import annotations

from collections.abc import Collection

from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.writer import SUMS, Writer, declarations, zero
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Operand, Program


class ColumnKernel(Kernel):
    """Writes the kernel, which takes the first of its columns; it returns whether all results are finite."""

    returns = "i1"
    further = (("i64", "column"),)

    def __init__(
        self,
        program: Program,
        interface: Interface,
        lanes: int,
        columns: int,
        shared: Collection[str],
    ) -> None:
        super().__init__(program, interface, lanes)
        self.stride, self.shared = columns, shared
        self.sums, self.stored = [zero(lanes)] * SUMS, 0

    def body(self) -> None:
        self.instructions(self.program.root)
        self.do(f"ret i1 {self.is_finite(self.total(self.sums, self.type), self.lanes)}")

    def emit_load(self, n: int, address: Address) -> None:
        if address.array not in self.shared:
            self.load(self.in_row(address), self.type, name=f"%v{n}")
            return
        place = self.at(f"%{address.array}", address.offset)
        if self.lanes == 1:
            self.load(place, name=f"%v{n}")
        else:
            self.vector([self.load(place)] * self.lanes, f"%v{n}")

    def emit_store(self, x: Operand, address: Address) -> None:
        """Store a number, a zero without its sign, and watch it."""
        value = self.let(f"fadd {self.type} {self.value(x)}, {zero(self.lanes)}")
        self.store(value, self.in_row(address), self.type)
        k = self.stored % SUMS
        (self.sums[k],) = self.watch_all([self.sums[k]], [value], self.lanes)
        self.stored += 1

    def in_row(self, address: Address) -> str:
        return self.at(self.at(f"%{address.array}", "%column"), address.offset * self.stride)


def module(
    program: Program,
    interface: Interface,
    lanes: int,
    columns: int,
    shared: Collection[str],
) -> str:
    """The text of an LLVM module of such a kernel, and ``batch``."""
    kernel = ColumnKernel(program, interface, lanes, columns, shared)
    parts = [kernel.text(), _batch(interface, lanes, columns)]
    return "\n".join([*parts, declarations({lanes})])


def _batch(interface: Interface, lanes: int, columns: int) -> str:
    """The function ``batch``; arguments come from code that has checked them."""
    w = Writer()
    interface.batch.read(w)
    names = [*interface.argument_names, *interface.result_names]
    strides = [f"%{name}" for name in interface.stride_names] + interface.counts[len(interface.arguments) :]
    with w.loop(0, "%states", 1, [("i64", "0")]) as state:
        rows = [w.at(f"%{name}", w.mul(state.counter, stride)) for name, stride in zip(names, strides, strict=True)]
        with w.loop(0, columns, lanes, [("i64", state.carried[0])]) as some:
            last = columns - lanes
            column = w.either(w.compare("slt", some.counter, last), "i64", some.counter, last)
            fine = w.let(f"call i1 @kernel({interface.kernel_call(rows)}, i64 {column})")
            some.carry(w.either(fine, "i64", some.carried[0], 2))
        state.carry(some.carried[0])
    w.do(f"ret i64 {state.carried[0]}")
    return w.function("i64 @batch(ptr nocapture %words)")
