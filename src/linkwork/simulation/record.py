"""The recorded states of a simulation."""

from __future__ import annotations

from math import prod

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.model.model import Model
from linkwork.simulation.arguments import not_enough_memory
from linkwork.simulation.plant import Answer
from linkwork.simulation.trajectory import ARRAYS, Trajectory


class Record:
    """Arrays for the states after every ``every`` of ``steps`` steps, the first and the last included."""

    def __init__(self, model: Model, steps: int, every: int, constraints: int) -> None:
        rows = steps // every + 1 + (steps % every > 0)
        self._model, self._count = model, 0
        special = {"q": (model.nq,), "t": (), "constraint_forces": (constraints, 6)}
        sizes = {name: special.get(name, (model.nv,)) for name in ARRAYS}
        try:
            self._arrays = {name: np.empty((rows, *size)) for name, size in sizes.items()}
        except (MemoryError, ValueError):
            numbers = float(rows) * sum(map(prod, sizes.values()))
            raise not_enough_memory(f"{rows:,} states of {model.name!r}", numbers, every) from None
        self._rows = [self._arrays[name] for name in ("t", "q", "v", "a", "tau", "constraint_forces")]

    def __len__(self) -> int:
        return self._count

    def add(self, t: float, q: Array, v: Array, answer: Answer) -> None:
        """Add a state."""
        i, (times, qs, vs, accelerations, torques, wrenches) = self._count, self._rows
        times[i], qs[i], vs[i], accelerations[i], torques[i], wrenches[i] = t, q, v, *answer
        self._count += 1

    def trajectory(self, interrupted: bool = False) -> Trajectory:
        """All states so far."""
        n = self._count
        whole = n == len(self._arrays["t"])
        arrays = {name: array if whole else array[:n].copy() for name, array in self._arrays.items()}
        return Trajectory(self._model, **arrays, interrupted=interrupted)
