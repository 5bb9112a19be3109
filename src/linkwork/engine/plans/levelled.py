"""Code that assembles a tree level by level: parts of a level over the lanes of a vector and over threads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit import kernel, parallel
from linkwork.engine.emit.packing import compile_time_integers
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.in_parallel import InParallel
from linkwork.engine.plans.rolled import RolledProgram, rolled_interface, widths_laid_out
from linkwork.engine.plans.task import Task
from linkwork.engine.run.memory import address, aligned
from linkwork.engine.trace.levelled import SIZES, Levelled, LevelledTree, levelled_tables
from linkwork.engine.trace.rolled import roll
from linkwork.engine.trace.tables import Tables
from linkwork.properties import cached_property


class ByLevels(InParallel):
    """Code for all trees whose parts are of the same cases; the tree comes as tables."""

    def __init__(self, task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task, cpu, lanes)
        self.interface = rolled_interface(task, SIZES)
        self._tables: dict[int, tuple[Tables, Levelled]] = {}

    @property
    def too_long(self) -> bool:
        """Whether the code would be too long, for a mechanism whose loops are many and different: it has each case of
        parts with all of its open loops.
        """
        return not within("levels", self._made(1)[1].size)

    def _made(self, lanes: int) -> tuple[Tables, Levelled]:
        """The tables for so many lanes; made once, since code holds their addresses."""
        if lanes not in self._tables:
            with jit.lock:
                if lanes not in self._tables:
                    tables, found = levelled_tables(self.task.model, self.task.frames, lanes)
                    data = aligned(tables.data.size)
                    data[:] = tables.data
                    names = (*self.interface.arguments, *self.interface.results)
                    counts = zip(map(str, names), (*self.task.arguments, *self.task.results), strict=True)
                    sizes = {**tables.sizes, **dict(counts)}
                    self._tables[lanes] = Tables(tables.kinds, tables.width, data, tables.ints, sizes), found
        return self._tables[lanes]

    @cached_property
    def program(self) -> RolledProgram:
        return RolledProgram(self._rolled[0], 0, self._rolled[1]["cell"], 0)

    @cached_property
    def _rolled(self) -> tuple[Program, dict[str, int]]:
        """The program, and how wide the parts of ``square`` are."""
        tables, found = self._made(1)
        form = partial(LevelledTree, found=found)
        program = roll(self.task.algorithm, tables.kinds, tables.width, self.task.absent, form=form)
        return program, widths_laid_out(program)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        tables, found = self._made(1)
        text = self.task.algorithm.text
        kinds = fingerprint.of_kinds(tables.kinds, text) or fingerprint.of_program(self.program.program)
        return "by levels", self.lanes, tables.width, kinds, repr(found.cases), found.back

    def text(self, lanes: int) -> str:
        program, widths = self._rolled
        widths_told = [widths[part] for part in ("cell", "place", "post")]
        integers = compile_time_integers([*widths_told, *parallel.parallel_loops(program)])
        if lanes > 1:
            return kernel.module(program, self.interface, lanes, integers)
        return parallel.module(program, self.interface, self.lanes, jit.triple(), integers, group=1)

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        tables, _ = self._made(self.lanes if frame == "one_state" else 1)
        places, posts, _ = self._square(*code.integers[:3])
        told = {"places": places, "posts": posts}
        return {"data": address(tables.data), "ints": address(tables.ints), **tables.sizes, **told}

    def definition(self) -> tuple[Tables, int]:
        """What the evaluator runs the program with: the tables with all sizes, and the size of ``square``."""
        tables, _ = self._made(1)
        widths = self._rolled[1]
        places, posts, end = self._square(*(widths[part] for part in ("cell", "place", "post")))
        return replace(tables, sizes={**tables.sizes, "places": places, "posts": posts}), end

    def _square(self, cell: int, place: int, post: int) -> tuple[int, int, int]:
        """Where places and posts begin in ``square``, for one state, and its end."""
        _, found = self._made(1)
        places = cell * found.kept
        posts = places + place * (len(self.task.model.bodies) + 1)
        return places, posts, posts + post * len(self.task.frames)

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        return {
            "work": 0,
            "square": self._square(*code.integers[:3])[2] * lanes + self.lanes,
        }  # it is read a vector at a time

    @property
    def most_threads(self) -> int:
        return max(map(len, self._made(1)[1].assembly.levels)) // self.lanes

    def own_work(self, code: jit.Code) -> int:
        return 0

    def loops(self, code: jit.Code) -> int:
        *_, once, in_levels = code.integers
        return once + in_levels * len(self._made(1)[1].assembly.levels)
