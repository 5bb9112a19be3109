"""The kernel of a fold: a program that updates a state in place, row by row, for the lanes that have the row."""

from __future__ import annotations

from linkwork.engine.emit.bitwise import each
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.kept_rows import KeptRows
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.writer import constant
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Cell, Fold, Operand


class FoldKernel(Kernel):
    """Writes the program of a fold."""

    def __init__(
        self, what: Fold, lanes: int, symbol: str, kept: KeptRows | None, problems: tuple[str, ...] = ()
    ) -> None:
        interface = Interface((what.state, what.given, what.rows.width), (), problems=problems)
        super().__init__(what.program, interface, lanes, symbol, kept)
        program = what.program
        loads = [n for n in program.root.order if program.operations[n] == "load"]
        self.before = {program.details[n].offset: n for n in loads if program.details[n].array == "argument0"}
        self.loaded: set[int] = set()
        self.mask = ""

    def body(self) -> None:
        flag = self.load(self.at("%argument2", -self.lanes), self.type, self.align)
        self.mask = self.let(f"fcmp ogt {self.type} {flag}, {constant(0.5, self.lanes)}")
        super().body()

    def emit_load(self, n: int, address: Address) -> None:
        if n not in self.loaded:
            self.loaded.add(n)
            super().emit_load(n, address)

    def emit_store(self, x: Operand, address: Address) -> None:
        old = self.before.get(address.offset)
        if old is not None and type(x) is int and x == old:
            return
        target = Address("argument0", address.offset)
        if old is None:
            before = self.load(self.element(target, self.lanes), self.type, self.align)
        else:
            self.emit_load(old, target)  # before it is overwritten
            before = f"%v{old}"
        chosen = f"select {each('i1', self.lanes)} {self.mask}, {self.type} {self.value(x)}, {self.type} {before}"
        self.store(self.let(chosen), self.element(target, self.lanes), self.type, self.align)

    def scatter(self, row: Operand, x: Operand, cell: Cell) -> None:
        value = self.value(x)
        for k, place in enumerate(self.cells(row, cell._replace(array="argument0"))):
            own, here = value, self.mask
            if self.lanes > 1:
                own = self.let(f"extractelement {self.type} {value}, i32 {k}")
                here = self.let(f"extractelement {each('i1', self.lanes)} {self.mask}, i32 {k}")
            before = self.load(place)
            added = self.let(f"fadd double {before}, {own}")
            self.store(self.either(here, "double", added, before), place)
