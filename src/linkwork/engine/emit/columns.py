"""Code for one state that is a chain of kernels, some of them over one column of matrices: the columns of a state take
the lanes, so that one state is computed as fast as each of many.

Arguments and results of such a kernel are matrices of as many columns, of which its program has one, or arrays that all
columns share. A row of a matrix is contiguous, so numbers are loaded and stored as vectors. The last vector ends with
the last column; the columns that it shares with the one before are computed twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from linkwork.engine.emit.call_frame import Called, Interface, listed
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.writer import SUMS, Writer, declarations, sweep, zero
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Operand, Program

_WIDE = 8
"""Numbers that are checked at a time."""


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
        symbol: str,
    ) -> None:
        super().__init__(program, interface, lanes, symbol)
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


class Link(NamedTuple):
    """A program, or code with loops that is called; the arrays that it takes, by their numbers: the arguments of the
    chain, then the results of each link in turn; how many numbers each of its results has; and for a program over one
    of so many ``columns`` which of these arrays, by their places, all columns share.
    """

    code: Program | Called
    inputs: Sequence[int]
    sizes: Sequence[int]
    columns: int = 0
    shared: Collection[int] = ()


def module(
    links: Sequence[Link],
    results: Sequence[int],
    interface: Interface,
    lanes: int,
) -> str:
    """The text of an LLVM module: kernels, and ``batch``, whose results are arrays of columns."""
    parts, widths, sizes = list[str](), {1, lanes}, [*map(int, interface.arguments)]
    for k, (code, inputs, own, columns, shared) in enumerate(links):
        inside, symbol = Interface(tuple(sizes[n] for n in inputs), tuple(own)), f"link{k}"
        sizes += own
        if isinstance(code, Called):
            continue
        if columns:
            width, names = _width(lanes, columns), {f"argument{n}" for n in shared}
            kernel: Kernel = ColumnKernel(code, inside, width, columns, names, symbol)
        else:
            kernel = Kernel(code, inside, 1, symbol)
        parts.append(kernel.text())
        widths |= {kernel.lanes, *map(code.lanes, code.root.order)}
    return "\n".join([*parts, sweep("finite", _WIDE), _batch(links, results, interface, lanes), declarations(widths)])


def _width(lanes: int, columns: int) -> int:
    while lanes > columns:
        lanes //= 2
    return lanes


def _batch(links: Sequence[Link], results: Sequence[int], interface: Interface, lanes: int) -> str:
    """The function ``batch``: one state after the other. Non-finite numbers go on from link to link."""
    w, room = Writer(), interface.room
    interface.batch.read(w)
    names = [*interface.argument_names, *interface.result_names]
    strides = [f"%{name}" for name in interface.stride_names] + interface.counts[len(interface.arguments) :]
    with w.loop(0, "%states", 1, [("i64", "0")]) as state:
        rows = [w.at(f"%{name}", w.mul(state.counter, stride)) for name, stride in zip(names, strides, strict=True)]
        given, targets = (
            rows[: len(interface.arguments)],
            dict(zip(results, rows[len(interface.arguments) :], strict=True)),
        )
        counts = zip(given, interface.counts, strict=False)
        finite = w.all_of([w.let(f"call i1 @finite(ptr {row}, i64 {count})") for row, count in counts])
        status, arrays, start, called = w.either(finite, "i64", 0, 1), list(given), 0, 0
        for k, link in enumerate(links):
            taken, made = [arrays[n] for n in link.inputs], list[str]()
            for n, size in enumerate(link.sizes, len(arrays)):
                made.append(targets[n] if n in targets else w.at("%work", start))
                start += size
            arrays += made
            inside = Interface((0,) * len(taken), (0,) * len(made))
            if isinstance(link.code, Called):
                assert room is not None
                _call(w, called, link.code, [*taken, *made], w.at("%data", room.square))
                called += 1
            elif not link.columns:
                w.do(f"call void @link{k}({inside.kernel_call([*taken, *made])})")
            else:
                width = _width(lanes, link.columns)
                with w.loop(0, link.columns, width, [("i64", status)]) as some:
                    last = link.columns - width
                    column = w.either(w.compare("slt", some.counter, last), "i64", some.counter, last)
                    call = f"call i1 @link{k}({inside.kernel_call([*taken, *made])}, i64 {column})"
                    some.carry(w.let(f"or i64 {some.carried[0]}, {w.either(w.let(call), 'i64', 0, 2)}"))
                status = some.carried[0]
        state.carry(w.let(f"or i64 {state.carried[0]}, {status}"))
    w.do(f"ret i64 {state.carried[0]}")
    return w.function("i64 @batch(ptr nocapture %words)")


def _call(w: Writer, number: int, called: Called, arrays: Sequence[str], square: str) -> None:
    """Call code with loops for one state."""
    for array, count in zip(arrays[len(called.arguments) :], called.results, strict=True) if called.zeroed else ():
        with w.loop(0, count) as each:
            w.store("0.0", w.at(array, each.counter))
    code, *tables = (w.load(w.at("%ints", 3 * number + k, "i64"), "ptr") for k in range(3))
    takes = [*(("ptr", array) for array in (*arrays, "%data", square, *tables))]
    w.do(f"call void {code}({listed([*takes, *(('i64', str(size)) for size in called.sizes(1))])})")
