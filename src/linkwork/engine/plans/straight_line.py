"""Straight-line code: of a program without loops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.engine.code import jit, loader
from linkwork.engine.plans.plan import NOT_FINITE_RESULT, Arrays, Compiled, Found, Offsets

if TYPE_CHECKING:
    from linkwork.engine.emit.sparing import Spared
    from linkwork.engine.ir.program import Program


class StraightLine(Compiled):
    @property
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
    def is_kept(self) -> bool:
        """Whether its code needs no compilation."""
        return loader.is_kept(self.key(1)) or loader.is_kept(self.key(self.lanes))

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point, *(["integer"] if lanes > 1 and not self.task.over_time else [])]

    def text(self, lanes: int) -> str:
        from linkwork.engine.emit import packing, refilled, row_kernel, slotted
        from linkwork.engine.ir.passes import around_repeat

        constraint = jit.register_constraint(self.cpu, lanes)
        if self.task.over_time:
            program = self.program if lanes > 1 or self.spared else self.one_state_program
            return slotted.over_time(program, self.interface, lanes, constraint, self.spared)
        if lanes > 1:
            around = around_repeat(self.program, len(self.interface.arguments))
            if around is not None:
                return refilled.module(around, self.interface, lanes, constraint) + packing.compile_time_integers([0])
            return row_kernel.module(self.program, self.interface, lanes, constraint, self.spared)
        return slotted.module(self.one_state_program, self.interface, constraint)

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        results, status = super().run(arguments, states, offsets, out)
        if states == 1 and status == NOT_FINITE_RESULT and self.abreast:
            return self.run_tiles(arguments, 1, self.lanes, out)
        return results, status

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        return {}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        return {"work": lanes * code.integers[0]} if "integer" in code.addresses else {}
