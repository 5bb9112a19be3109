"""Checks of numbers, states and results of motions, which ``step_arguments``, ``lw.simulate`` and ``lw.rollout`` share,
so that they report the same mistake in the same words.

Single numbers are checked by ``linkwork.arguments``, states by ``dynamics.arguments``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite, isnan, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import integer, once, real, seconds
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, as_array, check_finite
from linkwork.dynamics.call import is_fast
from linkwork.engine.plans.task import FAST
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, TracingError, shown, warn_caller
from linkwork.joints import Prismatic
from linkwork.memory import check_memory, not_enough_memory
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model

_MOST_STEPS = 10**15
"""The limit on the number of steps; machine code counts in 64 bits."""
_NUMBERS = (float, int, np.floating, np.integer)


def check_not_traced(name: str, *values: Any) -> None:
    """An error if a function that ``lw.compile`` traces calls a simulation."""
    if any(map(is_traced, values)):
        raise TracingError(f"{name} cannot be traced; call it with arrays, or trace a step of your own")


# Steps, and rows over time


def time_steps(duration: Any, dt: Any) -> tuple[float, int]:
    """The time step and the number of steps in a duration, which must be a multiple of the step."""
    seconds("duration", duration)
    seconds("dt", dt)
    length, step = (value if isinstance(value, _NUMBERS) else float(value) for value in (duration, dt))
    if not float(length) / float(step) <= _MOST_STEPS:
        raise _too_many(f"{float(length) / float(step):g} (duration {length:g} s in steps dt of {step:g} s)")
    steps = round(length / step)
    if not steps or abs(steps * step - length) > 1e-6 * step:
        near = max(steps, 1)
        raise ArgumentError(
            f"duration {length:g} s must be a multiple of dt = {step:g} s; pass duration={near * step:.9g} or "
            f"dt={length / near:.9g}"
        )
    return float(dt), steps


def steps_over(rows: dict[str, int], steps: Any) -> int:
    """The number of steps: the one given, or else the number of rows over time; the two must agree."""
    if steps is None:
        steps = next((count for count in rows.values() if count != 1), None)
    if steps is None:
        raise ArgumentError("steps must be given, or a tau or target with a row for each step, (T, nv)")
    steps = integer("steps", steps, 0)
    if steps > _MOST_STEPS:
        raise _too_many(shown(steps))
    for name, count in rows.items():
        if count not in (1, steps):
            hint = f". Rows for each trajectory, the same at all times, are {name}[:, None]"
            raise wrong_rows(name, count, steps, hint)
    return steps


def _too_many(steps: str) -> ArgumentError:
    return ArgumentError(f"steps must be at most {_MOST_STEPS:,}, which takes years, not {steps}")


def wrong_rows(name: str, rows: int, steps: int, hint: str = "") -> ArgumentError:
    return ArgumentError(
        f"{name} has {rows} rows over time for {steps} steps; it must have a row for each step, or 1 for all steps"
        f"{hint}"
    )


def allocated(states: str, shapes: Sequence[tuple[int, ...]], record: int) -> list[Array]:
    """Uninitialised arrays for recorded states."""
    size, advice = 8.0 * sum(map(prod, shapes)), f"keep fewer by a larger record (it is {record})"
    check_memory(states, size, advice)
    try:
        return [np.empty(shape) for shape in shapes]
    except (MemoryError, OverflowError, ValueError):
        raise not_enough_memory(states, size, advice) from None


# Joint forces and external wrenches


def per_dof(model: Model, name: str, value: Any) -> Array:
    """Numbers (..., nv) for each degree of freedom, given as such or as one number for all."""
    number = real(value)
    single = isinstance(value, float | np.floating) or not isnan(number)
    return as_array(model, name, "velocity", np.full(model.nv, number) if single else value)


def damping_of(model: Model, value: Any) -> Array:
    """Viscous damping (..., nv): the caller's values, for True the model's, for False zero."""
    array = _not_negative(model, "damping", value, model.damping, 0.0)
    return check_finite(model, "damping", "velocity", array)


def friction_of(model: Model, value: Any) -> Array:
    """Coulomb friction (..., nv), likewise; it may be infinite if the friction law has stiction."""
    return _not_negative(model, "friction", value, model.friction, 0.0)


def effort_limits_of(model: Model, value: Any) -> Array:
    """Effort limits (..., nv), likewise; infinite where there is no limit."""
    return _not_negative(model, "effort_limits", value, model.effort_limit, inf)


def _not_negative(model: Model, name: str, value: Any, own: Array, none: float) -> Array:
    array = per_dof(model, name, (own if value else none) if isinstance(value, bool | np.bool_) else value)
    each = once(array)
    if (each >= 0.0).all():
        return array
    where = tuple(int(i) for i in np.argwhere(~(each >= 0.0))[0])
    which = SPACES["velocity"].coordinate(model, where[-1:])
    raise ArgumentError(f"{name} of {which} is {each[where]}; it must be 0 or more")


@kept_with_model
def without_effort(model: Model) -> list[str]:
    """The joints whose effort limits are 0."""
    return [body.joint_name for body in model.bodies if body.joint.nv and not any(body.limits.effort)]


def warn_of_no_effort(model: Model) -> None:
    """Warn of effort limits that are 0."""
    stuck = without_effort(model)
    if stuck:
        warn_caller(
            f"model {model.name!r} gives an effort limit of 0 for {', '.join(map(repr, stuck[:5]))}"
            f"{', ...' if len(stuck) > 5 else ''}, so that nothing drives these; pass effort_limits=False if that is "
            f"not meant"
        )


def warn_of_range(model: Model, q: Array) -> None:
    """Warn, once per model, of prismatic joints that left their range in recorded configurations (..., nq)."""
    known = model._memo.derived
    if warn_of_range in known:
        return
    for body, at in zip(model.bodies, model.q_start, strict=True):
        if not isinstance(body.joint, Prismatic):
            continue
        (low,), (high,) = body.limits.lower, body.limits.upper
        if not (isfinite(low) or isfinite(high)) or not q.size:
            continue
        reached = q[..., at]
        least, most = float(np.nanmin(reached)), float(np.nanmax(reached))
        slack = 1e-6 + 0.01 * (high - low if isfinite(high - low) else 0.0)
        if least < low - slack or most > high + slack:
            known[warn_of_range] = True
            warn_caller(
                f"prismatic joint {body.joint_name!r} of model {model.name!r} ran out of its range, {low:g} to "
                f"{high:g} m: it went from {least:.4g} to {most:.4g} m; joint_limits=True stops joints at their limits",
            )
            return


def warn_of_speed(model: Model, q: Array, v: Array, gained: Array, what: Callable[[int], str]) -> None:
    """Warn of accelerations that have lost their digits in the last states of motions (motions, nq) and (motions, nv);
    ``gained`` are the accelerations there, and ``what`` names a motion by its number.
    """
    if v.size and is_fast(v, FAST):
        from linkwork.dynamics.high_speeds import warn_of_fast_ends

        warn_of_fast_ends(model, q, v, gained, what)


def one_state(model: Model, name: str, space: str, value: ArrayLike) -> Array:
    """A copy of the array of one state, checked to be finite."""
    array = check_finite(model, name, space, as_array(model, name, space, value))
    if array.ndim != 1:
        raise ArgumentError(
            f"{name} has shape {array.shape}; a simulation begins in one state, ({array.shape[-1]},). "
            f"Call it for each state of a batch, or use lw.rollout"
        )
    return array.copy()


def returned(model: Model, name: str, space: str, value: ArrayLike, expected: tuple[int, ...]) -> Array:
    """The checked result of a user's function for one state; whether it is finite is checked later."""
    array = as_array(model, name, space, value)
    if array.shape != expected:
        raise ArgumentError(f"{name} must return shape {expected}, but its result has shape {array.shape}")
    return array
