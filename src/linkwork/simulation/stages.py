"""A step for which Python says the driving forces: its text, traced and cut where it asks.

A step that holds what was said at its beginning is one part of code. If Python is asked for each evaluation of the
integrator, the first part gives what happens at the beginning of the step, which is recorded, and what Python is told
in the next question; the last one gives the state at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.repeating import flat
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.engine.emit.asking import KEPT
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.python_calls import ASKED
from linkwork.engine.ir.program import Program, renamed
from linkwork.engine.mode import asked
from linkwork.engine.plans.stages import stages_of
from linkwork.engine.run.entries import by_turns
from linkwork.engine.run.memory import address
from linkwork.simulation.record import Record

_TOLD = 4
"""What a part gives before all else if Python is asked again: an array that is carried on, t, q and v."""

_REACHED = ASKED.indices(("step", "begun", "row"))
_STEP, _PARTS = ASKED.indices(("step", "parts"))


class Question:
    """A call in the trace of a step: what Python is told, and how many numbers it answers."""

    def __init__(self, shapes: Sequence[Shape], answer: Shape) -> None:
        self.shapes, self.result_sizes = list(shapes), [prod(answer)]

    @property
    def argument_sizes(self) -> list[int]:
        """How many numbers each thing has that Python is told."""
        return [prod(shape) for shape in self.shapes]

    def __str__(self) -> str:
        return f"of Python, told {self.shapes}"


def ask(answer: Shape, *told: Any) -> Any:
    """The traced answer to a question."""
    call = numbers(told[0]).item().called(Question([np.shape(each) for each in told], answer), flat(told))
    items = np.empty(prod(answer), dtype=object)
    items[:] = [call.part(k) for k in range(prod(answer))]
    return traced(items.reshape(answer))


class Stages:
    """The code of a step, whose parts take of all arrays that there are: q, v, tau and t at the beginning of the step,
    what is the same in all steps, what is carried on, and the later answers.
    """

    def __init__(self, parts: Sequence[tuple[CompiledFunction, Sequence[int]]]) -> None:
        self.parts = list(parts)

    @staticmethod
    def cut(text: Callable[..., Any], shapes: Mapping[str, Shape], results: Sequence[Shape]) -> Stages:
        """Of a text that asks; ``shapes`` of its arguments."""
        program = trace("simulate", text, shapes)[0]
        own, answer, carried = list(shapes.values()), shapes["tau"], (0,)
        parts: list[tuple[CompiledFunction, Sequence[int]]] = []
        for k, stage in enumerate(stages_of(program, len(own), len(results), moves=False)):
            given = [*own, carried, *[answer] * k]
            if any(at == 2 or at > len(own) for at in stage.inputs if k and at != len(own) + k):
                raise ValueError("an answer is used after the next was given, when its array may have changed")
            shaped: list[Shape] = list(results)
            if stage.calls:
                (question,) = (program.details[n] for n in stage.calls)
                carried = (len(stage.carried),)
                shaped = [carried, *question.shapes]
            else:  # which carries nothing on
                renamed(stage.program, {f"result{k + 1}": f"result{k}" for k in range(len(results))})
            function = _function(stage.program, [given[at] for at in stage.inputs], shaped)
            parts.append((function, [at if at <= len(own) else at + _TOLD - 1 for at in stage.inputs]))
        return Stages(parts)

    def asking(
        self,
        function: Callable[..., Any],
        check: Callable[[Any], Array],
        given: Sequence[Array],
        q: Array,
        v: Array,
        states: Record,
    ) -> Asking | None:
        """Steps for which a function says the driving forces, and ``check`` makes arrays of what it says; ``given``
        comes after q, v, tau and t, with dt as the first. None if there is no code for them, which is tried in a state.
        """
        values: list[Array] = [q, v, np.zeros_like(v), np.zeros(()), *given]
        place, entries, results = len(values), [], []
        for number, (part, inputs) in enumerate(self.parts):
            found, _, fine = part.attempt([values[at] for at in inputs])
            if not fine.all() or part.entry is None:
                return None
            entries.append((part.entry, inputs))
            results.append(found)
            values = [*values[:place], *found[:_TOLD], *[np.zeros_like(v)] * (number + 1)]
        happening = 2 if len(entries) == 1 else _TOLD
        head = {"size": v.size, "carried": place, "answers": place + _TOLD, "happening": happening}
        recorded = [q, v, *results[0][happening:]]
        for k, rows in enumerate(states.arrays):
            if rows.size and (k >= len(recorded) or recorded[k].size != rows.shape[2]):
                return None
            head |= {f"rows{k}": address(rows), f"numbers{k}": rows.shape[2] if rows.size else 0}
        head |= {"dt": int(given[0].view(np.int64)), "steps": states.steps, "every": states.every}
        holder, words = by_turns(entries, head)
        return Asking(partial(asked(), holder, function, check), words, values[: place + _TOLD], happening, states)


def _function(program: Program, given: Sequence[Shape], results: Sequence[Shape]) -> CompiledFunction:
    shapes = {f"argument{k}": shape for k, shape in enumerate(given)}
    return CompiledFunction("simulate", shapes, lambda: program, (tuple, [None] * len(results)), results)


class Asking:
    """The steps of a simulation for which Python says the driving forces.

    Attributes:
        step: the one that was reached. q, v: the state at its beginning.
        begun: what its first part gives, if that is done. said: else what Python has said, if it was asked.
    """

    def __init__(
        self, turns: Callable[..., Any], words: Words, values: Sequence[Array], happening: int, states: Record
    ) -> None:
        self._turns, self._words, self._values, self._states = turns, words, list(values), states
        self._happening = happening
        self._reached: list[Any] = [None] * (KEPT + 2 * int(words[_PARTS]))
        self.step, self.q, self.v = 0, values[0], values[1]
        self.begun: tuple[Array, ...] | None = None
        self.said: Array | None = None
        self.last = values[2]
        """The driving forces of the last step that was begun."""

    @property
    def now(self) -> int:
        """The step, while it is done."""
        return int(self._words[_STEP])

    def at(self, step: int, q: Array, v: Array, tau: Array) -> None:
        """Go on from the beginning of a step; ``tau``: of the one before."""
        self.step, self.begun, self.last = step, None, tau
        self.q, self.v = np.ascontiguousarray(q), np.ascontiguousarray(v)

    def go_on(self, until: int) -> None:
        """Do steps, and record them, until the first part of this one is done, or code cannot do one."""
        words, states = self._words, self._states
        reached = self._reached
        reached[:KEPT] = self.q, self.v, self.begun, None
        news = {"step": self.step, "begun": int(self.begun is not None), "until": until, "row": len(states)}
        ASKED.put(words, news)
        try:
            self._turns(reached, self.q, self.v, *self._values[2:])
        finally:
            step, begun, row = words[_REACHED].tolist()
            self.step, (self.q, self.v, last, self.said) = step, reached[:KEPT]
            self.begun = last if begun else None
            self.last = self.last if last is None else last[self._happening + 1]
            states.filled_rows(row)

    def happening(self, begun: tuple[Array, ...]) -> tuple[Array, ...]:
        """What happens at the beginning of a step that was begun: accelerations, driving forces, and what else."""
        return begun[self._happening :]
