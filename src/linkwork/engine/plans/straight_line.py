"""Straight-line code: of a program without loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine import optimisations
from linkwork.engine.code import jit, loader
from linkwork.engine.emit.call_frame import Interface, Words
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.plan import NOT_FINITE, NOT_FINITE_RESULT, Arrays, Compiled, Found, Offsets, Plan
from linkwork.engine.plans.task import Signature
from linkwork.engine.run.memory import address
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.engine.emit.sparing import Spared
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.callee import Callee
    from linkwork.engine.run.entries import Entry


_STORED = 2
"""Instructions for each number of a result of a batch, which is checked, transposed and stored."""


class Source(ABC):
    """What straight-line code is made from: its programs, traced when they are first needed, and its call frame.

    Attributes:
        interface: the arrays of the code.
        callees: the plans of the code with loops that it calls.
    """

    interface: Interface
    callees: Mapping[Callee, Compiled]

    @cached_property
    @abstractmethod
    def program(self) -> Program:
        """The program, without dead code, in the order in which it runs."""

    @property
    def one_state_program(self) -> Program:
        """The program for one state."""
        return self.program

    @property
    def spared(self) -> Sequence[Spared]:
        """Variants for the usual values of numbers of arguments, if there are any: the first that matches runs."""
        return ()

    @property
    def abreast(self) -> bool:
        """Whether code for one state computes isomorphic branches side by side."""
        return False

    @property
    def least(self) -> int:
        """Instructions that the program has at least, as far as that is known without tracing it."""
        return 0

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """What the code depends on besides the algorithm."""


class StraightLine(Compiled):
    """``looped`` makes the plan for batches if the code is long, if there is one: long code is fetched from the
    second-level cache fast enough only for one state; on all lanes, loops over bodies are faster, and compile sooner.
    """

    def __init__(
        self,
        task: Signature,
        source: Source,
        cpu: tuple[str, str] | None = None,
        lanes: int | None = None,
        looped: Callable[[], Plan] | None = None,
    ) -> None:
        super().__init__(task, cpu, lanes)
        self.source, self.looped, self.interface = source, looped, source.interface
        self._addresses: dict[int, Words] = {}

    @property
    def program(self) -> Program:
        return self.source.program

    @property
    def one_state_program(self) -> Program:
        return self.source.one_state_program

    @property
    def spared(self) -> Sequence[Spared]:
        return self.source.spared

    @property
    def abreast(self) -> bool:
        return self.source.abreast

    @property
    def identity(self) -> tuple[object, ...]:
        return self.source.identity

    @property
    def excess(self) -> int:
        """How many instructions it has, if LLVM would take too long over these; otherwise 0."""
        from linkwork.engine.ir.program import length

        if not within("traced", self.source.least):  # also without elementary functions written out
            return self.source.least
        if self.is_kept:
            return 0
        instructions = length(self.program)
        return 0 if within("traced", instructions) else instructions

    @cached_property
    def for_batches(self) -> Plan:
        """The plan of batches: this, or the one of code with loops."""
        if self.looped is None or loader.is_kept(self.key(self.lanes)):
            return self
        looped = self.looped()
        if looped.is_kept:
            return looped
        length = len(self.program.root.order) + _STORED * sum(self.task.results)
        return self if within("straight_in_batches", length) else looped

    @property
    def is_kept(self) -> bool:
        return loader.is_kept(self.key(1)) or super().is_kept

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point, *(["integer"] if self.interface.called else [])]

    def text(self, lanes: int) -> str:
        """The module; its integer is the room for calls, if it makes any."""
        from linkwork.engine.emit import kernel, packing, refilled, row_kernel
        from linkwork.engine.emit.time_loop import time_loop
        from linkwork.engine.ir.passes import around_repeat

        interface = self.interface.with_room()
        around = (
            around_repeat(self.program, len(interface.arguments)) if lanes > 1 and optimisations.on("lanes") else None
        )
        if self.task.over_time:
            program = self.program if lanes > 1 or self.spared else self.one_state_program
            text = kernel.module(program, interface, lanes, time_loop(interface, lanes), spared=self.spared)
        elif around is not None:
            text = refilled.module(around, interface, lanes)
        elif lanes > 1 and optimisations.on("rows"):
            text = row_kernel.module(self.program, interface, lanes, self.spared)
        else:
            program = self.one_state_program if lanes == 1 else self.program
            text = kernel.module(program, interface, lanes, spared=self.spared if lanes > 1 else ())
        return text + packing.compile_time_integers([interface.room_size]) if self.interface.called else text

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        plan = self if form == "one" else self.for_batches
        plan.serve(entry, form, offsets) if plan is not self else super().serve(entry, form, offsets)

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        if states > 1 and self.for_batches is not self:
            return self.for_batches.run(arguments, states, offsets, out)
        results, status = super().run(arguments, states, offsets, out)
        if states == 1 and status & NOT_FINITE == NOT_FINITE_RESULT and self.abreast:
            return self.run_tiles(arguments, 1, self.lanes, out)
        return results, status

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        if not self.source.callees:
            return {}
        lanes = next(lanes for lanes, (known, _) in self._codes.copy().items() if known is code)
        if lanes not in self._addresses:
            numbers = [number for plan in self.source.callees.values() for number in plan.addresses(lanes)]
            made = np.array(numbers, dtype=np.int64)
            self._addresses.setdefault(lanes, made)  # another thread may have its address already
        return {"ints": address(self._addresses[lanes])}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        if "integer" not in code.addresses:
            return {}
        (room,) = code.integers
        return {"data": lanes * room} if room else {}
