"""Stages of straight-line code with calls of other code between them (``stages``), each over the whole batch.

If the builtins can call the code of all of them, they can call the whole (``emit.staging``), for batches too small for
threads. Otherwise Python goes from one to the next; arrays that some code takes as they stand are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from linkwork.batches import FLOAT64, as_out
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.ir.shared_calls import share_calls
from linkwork.engine.plans.callee import Callee
from linkwork.engine.plans.plan import NOT_FINITE_RESULT, Array, Arrays, Compiled, Found, Offsets, Plan
from linkwork.engine.plans.stage_words import StageWords, code, fits, most_at_once
from linkwork.engine.plans.stages import Moved, Stage, stages_of
from linkwork.engine.plans.task import Shape, Task
from linkwork.engine.plans.traced import TracedTask
from linkwork.engine.run.entries import Entry, Serve, fit, serving
from linkwork.engine.run.memory import empty
from linkwork.engine.run.threads import Pace
from linkwork.errors import ArgumentError
from linkwork.properties import cached_property

_NOTHING = np.empty((1, 0))


class Part:
    """The plan of straight-line code, or of a call, over rows of numbers: (states, n), or (n,) for all states the same.

    ``busy`` is the word that all parts share: one call at a time uses the memory of all of them.
    """

    def __init__(self, plan: Plan, busy: Words, offsets: Offsets = ()) -> None:
        self.plan, self.offsets, self.count = plan, offsets, len(plan.task.arguments)
        if isinstance(plan, Compiled):
            plan.busy = busy
        self.entry: Entry | None = plan.entry(rows=True)
        self._serve: Serve | None = None

    def run(self, arguments: Arrays, states: int, out: Arrays | None = None) -> Found:
        """The results, those of ``out`` if that is given, and a status."""
        form = _form(states)
        if self._serve is not None and self.entry is not None and form in self.entry.forms:
            answer = self._serve(out if out is None else tuple(out) if len(out) > 1 else out[0], *arguments)
            if answer is not None:
                return list(answer) if type(answer) is tuple else [answer], 0
        rows = [array if array.ndim > 1 else np.broadcast_to(array, (states, array.size)) for array in arguments]
        found, status = self.plan.run(rows, states, self.offsets, out)
        if not status and self.serves(form) and self._serve is None and self.entry is not None:
            self._serve = serving([self.entry])
        return found, status

    def serves(self, form: str) -> bool:
        """Whether builtins have code for "one" state or a "batch", which is compiled if need be."""
        if self.entry is not None and form not in self.entry.forms:
            self.plan.serve(self.entry, form, self.offsets)
        return self.entry is not None and form in self.entry.forms


class Step(NamedTuple):
    """A stage, its straight-line code, if it has any, its calls, and the arrays, by their numbers, that its results are
    copies of.
    """

    stage: Stage
    straight: Part | None
    calls: list[Part]
    same: list[int | None]


class Staged(Plan):
    """``straight`` and ``called`` make the plans of stages and of calls."""

    task: TracedTask

    def __init__(
        self, task: TracedTask, straight: Callable[[TracedTask], Plan], called: Callable[[Task], Plan]
    ) -> None:
        super().__init__(task)
        self.straight, self.called = straight, called
        self._busy: Words = np.zeros(1, dtype=np.int64)
        self._asked: set[str] = set()
        """Forms that the builtins were to have code for."""

    @cached_property
    def steps(self) -> list[Step]:
        program, task = share_calls(self.task.program), self.task
        shapes, plans = [*task.argument_shapes, (0,)], dict[Callee, Plan]()
        found: list[Step] = []
        for stage in stages_of(program, len(task.argument_shapes), len(task.shapes)):
            takes, gives = [shapes[k] for k in stage.inputs], [(size,) for size in stage.sizes]
            own = TracedTask(lambda own=stage.program: own, takes, gives)  # type: ignore[misc]
            sizes = list(map(prod, shapes))
            same = [each.whole(sizes) if isinstance(each, Moved) else None for each in stage.given]
            unseen = not set(same if stage.calls else ()).issuperset(stage.inputs)  # by code that checks all numbers
            straight = Part(self.straight(own), self._busy) if stage.program.root.order or unseen else None
            callees: list[Callee] = [program.details[n] for n in stage.calls]
            for callee in callees:
                if callee not in plans:
                    plans[callee] = self.called(callee.task())
            found.append(
                Step(stage, straight, [Part(plans[callee], self._busy, callee.offsets) for callee in callees], same)
            )
            shapes[len(task.argument_shapes)] = (len(stage.carried),)
            shapes += [(size,) for callee in callees for size in callee.result_sizes]
        return found

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        rows = [array if states == 1 or array.strides[0] else array[0] for array in arguments]
        return self._through(rows, states, out)

    def _through(self, arguments: Arrays, states: int, out: Arrays | None) -> Found:
        """The results from rows of all states, or one for all; of many, some states at a time."""
        some = most_at_once(self)
        if states <= some:
            return self._some_through(arguments, states, out)
        results = [empty((states, size)) for size in self.task.results] if out is None else list(out)
        status = 0
        for first in range(0, states, some):
            own = slice(first, first + some)
            rows = [array[own] if array.ndim > 1 else array for array in arguments]
            status |= self._some_through(rows, len(results[0][own]), [array[own] for array in results])[1]
        return results, status

    def _some_through(self, arguments: Arrays, states: int, out: Arrays | None) -> Found:
        """One stage after the other. Non-finite numbers are passed on, so that only the results that depend on them
        have them, as in straight-line code.
        """
        carried, arrays = len(arguments), [*arguments, _NOTHING]
        status = 0
        for stage, straight, calls, same in self.steps:
            results = [_NOTHING]
            if straight is not None:
                results, here = straight.run([arrays[k] for k in stage.inputs], states)
                status |= here
            given = [
                results[each] if isinstance(each, int) else each.made(arrays, states) if k is None else arrays[k]
                for each, k in zip(stage.given, same, strict=True)
            ]
            if not calls:
                return self._owned(given, states, out), NOT_FINITE_RESULT if status else 0
            arrays[carried] = results[0]
            for part in calls:
                into = None if out is None else self._targets(part, len(arrays), states, out)
                found, here = part.run(given[: part.count], states, into)
                del given[: part.count]
                status |= here
                arrays += found
        raise AssertionError("the last stage has no calls")

    def _targets(self, part: Part, first: int, states: int, out: Arrays) -> list[Array] | None:
        """Where a call, whose arrays are numbered from there on, writes its results if some are those of ``out``."""
        sizes, last = part.plan.task.results, self.steps[-1].same
        numbers = range(first, first + len(sizes))
        if not any(number in last for number in numbers):
            return None
        pairs = zip(numbers, sizes, strict=True)
        return [out[last.index(number)] if number in last else np.empty((states, size)) for number, size in pairs]

    def _owned(self, given: Sequence[Array], states: int, out: Arrays | None) -> list[Array]:
        """Results as separate arrays, or those of ``out``."""
        if out is not None:
            for target, array in zip(out, given, strict=True):
                if array is not target:
                    target[...] = array
            return list(out)
        last, found = self.steps[-1], list[Array]()
        for array, each, k in zip(given, last.stage.given, last.same, strict=True):
            if array.ndim == 1 and states > 1:
                found.append(np.tile(array, (states, 1)))
                continue
            fixed = isinstance(each, Moved) and not each.runs
            others = k is not None and (k < len(self.task.arguments) or k in last.same[: len(found)])
            found.append((array.copy() if fixed or others else array).reshape(states, -1))
        return found

    # By the builtins

    @property
    def _parts(self) -> list[Part]:
        return [part for step in self.steps for part in (step.straight, *step.calls) if part is not None]

    def entry(self, rows: bool = False) -> Entry | None:
        task = self.task
        if any(part.entry is None for part in self._parts) or not fit(task.argument_shapes, task.shapes):
            return None
        return Entry(task.argument_shapes, task.shapes, self._busy, self._limits)

    @property
    def _limits(self) -> Words:
        """Of batches."""
        return Pace(sum(part.plan.pace.seconds for part in self._parts if isinstance(part.plan, Compiled))).limits

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        self._asked.add(form)
        if fits(self, form) and all(part.serves(form) for part in self._parts):
            made = StageWords(self, form)
            entry.add(form, code(), made.frame, made.words, made.array_names, self._limits, 0, None, self, made.kept)

    def answer(self, out: Any, *arguments: Any) -> Any:
        """For plain arrays with the same leading axes, or with none: an array, or a tuple of several. The first call
        for one state, or for a batch, returns None, so that the builtins get code for it.
        """
        task = self.task
        leading: Shape = ()
        if len(arguments) != len(task.argument_shapes):
            return None
        for array, shape in zip(arguments, task.argument_shapes, strict=True):
            own = _leading(array, shape)
            if own is None or (own and leading and own != leading):
                return None
            leading = own or leading
        states, shapes = prod(leading), [(*leading, *shape) for shape in task.shapes]
        into: list[Array] | None = None
        if out is not None:
            given = [(array, len(shape)) for array, shape in zip(arguments, task.argument_shapes, strict=True)]
            try:
                into = as_out(out, shapes, [""] * len(given), given)
            except ArgumentError:
                return None  # the checked path reports it
        if not states or (self._asked and _form(states) not in self._asked):
            return None
        sizes = zip(arguments, task.argument_shapes, task.arguments, strict=True)
        rows = [array.reshape((states, n) if array.ndim > len(shape) else n) for array, shape, n in sizes]
        found, status = self._through(rows, states, into and [target.reshape(states, -1) for target in into])
        if status:
            return None
        if out is not None:
            return out
        shaped = [array.reshape(shape) for array, shape in zip(found, shapes, strict=True)]
        return tuple(shaped) if len(shaped) > 1 else shaped[0]


def _form(states: int) -> str:
    return "one" if states == 1 else "batch"


def _leading(array: Any, shape: Shape) -> Shape | None:
    """The leading axes of a plain array; None if it is none, or has another shape."""
    if type(array) is not np.ndarray or array.dtype is not FLOAT64 or not array.flags.c_contiguous:
        return None
    axes = array.ndim - len(shape)
    return array.shape[:axes] if axes >= 0 and array.shape[axes:] == shape else None
