"""Code for all models of the same joint kinds; the model comes as tables."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.engine import optimisations
from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit import kernel
from linkwork.engine.emit.call_frame import Called, Interface
from linkwork.engine.emit.calling import exported
from linkwork.engine.emit.packing import compile_time_integers
from linkwork.engine.emit.time_loop import time_loop
from linkwork.engine.ir.layout import lay_out_fields
from linkwork.engine.ir.lists import pack_lists
from linkwork.engine.ir.merge import merge_cases
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.plan import Array, Arrays, Compiled, Found, Offsets, Plan
from linkwork.engine.plans.task import Task, moved
from linkwork.engine.plans.traced import evaluated
from linkwork.engine.run.entries import Entry
from linkwork.engine.run.memory import address
from linkwork.engine.trace.rolled import RolledTree, roll
from linkwork.engine.trace.tables import PLACEMENT, SIZES, Tables, tables_of
from linkwork.model.splitting import Split
from linkwork.properties import cached_property


class RolledProgram(NamedTuple):
    """A program with loops, how wide a row of ``work`` and a cell of ``square`` are, and how many matrices follow."""

    program: Program
    row: int
    cell: int
    matrices: int


def laid_out(program: Program) -> RolledProgram:
    """A rolled program without dead code, its fields in ``work`` and ``square``."""
    widths = widths_laid_out(program, lists=True)
    return RolledProgram(program, widths["row"], widths["cell"], widths["matrices"])


def widths_laid_out(program: Program, lists: bool = False) -> dict[str, int]:
    """The same; how wide each part of ``work`` and ``square`` is. With ``lists``, items of lists are adjacent."""
    eliminate_dead_code(program)
    if optimisations.on("merging"):
        merge_cases(program)
    return lay_out_fields(program, lists)


def rolled_interface(task: Task, sizes: Sequence[str]) -> Interface:
    """Arguments and results whose sizes are known at run time."""
    arguments = tuple(f"count{k}" for k in range(len(task.arguments)))
    results = tuple(f"size{k}" for k in range(len(task.results)))
    return Interface(arguments, results, (*sizes, *arguments, *results), most=task.most)


class Rolled(Compiled):
    task: Task

    def __init__(self, task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task, cpu, lanes)
        self.interface = rolled_interface(task, SIZES)
        self.model_tables: Tables = tables_of(
            task.model,
            task.frames,
            pairs=any(space.of_pairs for space in task.result_spaces),
            loops=task.algorithm.of_loops,
            families=task.algorithm.families,
        )

    @cached_property
    def program(self) -> RolledProgram:
        task, tables = self.task, self.model_tables
        derived = bool(task.derivatives)
        form = partial(RolledTree, matrices=not derived)  # whose derivatives are fields, too
        program = roll(task.algorithm, tables.kinds, tables.width, task.absent, not derived, form, task.rotors)
        if derived:
            from linkwork.engine.trace.derive_loops import derive_loops

            counts = len(task.spaces), len(task.result_spaces)
            program = derive_loops(program, task.derivatives, *counts, task.algorithm.name)
        return laid_out(program)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        text, tables = self.task.algorithm.text, self.model_tables
        kinds = fingerprint.of_kinds(tables.kinds, text) or fingerprint.of_program(self.program.program)
        return "rolled", tables.width, kinds

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point, "integer", *([] if self.task.over_time else ["tile"])]

    def text(self, lanes: int) -> str:
        program, *widths = self.program
        more = compile_time_integers(widths)
        more += time_loop(self.interface, lanes) if self.task.over_time else exported(self.interface)
        return kernel.module(
            pack_lists(program) if lanes == 1 and optimisations.on("lists") else program,
            self.interface,
            lanes,
            more,
            self.zeroed,
        )

    @property
    def zeroed(self) -> bool:
        return any(space.patterned for space in self.task.result_spaces)

    @property
    def rows(self) -> int:
        """Of ``work``: one for the world and each body, for each frame, or for the rows of loops; for derivatives, one
        for each row of any table, and for the one after the last.
        """
        rows = self.model_tables.longest + 1 if self.task.derivatives else self.model_tables.rows
        return max(len(self.task.model.bodies) + 1, len(self.task.frames), rows)

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        _, cell, _ = code.integers  # code for any number of lanes has the same
        data, ints = address(self.model_tables.data), address(self.model_tables.ints)
        return {"data": data, "ints": ints, **self.sizes(cell)}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        return {name: size * lanes for name, size in self.memory(*code.integers).items()}

    def memory(self, row: int, cell: int, matrices: int) -> dict[str, int]:
        """How many numbers ``work`` and ``square`` have for one lane."""
        return {"work": self.rows * row, "square": self.rows**2 * cell + matrices * self.task.model.nv**2}

    def sizes(self, cell: int) -> dict[str, int]:
        """The sizes that the code gets; ``cell`` is the width of a cell of the square."""
        frames, nv = len(self.task.frames), self.task.model.nv
        counts = zip(self.interface.arguments, self.task.arguments, strict=True)
        results = zip(self.interface.results, self.task.results, strict=True)
        return {
            **self.model_tables.sizes,
            "last_body": len(self.task.model.bodies),
            "frame_count": frames,
            "square_row": self.rows * cell,
            "matrices": self.rows**2 * cell,
            "nv_square": nv**2,
            **{f"nv{k}": k * nv for k in range(1, 13)},
            **{f"wide{k}": 6 * k * frames for k in range(1, 7)},
            **{f"parameters{k}": 10 * k * len(self.task.model.bodies) for k in range(1, 7)},
            **{str(name): count for name, count in (*counts, *results)},
        }

    def called(self, callee: object) -> Called:
        """What code that calls this for its tiles depends on."""
        widths = self.code(1)[0].integers
        sizes, memory = self.sizes(widths[1]), self.memory(*widths)
        return Called(
            callee, tuple(self.task.arguments), tuple(self.task.results),
            tuple(sizes[name] for name in self.interface.sizes), memory["work"], memory["square"], self.zeroed,
        )  # fmt: skip

    def addresses(self, lanes: int) -> list[int]:
        """Of the code for a tile of so many lanes, and of its tables."""
        code, _ = self.code(lanes)
        return [code.addresses["tile"], address(self.model_tables.data), address(self.model_tables.ints)]

    def moved(self, offsets: Offsets) -> Rolled:
        """The same with its frames moved."""
        plan, frames = copy(self), moved(self.task.frames, offsets)
        data = self.model_tables.data.copy()
        placements = [frame.placement.numbers() for frame in frames]
        data[data.size - PLACEMENT * len(frames) :] = np.array(placements).ravel()
        plan.model_tables = replace(self.model_tables, data=data)
        plan._templates = {}
        return plan

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        if offsets:
            return self.moved(offsets).run(arguments, states, out=out)
        return super().run(arguments, states, out=out)

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        super(Rolled, self.moved(offsets) if offsets else self).serve(entry, form)


class EvaluatedRolled(Plan):
    """A rolled program run by the evaluator, all states of a batch at once: for derivatives, which have no text."""

    task: Task

    def __init__(self, rolled: Rolled) -> None:
        super().__init__(rolled.task)
        self.rolled = rolled

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        plan = self.rolled.moved(offsets) if offsets else self.rolled
        program, *widths = plan.program
        tables: dict[str, MutableSequence[Any]] = {
            **{name: [0.0] * size for name, size in plan.memory(*widths).items()},
            "data": plan.model_tables.data.tolist(),
            "ints": plan.model_tables.ints.tolist(),
        }
        return evaluated(program, self.task, arguments, states, out, tables, plan.sizes(plan.program.cell))


class OfParts(Plan):
    """A plan for a mechanism whose links are split first: every part gets its share of a body's external force."""

    task: Task

    def __init__(self, task: Task, inner: Rolled, parted: Split) -> None:
        super().__init__(task)
        self.inner = inner
        self.bodies = np.array([part.body - 1 for part in parted.parts], dtype=np.int64)
        self.shares = np.array([part.share for part in parted.parts])

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        present = [space for name, space in self.task.algorithm.arguments if name not in self.task.absent]
        given = [
            self._shared(array) if space == "wrenches" else array
            for array, space in zip(arguments, present, strict=True)
        ]
        return self.inner.run(given, states, out=out)

    def _shared(self, forces: Array) -> Array:
        found: Array = (forces.reshape(len(forces), -1, 6)[:, self.bodies] * self.shares[:, None]).reshape(
            len(forces), -1
        )
        return found
