"""A step in which Python is asked for driving forces several times: its text, traced and cut where it asks.

The code before the first question gives accelerations and wrenches at the beginning of the step, which are recorded;
that after the last gives the state at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.repeating import flat
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.engine.ir.program import renamed
from linkwork.engine.plans.staged import Stage, stages_of
from linkwork.simulation.torques import Source


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


class Begun(NamedTuple):
    """A step of which the first part is done: all that it takes so far; and what is carried on, t, q and v, which
    Python is told, and what happens at the beginning of the step.
    """

    values: list[Array]
    found: tuple[Array, ...]


class Stages:
    """The code of a step, cut at its questions."""

    def __init__(self, text: Callable[..., Any], shapes: Mapping[str, Shape], answer: Shape, results: Sequence[Shape]):
        """``shapes`` of the arguments, of which the first are q, v, the driving forces there, and t."""
        program = trace("simulate", text, shapes)[0]
        self._parts: list[tuple[CompiledFunction, Callable[[Sequence[Array]], tuple[Array, ...]]]] = []
        own, carried = list(shapes.values()), (0,)
        answers: list[Shape] = []
        for stage in stages_of(program, len(own), moves=False):
            given = [*own, carried, *answers]
            shaped: list[Shape] = list(results)
            if stage.calls:
                (question,) = (program.details[n] for n in stage.calls)
                carried = (len(stage.carried),)
                shaped = [carried, *question.shapes]
                answers.append(answer)
            else:  # which carries nothing on
                renamed(stage.program, {f"result{k + 1}": f"result{k}" for k in range(len(results))})
            self._parts.append(_function(stage, given, shaped))
        self._given: tuple[Array, ...] = ()

    @property
    def functions(self) -> list[CompiledFunction]:
        """The code of each part of a step."""
        return [function for function, _ in self._parts]

    def prepare(self, given: Sequence[Array], q: Array, v: Array) -> bool:
        """Make the code, for what a step takes besides q, v, the driving forces and t; whether there is any."""
        self._given = tuple(given)
        tau = np.zeros_like(v)
        begun = self.begin(0.0, q, v, tau)
        return begun is not None and self.finish(lambda step, t, q, v: tau, 0, begun) is not None

    def begin(self, t: float, q: Array, v: Array, tau: Array) -> Begun | None:
        """The first part of a step; None if some of it is no number."""
        values = [q, v, tau, np.array(t), *self._given, tau]
        found = self._run(0, values)
        return None if found is None else Begun(values, found)

    def finish(self, source: Source, step: int, begun: Begun) -> tuple[Array, Array] | None:
        """The state at the end of a step, with answers of Python; None if some of it is no number."""
        values, (carried, t, q, v, *_) = begun
        place, last = len(self._given) + 4, len(self._parts) - 1
        for k in range(1, last):
            values[place] = carried
            values.append(source(step, t.item(), q, v))
            found = self._run(k, values)
            if found is None:
                return None
            carried, t, q, v = found
        values[place] = carried
        values.append(source(step, t.item(), q, v))
        end: tuple[Array, Array] | None = self._run(last, values)
        return end

    def _run(self, k: int, values: list[Array]) -> Any:
        function, taken = self._parts[k]
        answer = function.quick(None, *taken(values))
        if answer is None:
            found, _, fine = function.attempt(taken(values))
            answer = tuple(found) if fine.all() else None
        return answer


def _function(
    stage: Stage, given: Sequence[Shape], results: Sequence[Shape]
) -> tuple[CompiledFunction, Callable[[Sequence[Array]], tuple[Array, ...]]]:
    """The function of a stage, of arguments that it takes; and what takes these from all."""
    program = stage.program
    shapes = {f"argument{place}": given[k] for place, k in enumerate(stage.inputs)}
    structure = (tuple, [None] * len(results))
    return CompiledFunction("simulate", shapes, lambda: program, structure, results), itemgetter(*stage.inputs)
