"""Joint forces of a model's actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.kinematics import jacobian
from linkwork.errors import ArgumentError
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


def actuator_torques(
    model: Model, q: ArrayLike, v: ArrayLike, control: ArrayLike, *, out: Array | None = None
) -> Array:
    """The joint forces of the model's actuators for given control signals; see ``lw.Actuator``.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        control: the control signals (..., nu), in the order of ``model.actuators`` and in their units; they are clamped
            to the actuators' control ranges.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        tau (..., nv), N or N m, as ``lw.forward_dynamics`` takes it. Inside ``lw.compile`` it can be part of a law.

    Raises:
        ArgumentError: if an actuator is not fully specified, so that its forces are unknown; it names what is missing.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("rod", joint=lw.joints.Revolute("y"), joint_name="elbow", mass=1.0)
        >>> servo = lw.Actuator("servo", {"elbow": 2.0}, gain=50.0, bias=(0.0, -50.0, -3.0), force_range=(-20.0, 20.0))
        >>> arm = builder.build(actuators=[servo])
        >>> lw.actuator_torques(arm, [0.1], [0.0], [[0.3], [9.0]])
        array([[10.],
               [40.]])
    """
    check_model(model)
    if not model.actuators:
        raise ArgumentError(f"model {model.name!r} has no actuators; lw.Builder.build takes some")
    found: Array = _kernel(model)(q, v, control, out=out)
    return found


@kept_with_model
def _kernel(model: Model) -> CompiledFunction:
    from linkwork.compiled.law import law

    motors = _motors(model)
    shapes = {"q": (model.nq,), "v": (model.nv,), "control": (len(model.actuators),)}
    frames = [model.frame(name) for name in motors.frames]
    return law("actuator_torques", motors.text, shapes, [(model.nv,)], model, frames, model.actuators, motors.gears)


@dataclass(frozen=True)
class _Motors:
    """All actuators as arrays; ``lengths`` (nu, nq) and ``gears`` (nu, nv) map q and v to lengths and their rates."""

    model: Model
    lengths: Array
    gears: Array
    gain: Array
    constant: Array
    by_length: Array
    by_rate: Array
    control: tuple[Array, Array]
    force: tuple[Array, Array]
    frames: tuple[str, ...]
    at: list[int]
    wrenches: Array

    def text(self, q: Any, v: Any, control: Any) -> Any:
        """The joint forces, over arrays of one state."""
        force = self.gain * np.minimum(np.maximum(control, self.control[0]), self.control[1]) + self.constant
        if self.by_length.any():
            force = force + self.by_length * times(self.lengths, q)
        if self.by_rate.any():
            force = force + self.by_rate * times(self.gears, v)
        force = np.minimum(np.maximum(force, self.force[0]), self.force[1])
        tau = times(transposed(self.gears), force)
        if self.frames:
            wrenches = np.concatenate([force[row] * wrench for row, wrench in zip(self.at, self.wrenches, strict=True)])
            tau = tau + times(transposed(jacobian(self.model, q, self.frames)), wrenches)
        return tau


def _motors(model: Model) -> _Motors:
    own = model.actuators
    for one in own:
        if one.left_out:
            raise ArgumentError(f"the forces of actuator {one.name!r} are not known, since it has {one.left_out}")
    lengths, gears = _gears(model)
    bias = np.array([one.bias for one in own]).reshape(-1, 3).T
    ends = np.clip([[getattr(one, name)[k] for one in own] for name in _RANGES for k in (0, 1)], -_MOST, _MOST)
    acting = [row for row, one in enumerate(own) if one.frame is not None]
    return _Motors(
        model, lengths, gears, np.array([one.gain for one in own]), bias[0], bias[1], bias[2],
        (ends[0], ends[1]), (ends[2], ends[3]),
        tuple(own[row].frame or "" for row in acting), acting, np.array([own[row].wrench for row in acting]),
    )  # fmt: skip


def _gears(model: Model) -> tuple[Array, Array]:
    """How each actuator's length varies with q (actuators, nq), as far as it does so linearly, and with v."""
    lengths, gears = np.zeros((len(model.actuators), model.nq)), np.zeros((len(model.actuators), model.nv))
    for row, one in enumerate(model.actuators):
        for joint, gear in one.gears:
            number = model.joint_index(joint)
            at = model.v_start[number]
            gears[row, at : at + len(gear)] += gear
            if model.bodies[number].joint.nq == len(gear):
                at = model.q_start[number]
                lengths[row, at : at + len(gear)] += gear
    return lengths, gears


_RANGES = ("control_range", "force_range")
_MOST = float(np.finfo(np.float64).max)
"""Compiled code takes finite numbers."""
