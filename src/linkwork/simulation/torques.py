"""What Python functions say during a simulation: driving forces and external wrenches, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import FLOAT64
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.simulation.arguments import returned


@runtime_checkable
class Controller(Protocol):
    """An object that computes joint forces. Its ``reset()``, if it has one, is called before each simulation."""

    def torque(self, t: float, q: Array, v: Array, /) -> ArrayLike:
        """The joint forces tau (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""


Torque = Controller | Callable[[float, Array, Array], ArrayLike] | ArrayLike | None

Source = Callable[[int, float, Array, Array], Any]
"""Driving forces (nv,), or None for none, given the number of the step, the time, q and v."""


class Told:
    """The checked results of a function of (t, q, v), in each evaluation of a step."""

    def __init__(
        self, model: Model, function: Callable[..., Any], name: str, space: str, shape: tuple[int, ...]
    ) -> None:
        def ask(t: float, q: Array, v: Array) -> Array:
            found = function(t, q, v)
            if type(found) is np.ndarray and found.dtype is FLOAT64 and found.shape == shape:
                return found
            return returned(model, name, space, found, shape)

        self.ask = ask
        """The result for arrays that are read-only."""

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        q.setflags(write=False)  # the simulation's own arrays: read-only for the user
        v.setflags(write=False)
        return self.ask(t, q, v)


class Hold:
    """The source of a function that is called only every ``every`` steps; ``tau`` are the forces in between. If
    ``every`` is 0, it is called in each evaluation.
    """

    def __init__(self, function: Callable[[float, Array, Array], Array] | None, every: int) -> None:
        self._function, self._every, self._last, self.tau = function, every, -1, np.zeros(0)

    def __call__(self, step: int, t: float, q: Array, v: Array) -> Array | None:
        if self._function is None or not self._every:
            return self._function and self._function(t, q, v)
        if self._last < 0 or (step % self._every == 0 and step != self._last):
            self.keep(step, self._function(t, q, v))
        return self.tau

    def keep(self, step: int, tau: Array) -> None:
        """From this step on these forces act."""
        self._last, self.tau = step, tau.copy()


def torque_of(model: Model, torque: Torque) -> Told:
    """A controller or a function of a user, reset."""
    name, function = "torque(t, q, v)", torque
    if isinstance(torque, Controller):
        function, name = torque.torque, f"{type(torque).__name__}.torque(t, q, v)"
        reset = getattr(torque, "reset", None)
        if callable(reset):
            reset()
    if not callable(function):
        raise ArgumentError(f"torque must be a function of (t, q, v) or a controller, not {shown(torque)}")
    return Told(model, function, name, "velocity", (model.nv,))


def load_of(model: Model, load: Callable[..., Any]) -> Told:
    """A function of a user that returns external wrenches."""
    return Told(model, load, "f_ext(t, q, v)", "wrenches", (len(model.bodies), 6))
