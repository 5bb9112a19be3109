"""The bits of values in LLVM IR."""

from __future__ import annotations

from linkwork.engine.emit.writer import Writer, vector


def each(kind: str, lanes: int) -> str:
    """A type for each lane."""
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


class BitsOf:
    """The bits of a value, as integers that record the operations on them."""

    def __init__(self, writer: Writer, lanes: int, name: str) -> None:
        self.writer, self.lanes, self.name = writer, lanes, name

    def _with(self, operation: str, number: int) -> BitsOf:
        number -= 2**64 if number >= 2**63 else 0
        second = str(number) if self.lanes == 1 else f"splat (i64 {number})"
        name = self.writer.let(f"{operation} {each('i64', self.lanes)} {self.name}, {second}")
        return BitsOf(self.writer, self.lanes, name)

    def __add__(self, number: int) -> BitsOf:
        return self._with("add", number)

    def __and__(self, number: int) -> BitsOf:
        return self._with("and", number)

    def __lshift__(self, number: int) -> BitsOf:
        return self._with("shl", number)

    def __rshift__(self, number: int) -> BitsOf:
        return self._with("lshr", number)


def quadrant(w: Writer, name: str, lanes: int, cosine: bool, quarters: str, s: str, c: str) -> None:
    """Sine: s, c, -s, -c by the quadrant; cosine: c, -s, -c, s. The sign is flipped as a bit."""
    kind, integer, bit = vector(lanes), each("i64", lanes), each("i1", lanes)

    def number(x: int) -> str:
        return str(x) if lanes == 1 else f"splat (i64 {x})"

    odd, even = (s, c) if cosine else (c, s)
    low = w.let(f"bitcast {kind} {quarters} to {integer}")
    parity = w.let(f"icmp ne {integer} {w.let(f'and {integer} {low}, {number(1)}')}, {number(0)}")
    chosen = w.let(f"select {bit} {parity}, {kind} {odd}, {kind} {even}")
    moved = w.let(f"add {integer} {low}, {number(1 if cosine else 0)}")
    shifted = w.let(f"shl {integer} {moved}, {number(62)}")
    sign = w.let(f"and {integer} {shifted}, {number(-(2**63))}")
    flipped = w.let(f"xor {integer} {w.let(f'bitcast {kind} {chosen} to {integer}')}, {sign}")
    w.let(f"bitcast {integer} {flipped} to {kind}", name)
