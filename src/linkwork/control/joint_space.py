"""Control in joint space: computed torque, and proportional-derivative with gravity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.control.goals import gains, one_state
from linkwork.control.limits import TorqueLimits
from linkwork.control.references import Constant, Reference, as_reference
from linkwork.dynamics.arguments import Array, as_array, check_model
from linkwork.dynamics.dynamics import gravity_torques, inverse_dynamics, nonlinear_effects
from linkwork.dynamics.kinematics import difference
from linkwork.errors import ArgumentError
from linkwork.model.model import Model


class _JointController:
    """Follows a reference of configurations."""

    def __init__(
        self,
        model: Model,
        reference: Reference | ArrayLike,
        stiffness: ArrayLike = 100.0,
        damping: ArrayLike | None = None,
        *,
        limits: str = "none",
    ) -> None:
        check_model(model)
        self.model, self.reference = model, as_reference("reference", reference)
        self._limits, self._viscous = TorqueLimits(model, limits), model.damping
        if isinstance(self.reference, Constant):
            as_array(model, "reference", "configuration", self.reference.at(0.0).value)
        elif self.reference.shape != (model.nq,) or model.nq != model.nv:
            curved = [body.joint_name for body in model.bodies if body.joint.nq != body.joint.nv]
            reason = f"; joint {curved[0]!r} has rotations in q, so only a constant can be followed" if curved else ""
            raise ArgumentError(
                f"reference must be vectors ({model.nq},) for model {model.name!r}, not {self.reference.shape}{reason}"
            )
        self.stiffness, self.damping = gains("the controller", stiffness, damping, model.nv)

    def _errors(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """How far behind the reference the joints are, how much slower, and the reference's acceleration; (nv,)."""
        value, velocity, acceleration = self.reference.at(t)
        behind = difference(self.model, q, value)
        if isinstance(self.reference, Constant):
            return behind, -v, np.zeros(self.model.nv)
        return behind, velocity - v, acceleration


class ComputedTorque(_JointController):
    """Inverse dynamics of the acceleration that a spring and a damper of unit mass at each joint ask for.

    With an exact model each joint's error obeys ë + D ė + K e = 0, whatever the others do. The model's viscous damping
    is compensated.

    Args:
        model: the mechanism; every degree of freedom is taken to be driven.
        reference: a ``Reference`` to vectors (nq,), or a configuration (nq,) to stay at.
        stiffness: K, 1/s²: one number, or one for each degree of freedom.
        damping: D, 1/s, likewise; critical, 2 √K, if left out.
        limits: of torque, as in ``OperationalSpaceController``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> path = lw.control.MinimumJerk([0.0, 0.0], [1.0, -0.5], duration=1.0)
        >>> controller = lw.control.ComputedTorque(arm, path)
        >>> q, v = [0.1, 0.0], [0.0, 0.0]
        >>> lw.forward_dynamics(arm, q, v, controller.torque(0.0, q, v)).round(9) + 0.0
        array([-10.,   0.])
    """

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Joint forces (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""
        here, speed = one_state(self.model, q, v)
        behind, slower, acceleration = self._errors(t, here, speed)
        with np.errstate(all="ignore"):  # the limits refuse what is not finite
            wanted = acceleration + self.damping * slower + self.stiffness * behind
            brakes = self._viscous * speed
            torque = inverse_dynamics(self.model, here, speed, wanted) + brakes
            return self._limits(torque, nonlinear_effects(self.model, here, speed) + brakes)[0]


class PDPlusGravity(_JointController):
    """A spring and a damper at each joint, and the torques of gravity: stable without knowing any inertia.

    Args:
        model: the mechanism; every degree of freedom is taken to be driven.
        reference: a ``Reference`` to vectors (nq,), or a configuration (nq,) to stay at.
        stiffness: N m/rad or N/m: one number, or one for each degree of freedom.
        damping: N m s/rad or N s/m, likewise; 2 √stiffness if left out.
        limits: of torque, as in ``OperationalSpaceController``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> q = [0.3, 0.2]
        >>> hold = lw.control.PDPlusGravity(arm, q, stiffness=50.0)
        >>> lw.forward_dynamics(arm, q, [0.0, 0.0], hold.torque(0.0, q, [0.0, 0.0])).round(9) + 0.0
        array([0., 0.])
    """

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Joint forces (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""
        here, speed = one_state(self.model, q, v)
        behind, slower, _ = self._errors(t, here, speed)
        gravity = gravity_torques(self.model, here)
        with np.errstate(all="ignore"):  # the limits refuse what is not finite
            return self._limits(gravity + self.stiffness * behind + self.damping * slower, gravity)[0]
