"""A step for which a Python function computes the driving forces: traced, and cut where the function is called.

A step that holds the forces computed at its beginning is one part of code. If the function is called in each evaluation
of the integrator, the first part returns the accelerations, forces and wrenches at the beginning of the step, which are
recorded, and the arguments of the next call; the last part returns the state at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.repeating import flat
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.engine.ir.program import Program
from linkwork.engine.ir.stages import stages_of
from linkwork.simulation.record import Record

_TOLD = 4
"""The first results of a part before a call of the function: the array passed on to the next part, t, q and v."""


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
            parts.append((function, stage.inputs))
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
        own: list[Array] = [q, v, np.zeros_like(v), np.zeros(()), *given]
        values, happening, recorded = own, 2 if len(self.parts) == 1 else _TOLD, list[Array]()
        for number, (part, inputs) in enumerate(self.parts):
            found, _, fine = part.attempt([values[at] for at in inputs])
            if not fine.all() or part.entry is None:
                return None
            recorded = [q, v, *found[happening:]] if number == 0 else recorded
            values = [*own, found[0], *[np.zeros_like(v)] * (number + 1)]
        for k, rows in enumerate(states.arrays):
            if rows.size and (k >= len(recorded) or recorded[k].size != rows.shape[2]):
                return None
        return Asking(self.parts, function, check, own, happening, states)


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
        self,
        parts: Sequence[tuple[CompiledFunction, Sequence[int]]],
        function: Callable[..., Any],
        check: Callable[[Any], Array],
        values: Sequence[Array],
        happening: int,
        states: Record,
    ) -> None:
        (first, _), *later = parts  # which takes all arguments
        self._first, self._later = first.quick, [(part.quick, inputs) for part, inputs in later]
        self._function, self._check, self._states, self._happening = function, check, states, happening
        self._dt, self._given = float(values[4]), list(values[4:])
        self.step, self.q, self.v = 0, values[0], values[1]
        self.begun: tuple[Array, ...] | None = None
        self.said: Array | None = None
        self.last = values[2]
        """The driving forces of the last step that was begun."""

    def at(self, step: int, q: Array, v: Array, tau: Array) -> None:
        """Continue from the beginning of a step; ``tau`` are the driving forces of the previous one."""
        self.step, self.begun, self.last = step, None, tau
        self.q, self.v = np.ascontiguousarray(q), np.ascontiguousarray(v)

    def go_on(self, until: int) -> None:
        """Do and record steps until the first part of step ``until`` is done, or code cannot do a step."""
        self.said = None
        while self.begun is not None or self._begin():
            if self.step >= until or not self._end():
                return

    def _begin(self) -> bool:
        """Do the first part of a step, and record its state; whether code can do it."""
        t, q, v, states = self.step * self._dt, self.q, self.v, self._states
        tau = self._ask(t, q, v)
        self.begun = found = self._first(None, q, v, tau, t, *self._given)
        if found is None:
            self.said = tau
            return False
        happening = found[self._happening :]
        self.last = happening[1]
        if self.step % states.every == 0 or self.step == states.steps:
            states.add(t, q, v, *happening)
        return True

    def _end(self) -> bool:
        """Do the other parts of a step; whether code can do them."""
        found, answers = self.begun, list[Array]()
        own = (self.q, self.v, self.last, self.step * self._dt, *self._given)
        for code, inputs in self._later:
            carried, t, q, v = found[:_TOLD]  # type: ignore[index]
            answers.append(self._ask(float(t), q, v))
            values = (*own, carried, *answers)
            found = code(None, *[values[at] for at in inputs])
            if found is None:
                return False
        self.q, self.v = found[:2]  # type: ignore[index]
        self.begun, self.step = None, self.step + 1
        return True

    def _ask(self, t: float, q: Array, v: Array) -> Array:
        """The driving forces; arrays become read-only before anybody sees them."""
        q.setflags(write=False)
        v.setflags(write=False)
        return self._check(self._function(t, q, v))

    def happening(self, begun: tuple[Array, ...]) -> tuple[Array, ...]:
        """Accelerations, driving forces, and, if any, wrenches and friction and stop forces, of a step begun."""
        return begun[self._happening :]
