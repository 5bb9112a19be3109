"""Trajectories as a job: all that a worker needs to compute them, here or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from linkwork.algorithms import Algorithm, stepping
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import diagnose
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.rollout import records, run_over_time
from linkwork.model.model import Model
from linkwork.simulation.arguments import allocated


@dataclass(frozen=True)
class Job:
    """Trajectories to compute, with checked arrays; it can be pickled.

    Attributes:
        q, v: where each begins (n, nq), (n, nv). parts: what a step takes besides, dt first, each (n or 1, steps or 1,
        numbers of one step). every: the steps between two records. engine: the form in which it runs.
    """

    model: Model
    q: Array
    v: Array
    parts: dict[str, Array]
    steps: int
    every: int
    engine: str

    def __len__(self) -> int:
        return len(self.q)

    @property
    def algorithm(self) -> Algorithm:
        return stepping(self.parts)

    def some(self, first: int, count: int) -> Job:
        """A few of the trajectories."""
        few = slice(first, first + count)
        parts = {name: array if len(array) == 1 else array[few] for name, array in self.parts.items()}
        return replace(self, q=self.q[few], v=self.v[few], parts=parts)

    def later(self, step: int, q: Array, v: Array, steps: int, every: int) -> Job:
        """``steps`` steps from a later one on."""
        span = slice(step, step + steps)
        parts = {name: array if array.shape[1] == 1 else array[:, span] for name, array in self.parts.items()}
        return replace(self, q=q, v=v, parts=parts, steps=steps, every=every)

    def apart_from(self, into: Sequence[Array]) -> Job:
        """The same, with copies of those arrays that share memory with the ones written into."""

        def kept(array: Array) -> Array:
            return array.copy() if any(np.may_share_memory(array, other) for other in into) else array

        parts = {name: kept(array) for name, array in self.parts.items()}
        return replace(self, q=kept(self.q), v=kept(self.v), parts=parts)

    def buffers(self) -> tuple[Array, Array]:
        """Arrays for the records, q and v."""
        count = records(self.steps, self.every)
        shapes = [(len(self), count, size) for size in (self.model.nq, self.model.nv)]
        q, v = allocated(f"{count:,} records of {len(self):,} trajectories", shapes, self.every)
        return q, v

    def run(self, into: Sequence[Array], threads: int) -> int:
        """Run the time loop here; its status: 1 if an argument is non-finite, plus 2 if a record is; else 0."""
        state = [np.array(array, order="C") for array in (self.q, self.v)]  # the time loop changes them
        for array, start in zip(into, state, strict=True):
            array[:, 0] = start
        if not (self.steps and len(self)):
            return 0
        names = [name for name, _ in self.algorithm.arguments[2:]]
        shapes = [(len(self), self.steps, self.parts[name].shape[-1]) for name in names]
        given = [np.broadcast_to(self.parts[name], shape) for name, shape in zip(names, shapes, strict=True)]
        engine = current_form() if self.engine == "auto" else self.engine  # a worker may have no machine code
        try:
            plan = function(self.algorithm, self.model, form=engine, over_time=True)
            return run_over_time(plan, state, given, into, self.steps, self.every, threads)
        except (ZeroDivisionError, OverflowError):  # a constant of the model: every trajectory fails
            first = [self.q[0], self.v[0], *(array[0, 0] for array in given)]
            raise diagnose(self.algorithm, self.model, first, ()) from None


def compute(job: Job) -> tuple[Array, Array, int]:
    """What a worker does, in one thread: records, and the status of the time loop."""
    job = replace(job, model=_known(job.model))
    into = job.buffers()
    return *into, job.run(into, 1)


@lru_cache(maxsize=4)
def _known(model: Model) -> Model:
    """The first of equal models: it has its code already."""
    return model
