"""Programs over one column of matrices, for all columns (``emit/columns.py``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.plans.plan import Compiled
from linkwork.engine.plans.task import Shape, Signature
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program


class ColumnsTask(Signature):
    """A program over a column, whose arrays are "argument0", ... and "result0", ...

    Args:
        trace: makes the program; it is called when it is first needed.
        columns: how many there are.
        argument_shapes: of one state.
        shapes: of the results, whose last axis is that of columns.
        shared: the numbers of arguments that all columns share; others have an axis of columns last.
        identity: what the program follows from, if code can be found by that without tracing.
        seconds: what one state takes on one lane, roughly.
    """

    def __init__(
        self,
        trace: Callable[[], Program],
        columns: int,
        argument_shapes: Sequence[Shape],
        shapes: Sequence[Shape],
        shared: Collection[int],
        identity: str | None,
        seconds: float,
    ) -> None:
        super().__init__(argument_shapes, shapes, seconds)
        self._trace, self.columns, self.shared, self._identity = trace, columns, sorted(shared), identity

    @cached_property
    def program(self) -> Program:
        return self._trace()

    @property
    def identity(self) -> str:
        return self._identity or fingerprint.of_program(self.program)


class Columns(Compiled):
    """The lanes take columns, so the same code runs one state and many."""

    task: ColumnsTask

    def __init__(self, task: ColumnsTask, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task, cpu, lanes)
        self.interface = Interface(tuple(task.arguments), tuple(task.results))
        self.width = self.lanes
        while self.width > task.columns:
            self.width //= 2

    @property
    def identity(self) -> tuple[object, ...]:
        return "columns", self.interface, self.task.columns, self.task.shared, self.width, self.task.identity

    def key(self, lanes: int) -> str:
        return super().key(self.width)

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point]

    def text(self, lanes: int) -> str:
        from linkwork.engine.emit import columns
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.trace.replay import expanded

        shared = {f"argument{k}" for k in self.task.shared}
        program = schedule(expanded(self.task.program))
        return columns.module(program, self.interface, self.width, self.task.columns, shared)

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        return {}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        return {}
