"""Values that are known only at run time, and conditions on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from linkwork.errors import TracingError

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Operand
    from linkwork.engine.trace.tracer import Tracer


class Undecided:
    """Something known only at run time: a traced number, or a condition."""

    __slots__ = ()


class Condition(Undecided, ABC):
    """A condition that is decided at run time."""

    __slots__ = ()

    @abstractmethod
    def select(self, x: Any, y: Any) -> Any:
        """x where it holds, otherwise y."""

    def negated(self) -> Condition:
        return Not(self)

    def joined(self, other: Condition) -> Condition:
        return Both(self, other)

    def __bool__(self) -> bool:
        raise TracingError(
            "a condition on traced numbers has no truth while a function is traced; choose by value with "
            "np.where(condition, x, y), on arrays made by np.stack, or linkwork.spatial.where_less over scalars"
        )


class Less(Condition):
    """a < b."""

    __slots__ = ("a", "b", "tracer")

    def __init__(self, tracer: Tracer, a: Operand, b: Operand) -> None:
        self.tracer, self.a, self.b = tracer, a, b

    def select(self, x: Any, y: Any) -> Any:
        left, right = self.tracer.operand(x), self.tracer.operand(y)
        if left == right and type(left) is type(right):
            return x
        return self.tracer.wrap(self.tracer.emit("less", (self.a, self.b, left, right)))


class Not(Condition):
    __slots__ = ("condition",)

    def __init__(self, condition: Condition) -> None:
        self.condition = condition

    def select(self, x: Any, y: Any) -> Any:
        return self.condition.select(y, x)

    def negated(self) -> Condition:
        return self.condition


class Both(Condition):
    __slots__ = ("first", "second")

    def __init__(self, first: Condition, second: Condition) -> None:
        self.first, self.second = first, second

    def select(self, x: Any, y: Any) -> Any:
        return self.first.select(self.second.select(x, y), y)
