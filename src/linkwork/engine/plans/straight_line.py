"""Straight-line code: of a program without loops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.engine import optimisations
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
        (room,) = code.integers
        return {"data": lanes * room} if room else {}
