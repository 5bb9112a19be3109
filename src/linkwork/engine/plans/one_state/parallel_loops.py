"""Programs whose parallel loops run one state over lanes and threads; a batch has states on the lanes as everywhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from linkwork.engine.code import jit
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.calling import exported
from linkwork.engine.emit.packing import compile_time_integers
from linkwork.engine.ir.layout import WIDTHS
from linkwork.engine.plans.loops import Loops
from linkwork.engine.plans.one_state import parallel
from linkwork.engine.plans.one_state.team import Team
from linkwork.engine.plans.task import Task
from linkwork.engine.run.memory import aligned
from linkwork.engine.trace.tables import Tables


class ParallelLoops(Loops):
    """One state has so many iterations of a parallel loop on the ``lanes``, and numbers of a ``group`` side by side."""

    def __init__(self, task: Task, sizes: Sequence[str], lanes: int, group: int) -> None:
        super().__init__(task, sizes)
        self.lanes, self.group = lanes, group
        self._tables: dict[bool, Tables] = {}

    @property
    @abstractmethod
    def most_threads(self) -> int:
        """Threads that can work at once."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How often a loop runs that is inside of another."""

    @abstractmethod
    def new_tables(self, lanes: int) -> Tables:
        """The tables for so many iterations at once."""

    def tables(self, alone: bool) -> Tables:
        alone = alone and self.lanes > 1
        if alone not in self._tables:
            with jit.lock:
                if alone not in self._tables:
                    made = self.new_tables(self.lanes if alone else 1)
                    data = aligned(made.data.size)
                    data[:] = made.data
                    self._tables[alone] = replace(made, data=data)
        return self._tables[alone]

    def text(self, lanes: int) -> str:
        if lanes > 1:
            return super().text(lanes)
        program, widths = self.laid_out
        told = [*(widths[name] for name in WIDTHS), *parallel.parallel_loops(program)]
        more = compile_time_integers(told) + exported(self.interface, teams=True)
        return parallel.module(program, self.interface, self.lanes, jit.triple(), more, self.group)

    def team(self, busy: Words) -> Team:
        return Team(self, busy)
