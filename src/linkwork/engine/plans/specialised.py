"""Code for one model, every body in turn; frames' offsets are a last argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine import optimisations
from linkwork.engine.code import fingerprint, loader
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.plan import Array, Arrays, Compiled, Found, Offsets, SomeRows
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.plans.task import Task
from linkwork.engine.spaces import OFFSETS
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable

    from linkwork.engine.ir.program import Program
    from linkwork.engine.run.entries import Entry
    from linkwork.engine.trace.isomorphic import Seed


def specialised_program(*what: Any, **options: Any) -> Program:
    """The program of ``specialise``, without dead code, in the order in which it runs."""
    from linkwork.engine.ir.passes import schedule
    from linkwork.engine.trace.specialise import specialise

    return schedule(specialise(*what, **options))


class Specialised(StraightLine):
    """``rolled`` makes the plan for batches if the code is long, if there is one: long code is fetched from the
    second-level cache fast enough only for one state; on all lanes, loops over bodies are faster, and compile sooner.
    """

    task: Task

    def __init__(
        self,
        task: Task,
        cpu: tuple[str, str] | None = None,
        lanes: int | None = None,
        rolled: Callable[[], Compiled | SomeRows] | None = None,
    ) -> None:
        super().__init__(task, cpu, lanes)
        self.rolled = rolled
        spaces = [*task.spaces, *([OFFSETS] if task.offsets else [])]
        self.spaces, self.shapes = spaces, [space.shape(task.model, len(task.frames)) for space in spaces]
        sizes = tuple(space.size(task.model, len(task.frames)) for space in spaces)
        self.interface = Interface(sizes, tuple(task.results), most=task.most)

    @cached_property
    def program(self) -> Program:
        return self._traced()

    def _traced(self, most: int | None = None) -> Program:
        task = self.task
        return specialised_program(
            task.algorithm, task.model, task.absent, task.frames, task.offsets, most=most, places=self._places
        )

    @property
    def _places(self) -> list[list[int]] | None:
        """Which numbers of the results are stored; None if all are."""
        return None if self.task.kept is None else self.task.places()

    def fits(self, most: int) -> bool:
        """Whether the program has at most so many instructions; the trace of a much longer one is abandoned."""
        from linkwork.engine.trace.tracer import TooLong

        try:
            self.program = self._traced(most + most // 2)  # dead code included, which is removed
        except TooLong:
            return False
        return len(self.program.root.order) <= most

    @cached_property
    def for_batches(self) -> Compiled | SomeRows:
        """The plan of batches: this, or the rolled one."""
        if self.rolled is None or loader.is_kept(self.key(self.lanes)):
            return self
        rolled = self.rolled()
        if loader.is_kept(rolled.key(rolled.lanes)):
            return rolled
        return self if within("straight_in_batches", len(self.program.root.order)) else rolled

    @cached_property
    def seeds(self) -> dict[tuple[str, int], Seed]:
        """Which numbers of the arguments correspond; none if no branches are isomorphic."""
        from linkwork.engine.trace.isomorphic import seeds

        found = seeds(self.task.model, self.task.frames, self.spaces)
        return found if optimisations.on("packing") and any(lane for _, lane in found.values()) else {}

    @property
    def abreast(self) -> bool:
        return bool(self.seeds)

    @property
    def one_state_program(self) -> Program:
        """The program for one state, in which isomorphic branches take the lanes."""
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.trace.specialise import specialise
        from linkwork.engine.trace.superword import pack_isomorphic

        task = self.task
        if not self.seeds:
            return self.program
        narrow = specialise(
            task.algorithm, task.model, task.absent, task.frames, task.offsets, isomorphic=True, places=self._places
        )
        return pack_isomorphic(schedule(narrow), self.seeds)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        own = fingerprint.is_own(self.task.algorithm.text)
        if own and not self.task.algorithm.of_mechanism:
            return "specialised", self.interface
        numbers: object = fingerprint.of_model(self.task.model, self.task.frames) if own else None
        if numbers is None:
            numbers = fingerprint.of_program(self.program), self.abreast  # a program alone does not determine it
        if not self.task.algorithm.of_loops:
            return "specialised", self.interface, numbers
        from linkwork.model.loop_walks import groups_of

        return "specialised", self.interface, numbers, groups_of(self.task.frames)

    @property
    def buffer_size(self) -> int:
        return super().buffer_size + (3 * len(self.task.frames) if self.task.offsets else 0)

    def form(self, states: int) -> str:
        if states > 1 and self.for_batches is not self:
            return self.for_batches.form(states)
        return super().form(states)

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        plan = self if form == "one" else self.for_batches
        plan.serve(entry, form, offsets) if plan is not self else super().serve(entry, form, offsets)

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        if states > 1 and self.for_batches is not self:
            return self.for_batches.run(arguments, states, offsets, out)
        for array in self.fixed_arguments(offsets):
            arguments = [*arguments, np.broadcast_to(array, (states, len(offsets)))]
        return super().run(arguments, states, out=out)

    def fixed_arguments(self, offsets: Offsets) -> list[Array]:
        return [np.array(offsets, dtype=np.float64)] if offsets else []
