"""Code that cuts a chain into segments: one state over the lanes of a vector and over threads; a batch has states on
the lanes, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit import kernel, parallel
from linkwork.engine.emit.calling import exported
from linkwork.engine.emit.packing import compile_time_integers
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.in_parallel import InParallel
from linkwork.engine.plans.plan import Array, Arrays, Found, Offsets, Plan, given_back
from linkwork.engine.plans.rolled import RolledProgram, rolled_interface, widths_laid_out
from linkwork.engine.plans.task import Task
from linkwork.engine.run.memory import address, aligned
from linkwork.engine.trace.rolled import roll
from linkwork.engine.trace.segmented import PARTS, SIZES, SegmentedTree, segmented_tables
from linkwork.engine.trace.segmented_seams import steps_of_reduction, zero_beyond_seams
from linkwork.engine.trace.tables import Tables, kinds_of
from linkwork.model.segments import LinedUp, blended, cut, cut_into, judged_limbs, limbs
from linkwork.properties import cached_property


class Segmented(InParallel):
    """Code for all chains of the same joint kinds; the chain comes as tables, cut into as many ``pieces`` as suit it by
    default.
    """

    def __init__(
        self, task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None, pieces: int | None = None
    ) -> None:
        super().__init__(task, cpu, lanes)
        self.model = blended(task.model) or task.model
        """With joints of one kind on the chain, if they are in no order there."""
        found = cut_into(self.model, pieces) if pieces else cut(self.model)
        assert found is not None
        self.cut = found
        self.group = self.lanes if found.uniform else 1
        """Segments that run side by side if there is one state."""
        self.interface = rolled_interface(task, (*SIZES, *PARTS))
        self._tables: dict[int, Tables] = {}

    @cached_property
    def program(self) -> RolledProgram:
        return RolledProgram(self._rolled[0], self._rolled[1]["row"], self._rolled[1]["cell"], 0)

    @cached_property
    def _rolled(self) -> tuple[Program, dict[str, int]]:
        """The program, and how wide a row of ``work`` and the parts of ``square`` are."""
        tables = self.grouped_tables(1)
        form = partial(SegmentedTree, on_chain=self.kinds[0], beside=self.kinds[1])
        program = roll(self.task.algorithm, tables.kinds, tables.width, self.task.absent, form=form)
        widths = widths_laid_out(program)
        zero_beyond_seams(program, widths["seam"])
        return program, widths

    @cached_property
    def kinds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which kinds there are on the chain, and in side branches."""
        _, numbers, _ = kinds_of(self.model, judged=judged_limbs(self.model))
        chain = self.cut.chain
        return tuple(sorted(set(numbers[:chain]))), tuple(sorted(set(numbers[chain:])))

    def grouped_tables(self, group: int) -> Tables:
        """The tables for groups of so many segments; made once, since code holds their addresses."""
        if group not in self._tables:
            with jit.lock:
                if group not in self._tables:
                    self._tables[group] = self._made(group)
        return self._tables[group]

    def _made(self, group: int) -> Tables:
        tables = segmented_tables(self.model, self.task.model, self.cut, group)
        data = aligned(tables.data.size)
        data[:] = tables.data
        names = (*self.interface.arguments, *self.interface.results)
        counts = zip(map(str, names), (*self.task.arguments, *self.task.results), strict=True)
        return Tables(tables.kinds, tables.width, data, tables.ints, {**tables.sizes, **dict(counts)})

    @cached_property
    def identity(self) -> tuple[object, ...]:
        tables = self.grouped_tables(1)
        text = self.task.algorithm.text
        kinds = fingerprint.of_kinds(tables.kinds, text) or fingerprint.of_program(self.program.program)
        return "segmented", self.group, tables.width, kinds, self.kinds

    def text(self, lanes: int) -> str:
        program, widths = self._rolled
        if lanes > 1:
            integers = compile_time_integers([*widths.values()])
            return kernel.module(program, self.interface, lanes, integers + exported(self.interface))
        integers = compile_time_integers([*widths.values(), *parallel.parallel_loops(program)])
        return parallel.module(
            program, self.interface, self.group, jit.triple(), integers + exported(self.interface, teams=True)
        )

    def _group(self, frame: str) -> int:
        """Adjacent segments: one state has them on the lanes, a batch has states there."""
        return self.group if frame == "one_state" else 1

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        tables = self.grouped_tables(self._group(frame))
        begins = self._square(code, self._group(frame))
        parts = {name: begins[name] for name in PARTS}
        return {"data": address(tables.data), "ints": address(tables.ints), **tables.sizes, **parts}

    def _square(self, code: jit.Code, group: int) -> dict[str, int]:
        """Where the parts of ``square`` begin, for one lane: cells of groups of segments, of values that go along
        the chain and of the head's bodies, places of the chain's groups of bodies, posts of those of side branches, and
        knots of these; then, for all lanes of a group, the rows of seams, and the end.
        """
        (_, cell, place, post, knot, seam, *_), tables = code.integers, self.grouped_tables(group)
        segments, head = self.cut.count // group, self.cut.head + 1
        groups, on_chain = tables.data.size // (tables.width * group), head + segments * self.cut.length
        counts = {
            "places": (segments + head) * cell,
            "posts": on_chain * place,
            "knots": (groups - on_chain) * post,
            "seams": (tables.sizes["last_limb_group"] + 1) * knot,
        }
        begins = dict(zip(counts, accumulate(counts.values()), strict=True))
        begins["seams"] *= group
        return {**begins, "end": begins["seams"] + (self.cut.count + 2) * seam}

    @cached_property
    def rows(self) -> int:
        """Of ``work``: one for each body of a segment, or of a side branch."""
        return max(self.cut.length, *(same.length for same in limbs(self.model)), 1)

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        group = self._group(frame)
        square = self._square(code, group)["end"] * lanes
        return {"work": self.rows * code.integers[0] * group * lanes, "square": square}

    @property
    def most_threads(self) -> int:
        return self.cut.count // self.group

    def own_work(self, code: jit.Code) -> int:
        return self.rows * code.integers[0] * self.group

    def loops(self, code: jit.Code) -> int:
        *_, once, in_steps = code.integers
        return once + in_steps * steps_of_reduction(self.cut.count)


