"""Plans one after another: each takes arguments and results of those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.engine.ir.program import Program
from linkwork.engine.plans.plan import Plan
from linkwork.engine.plans.staged import Part, Staged, Step
from linkwork.engine.plans.stages import Moved, Stage
from linkwork.engine.plans.traced import TracedTask
from linkwork.properties import cached_property


class Link(NamedTuple):
    """A plan, and the arrays that it takes, by their numbers: the arguments of the chain, then the results of each link
    in turn.
    """

    plan: Plan
    inputs: Sequence[int]


class Chain(Staged):
    """The results are arrays by their numbers. The plans serve nobody else."""

    def __init__(self, task: TracedTask, links: Sequence[Link], results: Sequence[int]) -> None:
        super().__init__(task, _none, _none)
        self.links, self.results = links, results

    @cached_property
    def steps(self) -> list[Step]:
        given = len(self.task.arguments)
        sizes, found = [*self.task.arguments, 0], list[Step]()

        def step(numbers: Sequence[int], calls: list[Part]) -> Step:
            arrays = [k if k < given else k + 1 for k in numbers]  # after the arguments is what stages carry
            moved: list[Moved | int] = [Moved([(k, i) for i in range(sizes[k])]) for k in arrays]
            stage = Stage(Program(), [], calls=list(range(len(calls))), given=moved, sizes=[0])
            return Step(stage, None, calls, list[int | None](arrays))

        for plan, inputs in self.links:
            found.append(step(inputs, [Part(plan, self._busy)]))
            sizes += plan.task.results
        found.append(step(self.results, []))
        return found


def _none(task: object) -> Plan:
    raise AssertionError("all plans of a chain are given")
