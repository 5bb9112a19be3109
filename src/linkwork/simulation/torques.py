"""Torque sources: none, a function or a controller, all as one ``Source``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import FLOAT64
from linkwork.compiled.compiled_function import CompiledFunction
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


def source_of(model: Model, torque: Torque, hold: int) -> Source:
    """A source of checked joint forces; None for none.

    ``hold``: a controller or function is called only every ``hold`` steps and its result held in between; if 0, it is
    called for every evaluation of the integrator.
    """
    if torque is None:
        return lambda step, t, q, v: None
    if not (isinstance(torque, Controller) or callable(torque)):
        raise ArgumentError(f"torque must be a function of (t, q, v) or a controller, not {shown(torque)}")
    source = TorqueFunction(model, torque)
    return Hold(source, hold) if hold else source


class TorqueFunction:
    """The checked results of a controller or a function.

    Attributes:
        ask: (t, q, v) -> tau, before any check.
    """

    def __init__(self, model: Model, torque: Any) -> None:
        self._model, self.ask, self._name = model, torque, "torque(t, q, v)"
        if isinstance(torque, Controller):
            self.ask, self._name = torque.torque, f"{type(torque).__name__}.torque(t, q, v)"
            reset = getattr(torque, "reset", None)
            if callable(reset):
                reset()

    def __call__(self, step: int, t: float, q: Array, v: Array) -> Array:
        q.setflags(write=False)  # the simulation's own arrays: read-only for the user
        v.setflags(write=False)
        return self.checked(self.ask(t, q, v))

    def checked(self, tau: Any) -> Array:
        """A result as a plain array."""
        expected = (self._model.nv,)
        if type(tau) is np.ndarray and tau.dtype is FLOAT64 and tau.shape == expected:
            return np.ascontiguousarray(tau)
        return np.ascontiguousarray(returned(self._model, self._name, "velocity", tau, expected))


class Hold:
    """A source that is called only every ``every`` steps; ``tau`` are the forces in between."""

    def __init__(self, source: Source, every: int) -> None:
        self._source, self._every, self._last, self.tau = source, every, -1, np.zeros(0)

    def __call__(self, step: int, t: float, q: Array, v: Array) -> Array:
        if step % self._every == 0 and step != self._last:
            self._last, self.tau = step, self._source(step, t, q, v).copy()
        return self.tau


def plain_function(value: Any) -> bool:
    """Whether the value must be called from Python: a controller, or a function that is not compiled."""
    return (isinstance(value, Controller) or callable(value)) and not isinstance(value, CompiledFunction)


def driven_by(torque: Torque) -> str:
    """The kind of torque source, as compiled steps distinguish it."""
    if torque is None:
        return "nothing"
    return "law" if isinstance(torque, CompiledFunction) else "given"
