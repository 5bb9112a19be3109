"""The executable definition of the intermediate code: a plain evaluator over floats.

What a program means is what happens here. Machine code must give the same bits; tests compare the two.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from typing import Any

from linkwork.engine.ir.program import Address, Block, Loop, Operand, Program
from linkwork.spatial.functions import atan2_text, sin_cos_text, sqrt


def run(program: Program, arrays: Mapping[str, MutableSequence[Any]], sizes: Mapping[str, int] | None = None) -> None:
    """Run a program over arrays given by name, one state: arguments are read, results and work written in place."""
    _Run(program, arrays, sizes or {}).block(program.root)


class _Run:
    def __init__(self, program: Program, arrays: Mapping[str, MutableSequence[Any]], sizes: Mapping[str, int]) -> None:
        self.program, self.arrays, self.sizes = program, arrays, sizes
        self.values: dict[int, Any] = {}

    def block(self, block: Block) -> None:
        for n in block.order:
            operation, detail = self.program.operations[n], self.program.details[n]
            operands = [self.value(x) for x in self.program.operands[n]]
            if operation == "loop":
                self.loop(detail)
            elif operation == "store":
                array, element = self.element(detail)
                array[element] = operands[0]
            elif operation == "affine":
                self.values[n] = self.affine(detail)
            elif operation == "index":
                self.values[n] = self.integer(detail)
            elif operation == "load":
                array, element = self.element(detail)
                self.values[n] = float(array[element])
            elif operation == "vector":
                self.values[n] = tuple(operands)
            elif operation == "extract":
                self.values[n] = operands[0][detail]
            elif self.program.widths[n] > 1:
                self.values[n] = tuple(map(ARITHMETIC[operation], *operands))
            else:
                self.values[n] = ARITHMETIC[operation](*operands)

    def value(self, x: Operand) -> Any:
        return self.values[x] if type(x) is int else x

    def size(self, x: int | str) -> int:
        return self.sizes[x] if isinstance(x, str) else x

    def affine(self, address: Address) -> int:
        total = address.offset
        for index, stride in address.terms:  # a negative index stands for the integer 1
            total += self.size(stride) * (self.values[index] if index >= 0 else 1)
        return total

    def element(self, address: Address) -> tuple[MutableSequence[Any], int]:
        element = self.affine(address)  # groups are of one: ``lane`` is always 0 here
        if element < 0:
            raise IndexError(f"{address} is at {element}")
        return self.arrays[address.array], element

    def integer(self, address: Address) -> int:
        array, element = self.element(address)
        return int(array[element])

    def loop(self, loop: Loop) -> None:
        cases = dict(loop.cases)
        cases |= {kind: cases[first] for kind, first in loop.same.items()}
        for counter in self.iterations(loop):
            self.values[loop.counter] = counter
            kind = loop.cases[0][0] if loop.kind is None else self.integer(loop.kind)
            if kind in cases:
                self.block(cases[kind])

    def iterations(self, loop: Loop) -> Iterator[int]:
        if loop.walk == "climb":
            counter: int = self.values[loop.start]  # type: ignore[index]
            stop = 0 if loop.stop is None else self.values[loop.stop]
            while counter != stop:
                yield counter
                counter = self.integer(loop.successor)  # type: ignore[arg-type]
        else:
            last: int = self.size(loop.last) if loop.start is None else self.values[loop.start]
            up = range(self.size(loop.first), last + 1)
            yield from reversed(up) if loop.walk == "down" else up


def _divided(a: float, b: float) -> float:
    """a / b as machines divide: a zero below gives infinity, or no number."""
    if b != 0.0:
        return a / b
    return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _by_quadrant(quarters: float, chosen: Sequence[float]) -> float:
    """One of four values, by the two lowest bits of a float."""
    bits: int = struct.unpack("<q", struct.pack("<d", quarters))[0]
    return chosen[bits & 3]


ARITHMETIC: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divided,
    "neg": lambda a: -a,
    "sqrt": sqrt,
    "sin": lambda a: sin_cos_text(a)[0],
    "cos": lambda a: sin_cos_text(a)[1],
    "atan2": atan2_text,
    "less": lambda a, b, x, y: x if a < b else y,
    "quadrant_sin": lambda t, s, c: _by_quadrant(t, (s, c, -s, -c)),
    "quadrant_cos": lambda t, s, c: _by_quadrant(t, (c, -s, -c, s)),
}
"""What each arithmetic operation of ``ir`` computes."""
