"""The recorded states of a simulation."""

from __future__ import annotations

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.model.model import Model
from linkwork.simulation.arguments import allocated
from linkwork.simulation.trajectory import ARRAYS, Trajectory, sizes


class Record:
    """Arrays for the states after every ``every`` of ``steps`` steps of dt, the first and the last included.

    Attributes:
        steps, every: as given.
    """

    def __init__(self, model: Model, steps: int, every: int, constraints: int, dt: float) -> None:
        rows = steps // every + 1 + (steps % every > 0)
        self._model, self._count = model, 0
        shapes = [(rows, *size) for size in sizes(model, constraints).values()]
        arrays = allocated(f"{rows:,} states of {model.name!r}", shapes, every)
        self._arrays = dict(zip(ARRAYS, arrays, strict=True))
        every_array = [self._arrays[name] for name in ("t", "q", "v", "a", "tau", "constraint_forces")]
        self.steps, self.every, self._dt = steps, every, dt
        self._recorded = [array for array in every_array if array.size]
        self.arrays = [array.reshape(1, rows, -1) for array in every_array[1:]]
        """The arrays of the states as compiled code fills them, (1, rows, numbers)."""

    def __len__(self) -> int:
        return self._count

    def add(self, *arrays: float | Array) -> None:
        """Add a state: its time, q, v, accelerations, driving forces and, if they are recorded, constraint wrenches."""
        i = self._count
        for rows, array in zip(self._recorded, arrays, strict=False):
            rows[i] = array
        self._count = i + 1

    def filled(self, step: int) -> None:
        """Mark the states up to this step as recorded by compiled code; their times are set here."""
        count = step // self.every + 1 + (step == self.steps and step % self.every > 0)
        number = np.arange(self._count, count)
        self._arrays["t"][self._count : count] = np.minimum(number * self.every, self.steps) * self._dt
        self._count = count

    def trajectory(self, interrupted: bool = False) -> Trajectory:
        """All states so far."""
        n = self._count
        whole = n == len(self._arrays["t"])
        arrays = {name: array if whole else array[:n].copy() for name, array in self._arrays.items()}
        return Trajectory(self._model, **arrays, interrupted=interrupted)
