"""Tracing: an algorithm's text run over values that record the operations on them.

Constants fold and common subexpressions are found as the trace grows, by rules that keep every bit of a finite result
except the sign of a zero: x + 0, x * 1, x * 0, x - x, and signs moved outward through products and sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import (
    Block,
    Cell,
    Fold,
    Keep,
    Map,
    Operand,
    Program,
    Repeat,
    Subroutine,
    inner,
    programs,
)
from linkwork.engine.trace.conditions import Less, Undecided
from linkwork.errors import TracingError
from linkwork.spatial.dual import Dual
from linkwork.spatial.elementary import OPERATIONS

Inner = TypeVar("Inner", Repeat, Subroutine, Map, Fold)


def _key(operation: str, operands: tuple[Operand, ...], detail: Any) -> tuple[Any, ...]:
    """Equal for operations that have the same value. Types distinguish the constant 2.0 from instruction 2, which
    Python considers equal.
    """
    if len(operands) == 2:  # as most have
        a, b = operands
        return operation, a, b, type(a), type(b), detail
    return operation, operands, tuple(map(type, operands)), detail


class TooLong(Exception):
    """A program has more instructions than it may have."""


class Tracer:
    """Builds a program. ``expand`` expands elementary functions to arithmetic, as machine code needs them;
    ``isomorphic`` lets the instructions depend on which constants are 0, 1 or -1, but not on the sign of others;
    ``inline`` inlines subroutines. Beyond ``most`` instructions, ``TooLong`` is raised, or ``warn`` is called, once.
    """

    def __init__(
        self,
        expand: bool = True,
        isomorphic: bool = False,
        inline: bool = False,
        most: int | None = None,
        warn: Callable[[], None] | None = None,
    ) -> None:
        self.program = Program()
        self.expand, self.isomorphic, self.inline, self.most, self.warn = expand, isomorphic, inline, most, warn
        self.block: Block = self.program.root
        self._known: list[dict[Any, int]] = [{}]  # for each open block, what has been computed in it
        self._outside: list[list[dict[Any, int]]] = []
        self._finished = False
        self._written_out: dict[Any, Any] = {}

    def finish(self) -> None:
        """Nothing more may be recorded."""
        self._finished = True

    def open(self, block: Block, isolated: bool = False) -> None:
        """Continue in an inner block; one that is ``isolated`` uses nothing from enclosing ones."""
        self.block = block
        self._outside.append(self._known)
        self._known = [{}] if isolated else [*self._known, {}]

    def close(self, outside: Block) -> None:
        """Return to the outer block."""
        self.block = outside
        self._known = self._outside.pop()

    def operand(self, x: Any) -> Operand:
        """A scalar as an instruction of this trace, or a constant."""
        if type(x) is not Traced:
            return float(x)
        if x.tracer is not self:
            raise TracingError(
                "a traced array was kept after its function had returned, or belongs to another function; "
                "pass it as an argument"
            )
        return x.number

    def wrap(self, value: Operand) -> Any:
        return Traced(self, value) if type(value) is int else value

    def emit(self, operation: str, operands: tuple[Operand, ...], detail: Any = None) -> int:
        """The value of an operation, computed once."""
        key = _key(operation, operands, detail)
        for known in self._known:
            found = known.get(key)
            if found is not None:
                return found
        if self.most is not None and len(self.program.operations) >= self.most:
            if self.warn is None:
                raise TooLong
            self.most = None
            self.warn()
        if self._finished:
            raise TracingError("a traced array was kept after its function had returned; it has no value")
        number = self.program.instruction(self.block, operation, operands, detail)
        known[key] = number  # the innermost
        return number

    def know(self, operation: str, operands: Sequence[Any], value: Traced) -> None:
        """The value of an operation is available, and need not be computed."""
        given = tuple(map(self.operand, operands))
        self._known[-1][_key(operation, given, None)] = value.number

    def find(self, operation: str, operands: tuple[Operand, ...], detail: Any = None) -> int | None:
        """The same operation on the same operands, if it has been done."""
        key = _key(operation, operands, detail)
        return next((known[key] for known in self._known if key in known), None)

    def load(self, address: Address) -> Traced:
        """A read that may be merged: the array does not change while the program runs."""
        return Traced(self, self.emit("load", (), address))

    def constant(self, value: float) -> Traced:
        """A number that is not folded into the code."""
        return Traced(self, self.emit("constant", (), value))

    def effect(self, operation: str, operands: Sequence[Any], detail: Any) -> int:
        """An instruction with an effect, which is never merged with an earlier one."""
        return self.program.instruction(self.block, operation, tuple(map(self.operand, operands)), detail)

    def written_out(self, what: Inner) -> Inner:
        """A repeat, subroutine or operation on rows, with elementary functions expanded."""
        from linkwork.engine.trace.replay import expanded

        if not any(map(_has_elementary, programs(what))):
            return what
        found = self._written_out.get(what)
        if found is None:
            parts: dict[str, Any] = {"program": expanded(what.program)}
            if isinstance(what, Subroutine):
                parts["sparing"] = tuple((zeros, expanded(each)) for zeros, each in what.sparing)
            found = self._written_out[what] = replace(what, **parts)
        return found

    def store(self, address: Address, value: Any) -> None:
        self.program.instruction(self.block, "store", (self.operand(value),), address)

    # The rules of arithmetic. The sign of a negated operand is moved outward.

    def add(self, a: Any, b: Any) -> Operand:
        if type(a) is float:
            if type(b) is float:
                return a + b
            a, b = b, a
        program = self.program
        if type(b) is float:
            if b == 0.0:
                return a
        elif program.operations[b] == "neg":
            return self.sub(a, program.operands[b][0])
        if program.operations[a] == "neg":
            return self.sub(b, program.operands[a][0])
        return self.emit("add", (b, a) if type(b) is int and b < a else (a, b))

    def sub(self, a: Any, b: Any) -> Operand:
        program = self.program
        if type(b) is float:
            if type(a) is float:
                return a - b
            if b == 0.0:
                return a
        else:
            if type(a) is float:
                if a == 0.0:
                    return self.neg(b)
            elif a == b:
                return 0.0
            if program.operations[b] == "neg":
                return self.add(a, program.operands[b][0])
        if type(a) is int and program.operations[a] == "neg":
            return self.neg(self.add(program.operands[a][0], b))
        return self.emit("sub", (a, b))

    def mul(self, a: Any, b: Any) -> Operand:
        if type(a) is float:
            if type(b) is float:
                return a * b
            a, b = b, a
        program = self.program
        if type(b) is float:
            if b == 0.0:
                return 0.0
            if b == 1.0:
                return a
            if b == -1.0 or (b < 0.0 and not self.isomorphic):
                return self.neg(self.mul(a, -b))
        elif program.operations[b] == "neg":
            return self.neg(self.mul(a, program.operands[b][0]))
        if program.operations[a] == "neg":
            minus = program.operands[a][0]
            return self.mul(minus, -b) if type(b) is float and self.isomorphic else self.neg(self.mul(minus, b))
        return self.emit("mul", (b, a) if type(b) is int and b < a else (a, b))

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

    def _negated(self, x: Operand) -> int | None:
        """y if x = -y."""
        if type(x) is int and self.program.operations[x] == "neg":
            return self.program.operands[x][0]
        return None


def _operator(rule: Callable[[Tracer, Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An arithmetic operator of traced scalars, by the tracer's rule, and the same with its operands swapped."""

    def forward(self: Traced, other: Any) -> Any:
        tracer = self.tracer
        if type(other) is Traced and other.tracer is tracer:  # as most are
            value = rule(tracer, self.number, other.number)
        elif type(other) is Dual:
            return NotImplemented
        else:
            value = rule(tracer, self.number, tracer.operand(other))
        return Traced(tracer, value) if type(value) is int else value

    def swapped(self: Traced, other: Any) -> Any:
        tracer = self.tracer
        value = rule(tracer, tracer.operand(other), self.number)
        return Traced(tracer, value) if type(value) is int else value

    return forward, swapped


