"""A kernel that spills values with long live ranges to slots (``slots``) and reloads them. The kernel of a batch also
writes rows (``row_kernel``); that of one state reads and writes the caller's arrays in place; that of a time step
leaves its results in lanes for the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit import kernel
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.kept_rows import KeptRows
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.packing import rows_in_place
from linkwork.engine.emit.slots import LONG, LONG_WAIT, NO_SLOTS, Step, slots
from linkwork.engine.emit.sparing import Spared
from linkwork.engine.emit.time_loop import time_loop
from linkwork.engine.emit.writer import declarations, vector
from linkwork.engine.ir.program import Operand, Program
from linkwork.engine.ir.waiting import without_waiting


class SlottedKernel(Kernel):
    """Writes the kernel of a program without loops. ``constraint`` is the inline-assembly constraint of a register for
    all lanes, None if none is known.
    """

    def __init__(
        self,
        program: Program,
        interface: Interface,
        lanes: int,
        constraint: str | None,
        symbol: str = "kernel",
        steps: Sequence[Step] | None = None,
        kept: KeptRows | None = None,
    ) -> None:
        """``steps`` are those of the program, if they are not its instructions one by one."""
        super().__init__(program, interface, lanes, symbol, kept)
        self.constraint = constraint
        steps = steps or [(n, program.operands[n]) for n in program.root.order]
        self.widest = max([lanes, *(_aligned(program.widths[n]) for n in program.root.order)])
        """Numbers that a slot has."""
        waits = lanes == 1 or len(steps) > LONG
        self.slots = slots(program, steps, self.widest, constraint == "x") if waits else NO_SLOTS
        self.work = self.slots.count
        """How many slots ``work`` has."""
        self.renamed: dict[int, str] = {}  # the names of values that were reloaded, or have gone through a prefetch
        self.position, self.used = 0, dict[int, int]()  # where values were last used
        self.place = "%work"

    def within(self, program: Program, interface: Interface, symbol: str) -> Kernel:
        program, kept = without_waiting(program), self.kept_inside
        return SlottedKernel(program, interface, self.lanes, self.constraint, symbol, kept=kept)

    def body(self) -> None:
        self.memory.append(f"  %slots = alloca [{self.widest * max(1, self.work)} x double], align 64")
        self.place = self.let('call ptr asm "", "=r,0"(ptr %slots)')  # so that LLVM does not promote the slots
        self.point_into_slots()
        for position, n in enumerate(self.program.root.order):
            self.position = position
            self.made(n)
        self.finish()

    def finish(self) -> None:
        self.do("ret void")

    def point_into_slots(self) -> None:
        for base in range(self.slots.bases):
            far = 8 * self.widest * (base * self.slots.reach + self.slots.reach // 2)
            self.let(f'call ptr asm "leaq {far}($1), $0", "=r,r"(ptr {self.place})', f"%near{base}")

    def made(self, n: int) -> None:
        """An instruction, and the spill of its value."""
        self.used[n] = self.position
        self.instruction(n)
        if n in self.slots.of:
            lanes = self.lanes_of(n)
            self.store(self.value(n), self.slot(self.slots.of[n]), vector(lanes), 8 * _aligned(lanes))

    def lanes_of(self, n: int) -> int:
        return max(self.lanes, self.program.widths[n])

    def value(self, x: Operand | tuple[float, ...]) -> str:
        if type(x) is not int:
            return super().value(x)
        last = self.used.get(x, self.position)
        self.used[x] = self.position
        if self.position - last > LONG_WAIT:
            slot = self.slots.of.get(x)
            if slot is not None or self.program.operations[x] == "load":
                lanes = self.lanes_of(x)
                self.renamed[x] = (
                    self.loaded_again(x)
                    if slot is None
                    else self.load(self.slot(slot), vector(lanes), 8 * _aligned(lanes))
                )
        return self.renamed.get(x) or f"%v{x}"

    def loaded_again(self, n: int) -> str:
        """The value of a load."""
        lanes = self.lanes_of(n)
        return self.load(self.element(self.program.details[n], self.lanes), vector(lanes), 8 * _aligned(lanes))

    def slot(self, number: int) -> str:
        base, place = divmod(number, self.slots.reach)
        kind = vector(self.widest)
        if base < self.slots.bases:
            return self.at(f"%near{base}", place - self.slots.reach // 2, kind)
        return self.at(self.place, number, kind)


def _aligned(lanes: int) -> int:
    """Lanes rounded up to a power of 2."""
    return 1 << (lanes - 1).bit_length()


def module(program: Program, interface: Interface, constraint: str | None) -> str:
    """The text of an LLVM module of such a kernel for one state, and ``batch``."""
    parts = [SlottedKernel(program, interface, 1, constraint).text(), rows_in_place(interface, zeroed=False)]
    return "\n".join([*parts, declarations({1, *map(program.lanes, program.root.order)})])


def over_time(
    program: Program, interface: Interface, lanes: int, constraint: str | None, spared: Sequence[Spared] = ()
) -> str:
    """The text of an LLVM module of such a kernel for a step, and ``time_loop``. Steps may be by one of the ``spared``
    programs.
    """

    def written(program: Program, symbol: str) -> Kernel:
        if len(program.root.order) <= LONG:
            return Kernel(program, interface, lanes, symbol)
        return SlottedKernel(without_waiting(program), interface, lanes, constraint, symbol)

    return kernel.module(program, interface, lanes, time_loop(interface, lanes), spared=spared, written=written)
