"""Code with loops: for all models of the same joint kinds, whatever their number of bodies.

The model comes as tables: integers and numbers. Fields lie in ``work`` and ``square``, whose sizes follow from the
widths that the code was laid out with (``ir/layout.py``), which it tells (``WIDTHS``). Those that cut a chain into
segments, or take a tree level by level, run one state in another way than tiles of a batch (``one_state``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableSequence, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from linkwork.engine import optimisations
from linkwork.engine.code import fingerprint, jit
from linkwork.engine.emit import kernel
from linkwork.engine.emit.call_frame import Interface, Words
from linkwork.engine.emit.calling import exported
from linkwork.engine.emit.packing import compile_time_integers
from linkwork.engine.ir.layout import WIDTHS, laid_out
from linkwork.engine.ir.lists import pack_lists
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.plan import Array, Arrays, Compiled
from linkwork.engine.plans.task import Task
from linkwork.engine.plans.traced import evaluated
from linkwork.engine.run.memory import address
from linkwork.engine.trace.rolled import RolledTree, roll
from linkwork.engine.trace.tables import SIZES, Tables, tables_of
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.engine.plans.one_state.team import Team

Widths = Mapping[str, int]
"""``WIDTHS`` of a program, by their names."""


class Loops(ABC):
    """The program of a task, its tables and its memory: for one state ``alone``, or for tiles of a batch."""

    form = ""
    """The name of this kind of loops, on which code depends."""
    too_long = False
    """Whether the code would be too long."""

    def __init__(self, task: Task, sizes: Sequence[str]) -> None:
        """``sizes``: the names of those that its code gets, besides how many numbers its arrays have."""
        self.task = task
        arguments = tuple(f"count{k}" for k in range(len(task.inputs)))
        results = tuple(f"size{k}" for k in range(len(task.results)))
        self.interface = Interface(arguments, results, (*sizes, *arguments, *results), most=task.most)

    @cached_property
    def program(self) -> Program:
        return self.laid_out[0]

    @cached_property
    @abstractmethod
    def laid_out(self) -> tuple[Program, dict[str, int]]:
        """The program, its fields in ``work`` and ``square``, and its widths."""

    @property
    def identity(self) -> tuple[object, ...]:
        """What the code depends on besides the algorithm."""
        tables = self.tables(False)
        kinds = fingerprint.of_kinds(tables.kinds, self.task.algorithm.text) or fingerprint.of_program(self.program)
        return self.form, tables.width, kinds

    @abstractmethod
    def tables(self, alone: bool) -> Tables:
        """The model, with the sizes that do not depend on the code; made once, since code holds their addresses."""

    @abstractmethod
    def parts(self, widths: Widths, alone: bool) -> dict[str, int]:
        """The other sizes that the code gets."""

    @abstractmethod
    def memory(self, widths: Widths, alone: bool) -> dict[str, int]:
        """How many numbers ``work`` and ``square`` have for one lane."""

    def sizes(self, widths: Widths, alone: bool) -> dict[str, int]:
        """All sizes that the code gets."""
        names = (*self.interface.arguments, *self.interface.results)
        counts = zip(map(str, names), (*self.task.inputs, *self.task.results), strict=True)
        return {**self.tables(alone).sizes, **self.parts(widths, alone), **dict(counts)}

    @property
    def zeroed(self) -> bool:
        """Whether the code stores only some of its results, among zeros."""
        return any(space.patterned for space in self.task.result_spaces)

    def text(self, lanes: int) -> str:
        """The module for so many lanes."""
        program, widths = self.laid_out
        more = compile_time_integers([widths[name] for name in WIDTHS])
        more += exported(self.interface)
        program = pack_lists(program) if lanes == 1 and optimisations.on("lists") else program
        return kernel.module(program, self.interface, lanes, more, self.zeroed)

    def team(self, busy: Words) -> Team | None:
        """The threads that run one state alone; None if a tile of one lane does. ``busy`` is set while code runs that
        builtins have called.
        """
        return None

    def evaluated(self, arguments: Arrays, states: int) -> list[Array]:
        """The results by the evaluator, all states of a batch at once."""
        program, widths = self.laid_out
        arrays: dict[str, MutableSequence[Any]] = {
            **{name: [0.0] * size for name, size in self.memory(widths, False).items()},
            "data": self.tables(False).data.tolist(),
            "ints": self.tables(False).ints.tolist(),
        }
        return evaluated(program, self.task, arguments, states, arrays, self.sizes(widths, False))


class BodyLoops(Loops):
    """Loops over bodies and the paths between them, for one state as for tiles."""

    form = "rolled"

    def __init__(self, task: Task) -> None:
        super().__init__(task, SIZES)
        self.model_tables: Tables = tables_of(
            task.model,
            task.frames,
            pairs=any(space.of_pairs for space in task.result_spaces),
            loops=task.algorithm.of_loops,
            families=task.algorithm.families,
        )

    @cached_property
    def laid_out(self) -> tuple[Program, dict[str, int]]:
        task, tables = self.task, self.model_tables
        derived = bool(task.derivatives)
        form = partial(RolledTree, matrices=not derived)  # whose derivatives are fields, too
        program = roll(
            task.algorithm,
            tables.kinds,
            tables.width,
            task.absent,
            not derived,
            form,
            task.rotors,
            task.placed or task.offsets,
        )
        if derived:
            from linkwork.engine.trace.derive_loops import derive_loops

            counts = len(task.spaces), len(task.result_spaces)
            program = derive_loops(program, task.derivatives, *counts, task.algorithm.name)
        return program, laid_out(program)

    def tables(self, alone: bool) -> Tables:
        return self.model_tables

    @property
    def rows(self) -> int:
        """Of ``work``: one for the world and each body, for each frame, or for the rows of loops; for derivatives, one
        for each row of any table, and for the one after the last.
        """
        rows = self.model_tables.longest + 1 if self.task.derivatives else self.model_tables.rows
        return max(len(self.task.model.bodies) + 1, len(self.task.frames), rows)

    def memory(self, widths: Widths, alone: bool) -> dict[str, int]:
        square = self.rows**2 * widths["cell"] + widths["matrices"] * self.task.model.nv**2
        return {"work": self.rows * widths["row"], "square": square}

    def parts(self, widths: Widths, alone: bool) -> dict[str, int]:
        frames, bodies, nv = len(self.task.frames), len(self.task.model.bodies), self.task.model.nv
        return {
            "last_body": bodies,
            "frame_count": frames,
            "square_row": self.rows * widths["cell"],
            "matrices": self.rows**2 * widths["cell"],
            "nv_square": nv**2,
            **{f"nv{k}": k * nv for k in range(1, 13)},
            **{f"wide{k}": 6 * k * frames for k in range(1, 7)},
            **{f"parameters{k}": 10 * k * bodies for k in range(1, 7)},
        }


class Looped(Compiled):
    """The lanes have states. If the loops have a team, it runs one state, over lanes and threads."""

    task: Task

    def __init__(self, task: Task, loops: Loops, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task, cpu, lanes)
        self.loops, self.interface, self.team = loops, loops.interface, loops.team(self.busy)

    @property
    def identity(self) -> tuple[object, ...]:
        return self.loops.identity

    def symbols(self, lanes: int) -> list[str]:
        helping = ["help"] if self.team is not None and lanes == 1 else []
        return [self.entry_point, "integer", *helping, "tile"]

    def text(self, lanes: int) -> str:
        return self.loops.text(lanes)

    @property
    def zeroed(self) -> bool:
        return self.loops.zeroed

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        alone = frame == "one_state"
        tables = self.loops.tables(alone)
        sizes = self.loops.sizes(_widths(code), alone)
        return {"data": address(tables.data), "ints": address(tables.ints), **sizes}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        return {part: size * lanes for part, size in self.loops.memory(_widths(code), frame == "one_state").items()}

    # One state by a team

    @property
    def one_state_frame(self) -> str:
        return "batch" if self.team is None else "one_state"

    def one_state_words(self) -> Words:
        return super().one_state_words() if self.team is None else self.words("one_state", 1)

    def call_one(self, words: Words) -> int:
        return super().call_one(words) if self.team is None else self.team.call(*self.code(1), words)

    def served_words(self, code: jit.Code, form: str) -> dict[str, int]:
        return {} if self.team is None or form == "batch" else self.team.crew_words(code)


def _widths(code: jit.Code) -> Widths:
    """What the code tells of its layout, the same for any number of lanes."""
    return dict(zip(WIDTHS, code.integers, strict=False))
