"""The executable definition of the intermediate code: a plain evaluator over floats.

What a program means is what happens here. Machine code must give the same bits; tests compare the two.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from typing import Any

from linkwork.engine.ir import Address, Block, Loop, Operand, Program
from linkwork.spatial.functions import atan2_text, sin_cos_text, sqrt

KIND, PARENT, INTS = 0, 1, 4
"""A body's row of ``ints``: where its kind and its parent stand, and how long the row is."""


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
                array, place = self.place(detail)
                array[place] = operands[0]
            elif operation == "whole":
                self.values[n] = self.whole(detail)
            elif operation in ("load", "index"):
                array, place = self.place(detail)
                self.values[n] = int(array[place]) if operation == "index" else float(array[place])
            elif operation == "gather":
                self.values[n] = tuple(operands)
            elif operation == "lane":
                self.values[n] = operands[0][detail]
            elif detail is not None:  # wide
                self.values[n] = tuple(map(ARITHMETIC[operation], *operands))
            else:
                self.values[n] = ARITHMETIC[operation](*operands)

    def value(self, x: Operand) -> Any:
        return self.values[x] if type(x) is int else x

    def size(self, x: int | str) -> int:
        return self.sizes[x] if isinstance(x, str) else x

    def whole(self, address: Address) -> int:
        place = address.offset
        for index, stride in address.terms:  # a negative index stands for the whole number 1
            place += self.size(stride) * (self.values[index] if index >= 0 else 1)
        return place

    def place(self, address: Address) -> tuple[MutableSequence[Any], int]:
        place = self.whole(address)  # groups are of one: ``lane`` is always 0 here
        if place < 0:
            raise IndexError(f"{address} is at {place}")
        return self.arrays[address.array], place

    def loop(self, loop: Loop) -> None:
        cases = dict(loop.cases)
        for counter in self.turns(loop):
            self.values[loop.counter] = counter
            row = INTS * counter + KIND if loop.kind is None else self.whole(loop.kind)
            kind = loop.cases[0][0] if len(cases) == 1 else int(self.arrays["ints"][row])
            if kind in cases:
                self.block(cases[kind])

    def turns(self, loop: Loop) -> Iterator[int]:
        if loop.walk == "climb":
            body: int = self.values[loop.start]  # type: ignore[index]
            stop = 0 if loop.stop is None else self.values[loop.stop]
            while body != stop:
                yield body
                body = int(self.arrays["ints"][INTS * body + PARENT])
        else:
            last: int = self.size(loop.last) if loop.start is None else self.values[loop.start]
            up = range(self.size(loop.first), last + 1)
            yield from reversed(up) if loop.walk == "down" else up


def _divided(a: float, b: float) -> float:
    """a / b as machines divide: a zero below gives infinity, or no number."""
    if b != 0.0:
        return a / b
    return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _turned(turns: float, chosen: Sequence[float]) -> float:
    """One of four values, by the two lowest bits of a float."""
    bits: int = struct.unpack("<q", struct.pack("<d", turns))[0]
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
    "turn_sin": lambda t, s, c: _turned(t, (s, c, -s, -c)),
    "turn_cos": lambda t, s, c: _turned(t, (c, -s, -c, s)),
}
"""What each arithmetic operation of ``ir`` computes."""
