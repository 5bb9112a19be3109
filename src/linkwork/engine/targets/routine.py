"""A program with everything that it calls, whatever the target: the straight-line program of a traced function, and
programs with loops over bodies together with the tables of their mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.ir.program import Program
from linkwork.engine.plans.loops import Looped
from linkwork.engine.plans.straight_line import StraightLine


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


@dataclass(frozen=True, eq=False)
class Routine:
    """A program without loops of its own, and the code with loops that it calls, by the details of its calls."""

    program: Program
    arguments: Sequence[int]
    results: Sequence[int]
    called: Mapping[Any, Loops] = field(default_factory=dict)


def routine_of(plan: StraightLine) -> Routine:
    """What a plan by machine code computes."""
    called = {what: _loops_of(each) for what, each in plan.source.callees.items() if isinstance(each, Looped)}
    return Routine(plan.program, plan.task.arguments, plan.task.results, called)


def _loops_of(plan: Looped) -> Loops:
    loops = plan.loops
    program, widths = loops.laid_out
    tables, memory = loops.tables(False), loops.memory(widths, False)
    return Loops(
        program, plan.task.arguments, plan.task.results, loops.sizes(widths, False), memory["work"], memory["square"],
        loops.zeroed, tables.data, tables.ints,
    )  # fmt: skip
