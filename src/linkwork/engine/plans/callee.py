"""A task, named by its algorithm, whose code with loops other code calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import Algorithm, named
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.task import Task
from linkwork.errors import TracingError
from linkwork.model.model import Frame, Model

if TYPE_CHECKING:
    from linkwork.engine.plans.plan import Plan


@dataclass(frozen=True)
class Callee:
    """What a "call" in a traced program computes: an algorithm of the catalogue, or its ``own``, arguments left out, at
    frames; with derivatives, rotor inertias and offsets of frames as arguments, as a task has them.
    """

    algorithm: str
    model: Model
    absent: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    derivatives: tuple[str, ...] = ()
    rotors: bool = False
    placed: bool = False
    own: Algorithm | None = None

    def task(self) -> Task:
        return Task(
            self._named, self.model, self.absent, self.frames, derivatives=self.derivatives, rotors=self.rotors,
            placed=self.placed,
        )  # fmt: skip

    @property
    def argument_sizes(self) -> Sequence[int]:
        """How many numbers each of its arguments has."""
        return self.task().arguments

    @property
    def result_sizes(self) -> Sequence[int]:
        """How many numbers each of its results has."""
        return self.task().results

    @property
    def _named(self) -> Algorithm:
        found = self.own or named(self.algorithm)
        assert found is not None
        return found

    def evaluated(self, operands: Sequence[Any]) -> list[Any]:
        """Its results for all arguments in a row, floats or arrays of states, one after the other."""
        shape = np.broadcast_shapes(*(np.shape(x) for x in operands))
        states = prod(shape)
        edges = [*accumulate(self.argument_sizes, initial=0)]
        rows = [
            np.stack([np.broadcast_to(x, shape).ravel() for x in operands[first:last]], axis=1)
            if last > first
            else np.empty((states, 0))
            for first, last in pairwise(edges)
        ]
        plan = self._plan()
        try:
            results = plan.run(rows, states)[0]
        except (ZeroDivisionError, OverflowError):  # of floats: arrays go on with what is not finite, as code does
            results = plan.run([np.repeat(each, 2, axis=0) for each in rows], 2 * states)[0]
        found = np.concatenate(results, axis=1)
        return [column.reshape(shape) if shape else float(column[0]) for column in found.T]

    def _plan(self) -> Plan:
        """What the evaluator runs: the interpreter if that is requested, else code."""
        from linkwork.engine.mode import current_form
        from linkwork.engine.plans.planner import plan_for

        if current_form() == "interpreted":
            return plan_for(self.task(), "interpreted")
        plans = self.model._memo.plans
        if self not in plans:
            plans[self] = plan_for(self.task(), "rolled")
        found: Plan = plans[self]
        return found

    def count(self) -> Counter[str]:
        """How often each operation is done for one state, as if the loops over bodies were unrolled; for derivatives,
        and for very many bodies, one "call".
        """
        from linkwork.engine.ir.program import count
        from linkwork.engine.plans.specialised import specialised_program

        if self.derivatives or not within("counted", self.model):
            return Counter(call=1)
        return count(specialised_program(self._named, self.model, self.absent, self.frames, self.placed, expand=False))

    def derived(self, way: str) -> Callee:
        """The same with its derivatives, "forward" or "backward"."""
        if "rolled" not in self._named.forms or self._named.by_levels:
            raise TracingError(
                f"{self} takes a long chain by segments, or a tree by levels, which is not differentiated; use another "
                f"method, such as 'articulated_body'",
                "",
            )
        if "backward" in self.derivatives and way == "backward":
            raise TracingError(
                f"{self}, of a mechanism of many bodies, is differentiated backward only once; differentiate what goes "
                f"backward forward, by lw.jvp",
                "",
            )
        return replace(self, derivatives=(*self.derivatives, way))

    def gives(self, other: Callee) -> bool:
        """Whether its first results, for the same first arguments, are those of another."""
        return self.derivatives[: len(other.derivatives)] == other.derivatives and (
            replace(self, derivatives=()) == replace(other, derivatives=())
        )

    def __str__(self) -> str:
        return " ".join([f"{self.algorithm} of {self.model.name!r}", *self.derivatives])
