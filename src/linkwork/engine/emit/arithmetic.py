"""Arithmetic over the lanes of a vector, and its constants, in LLVM IR."""

from __future__ import annotations

from linkwork.engine.emit.bitwise import BitsOf, each, quadrant
from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.writer import Writer, constant, suffix, vector
from linkwork.spatial.functions import BITWISE

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}

_FEW_RESULTS = 128
"""Numbers of one state's results up to which constants are in memory as whole vectors of four, which an instruction
takes as a memory operand: a broadcast is one more instruction, on CPUs whose vectors have four lanes. With many results
they would compete for the first-level cache.
"""


class Arithmetic(Writer):
    """Writes a function named ``symbol`` over so many lanes, which returns so many ``results`` for each; None if that
    is not known.
    """

    def __init__(self, lanes: int, symbol: str, results: int | None) -> None:
        super().__init__()
        self.lanes, self.symbol = lanes, symbol
        self.type, self.align = vector(lanes), 8 * lanes
        few = results is not None and results <= _FEW_RESULTS
        self.whole: dict[float, int] | None = {} if lanes == 4 and few else None
        """Places of constants that lie in memory as whole vectors; None if none do."""

    def number(self, x: float) -> str:
        """A constant."""
        if self.whole is None or not x:
            return constant(x, self.lanes)
        place = self.whole.setdefault(x, len(self.whole))
        where = f"getelementptr inbounds ({self.type}, ptr @{self.symbol}.constants, i64 {place})"
        return self.load(where, self.type, self.align)

    def constants(self) -> str:
        """The constants in memory, in the order of their first use."""
        if not self.whole:
            return ""
        vectors = listed((self.type, constant(x, self.lanes)) for x in self.whole)
        kind = f"[{len(self.whole)} x {self.type}]"
        return f"@{self.symbol}.constants = internal constant {kind} [{vectors}], align 64\n"

    def arithmetic(self, n: int, operation: str, lanes: int, *values: str) -> None:
        kind, name = vector(lanes), f"%v{n}"
        if operation in BINARY:
            self.let(f"{BINARY[operation]} {kind} {values[0]}, {values[1]}", name)
        elif operation == "neg":
            self.let(f"fneg {kind} {values[0]}", name)
        elif operation == "sqrt":
            self.let(f"call {kind} @llvm.sqrt.{suffix(lanes)}({kind} {values[0]})", name)
        elif operation == "less":
            bit = each("i1", lanes)
            condition = self.let(f"fcmp olt {kind} {values[0]}, {values[1]}")
            self.let(f"select {bit} {condition}, {kind} {values[2]}, {kind} {values[3]}", name)
        elif operation in ("quadrant_sin", "quadrant_cos"):
            quadrant(self, name, lanes, operation == "quadrant_cos", *values)
        elif operation in BITWISE:
            found = BITWISE[operation](
                BitsOf(self, lanes, self.let(f"bitcast {kind} {values[0]} to {each('i64', lanes)}"))
            )
            self.let(f"bitcast {each('i64', lanes)} {found.name} to {kind}", name)
        else:
            raise ValueError(f"no machine code for {operation!r}; trace with expand=True")
