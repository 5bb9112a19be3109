"""Joint forces of a model's actuators."""

from __future__ import annotations

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
    tau: Array = _kernel(model)(q, v, control, out=out)
    return tau


@kept_with_model
def _kernel(model: Model) -> CompiledFunction:
    from linkwork.compiled.law import law

    own = model.actuators
    for one in own:
        if one.left_out:
            raise ArgumentError(f"the forces of actuator {one.name!r} are not known, since it has {one.left_out}")
    lengths, gears = _gears(model)
    gain, bias = np.array([one.gain for one in own]), np.array([one.bias for one in own]).reshape(-1, 3)
    constant, by_length, by_rate = bias.T
    ranges = [[getattr(one, name)[k] for one in own] for name in ("control_range", "force_range") for k in (0, 1)]
    low, high, weakest, strongest = np.clip(ranges, -_MOST, _MOST)
    acting = [row for row, one in enumerate(own) if one.frame is not None]
    names = [own[row].frame or "" for row in acting]

    def text(q: Any, v: Any, control: Any) -> Any:
        force = gain * np.minimum(np.maximum(control, low), high) + constant
        if by_length.any():
            force = force + by_length * times(lengths, q)
        if by_rate.any():
            force = force + by_rate * times(gears, v)
        force = np.minimum(np.maximum(force, weakest), strongest)
        tau = times(transposed(gears), force)
        if names:
            wrenches = np.concatenate([force[row] * np.array(own[row].wrench) for row in acting])
            tau = tau + times(transposed(jacobian(model, q, names)), wrenches)
        return tau

    shapes = {"q": (model.nq,), "v": (model.nv,), "control": (len(own),)}
    frames = [model.frame(name) for name in names]
    return law("actuator_torques", text, shapes, [(model.nv,)], model, frames, own, gears)


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


_MOST = float(np.finfo(np.float64).max)
"""Compiled code takes finite numbers."""
