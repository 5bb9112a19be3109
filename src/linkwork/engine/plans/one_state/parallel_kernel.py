"""The kernel of a program with parallel loops: one lane outside of these, iterations on all lanes inside them.

Numbers of several iterations lie side by side in groups, or each lane has its own integers, read from a table, by which
it gathers and scatters: numbers of a field, or of a model's data, lie in rows, one for each part or body. Rows of all
lanes are read a vector at a time and transposed, so that a number of all lanes is one vector; stores are delayed until
a whole vector of each row can be written. So rows may be read beyond their ends, by less than a vector.
"""

from __future__ import annotations

from linkwork.engine.emit.call_frame import Interface, listed, parameters
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.loops import Registers, cases, registers_of
from linkwork.engine.emit.writer import Value, zero
from linkwork.engine.ir.address import Address, Terms
from linkwork.engine.ir.program import Block, Loop, Operand, Program

_IN_ROWS = ("square", "data")
"""Arrays that may be read beyond the end of a row."""
_Row = tuple[str, tuple[tuple[int, int | str], ...]]
"""An array, and the terms that determine where a row begins in it."""
_Apart = tuple[str, Terms, str | int | None]
"""Where lanes' numbers are: an array, terms, and the stride between lanes."""


def handed_on(interface: Interface) -> str:
    return listed((kind, f"%{name}") for kind, name in interface.kernel)


class ParallelKernel(Kernel):
    """Writes the kernel, whose numbers of ``work``, ``square`` and ``data`` lie in groups of so many, and whose
    integers may differ from lane to lane; and as functions the iterations of its parallel loops, for
    ``lanes_of_loops``, if that is not 0.
    """

    def __init__(self, program: Program, interface: Interface, lanes: int, group: int, lanes_of_loops: int = 0) -> None:
        super().__init__(program, interface, lanes)
        self.group, self.lanes_of_loops = group, lanes_of_loops
        self.iterations: list[str] = []
        self.apart: set[int] = set()
        """Integers that differ from lane to lane, %v{n}.{lane}."""
        self._rows: dict[_Row, list[str]] = {}
        self._read: dict[tuple[_Row, int], list[str]] = {}
        self._waiting: dict[_Row, dict[int, str]] = {}
        self._pointers: dict[_Apart, list[str]] = {}

    def text(self) -> str:
        self.body()
        return self.function(f"internal void @kernel({parameters(self.interface.kernel)}, ptr %team)")

    def instructions(self, block: Block) -> None:
        pointers, self._pointers = self._pointers, {}
        around, self._rows, self._read = self._rows, {}, {}
        super().instructions(block)
        self._write()
        self._rows, self._read = around, {}
        self._pointers = pointers

    def emit_loop(self, loop: Loop) -> None:
        if loop.walk != "parallel" or not self.lanes_of_loops:
            self._write()
            super().emit_loop(loop)
            return
        number = len(self.iterations)
        one = ParallelKernel(self.program, self.interface, self.lanes_of_loops, self.group)
        cases(one, loop, "one", registers_of(one, loop, "one"))
        one.begin("one.latch")
        one.do("ret void")
        head = f"internal void @iteration{number}({parameters(self.interface.kernel)}, i64 %v{loop.counter})"
        self.iterations.append(one.function(head))
        first, last = str(loop.first), f"%{loop.last}"
        if loop.stop is not None:
            first, last = f"%v{loop.start}", self.add(f"%v{loop.stop}", -1)
        team = "%team"
        if loop.fewest > 1:
            enough = self.compare("sge", self.sub(last, first), loop.fewest - 1)
            team = self.either(enough, "ptr", "%team", "null")
        passed = f"{handed_on(self.interface)}, i64 {first}, i64 {last}, ptr {team}"
        self.do(f"call void @share{number}({passed})")

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
            self.vector([self.load(self.at(lane, address.offset)) for lane in self.each_lane(address)], f"%v{n}")
            return
        pointer = self.element(address, 1)
        if self.group != self.lanes and self.lanes > 1:
            one = self.load(pointer)
            self.vector([one] * self.lanes, f"%v{n}")
        else:
            self.load(pointer, self.type, self.align, f"%v{n}")

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
        key, stride = (address.array, address.terms, address.lane_stride), address.lane_stride
        if key not in self._pointers:
            found = [self.element(address._replace(offset=0), 1)]
            for _ in range(self.lanes - 1):
                found.append(self.at(found[-1], f"%v{stride}" if isinstance(stride, int) else f"%{stride}"))
            self._pointers[key] = found
        return self._pointers[key]

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
