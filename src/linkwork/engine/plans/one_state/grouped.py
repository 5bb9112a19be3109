"""Kernels of parallel loops in which the numbers of several iterations lie side by side in groups."""

from __future__ import annotations

from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.writer import zero
from linkwork.engine.ir.address import Address, Terms
from linkwork.engine.ir.program import Block, Operand, Program
from linkwork.engine.plans.one_state.scattered import Scattered

_Apart = tuple[str, Terms, str | int | None]
"""Where lanes' numbers are: an array, terms, and the stride between lanes."""


class Grouped(Scattered):
    """Writes code in which numbers of ``work``, ``square`` and ``data`` lie in groups."""

    def __init__(self, program: Program, interface: Interface, lanes: int, group: int) -> None:
        super().__init__(program, interface, lanes)
        self.group = group
        self._together: dict[tuple[_Apart, int], tuple[int, int]] = {}
        """Numbers of arguments that are read together: for each the first of them, and how many."""
        self._pointers: dict[_Apart, list[str]] = {}
        self._read_together: dict[tuple[_Apart, int], list[str]] = {}

    def instructions(self, block: Block) -> None:
        kept = self._together, self._pointers, self._read_together
        self._together, self._pointers, self._read_together = _side_by_side(self.program, block), {}, {}
        super().instructions(block)
        self._together, self._pointers, self._read_together = kept

    def element(self, address: Address, lanes: int) -> str:
        if address.array not in ("work", "square", "data") or not address.grouped:
            return super().element(address, 1)
        index = self.mul(self.affine(address), self.group)
        return self.at(f"%{address.array}", index if address.lane is None else self.add(index, f"%v{address.lane}"))

    def emit_load(self, n: int, address: Address) -> None:
        if self.is_scattered(address):
            self.load_scattered(n, address)
            return
        if self.lanes > 1 and address.lane_stride is not None:
            self.load_apart(n, address)
            return
        pointer = self.element(address, 1)
        if self.group != self.lanes and self.lanes > 1:
            one = self.load(pointer)
            self.vector([one] * self.lanes, f"%v{n}")
        else:
            self.load(pointer, self.type, self.align, f"%v{n}")

    def load_apart(self, n: int, address: Address) -> None:
        """A number of an argument for each lane; three or four adjacent ones are loaded together."""
        key = _apart(address)
        first, count = self._together[key, address.offset]
        if self.lanes < 4 or count < 3:
            lanes = self.each_lane(address)
            self.vector([self.load(self.at(lane, address.offset)) for lane in lanes], f"%v{n}")
            return
        if (key, first) not in self._read_together:
            rows = [self.at(lane, first) for lane in self.each_lane(address)]
            self._read_together[key, first] = self.first_columns(rows, count)
        found = self._read_together[key, first][address.offset - first]
        self.let(f"select i1 true, {self.type} {found}, {self.type} poison", f"%v{n}")

    def emit_store(self, x: Operand, address: Address) -> None:
        value = self.value(x)
        if address.array.startswith("result"):  # a zero loses its sign
            value = self.let(f"fadd {self.type} {value}, {zero(self.lanes)}")
        if self.is_scattered(address):
            self.store_scattered(address, value)
            return
        if self.lanes == 1 or address.lane_stride is None:
            self.store(value, self.element(address, 1), self.type, self.align)
            return
        for lane, where in enumerate(self.each_lane(address)):
            one = self.let(f"extractelement {self.type} {value}, i32 {lane}")
            self.store(one, self.at(where, address.offset))

    def each_lane(self, address: Address) -> list[str]:
        """A pointer for each lane, to offset 0."""
        key, stride = _apart(address), address.lane_stride
        if key not in self._pointers:
            found = [self.element(address._replace(offset=0), 1)]
            for _ in range(self.lanes - 1):
                found.append(self.at(found[-1], f"%v{stride}" if isinstance(stride, int) else f"%{stride}"))
            self._pointers[key] = found
        return self._pointers[key]


def _apart(address: Address) -> _Apart:
    return address.array, address.terms, address.lane_stride


def _side_by_side(program: Program, block: Block) -> dict[tuple[_Apart, int], tuple[int, int]]:
    """Adjacent numbers that a block reads from arguments: for each the first of up to four, and how many there are."""
    offsets: dict[_Apart, set[int]] = {}
    for n in block.order:
        if program.operations[n] == "load":
            offsets.setdefault(_apart(program.details[n]), set()).add(program.details[n].offset)
    found = {}
    for key, own in offsets.items():
        run: list[int] = []
        for offset in sorted(own):
            run = [*run, offset] if run and len(run) < 4 and offset == run[-1] + 1 else [offset]
            found.update({(key, one): (run[0], len(run)) for one in run})
    return found
