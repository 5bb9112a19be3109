"""Arithmetic over the lanes of a vector, in LLVM IR."""

from __future__ import annotations

from linkwork.engine.emit.bitwise import BitsOf, each, quadrant
from linkwork.engine.emit.writer import Writer, suffix, vector
from linkwork.spatial.functions import BITWISE

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Arithmetic(Writer):
    """Writes a function named ``symbol`` over so many lanes."""

    def __init__(self, lanes: int, symbol: str) -> None:
        super().__init__()
        self.lanes, self.symbol = lanes, symbol
        self.type, self.align = vector(lanes), 8 * lanes

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