class _Around(Plan):
    """A plan that permutes numbers into the places where another one wants them, and back."""

    task: Task

    def __init__(self, task: Task, inner: Plan) -> None:
        super().__init__(task)
        self.inner = inner

    @cached_property
    def _served(self) -> Callable[..., Any] | None:
        return self.inner.served("one")

    def present(self, arguments: Arrays) -> Iterator[tuple[Array, str]]:
        """The arguments that are given, each with its space."""
        spaces = [space for name, space in self.task.algorithm.arguments if name not in self.task.absent]
        return zip(arguments, spaces, strict=True)

    def run_inner(self, arguments: Arrays, states: int) -> Found:
        if states == 1 and self._served:
            answer = self._served(None, *(array[0] for array in arguments))
            if answer is not None:
                return [result[None] for result in (answer if isinstance(answer, tuple) else (answer,))], 0
        return self.inner.run(arguments, states)


class Reordered(_Around):
    """A plan for a mechanism whose bodies must be lined up first."""

    def __init__(self, task: Task, inner: Plan, order: LinedUp) -> None:
        super().__init__(task, inner)
        self.columns = {space: order.places(space) for space in ("configuration", "velocity", "wrenches")}

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        ordered = [np.take(a, self.columns[space], axis=1, mode="clip") for a, space in self.present(arguments)]
        results, status = self.run_inner(ordered, states)
        found = []
        for result, space in zip(results, self.task.algorithm.results, strict=True):
            own = np.empty_like(result)
            own[:, self.columns[space]] = result
            found.append(own)
        return given_back(found, out), status
