"""The driving and dissipative forces of a step, as checked arrays (..., steps or 1, numbers) with a time axis."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.arguments import once, switch
from linkwork.dynamics.arguments import Array, as_array, check_finite
from linkwork.errors import ArgumentError
from linkwork.model.model import Model
from linkwork.simulation.arguments import (
    damping_of,
    effort_limits_of,
    friction_of,
    per_dof,
    steps_over,
    wrong_rows,
)

OVER_TIME = ("tau", "q_target", "v_target", "f_ext")
"""Arguments that may have a row for each step."""
DRIVES = ("tau", "q_target", "kp", "v_target", "kd")
"""Arguments that drive."""


def constant_parts(model: Model, arguments: Mapping[str, Any], friction: Any, drives: bool) -> dict[str, Array]:
    """Those of ``STEP_PARTS`` that are no driving forces or wrenches and have an effect, each (..., 1, numbers), of
    the ``arguments`` of a public function by name; ``friction`` is what is neither a property of joints nor a row of
    the contact problem, and ``drives`` says whether there are driving forces.
    """
    parts, damping, rubs = dict[str, Array](), damping_of(model, arguments["damping"]), friction_of(model, friction)
    for name, array in (("damping", damping), ("friction", check_finite(model, "friction", "velocity", rubs))):
        if once(array).any():
            parts[name] = _at_all_times(array)
    if switch("springs", arguments["springs"]) and model.stiffness.any():
        parts["stiffness"], parts["springref"] = _at_all_times(model.stiffness), _at_all_times(model.springref)
    most = effort_limits_of(model, arguments["effort_limits"])
    if drives and np.isfinite(once(most)).any():
        finite = np.minimum(once(most), np.finfo(np.float64).max)  # machine code requires finite numbers
        parts["effort"] = _at_all_times(np.broadcast_to(finite, most.shape))
    return parts


def driving_parts(model: Model, arguments: Mapping[str, Any]) -> dict[str, Array]:
    """The other parts, of those arguments that are there: driving forces, targets and gains, and external wrenches,
    each (..., T or 1, numbers).

    Machine code checks whether arrays over time are finite; ``check_over_time`` then finds where they are not.
    """
    parts, values = dict[str, Array](), {name: arguments[name] for name in DRIVES if arguments[name] is not None}
    for target, gain in (("q_target", "kp"), ("v_target", "kd")):
        if target in values and gain not in values:
            raise ArgumentError(f"{target} needs {gain}, the gain that pulls to it")
    if "kp" in values and "q_target" not in values:
        raise ArgumentError("kp needs q_target, the configuration to be pulled to")
    for name, value in values.items():
        if name in ("kp", "kd"):
            parts[name] = _at_all_times(check_finite(model, name, "velocity", per_dof(model, name, value)))
        else:
            array = as_array(model, name, STEP_PARTS[name], value)
            parts[name] = array if array.ndim > 1 else array[None]
    if arguments["f_ext"] is not None and not callable(arguments["f_ext"]):
        array = as_array(model, "f_ext", "wrenches", arguments["f_ext"])
        array = array if array.ndim > 2 else array[None]
        parts["f_ext"] = array.reshape((*array.shape[:-2], 6 * len(model.bodies)))
    return parts


def step_count(steps: Any, batch: tuple[int, ...], over_time: dict[str, Array]) -> int:
    """The number of steps: the one that is passed, or the number of rows over time."""
    if steps is None:
        for name, array in over_time.items():
            if array.ndim == 2 and batch and len(array) == batch[-1] > 1:
                raise ArgumentError(
                    f"{name} has {len(array)} rows, as many as there are trajectories, and without steps it is not "
                    f"clear which they are for. Pass steps={len(array)} if each is for a step, or {name}[:, None] and "
                    f"the number of steps if each is for a trajectory"
                )
    return steps_over({name: array.shape[-2] for name, array in over_time.items()}, steps)


def check_over_time(model: Model, parts: dict[str, Array]) -> None:
    """An error that names a non-finite number, if there is one."""
    for name in OVER_TIME:
        if name in parts:
            array = parts[name]
            array = array[0] if array.ndim == 2 and len(array) == 1 else array
            if name == "f_ext":
                array = array.reshape((*array.shape[:-1], len(model.bodies), 6))
            check_finite(model, name, STEP_PARTS[name], array)


def of_one_motion(model: Model, parts: Mapping[str, Array], steps: int) -> dict[str, Array]:
    """Copies of the parts of one motion, each (1, or steps and one more for the final state; numbers)."""
    for name, array in parts.items():
        one = "nbodies, 6" if name == "f_ext" else f"{array.shape[-1]}"
        if array.ndim > 2 or (name not in OVER_TIME and len(array) > 1):
            more = f", the same at all times, or ({steps}, {one}), a row for each step" if name in OVER_TIME else ""
            shape = array.shape if name in OVER_TIME else (*array.shape[:-2], array.shape[-1])
            raise ArgumentError(f"{name} must have shape ({one},){more}, but has shape {shape}")
        if len(array) not in (1, steps, steps + 1):
            raise wrong_rows(name, len(array), steps)
    check_over_time(model, dict(parts))
    last = {name: array[-1:] if 1 < len(array) == steps else array[:0] for name, array in parts.items()}
    return {name: np.concatenate([array, last[name]]) for name, array in parts.items()}


def broadcast(batch: tuple[int, ...], parts: dict[str, Array]) -> tuple[int, ...]:
    """The leading (batch) dimensions of the state, broadcast with those of all other arguments."""
    leading = {"q, v": batch, **{name: array.shape[:-2] for name, array in parts.items()}}
    if {*leading.values()} <= {(), batch}:  # as mostly
        return batch
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        shown = ", ".join(f"{name} {dims}" for name, dims in leading.items() if dims)
        raise ArgumentError(
            f"the leading (batch) dimensions, before the one over time, do not broadcast: {shown}"
        ) from None


def rows(array: Array, batch: tuple[int, ...]) -> Array:
    """(trajectories, steps, numbers), or (1, steps, numbers) where all trajectories share an array; contiguous."""
    if all(length == 1 for length in array.shape[:-2]):
        return np.ascontiguousarray(array).reshape(1, *array.shape[-2:])
    whole_batch = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return np.ascontiguousarray(whole_batch).reshape(prod(batch), *array.shape[-2:])


def _at_all_times(array: Array) -> Array:
    """Numbers (..., nv) as (..., 1, nv), one row for all steps."""
    return array[..., None, :]
