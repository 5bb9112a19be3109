"""Tracing: an algorithm's text run over values that write down what is done to them.

Constants fold and common subexpressions are found as the trace grows, by rules that keep every bit of a finite result
but for the sign of a zero: x + 0, x * 1, x * 0, x - x, and signs moved outward through products and sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from linkwork.engine.ir.program import Address, Block, Operand, Program
from linkwork.spatial.dual import Dual
from linkwork.spatial.functions import atan2_text, sin_cos_text


def _operator(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An arithmetic operator of traced scalars, and the same with its operands swapped."""

    def forward(self: Traced, other: Any) -> Any:
        if type(other) is Dual:
            return NotImplemented
        return self.tracer.wrap(getattr(self.tracer, name)(self.number, _operand(other)))

    def swapped(self: Traced, other: Any) -> Any:
        return self.tracer.wrap(getattr(self.tracer, name)(_operand(other), self.number))

    return forward, swapped


class Traced:
    """A scalar that is the value of an instruction."""

    __slots__ = ("number", "tracer")

    def __init__(self, tracer: Tracer, number: int) -> None:
        self.tracer, self.number = tracer, number

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")

    def __neg__(self) -> Any:
        return self.tracer.wrap(self.tracer.neg(self.number))

    def __lt__(self, other: Any) -> Any:
        if type(other) is Dual:
            return NotImplemented
        return _Less(self.tracer, self.number, _operand(other))

    def __gt__(self, other: Any) -> Any:
        if type(other) is Dual:
            return NotImplemented
        return _Less(self.tracer, _operand(other), self.number)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Traced) and other.number == self.number)

    def __hash__(self) -> int:
        return self.number

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth yet; use linkwork.spatial.where_less to choose by value")

    __float__ = __bool__

    def sqrt(self) -> Any:
        return self.tracer.wrap(self.tracer.emit("sqrt", (self.number,)))

    def sin_cos(self) -> tuple[Any, Any]:
        if self.tracer.expand:
            return sin_cos_text(self)
        emit, wrap = self.tracer.emit, self.tracer.wrap
        return wrap(emit("sin", (self.number,))), wrap(emit("cos", (self.number,)))

    def turned(self, s: Any, c: Any) -> tuple[Any, Any]:
        operands = (self.number, _operand(s), _operand(c))
        emit, wrap = self.tracer.emit, self.tracer.wrap
        return wrap(emit("quadrant_sin", operands)), wrap(emit("quadrant_cos", operands))

    def atan2(self, y: Any, x: Any) -> Any:
        if self.tracer.expand:
            return atan2_text(y, x)
        return self.tracer.wrap(self.tracer.emit("atan2", (_operand(y), _operand(x))))


class _Less:
    """a < b, to be decided when the code runs."""

    __slots__ = ("a", "b", "tracer")

    def __init__(self, tracer: Tracer, a: Operand, b: Operand) -> None:
        self.tracer, self.a, self.b = tracer, a, b

    def select(self, x: Any, y: Any) -> Any:
        left, right = _operand(x), _operand(y)
        if left == right and type(left) is type(right):
            return x
        return self.tracer.wrap(self.tracer.emit("less", (self.a, self.b, left, right)))

    def __bool__(self) -> bool:
        raise TypeError("a traced comparison has no truth yet; use linkwork.spatial.where_less to choose by value")


def _operand(x: Any) -> Operand:
    return x.number if type(x) is Traced else float(x)


def _types(operands: tuple[Operand, ...]) -> tuple[type, ...]:
    """Tells the constant 2.0 from instruction 2, which are equal to Python."""
    return tuple(map(type, operands))


