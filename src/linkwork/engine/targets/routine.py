"""A program with everything that it calls, whatever the target: the straight-line program of a traced function, and
programs with loops over bodies together with the tables of their mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.ir.evaluator import run
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import TracedTask, written_out
from linkwork.engine.plans.loops import Looped


@dataclass(frozen=True, eq=False)
class Loops:
    """A program with loops over bodies, for one mechanism.

    Attributes:
        arguments, results: how many numbers each of them has.
        sizes: of the mechanism, by the names that the program has for them.
        work, square: how many numbers these arrays have.
        zeroed: whether it stores only some of its results, among zeros.
        data, ints: the mechanism's tables.
    """

    program: Program
    arguments: Sequence[int]
    results: Sequence[int]
    sizes: Mapping[str, int]
    work: int
    square: int
    zeroed: bool
    data: NDArray[np.float64]
    ints: NDArray[np.int64]

    def evaluated(self, operands: Sequence[Any]) -> list[Any]:
        """All results in a row for all arguments in a row, by the definition of the code."""
        edges = pairwise(accumulate(self.arguments, initial=0))
        arguments = [operands[first:last] for first, last in edges]
        tables = {"work": [0.0] * self.work, "square": [0.0] * self.square}
        constants = {"data": self.data.tolist(), "ints": self.ints.tolist()}
        return [x for row in _run(self.program, self.results, arguments, tables | constants, self.sizes) for x in row]


@dataclass(frozen=True, eq=False)
class Routine:
    """A program without loops of its own, and the code with loops that it calls, by the details of its calls."""

    program: Program
    arguments: Sequence[int]
    results: Sequence[int]
    called: Mapping[Any, Loops] = field(default_factory=dict)

    def evaluated(self, arguments: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """The results of states, a row for each, by the definition of the code."""
        program = replace(self.program, details=[*self.program.details])
        for n in program.root.order:
            if program.operations[n] == "call":
                program.details[n] = self.called[program.details[n]]
        states = len(arguments[0]) if arguments else 1
        results = _run(program, self.results, [array.T for array in arguments], {}, {})
        return [
            np.stack([np.broadcast_to(x, states) for x in row], axis=1) + 0.0 if row else np.empty((states, 0))
            for row in results
        ]


def routine_of(task: TracedTask) -> Routine:
    """What a traced task computes."""
    chosen, program, callees = written_out(task)
    called = {what: _loops_of(plan) for what, plan in callees.items()}
    return Routine(program, chosen.arguments, chosen.results, called)


def _loops_of(plan: Looped) -> Loops:
    loops = plan.loops
    program, widths = loops.laid_out
    tables, memory = loops.tables(False), loops.memory(widths, False)
    return Loops(
        program, plan.task.arguments, plan.task.results, loops.sizes(widths, False), memory["work"], memory["square"],
        loops.zeroed, tables.data, tables.ints,
    )  # fmt: skip


def _run(
    program: Program, results: Sequence[int], arguments: Sequence[Any], tables: Any, sizes: Any
) -> list[list[Any]]:
    """The results by the definition of the code; numbers are arrays over states."""
    arrays = {f"argument{k}": list(array) for k, array in enumerate(arguments)}
    into: list[list[Any]] = [[0.0] * size for size in results]
    run(program, {**arrays, **{f"result{k}": array for k, array in enumerate(into)}, **tables}, sizes)
    return into
