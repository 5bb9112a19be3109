"""Kernels whose lanes gather and scatter: each lane has its own integers, read from a table.

Numbers of a field, or of a model's data, lie in rows, one for each part or body. Rows of all lanes are read a vector at
a time and transposed, so that a number of all lanes is one vector; stores are delayed until a whole vector of each row
can be written. So rows may be read beyond their ends, by less than a vector.
"""

from __future__ import annotations

from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.carrying import Registers
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.writer import Value
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Program

_IN_ROWS = ("square", "data")
"""Arrays that may be read beyond the end of a row."""
_Row = tuple[str, tuple[tuple[int, int | str], ...]]
"""An array, and the terms that determine where a row begins in it."""


class Scattered(Kernel):
    """Writes code in which integers may differ from lane to lane."""

    def __init__(self, program: Program, interface: Interface, lanes: int) -> None:
        super().__init__(program, interface, lanes)
        self.apart: set[int] = set()
        """Integers that differ from lane to lane, %v{n}.{lane}."""
        self._rows: dict[_Row, list[str]] = {}
        self._read: dict[tuple[_Row, int], list[str]] = {}
        self._waiting: dict[_Row, dict[int, str]] = {}

    def instructions(self, block: Block) -> None:
        around, self._rows, self._read = self._rows, {}, {}
        super().instructions(block)
        self._write()
        self._rows, self._read = around, {}

    def emit_loop(self, loop: Loop) -> None:
        self._write()
        super().emit_loop(loop)

    def carried(self, loop: Loop, tag: str) -> Registers:
        return Registers(self, None, tag)  # each lane has other rows

    def is_scattered(self, address: Address) -> bool:
        if self.lanes == 1:
            return False
        own = address.array == "ints" and address.lane_stride is not None
        return own or any(number in self.apart for number, _ in address.terms)

    def emit_index(self, n: int, address: Address) -> None:
        if not self.is_scattered(address):
            super().emit_index(n, address)
            return
        self.apart.add(n)
        for lane, pointer in enumerate(self._row(address)):
            more = self.mul(lane, f"%{address.lane_stride}") if address.lane_stride is not None else "0"
            self.load(self.at(pointer, self.add(address.offset, more), "i64"), "i64", name=f"%v{n}.{lane}")

    def emit_affine(self, n: int, address: Address) -> None:
        if not self.is_scattered(address):
            super().emit_affine(n, address)
            return
        self.apart.add(n)
        for lane in range(self.lanes):
            self.let(f"add i64 {self._lane_terms(address, lane)}, {address.offset}", f"%v{n}.{lane}")

    def load_scattered(self, n: int, address: Address) -> None:
        """Gathers a number of each lane."""
        if address.array not in _IN_ROWS:
            found = [self.load(self.at(row, address.offset)) for row in self._row(address)]
            self.vector(found, f"%v{n}")
            return
        if address.array == "square":
            self._write()
        first, lane = divmod(address.offset, self.lanes)
        key = (address.array, address.terms), first
        if key not in self._read:
            rows = [self.at(row, first * self.lanes) for row in self._row(address)]
            self._read[key] = self.columns(rows)
        self.let(f"select i1 true, {self.type} {self._read[key][lane]}, {self.type} poison", f"%v{n}")

    def store_scattered(self, address: Address, value: str) -> None:
        """Scatters a number of each lane; those of rows are written together."""
        self._row(address)  # while its integers are at hand
        self._waiting.setdefault((address.array, address.terms), {})[address.offset] = value

    def _row(self, address: Address) -> list[str]:
        """A pointer to the beginning of each lane's row."""
        key = address.array, address.terms
        if key not in self._rows:
            kind = "i64" if address.array == "ints" else "double"
            indices = [self._lane_terms(address, lane) for lane in range(self.lanes)]
            self._rows[key] = [self.at(f"%{address.array}", index, kind) for index in indices]
        return self._rows[key]

    def _lane_terms(self, address: Address, lane: int) -> str:
        """Σ stride · index of a lane."""
        total = "0"
        for number, stride in address.terms:
            factor: Value = stride if isinstance(stride, int) else f"%{stride}"
            own = f"%v{number}.{lane}" if number in self.apart else f"%v{number}"
            total = self.add(total, self.mul(own, factor) if number >= 0 else factor)
        return total

    def _write(self) -> None:
        """Writes the delayed stores."""
        for key, values in self._waiting.items():
            rows, left = self._rows[key], dict(values)
            for first in {slot // self.lanes * self.lanes for slot in values}:
                slots = range(first, first + self.lanes)
                if not all(slot in values for slot in slots):
                    continue
                for row, whole in zip(rows, self.transpose([left.pop(slot) for slot in slots]), strict=True):
                    self.store(whole, self.at(row, first), self.type)
            for slot, value in left.items():
                for lane, row in enumerate(rows):
                    one = self.let(f"extractelement {self.type} {value}, i32 {lane}")
                    self.store(one, self.at(row, slot))
        if self._waiting:
            self._waiting, self._read = {}, {key: read for key, read in self._read.items() if key[0][0] != "square"}