class Tracer:
    """Builds a program. ``expand`` writes sine, cosine and arc tangent out as arithmetic, as machine code needs
    them; ``isomorphic`` lets the instructions depend on which constants are 0, 1 or -1, but not on the sign of others.
    """

    def __init__(self, expand: bool = True, isomorphic: bool = False) -> None:
        self.program = Program()
        self.expand, self.isomorphic = expand, isomorphic
        self.block: Block = self.program.root
        self._known: list[dict[Any, int]] = [{}]  # for each open block, what has been computed in it
        self._outside: list[list[dict[Any, int]]] = []

    def open(self, block: Block, isolated: bool = False) -> None:
        """Go on in an inner block; one that is ``isolated`` uses nothing of those around it."""
        self.block = block
        self._outside.append(self._known)
        self._known = [{}] if isolated else [*self._known, {}]

    def close(self, outside: Block) -> None:
        """Go back to the block outside."""
        self.block = outside
        self._known = self._outside.pop()

    def wrap(self, value: Operand) -> Any:
        return Traced(self, value) if type(value) is int else value

    def emit(self, operation: str, operands: tuple[Operand, ...], detail: Any = None) -> int:
        """The value of an operation, computed once."""
        number = self.find(operation, operands, detail)
        if number is None:
            number = self.program.instruction(self.block, operation, operands, detail)
            self._known[-1][operation, operands, _types(operands), detail] = number
        return number

    def find(self, operation: str, operands: tuple[Operand, ...], detail: Any = None) -> int | None:
        """The same operation on the same operands, if it has been done."""
        key = (operation, operands, _types(operands), detail)
        for known in self._known:
            number = known.get(key)
            if number is not None:
                return number
        return None

    def load(self, address: Address) -> Traced:
        """A read that may be repeated: the array does not change while the program runs."""
        return Traced(self, self.emit("load", (), address))

    def constant(self, value: float) -> Traced:
        """A number that is not folded into the code."""
        return Traced(self, self.emit("constant", (), value))

    def store(self, address: Address, value: Any) -> None:
        self.program.instruction(self.block, "store", (_operand(value),), address)

    def _negated(self, x: Operand) -> int | None:
        """y where x = -y."""
        if type(x) is int and self.program.operations[x] == "neg":
            return self.program.operands[x][0]
        return None

    def add(self, a: Operand, b: Operand) -> Operand:
        if type(a) is float:
            if type(b) is float:
                return a + b
            a, b = b, a
        if b == 0.0 and type(b) is float:
            return a
        minus = self._negated(b)
        if minus is not None:
            return self.sub(a, minus)
        minus = self._negated(a)
        if minus is not None:
            return self.sub(b, minus)
        if type(b) is int and b < a:
            a, b = b, a
        return self.emit("add", (a, b))

    def sub(self, a: Operand, b: Operand) -> Operand:
        if type(b) is float:
            if type(a) is float:
                return a - b
            if b == 0.0:
                return a
        elif type(a) is float:
            if a == 0.0:
                return self.neg(b)
        elif a == b:
            return 0.0
        minus = self._negated(b)
        if minus is not None:
            return self.add(a, minus)
        minus = self._negated(a)
        if minus is not None:
            return self.neg(self.add(minus, b))
        return self.emit("sub", (a, b))

    def mul(self, a: Operand, b: Operand) -> Operand:
        if type(a) is float:
            if type(b) is float:
                return a * b
            a, b = b, a
        if type(b) is float:
            if b == 0.0:
                return 0.0
            if b == 1.0:
                return a
            if b == -1.0 or (b < 0.0 and not self.isomorphic):
                return self.neg(self.mul(a, -b))
        else:
            minus = self._negated(b)
            if minus is not None:
                return self.neg(self.mul(a, minus))
        minus = self._negated(a)
        if minus is not None:
            return self.mul(minus, -b) if type(b) is float and self.isomorphic else self.neg(self.mul(minus, b))
        if type(b) is int and b < a:
            a, b = b, a
        return self.emit("mul", (a, b))

    def div(self, a: Operand, b: Operand) -> Operand:
        if type(b) is float:
            if type(a) is float:
                return a / b if b != 0.0 else math.nan
            if b == 1.0:
                return a
        elif type(a) is float and a == 0.0:
            return 0.0
        for x, y, first in ((a, b, True), (b, a, False)):
            minus = self._negated(x)
            if minus is not None:
                return self.neg(self.div(minus, y) if first else self.div(y, minus))
        return self.emit("div", (a, b))

    def neg(self, a: Operand) -> Operand:
        if type(a) is float:
            return -a
        minus = self._negated(a)
        if minus is not None:
            return minus
        number = int(a)
        if self.program.operations[number] == "sub":
            x, y = self.program.operands[number]
            other = self.find("sub", (y, x))
            if other is not None:
                return other
        return self.emit("neg", (a,))
