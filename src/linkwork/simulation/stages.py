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
from linkwork.engine.ir.program import Program, renamed
from linkwork.engine.mode import asked
from linkwork.engine.plans.staged import stages_of
from linkwork.engine.run.entries import by_turns

_TOLD = 4
"""What a part gives before all else if Python is asked again: an array that is carried on, t, q and v."""


class Question:
    """A call in the trace of a step: what Python is told, and how many numbers it answers."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.shapes = list(shapes)

    @property
    def argument_sizes(self) -> list[int]:
        """How many numbers each thing has that Python is told."""
        return [prod(shape) for shape in self.shapes]

    def __str__(self) -> str:
        return f"of Python, told {self.shapes}"


def ask(answer: Shape, *told: Any) -> Any:
    """The traced answer to a question."""
    call = numbers(told[0]).item().called(Question([np.shape(each) for each in told]), flat(told))
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
        for k, stage in enumerate(stages_of(program, len(own), moves=False)):
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
        self, function: Callable[..., Any], check: Callable[[Any], Array], given: Sequence[Array], q: Array, v: Array
    ) -> Asking | None:
        """Steps for which a function says the driving forces, and ``check`` makes arrays of what it says; ``given``
        comes after q, v, tau and t. None if there is no code for them, which is tried in a state.
        """
        values: list[Array] = [q, v, np.zeros_like(v), np.zeros(()), *given]
        place, entries = len(values), []
        for number, (part, inputs) in enumerate(self.parts):
            found, _, fine = part.attempt([values[at] for at in inputs])
            if not fine.all() or part.entry is None:
                return None
            entries.append((part.entry, inputs))
            values = [*values[:place], *found[:_TOLD], *[np.zeros_like(v)] * (number + 1)]
        turns = [by_turns(entries[:1], v.size, (3, 0, 1), carried=place, answer=2)]
        if len(entries) > 1:
            told = range(place + 1, place + _TOLD)
            turns.append(by_turns(entries[1:], v.size, told, carried=place, answer=place + _TOLD))
        return Asking([partial(asked(), holder, function, check) for holder in turns], given)


def _function(program: Program, given: Sequence[Shape], results: Sequence[Shape]) -> CompiledFunction:
    shapes = {f"argument{k}": shape for k, shape in enumerate(given)}
    return CompiledFunction("simulate", shapes, lambda: program, (tuple, [None] * len(results)), results)


class Asking:
    """The steps of a simulation for which Python says the driving forces."""

    def __init__(self, turns: Sequence[Callable[..., Any]], given: Sequence[Array]) -> None:
        """``turns``: of the first part, and of those after it, if there are any."""
        self._first, self._later = turns[0], turns[1] if len(turns) > 1 else None
        self._given, self._time = tuple(given), np.zeros(())
        self._state = 2 if self._later is None else _TOLD

    def begin(self, t: float, q: Array, v: Array) -> tuple[Array, ...] | Array | None:
        """The first part of a step. If code cannot do it, what Python has said; None if it was not asked."""
        time = self._time
        time[()] = t
        found: tuple[Array, ...] | Array | None = self._first(q, v, time, time, *self._given)
        return found

    def happening(self, begun: tuple[Array, ...]) -> tuple[Array, ...]:
        """What happens at the beginning of a step that was begun: accelerations, driving forces, and what else."""
        return begun[self._state :]

    def finish(self, q: Array, v: Array, begun: tuple[Array, ...]) -> tuple[Array, ...] | None:
        """The state after a step that was begun in a state; None if code cannot do it."""
        if self._later is None:
            return begun[:2]
        found = self._later(q, v, begun[_TOLD + 1], self._time, *self._given, *begun[:_TOLD])
        return found if type(found) is tuple else None
