"""A tree assembled level by level: for all trees whose parts are of the same cases, the tree comes as tables."""

from __future__ import annotations

from functools import partial

from linkwork.engine.ir.layout import laid_out
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.loops import Widths
from linkwork.engine.plans.one_state.level_tree import SIZES, Levelled, LevelledTree, levelled_tables
from linkwork.engine.plans.one_state.parallel_loops import ParallelLoops
from linkwork.engine.plans.task import Task
from linkwork.engine.trace.rolled import roll
from linkwork.engine.trace.tables import Tables
from linkwork.properties import cached_property


class LevelLoops(ParallelLoops):
    """Parts of a level are on the lanes."""

    form = "by levels"

    def __init__(self, task: Task, lanes: int) -> None:
        super().__init__(task, SIZES, lanes, 1)

    @cached_property
    def levelled(self) -> Levelled:
        return levelled_tables(self.task.model, self.task.frames, 1)[1]

    @property
    def too_long(self) -> bool:  # type: ignore[override]
        """For a mechanism whose loops are many and different: the code has each case of parts with all of its open
        loops.
        """
        return not within("levels", self.levelled.size)

    @cached_property
    def laid_out(self) -> tuple[Program, dict[str, int]]:
        tables = self.tables(False)
        form = partial(LevelledTree, found=self.levelled)
        program = roll(self.task.algorithm, tables.kinds, tables.width, self.task.absent, form=form)
        return program, laid_out(program, lists=False)

    @property
    def identity(self) -> tuple[object, ...]:
        return *super().identity, self.lanes, repr(self.levelled.cases), self.levelled.back

    def new_tables(self, lanes: int) -> Tables:
        return levelled_tables(self.task.model, self.task.frames, lanes)[0]

    def parts(self, widths: Widths, alone: bool) -> dict[str, int]:
        """Where places and posts begin in ``square``, behind the cells."""
        places = widths["cell"] * self.levelled.kept
        return {"places": places, "posts": places + widths["place"] * (len(self.task.model.bodies) + 1)}

    def memory(self, widths: Widths, alone: bool) -> dict[str, int]:
        end = self.parts(widths, alone)["posts"] + widths["post"] * len(self.task.frames)
        return {"work": 0, "square": end + self.lanes}  # it is read a vector at a time

    @property
    def most_threads(self) -> int:
        return max(map(len, self.levelled.assembly.levels)) // self.lanes

    @property
    def rounds(self) -> int:
        return len(self.levelled.assembly.levels)
