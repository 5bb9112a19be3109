"""The bits of values in LLVM's code."""

from __future__ import annotations

from linkwork.engine.emit.writer import Writer


def each(kind: str, lanes: int) -> str:
    """A type for each lane."""
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


class BitsOf:
    """The bits of a value, as integers that write down what is done to them."""

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
