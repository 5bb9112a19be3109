"""Control in joint space: computed torque, and PD control with gravity compensation."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import with_old_names
from linkwork.compiled.arrays import TracedArray
from linkwork.control.gains import Gains, gains
from linkwork.control.law import CompiledController, ControlLaw, warn_of_motors
from linkwork.control.limits import TorqueLimits, limited
from linkwork.control.references import Constant, Reference, Sample, as_reference, form_of
from linkwork.dynamics.arguments import Array, as_array, check_model
from linkwork.dynamics.dynamics import gravity_torques, inverse_dynamics, nonlinear_effects
from linkwork.dynamics.kinematics import difference
from linkwork.errors import ArgumentError
from linkwork.model.model import Model


class _JointController(Gains, CompiledController):
    """Base class: follows a reference of configurations."""

    @with_old_names(stiffness="kp", damping="kd")
    def __init__(
        self,
        model: Model,
        reference: Reference | ArrayLike,
        kp: ArrayLike = 100.0,
        kd: ArrayLike | None = None,
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
        self.kp, self.kd = gains("the controller", kp, kd, model.nv)
        warn_of_motors(type(self).__name__, model, np.ones(model.nv, dtype=bool))

    def _by_floats(self, t: float, q: Array, v: Array) -> Array:
        numbers = [self._viscous, self._limits.most, self.kp, self.kd]
        with np.errstate(all="ignore"):  # the torque limits reject non-finite numbers
            torque, compensation = self._forces(q, v, [self.reference.at(t)], numbers)
            return self._limits(torque, compensation)[0]

    @abstractmethod
    def _forces(self, q: Array, v: Array, samples: list[Sample], numbers: list[Array]) -> tuple[Array, Array]:
        """The joint forces before limits, and their compensating part; written over arrays, traced or not."""

    def _compiled_law(self) -> ControlLaw | None:
        if type(self).__module__ != __name__:  # a user's subclass
            return None

        def text(q: Array, v: Array, samples: list[Sample], numbers: list[Array]) -> Array:
            return limited(*self._forces(q, v, samples, numbers), self._limits.limiting, numbers[1])[0]

        def settings() -> list[tuple[object, str]]:
            return [(self, "_viscous"), (self._limits, "most"), (self, "kp"), (self, "kd")]

        places = [(self, "reference")], settings, [(self, "_limits")]
        return ControlLaw(type(self).__name__, self.model, (), *places, text, self._limits.limiting)

    def _errors(self, sample: Sample, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """The errors (nv,) of position and velocity, reference minus actual, and the reference's acceleration."""
        behind, model = difference(self.model, q, sample.value), self.model
        rests = not isinstance(sample.velocity, TracedArray)  # of compiled code, which serves all references of a kind
        if not isinstance(v, TracedArray):
            rests = form_of(self.reference) is Constant
        if rests or model.nq != model.nv:
            return behind, -v, np.zeros(model.nv)
        return behind, sample.velocity - v, sample.acceleration


class ComputedTorque(_JointController):
    """Computed torque: the inverse dynamics of the acceleration of a unit mass on a spring and a damper at each joint.

    With an exact model each joint's error obeys ë + D ė + K e = 0, independently of the others. The model's viscous
    damping is compensated.

    Args:
        model: the mechanism; every degree of freedom is assumed to be actuated.
        reference: a ``Reference`` to vectors (nq,), or a constant configuration (nq,).
        kp: K, 1/s²: one number, or one for each degree of freedom.
        kd: D, 1/s, likewise; critical, 2 √K, if omitted.
        limits: on torque, as in ``OperationalSpaceController``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> path = lw.control.MinimumJerk([0.0, 0.0], [1.0, -0.5], duration=1.0)
        >>> controller = lw.control.ComputedTorque(arm, path)
        >>> q, v = [0.1, 0.0], [0.0, 0.0]
        >>> lw.forward_dynamics(arm, q, v, controller.torque(0.0, q, v)).round(9) + 0.0
        array([-10.,   0.])
    """

    def _forces(self, q: Array, v: Array, samples: list[Sample], numbers: list[Array]) -> tuple[Array, Array]:
        viscous, _, kp, kd = numbers
        behind, slower, acceleration = self._errors(samples[0], q, v)
        wanted = acceleration + kd * slower + kp * behind
        brakes = viscous * v
        return inverse_dynamics(self.model, q, v, wanted) + brakes, nonlinear_effects(self.model, q, v) + brakes


class PDPlusGravity(_JointController):
    """PD control at each joint with gravity compensation: stable without knowledge of the inertias.

    Args:
        model: the mechanism; every degree of freedom is assumed to be actuated.
        reference: a ``Reference`` to vectors (nq,), or a constant configuration (nq,).
        kp: N m/rad or N/m: one number, or one for each degree of freedom.
        kd: N m s/rad or N s/m, likewise; 2 √kp if omitted.
        limits: on torque, as in ``OperationalSpaceController``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> q = [0.3, 0.2]
        >>> hold = lw.control.PDPlusGravity(arm, q, kp=50.0)
        >>> lw.forward_dynamics(arm, q, [0.0, 0.0], hold.torque(0.0, q, [0.0, 0.0])).round(9) + 0.0
        array([0., 0.])
    """

    def _forces(self, q: Array, v: Array, samples: list[Sample], numbers: list[Array]) -> tuple[Array, Array]:
        _, _, kp, kd = numbers
        behind, slower, _ = self._errors(samples[0], q, v)
        gravity = gravity_torques(self.model, q)
        return gravity + kp * behind + kd * slower, gravity
