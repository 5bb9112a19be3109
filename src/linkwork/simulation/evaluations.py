"""What Python functions say in the evaluations of a step, as inputs of code that does the step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.errors import LinkworkError
from linkwork.simulation.jobs import Job
from linkwork.simulation.step_plans import points_of, state_of
from linkwork.simulation.torques import Hold, Told
from linkwork.simulation.watching import ViewerLoads


class Functions(NamedTuple):
    """Functions that are called from Python: the torque every ``hold`` steps, or in each evaluation of the
    accelerations if that is 0; external wrenches in each evaluation; and who watches.
    """

    torque: Told | None
    hold: int
    load: Told | None
    watched: ViewerLoads | None


class Evaluations:
    """Calls functions, and puts what they say there where code of a job reads it.

    Attributes:
        state: the arrays of the state, which the time loop updates.
        tau: the driving forces of the torque function in the first evaluation of a step.
    """

    def __init__(self, functions: Functions, job: Job, state: Sequence[Array], dt: float) -> None:
        told = {name: job.parts[name][0, 0].reshape(shape) for name, shape in job.step.told_shapes.items()}
        self._tau, self._forces = (told.get(name, np.zeros((1, 0))) for name in ("told_torque", "told_load"))
        self.job, self.state, self.dt, self.tau = job, state, dt, self._tau[0]
        self._load, self._ask = functions.load, None if functions.torque is None else functions.torque.ask
        self._hold = Hold(functions.torque, functions.hold) if functions.hold else None
        self._several = job.step.several and (
            functions.load is not None or (functions.torque is not None and not functions.hold)
        )

    def say(self, n: int, k: int, t: float, q: Array, v: Array) -> Array | None:
        """Call the functions for evaluation n of step k; returns the driving forces. Arrays are read-only."""
        if self._load is not None:
            self._forces[n:] = self._load(t, q, v)
        if self._ask is None:
            return None
        tau = self._ask(t, q, v) if self._hold is None else self._hold(k, t, q, v)
        self._tau[n:] = tau  # in later evaluations, too, until that is known
        return tau

    def others(self, k: int) -> bool:
        """Call them for the evaluations after the first, each in the state that follows from what was said before;
        returns whether that was possible.
        """
        if not self._several or k == self.job.steps:
            return True
        own = [array[0, min(k, array.shape[1] - 1)] for array in self._rows]
        values = [array.reshape(shape) for array, shape in zip(own, self._points.shapes.values(), strict=True)]
        for n, part in enumerate((0.5, 0.5, 1.0), 1):
            try:
                states = self._points.quick(None, *values) or self._points.attempt(values)[0]
                self.say(n, k, k * self.dt + part * self.dt, *map(read_only, states[2 * n - 2 : 2 * n]))
            except LinkworkError:  # Python says it again, in a state that is recorded
                return False
        return True

    @cached_property
    def _points(self) -> CompiledFunction:
        """The states of these evaluations."""
        return points_of(self.job.step, state_of(self.job.step) | self.job.all_shapes)

    @cached_property
    def _rows(self) -> list[Array]:
        """The arguments of that, for all steps."""
        return [*(array[:, None] for array in self.state), *self.job.inputs]


def read_only(array: Array) -> Array:
    """A copy that cannot be written."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy
