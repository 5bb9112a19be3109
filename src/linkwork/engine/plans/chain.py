"""Code for one state that is a chain of links: straight-line code, code with loops over bodies, and programs over one
column of matrices (``emit/columns.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit.call_frame import Interface, Words
from linkwork.engine.plans.loops import Looped
from linkwork.engine.plans.plan import Compiled, Plan
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.plans.task import Shape
from linkwork.engine.run.memory import address

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.traced import TracedTask


class Columns:
    """A program over a column, whose arrays are "argument0", ... and "result0", ...

    Args:
        trace: makes the program; it is called when it is first needed.
        columns: how many there are.
        shapes: of the results, whose last axis is that of columns.
        shared: the numbers of arguments that all columns share; others have an axis of columns last.
        identity: what the program follows from, if code can be found by that without tracing.
    """

    def __init__(
        self,
        trace: Callable[[], Program],
        columns: int,
        shapes: Sequence[Shape],
        shared: Collection[int],
        identity: str | None,
    ) -> None:
        self.trace, self.columns, self.shared = trace, columns, sorted(shared)
        self.results = list(map(prod, shapes))
        self._identity = identity

    @property
    def identity(self) -> tuple[object, ...]:
        return (
            "columns",
            self.columns,
            self.shared,
            self.results,
            self._identity or fingerprint.of_program(self.trace()),
        )


class Link(NamedTuple):
    """What is computed, and the arrays that it takes, by their numbers: the arguments of the chain, then the results of
    each link in turn.
    """

    code: Plan | Columns
    inputs: Sequence[int]

    @property
    def results(self) -> Sequence[int]:
        """How many numbers each of its results has."""
        return self.code.results if isinstance(self.code, Columns) else self.code.task.results


class Chain(Compiled):
    """The results are arrays of columns, by their numbers. Columns take the lanes, so the same code runs one state and
    each of many.
    """

    task: TracedTask

    def __init__(
        self,
        task: TracedTask,
        links: Sequence[Link],
        results: Sequence[int],
        cpu: tuple[str, str] | None = None,
        lanes: int | None = None,
    ) -> None:
        super().__init__(task, cpu, 1)
        self.links, self.results, self.width = links, results, lanes or jit.lanes(self.cpu)
        self.looped = [link.code for link in links if isinstance(link.code, Looped)]
        called = tuple(plan.called(k) for k, plan in enumerate(self.looped))
        self.interface = Interface(tuple(task.arguments), tuple(task.results), called=called)
        self._addresses: Words = np.array([n for plan in self.looped for n in plan.addresses(1)], dtype=np.int64)

    @property
    def identity(self) -> tuple[object, ...]:
        parts = []
        for code, inputs in self.links:
            own = code.identity if isinstance(code, (Columns, StraightLine)) else "called"
            name = code.task.name if isinstance(code, Plan) else ()
            parts.append((name, own, list(inputs)))
        return "chain", self.interface, self.width, parts, list(self.results)

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point]

    def text(self, lanes: int) -> str:
        from linkwork.engine.emit import columns
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.trace.replay import expanded

        links, looped = list[columns.Link](), 0
        for link in self.links:
            code, inputs, results = link.code, link.inputs, link.results
            if isinstance(code, Columns):
                program = schedule(expanded(code.trace()))
                links.append(columns.Link(program, inputs, results, code.columns, code.shared))
            elif isinstance(code, StraightLine):
                links.append(columns.Link(code.one_state_program, inputs, results))
            else:
                links.append(columns.Link(self.interface.called[looped], inputs, results))
                looped += 1
        return columns.module(links, self.results, self.interface.with_room(), self.width)

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        return {"ints": address(self._addresses)}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        between = sum(sum(link.results) for link in self.links)
        return {"work": between, "data": self.interface.with_room().room_size}
