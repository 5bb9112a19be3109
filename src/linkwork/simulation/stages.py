"""A step for which a Python function computes the driving forces: traced, and cut where the function is called.

A step that holds the forces computed at its beginning is one part of code. If the function is called in each evaluation
of the integrator, the first part returns the accelerations, forces and wrenches at the beginning of the step, which are
recorded, and the arguments of the next call; the last part returns the state at the end.
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
from linkwork.engine.ir.program import Program
from linkwork.engine.ir.stages import stages_of
from linkwork.engine.mode import setting_of_calls
from linkwork.engine.run.entries import by_turns
from linkwork.engine.run.memory import address
from linkwork.simulation.record import Record

_TOLD = 4
"""The first results of a part before a call of the function: the array passed on to the next part, t, q and v."""

_REACHED = ASKED.indices(("step", "begun", "row"))
_STEP, _PARTS = ASKED.indices(("step", "parts"))


class Question:
    """A call of the Python function in the trace of a step: the shapes of its arguments, and the size of its result."""

    def __init__(self, shapes: Sequence[Shape], answer: Shape) -> None:
        self.shapes, self.result_sizes = list(shapes), [prod(answer)]

    @property
    def argument_sizes(self) -> list[int]:
        """The number of values in each argument."""
        return [prod(shape) for shape in self.shapes]

    def __str__(self) -> str:
        return f"of Python, told {self.shapes}"


def ask(answer: Shape, *told: Any) -> Any:
    """The traced result of a call of the function."""
    call = numbers(told[0]).item().called(Question([np.shape(each) for each in told], answer), flat(told))
    items = np.empty(prod(answer), dtype=object)
    items[:] = [call.part(k) for k in range(prod(answer))]
    return traced(items.reshape(answer))


class Stages:
    """The code of a step, in parts. The arguments of each are chosen from: q, v, tau and t at the beginning of the
    step, values that are the same in all steps, the array passed on from the part before, and later results of the
    function.
    """

    def __init__(self, parts: Sequence[tuple[CompiledFunction, Sequence[int]]]) -> None:
        self.parts = list(parts)

    @staticmethod
    def cut(text: Callable[..., Any], shapes: Mapping[str, Shape], results: Sequence[Shape]) -> Stages:
        """The parts of a traced function that calls ``ask``; ``shapes`` of its arguments."""
        program = trace("simulate", text, shapes)[0]
        own, answer, carried = list(shapes.values()), shapes["tau"], (0,)
        parts: list[tuple[CompiledFunction, Sequence[int]]] = []
        for k, stage in enumerate(stages_of(program, len(own), len(results))):
            given = [*own, carried, *[answer] * k]
            if any(at == 2 or at > len(own) for at in stage.inputs if k and at != len(own) + k):
                raise ValueError("an answer is used after the next was given, when its array may have changed")
            shaped: list[Shape] = list(results)
            if stage.calls:
                (question,) = (program.details[n] for n in stage.calls)
                carried = (len(stage.carried),)
                shaped = [carried, *question.shapes]
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
        """The steps with driving forces from ``function``, whose results ``check`` converts to arrays; ``given``
        follows q, v, tau and t, with dt first. None if there is no code for them, which is found out by running it in
        one state.
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
        turns, words = by_turns(entries, head, setting_of_calls())
        return Asking(partial(turns, function, check), words, values[: place + _TOLD], happening, states)


def _function(program: Program, given: Sequence[Shape], results: Sequence[Shape]) -> CompiledFunction:
    shapes = {f"argument{k}": shape for k, shape in enumerate(given)}
    return CompiledFunction("simulate", shapes, lambda: program, (tuple, [None] * len(results)), results)


class Asking:
    """The steps of a simulation whose driving forces a Python function computes.

    Attributes:
        step: the step reached.
        q, v: the state at its beginning.
        begun: the results of its first part, if that is done.
        said: otherwise the driving forces, if they were computed.
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
        """The number of the step in progress."""
        return int(self._words[_STEP])

    def at(self, step: int, q: Array, v: Array, tau: Array) -> None:
        """Continue from the beginning of a step; ``tau`` are the driving forces of the previous one."""
        self.step, self.begun, self.last = step, None, tau
        self.q, self.v = np.ascontiguousarray(q), np.ascontiguousarray(v)

    def go_on(self, until: int) -> None:
        """Do and record steps until the first part of step ``until`` is done, or code cannot do a step."""
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
        """Accelerations, driving forces, and, if any, wrenches and friction and stop forces, of a step begun."""
        return begun[self._happening :]
