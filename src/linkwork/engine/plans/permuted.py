"""A plan whose code wants numbers in another order, or fewer, or gives more than are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.plans.plan import Array, Arrays, Found, Offsets, Plan, given_back
from linkwork.engine.plans.task import Task
from linkwork.model.segments import LinedUp
from linkwork.model.splitting import Split
from linkwork.properties import cached_property


class Taken(NamedTuple):
    """The numbers of a state that are taken from an array, by their places there, and what each is multiplied by."""

    places: NDArray[np.int64]
    shares: Array | None = None

    def of(self, array: Array) -> Array:
        found: Array = np.take(array, self.places, axis=1, mode="clip")
        return found if self.shares is None else found * self.shares


class Permuted(Plan):
    """Arguments of another plan are taken from those of the task, and results of the task from the other's; None where
    they are the same.
    """

    task: Task

    def __init__(
        self, task: Task, inner: Plan, arguments: Sequence[Taken | None] = (), results: Sequence[Taken | None] = ()
    ) -> None:
        super().__init__(task)
        self.inner = inner
        self.arguments, self.results = arguments or [None] * len(task.arguments), results or [None] * len(task.results)

    @cached_property
    def _served(self) -> Callable[..., Any] | None:
        return self.inner.served("one")

    @property
    def is_kept(self) -> bool:
        return self.inner.is_kept

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        given = [
            array if taken is None else taken.of(array) for array, taken in zip(arguments, self.arguments, strict=True)
        ]
        found, status = self._run_inner(given, states, offsets)
        results = [
            array if taken is None else taken.of(array) for array, taken in zip(found, self.results, strict=True)
        ]
        return given_back(results, out), status

    def _run_inner(self, arguments: Arrays, states: int, offsets: Offsets) -> Found:
        if states == 1 and not offsets and self._served:
            answer = self._served(None, *(array[0] for array in arguments))
            if answer is not None:
                found = answer if isinstance(answer, tuple) else (answer,)
                return [result.reshape(1, -1) for result in found], 0
        return self.inner.run(arguments, states, offsets)


def some_rows(task: Task, whole: Plan) -> Permuted:
    """Some rows of another plan's results, for code that stores all."""
    return Permuted(task, whole, results=[Taken(np.array(places, dtype=np.int64)) for places in task.places()])


def lined_up(task: Task, inner: Plan, order: LinedUp) -> Permuted:
    """A plan for a mechanism whose bodies must be lined up first."""
    present = [space for name, space in task.algorithm.arguments if name not in task.absent]
    results = [Taken(np.argsort(order.places(space))) for space in task.algorithm.results]
    return Permuted(task, inner, [Taken(order.places(space)) for space in present], results)


def of_parts(task: Task, inner: Plan, parted: Split) -> Permuted:
    """A plan for a mechanism whose links are split first: every part gets its share of a body's external force."""
    bodies = np.array([part.body - 1 for part in parted.parts], dtype=np.int64)
    shared = Taken((6 * bodies[:, None] + np.arange(6)).ravel(), np.repeat([part.share for part in parted.parts], 6))
    present = [space for name, space in task.algorithm.arguments if name not in task.absent]
    return Permuted(task, inner, [shared if space == "wrenches" else None for space in present])
