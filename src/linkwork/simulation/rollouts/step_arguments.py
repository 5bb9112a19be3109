"""What drives and drags a step, made into checked arrays with a time axis, or a clear error."""

from __future__ import annotations

import warnings
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import STEP_PARTS
from linkwork.dynamics.arguments import Array, as_array, check_finite, name_coordinate
from linkwork.errors import ArgumentError, LinkworkWarning
from linkwork.model.model import Model

_OVER_TIME = ("tau", "q_target", "v_target")
_MOST_STEPS = 10**15
"""Machine code counts in 64 bits."""


def step_parts(
    model: Model, steps: int | None, effort_limits: bool | ArrayLike, **values: Any
) -> tuple[dict[str, Array], int]:
    """Of ``STEP_PARTS``, those that have an effect, each (..., T or 1, numbers), and the number of steps.

    Machine code looks for itself whether what varies over time is finite; then ``check_over_time`` says where.
    """
    for target, gain in (("q_target", "kp"), ("v_target", "kd")):
        if values[target] is not None and values[gain] is None:
            raise ArgumentError(f"{target} needs {gain}, the gain that pulls to it")
    if values["kp"] is not None and values["q_target"] is None:
        raise ArgumentError("kp needs q_target, the configuration to be pulled to")
    parts = {}
    for name in _OVER_TIME:
        if values[name] is not None:
            array = as_array(model, name, STEP_PARTS[name], values[name])
            parts[name] = array if array.ndim > 1 else array[None]
    for name in ("kp", "kd"):
        if values[name] is not None:
            parts[name] = _each(model, name, values[name])
            check_finite(model, name, "velocity", parts[name][..., 0, :])
    for name, own in (("damping", model.damping), ("friction", model.friction)):
        array = _not_negative(model, name, values[name], own, 0.0)
        check_finite(model, name, "velocity", array[..., 0, :])
        if array.any():
            parts[name] = array
    most = _not_negative(model, "effort_limits", effort_limits, model.effort_limit, np.inf)
    if parts.keys() & {"tau", "kp", "kd"}:
        if effort_limits is True:
            warn_of_no_effort(model, 4)
        if np.isfinite(most).any():
            parts["effort"] = np.minimum(most, np.finfo(np.float64).max)  # machine code takes finite numbers
    return parts, _steps(steps, {name: parts[name].shape[-2] for name in _OVER_TIME if name in parts})


def check_over_time(model: Model, parts: dict[str, Array]) -> None:
    """An error if a number is not finite."""
    for name in _OVER_TIME:
        if name in parts:
            array = parts[name]
            check_finite(model, name, STEP_PARTS[name], array[0] if array.ndim == 2 and len(array) == 1 else array)


def _each(model: Model, name: str, value: Any) -> Array:
    """Numbers for each degree of freedom, or one for all, as (..., 1, nv)."""
    single = not isinstance(value, str | list | tuple) and np.ndim(value) == 0
    return as_array(model, name, "velocity", np.full(model.nv, value) if single else value)[..., None, :]


def _not_negative(model: Model, name: str, value: Any, own: Array, none: float) -> Array:
    """Numbers of 0 or more for each degree of freedom: the caller's, for True the model's own, for False none."""
    array = _each(model, name, (own if value else none) if isinstance(value, bool | np.bool_) else value)
    if (array >= 0.0).all():
        return array
    where = tuple(int(i) for i in np.argwhere(~(array >= 0.0))[0])
    which = name_coordinate(model, "velocity", where[-1:])
    raise ArgumentError(f"{name} of {which} is {array[where]}; it must be 0 or more")


def warn_of_no_effort(model: Model, above: int = 3) -> None:
    """Of effort limits that are 0, at the call that is so many frames above."""
    stuck = [body.joint_name for body in model.bodies if body.joint.nv and not any(body.limits.effort)]
    if stuck:
        warnings.warn(
            f"model {model.name!r} gives an effort limit of 0 for {', '.join(map(repr, stuck[:5]))}"
            f"{', ...' if len(stuck) > 5 else ''}, so that nothing drives these; pass effort_limits=False if that is "
            f"not meant",
            LinkworkWarning,
            stacklevel=above,
        )


def _steps(steps: int | None, lengths: dict[str, int]) -> int:
    """The number of steps, said or by the rows over time."""
    rows = {name: length for name, length in lengths.items() if length != 1}
    if steps is None:
        if not rows:
            raise ArgumentError("steps must be given, or a tau or target with a row for each step, (T, nv)")
        steps = next(iter(rows.values()))
    steps = whole("steps", steps, 0)
    if steps > _MOST_STEPS:
        raise ArgumentError(f"steps must be at most {_MOST_STEPS:,}, which takes years, not {steps}")
    for name, length in rows.items():
        if length != steps:
            raise ArgumentError(
                f"{name} has {length} rows over time for {steps} steps; it must have as many, or 1 for all steps. "
                f"Rows for each trajectory, the same at all times, are {name}[:, None]"
            )
    return steps


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ArgumentError(f"{name} must be a whole number of {least} or more, not {value!r}")
    return int(value)


def seconds(name: str, value: Any) -> float:
    """A time that is positive and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, str | bool) or not (isfinite(number) and number > 0.0):
        raise ArgumentError(f"{name} must be a positive number of seconds, not {value!r}")
    return number


def broadcast(batch: tuple[int, ...], parts: dict[str, Array]) -> tuple[int, ...]:
    """The leading (batch) dimensions of a state with those of everything else."""
    leading = {"q, v": batch, **{name: array.shape[:-2] for name, array in parts.items()}}
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        shown = ", ".join(f"{name} {dims}" for name, dims in leading.items() if dims)
        raise ArgumentError(
            f"the leading (batch) dimensions, before the one over time, do not broadcast: {shown}"
        ) from None


def rows(array: Array, batch: tuple[int, ...]) -> Array:
    """(trajectories, steps, numbers), or (1, steps, numbers) for what all trajectories share; contiguous."""
    if all(length == 1 for length in array.shape[:-2]):
        return np.ascontiguousarray(array).reshape(1, *array.shape[-2:])
    whole_batch = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return np.ascontiguousarray(whole_batch).reshape(prod(batch), *array.shape[-2:])
