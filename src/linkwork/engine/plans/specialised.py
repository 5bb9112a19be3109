"""Code for one model, every body in turn; frames' offsets are a last argument."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from linkwork.engine import optimisations
from linkwork.engine.code import fingerprint
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.plans.straight_line import Source
from linkwork.engine.plans.task import Task
from linkwork.engine.spaces import OFFSETS
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.callee import Callee
    from linkwork.engine.plans.plan import Compiled
    from linkwork.engine.trace.isomorphic import Seed


def specialised_program(*what: Any, **options: Any) -> Program:
    """The program of ``specialise``, without dead code, in the order in which it runs."""
    from linkwork.engine.ir.passes import schedule
    from linkwork.engine.trace.specialise import specialise

    return schedule(specialise(*what, **options))


class Specialised(Source):
    """The program of an algorithm for a model; offsets of frames are the last argument."""

    callees: Mapping[Callee, Compiled] = MappingProxyType({})

    def __init__(self, task: Task) -> None:
        self.task = task
        self.interface = Interface(tuple(task.inputs), tuple(task.results), most=task.most)

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
    def seeds(self) -> dict[tuple[str, int], Seed]:
        """Which numbers of the arguments correspond; none if no branches are isomorphic."""
        from linkwork.engine.trace.isomorphic import seeds

        task = self.task
        found = seeds(task.model, task.frames, [*task.spaces, *([OFFSETS] if task.offsets else [])])
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
