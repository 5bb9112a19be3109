"""Torque sources: none, constant numbers, a table over time, a function or a controller, all as one ``Source``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import FLOAT64
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.model.model import Model
from linkwork.simulation.arguments import returned, torque_table


@runtime_checkable
class Controller(Protocol):
    """An object that computes joint forces. Its ``reset()``, if it has one, is called before each simulation."""

    def torque(self, t: float, q: Array, v: Array, /) -> ArrayLike:
        """The joint forces tau (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""


Torque = Controller | Callable[[float, Array, Array], ArrayLike] | ArrayLike | None

Source = Callable[[int, float, Array, Array], Array]
"""Driving forces (nv,), given the number of the step, the time, q and v."""


def source_of(model: Model, torque: Torque, steps: int, hold: int, limits: Array) -> Source:
    """A source of checked joint forces, clamped to the effort limits (nv,).

    ``hold``: a controller or function is called only every ``hold`` steps and its result held in between; if 0, it is
    called for every evaluation of the integrator.
    """
    most = limits if np.isfinite(limits).any() else None
    if torque is None:
        zero = np.zeros(model.nv)
        return lambda step, t, q, v: zero
    if isinstance(torque, Controller) or callable(torque):
        source = Told(model, torque, most)
        return _held(source, hold) if hold else source
    table = torque_table(model, torque, steps)
    table = _within(table, most) if most is not None else table.copy()
    last = len(table) - 1
    return lambda step, t, q, v: table[min(step, last)]


class Told:
    """The checked results of a controller or a function.

    Attributes:
        ask: (t, q, v) -> tau, before any check.
    """

    def __init__(self, model: Model, torque: Any, most: Array | None) -> None:
        self._model, self._most, self.ask, self._name = model, most, torque, "torque(t, q, v)"
        if isinstance(torque, Controller):
            self.ask, self._name = torque.torque, f"{type(torque).__name__}.torque(t, q, v)"
            reset = getattr(torque, "reset", None)
            if callable(reset):
                reset()

    def __call__(self, step: int, t: float, q: Array, v: Array) -> Array:
        q.setflags(write=False)  # the simulation's own arrays: read-only for the user
        v.setflags(write=False)
        return self.limited(self.checked(self.ask(t, q, v)))

    def checked(self, tau: Any) -> Array:
        """A result as a plain array."""
        expected = (self._model.nv,)
        if type(tau) is np.ndarray and tau.dtype is FLOAT64 and tau.shape == expected:
            return np.ascontiguousarray(tau)
        return np.ascontiguousarray(returned(self._model, self._name, "velocity", tau, expected))

    def limited(self, tau: Array) -> Array:
        """A result clamped to the effort limits."""
        return tau if self._most is None else _within(tau, self._most)


def _held(source: Source, every: int) -> Source:
    """A source that is called only every ``every`` steps."""
    last, held = -1, np.zeros(0)

    def hold(step: int, t: float, q: Array, v: Array) -> Array:
        nonlocal last, held
        if step % every == 0 and step != last:
            last, held = step, source(step, t, q, v).copy()
        return held

    return hold


def _within(tau: Array, most: Array) -> Array:
    return np.minimum(np.maximum(tau, -most), most)


def plain_function(value: Any) -> bool:
    """Whether the value must be called from Python: a controller, or a function that is not compiled."""
    return (isinstance(value, Controller) or callable(value)) and not isinstance(value, CompiledFunction)


def driven_by(torque: Torque) -> str:
    """The kind of torque source, as compiled steps distinguish it."""
    if torque is None:
        return "nothing"
    if isinstance(torque, CompiledFunction):
        return "law"
    return "given" if plain_function(torque) else "table"


def following(model: Model, torque: Any, steps: int, limits: Array) -> Array:
    """The rows of a table that apply after each step, (steps or 1, nv), clamped to the effort limits."""
    table = _within(torque_table(model, torque, steps), limits)
    return table if len(table) == 1 else table[np.minimum(np.arange(1, steps + 1), len(table) - 1)]
