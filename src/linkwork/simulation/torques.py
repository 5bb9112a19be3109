"""What drives a mechanism: nothing, numbers, a table over time, a function or a controller, all made one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.dynamics.arguments import Array, as_array, check_finite
from linkwork.errors import ArgumentError
from linkwork.model.model import Model


@runtime_checkable
class Controller(Protocol):
    """Anything that says which joint forces to apply; a ``reset()`` that it may have is called before a simulation."""

    def torque(self, t: float, q: Array, v: Array, /) -> ArrayLike:
        """tau (nv,), N or N m, at the time t (s) in the state q (nq,), v (nv,)."""


Torque = Controller | Callable[[float, Array, Array], ArrayLike] | ArrayLike | None

Source = Callable[[int, float, Array, Array], Array]
"""What is asked for a torque: the number of the step, the time, q and v."""


def source_of(model: Model, torque: Torque, steps: int, hold: int, limits: bool) -> Source:
    """A source of checked joint forces within the effort limits, if these count.

    ``hold``: a controller or function is asked at every so manyth step only, and its answer held; asked whenever the
    integrator wants to know if 0.
    """
    most = model.effort_limit if limits and np.isfinite(model.effort_limit).any() else None
    if torque is None:
        zero = np.zeros(model.nv)
        return lambda step, t, q, v: zero
    if isinstance(torque, Controller) or callable(torque):
        asked = _asked(model, torque, most)
        return _held(asked, hold) if hold else asked
    table = check_finite(model, "torque", "velocity", as_array(model, "torque", "velocity", torque))
    table = _within(table, most) if most is not None else table.copy()
    if table.ndim == 1:
        return lambda step, t, q, v: table
    if table.ndim != 2 or len(table) not in (steps, steps + 1):
        raise ArgumentError(
            f"torque must have shape ({model.nv},), the same all the time, or ({steps}, {model.nv}), a row for each "
            f"step, but has shape {table.shape}"
        )
    last = len(table) - 1
    return lambda step, t, q, v: table[min(step, last)]


def _asked(model: Model, torque: Any, most: Array | None) -> Source:
    """The answers of a controller or a function."""
    if isinstance(torque, Controller):
        name, ask = f"{type(torque).__name__}.torque(t, q, v)", torque.torque
        reset = getattr(torque, "reset", None)
        if callable(reset):
            reset()
    else:
        name, ask = "torque(t, q, v)", torque
    expected = (model.nv,)

    def source(step: int, t: float, q: Array, v: Array) -> Array:
        q.flags.writeable = v.flags.writeable = False  # they are the simulation's own
        tau = as_array(model, name, "velocity", ask(t, q, v))
        if tau.shape != expected:
            raise ArgumentError(f"{name} must return shape {expected}, but its result has shape {tau.shape}")
        return tau if most is None else _within(tau, most)

    return source


def _held(source: Source, every: int) -> Source:
    """A source that is asked at every so manyth step."""
    last, held = -1, np.zeros(0)

    def hold(step: int, t: float, q: Array, v: Array) -> Array:
        nonlocal last, held
        if step % every == 0 and step != last:
            last, held = step, source(step, t, q, v).copy()
        return held

    return hold


def _within(tau: Array, most: Array) -> Array:
    return np.minimum(np.maximum(tau, -most), most)