def _has_elementary(program: Program) -> bool:
    """Whether it has elementary functions, or something inside it has."""
    return any(program.operations[n] in OPERATIONS for n in program.walk()) or any(
        _has_elementary(each) for what in inner(program) for each in programs(what)
    )


class Traced(Undecided):
    """A scalar that is the value of an instruction."""

    __slots__ = ("number", "tracer")

    def __init__(self, tracer: Tracer, number: int) -> None:
        self.tracer, self.number = tracer, number

    __add__, __radd__ = _operator(Tracer.add)
    __sub__, __rsub__ = _operator(Tracer.sub)
    __mul__, __rmul__ = _operator(Tracer.mul)
    __truediv__, __rtruediv__ = _operator(Tracer.div)

    def __neg__(self) -> Any:
        return self.tracer.wrap(self.tracer.neg(self.number))

    def __lt__(self, other: Any) -> Any:
        if type(other) is Dual:
            return NotImplemented
        return Less(self.tracer, self.number, self.tracer.operand(other))

    def __gt__(self, other: Any) -> Any:
        if type(other) is Dual:
            return NotImplemented
        return Less(self.tracer, self.tracer.operand(other), self.number)

    def __eq__(self, other: object) -> bool:
        if self is other or (isinstance(other, Traced) and other.number == self.number):
            return True
        raise TracingError(
            "whether traced numbers are equal is not known while a function is traced; use np.where(a == b, x, y) on "
            "arrays made by np.stack"
        )

    def __hash__(self) -> int:
        return self.number

    def __bool__(self) -> bool:
        raise TracingError(
            "a traced number has no truth while a function is traced; use np.where(condition, x, y), or "
            "linkwork.spatial.where_less over scalars"
        )

    def __float__(self) -> float:
        raise TracingError(
            "a traced number cannot become a float while a function is traced; use np.asarray(x) instead of "
            "np.asarray(x, dtype=float), np.sin instead of math.sin and the like, np.stack or np.concatenate instead "
            "of assigning to elements of an array of floats (or np.zeros(n, like=x) for one that can hold traced "
            "numbers), and np.where, or linkwork.spatial.where_less over scalars, to choose by value"
        )

    @property
    def is_argument(self) -> bool:
        """Whether it is a number of an argument, which is checked to be finite."""
        return self.tracer.program.operations[self.number] == "load"

    def sqrt(self) -> Any:
        return self.operation("sqrt", self)

    def operation(self, name: str, *operands: Any) -> Any:
        """The value of an operation of these operands."""
        return self.tracer.wrap(self.tracer.emit(name, tuple(map(self.tracer.operand, operands))))

    def called(self, callee: Any, operands: Sequence[Any]) -> Any:
        """A call of other code; ``part`` extracts a number."""
        return self.tracer.wrap(self.tracer.emit("call", tuple(map(self.tracer.operand, operands)), callee))

    def part(self, k: int) -> Any:
        return self.tracer.wrap(self.tracer.emit("part", (self.number,), k))

    def repeated(self, what: Repeat, operands: Sequence[Any]) -> list[Any]:
        """The numbers of the final state of a repeat."""
        if self.tracer.expand:
            what = self.tracer.written_out(what)
        number = self.tracer.emit("repeat", tuple(map(self.tracer.operand, operands)), what)
        return [self.tracer.wrap(self.tracer.emit("final", (number,), k)) for k in range(what.state)]

    def used(self, what: Subroutine, operands: Sequence[Any]) -> list[Any]:
        """The results of a subroutine."""
        if self.tracer.inline and not what.symmetric:
            from linkwork.engine.trace.replay import replay

            return replay(what.program, [operands])[0]
        if self.tracer.expand:
            what = self.tracer.written_out(what)
        number = self.tracer.emit("subroutine", tuple(map(self.tracer.operand, operands)), what)
        return [self.tracer.wrap(self.tracer.emit("final", (number,), k)) for k in range(what.state)]

    def kept(self, what: Keep, operands: Sequence[Any]) -> None:
        """A row is kept: every time, in this order."""
        self.tracer.effect("keep", operands, what)

    def mapped(self, what: Map, operands: Sequence[Any]) -> None:
        """Rows are mapped to others."""
        self.tracer.effect("map", operands, self.tracer.written_out(what) if self.tracer.expand else what)

    def folded(self, what: Fold, operands: Sequence[Any]) -> list[Any]:
        """The numbers of the state that rows were folded into."""
        what = self.tracer.written_out(what) if self.tracer.expand else what
        number = self.tracer.effect("fold", operands, what)
        return [self.tracer.wrap(self.tracer.emit("final", (number,), k)) for k in range(what.state)]

    def gathered(self, cell: Cell) -> Any:
        """A number of the row with this number, of a table that does not change."""
        return self.tracer.wrap(self.tracer.emit("gather", (self.number,), cell))

    def scattered(self, cell: Cell, value: Any) -> None:
        """Something is added to a number of the row with this number."""
        self.tracer.effect("scatter", (self, value), cell)

    def elementary(self, names: tuple[str, ...], text: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """An elementary function: its text, or one operation for each of its results."""
        dual = next((x for x in operands if type(x) is Dual), None)
        if dual is not None:
            return dual.elementary(names, text, operands)
        if self.tracer.expand:
            return text(*operands)
        values = tuple(self.operation(name, *operands) for name in names)
        return values[0] if len(values) == 1 else values
