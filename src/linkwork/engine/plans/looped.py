"""Code with loops: for all models of the same joint kinds, whatever their number of bodies."""

from __future__ import annotations

from copy import copy

from linkwork.engine.code import jit
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.ir.layout import WIDTHS
from linkwork.engine.plans.loops import Loops, Widths
from linkwork.engine.plans.plan import Arrays, Compiled, Found, Offsets
from linkwork.engine.plans.task import Task
from linkwork.engine.run.entries import Entry
from linkwork.engine.run.memory import address


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
        return [self.entry_point, "integer", *helping, *([] if self.task.over_time else ["tile"])]

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

    def moved(self, offsets: Offsets) -> Looped:
        """The same with its frames moved."""
        if not offsets:
            return self
        plan = copy(self)
        plan.loops, plan._templates = self.loops.moved(offsets), {}
        return plan

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        return super(Looped, self.moved(offsets)).run(arguments, states, out=out)

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        super(Looped, self.moved(offsets)).serve(entry, form)

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
