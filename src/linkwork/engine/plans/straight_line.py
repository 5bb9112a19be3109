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
        return loader.is_kept(self.key(1)) or super().is_kept

    def symbols(self, lanes: int) -> list[str]:
        return [self.entry_point, *(["integer"] if self._has_integers(lanes) else [])]

    def _has_integers(self, lanes: int) -> bool:
        return bool(self.interface.called) or (lanes > 1 and not self.task.over_time)

    def text(self, lanes: int) -> str:
        """The module; its integers are how many slots ``work`` has, and the room for calls."""
        from linkwork.engine.emit import packing, refilled, row_kernel, slotted
        from linkwork.engine.ir.passes import around_repeat

        constraint, interface = jit.register_constraint(self.cpu, lanes), self.interface.with_room()
        if self.task.over_time:
            program = self.program if lanes > 1 or self.spared else self.one_state_program
            text = slotted.over_time(program, interface, lanes, constraint, self.spared)
        elif lanes > 1:
            around = around_repeat(self.program, len(interface.arguments))
            if around is None:
                return row_kernel.module(self.program, interface, lanes, constraint, self.spared)
            text = refilled.module(around, interface, lanes, constraint)
        else:
            text = slotted.module(self.one_state_program, interface, constraint)
        return text + packing.compile_time_integers([0, interface.room_size]) if self._has_integers(lanes) else text

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        results, status = super().run(arguments, states, offsets, out)
        if states == 1 and status == NOT_FINITE_RESULT and self.abreast:
            return self.run_tiles(arguments, 1, self.lanes, out)
        return results, status

    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        return {}

    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        if "integer" not in code.addresses:
            return {}
        slots, room = code.integers
        return {"work": lanes * slots, **({"data": lanes * room} if room else {})}
