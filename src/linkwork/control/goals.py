"""The goals of a controller's levels: accelerations of points, from a reference and the error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, with_old_names
from linkwork.control.gains import Gains, gains
from linkwork.control.references import Reference, Sample, as_reference
from linkwork.control.rotations import angular_motion, coordinate_rate, cross, log, scalars
from linkwork.dynamics.arguments import Array, as_array, check_finite
from linkwork.errors import ArgumentError, shown
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model, Point

_SHAPES = {"pose": (4, 4), "position": (3,), "rotation": (3, 3)}
_ROWS = {"pose": range(6), "position": range(3), "rotation": range(3, 6)}


@dataclass(frozen=True)
class Situation:
    """The quantities in one state that a controller's goals need, computed once.

    There are six rows for each point, in its own axes. q (nq,), v (nv,); placements of the points (m, 4, 4), and of the
    other frames that goals use; jacobian J, responses J M⁻¹ (6m, nv); drift J̇v and velocity J v (6m,); mass M (nv,
    nv); bias h (nv,), the Coriolis, gravity and damping forces. The controller's constraints, and the placements
    (k, 4, 4) that they hold, if these are traced.
    """

    model: Model
    q: Array
    v: Array
    placements: Array
    jacobian: Array
    responses: Array
    drift: Array
    velocity: Array
    mass: Array
    bias: Array
    constraints: tuple[Constraint, ...] = ()
    held_at: Array | None = None


class Wanted(NamedTuple):
    """The desired accelerations (r,) of a goal's rows, and the wrenches (6m,) that its points must exert on an object
    they hold, each in its own axes; None for no object.
    """

    acceleration: Array
    load: Array | None


class Goal(Gains, ABC):
    """A goal of a controller.

    ``points`` are the poses that it moves; of their rows, six each, ``rows`` are those that it commands, in blocks of
    three. ``seen`` are other frames that it uses. ``passive`` are degrees of freedom without an actuator.
    """

    points: tuple[Point, ...]
    rows: tuple[int, ...]
    seen: tuple[str, ...] = ()
    reference: Reference
    kp: Array
    kd: Array

    follows: tuple[str, ...] = ("reference",)
    """The names of the attributes that are references."""

    @property
    def structure(self) -> tuple[object, ...]:
        """All that its traced code depends on besides numbers."""
        return type(self).__name__, self.points, self.rows, self.seen

    def passive(self, model: Model) -> list[int]:
        return []

    def wanted(self, t: float, now: Situation, first: int, seen: int) -> Wanted:
        """The desired accelerations at a time. ``first`` and ``seen`` are the indices of its points, and of the other
        frames that it uses, among the placements of the situation.
        """
        samples = [getattr(self, name).at(t) for name in self.follows]
        return self.asked(samples, self.kp, self.kd, now, first, seen)

    @abstractmethod
    def asked(self, samples: Sequence[Sample], kp: Array, kd: Array, now: Situation, first: int, seen: int) -> Wanted:
        """The same from samples of its references; written over arrays, traced or not."""


class Task(Goal):
    """Let a point follow a reference: the error obeys ë + D ė + K e = 0 as long as no torque limit is active.

    The error of a position is p - p_ref; that of a rotation is the rotation vector of R R_refᵀ, which obeys the same
    equation exactly, however large it is (below half a turn). Both are in world axes.

    Args:
        point: a frame's name or an ``lw.Point`` with axes "pose", "position" or "rotation".
        reference: a ``Reference``, or a constant value: a pose (4, 4), a position (3,), m, or a rotation (3, 3).
        kp: K, 1/s²: one number, or one for each axis (3 or 6, linear first).
        kd: D, 1/s, likewise; critical, 2 √K, if omitted.

    Example:
        >>> import linkwork as lw
        >>> task = lw.control.Task(lw.Point("tip", axes="position"), [1.0, 0.5, 0.0], kp=400.0)
        >>> task.kd
        array([40., 40., 40.])
    """

    @with_old_names(stiffness="kp", damping="kd")
    def __init__(
        self,
        point: str | Point,
        reference: Reference | ArrayLike,
        kp: ArrayLike = 100.0,
        kd: ArrayLike | None = None,
    ) -> None:
        if not isinstance(point, str | Point):
            raise ArgumentError(f"point must be a frame's name or an lw.Point, not {shown(point)}")
        self.point = Point(point) if isinstance(point, str) else point
        name = f"the task on {self.point.frame!r}"
        self.reference = as_reference(f"reference of {name}", reference)
        if self.reference.shape != _SHAPES[self.point.axes]:
            raise ArgumentError(
                f"reference of {name} must have shape {_SHAPES[self.point.axes]} for axes {self.point.axes!r}, "
                f"not {self.reference.shape}"
            )
        self.points, self.rows = (Point(self.point.frame, self.point.offset),), tuple(_ROWS[self.point.axes])
        self.kp, self.kd = gains(name, kp, kd, len(self.rows))

    def error(self, t: float, placement: ArrayLike) -> Array:
        """The error of a placement (4, 4) of the point to the reference: (3,) or (6,), m and rad, in world axes."""
        place, value = as_placement(placement), self.reference.at(t).value
        parts = []
        if self.point.axes != "rotation":
            parts.append(place[:3, 3] - (value if value.ndim == 1 else value[:3, 3]))
        if self.point.axes != "position":
            parts.append(np.array(log(place[:3, :3] @ value[:3, :3].T)))
        return np.concatenate(parts)

    def asked(self, samples: Sequence[Sample], kp: Array, kd: Array, now: Situation, first: int, seen: int) -> Wanted:
        place, twist = now.placements[first], now.velocity[6 * first : 6 * first + 6]
        return Wanted(servo(samples[0], place, twist, kp, kd, self.point.axes), None)


def servo(sample: Sample, place: Array, twist: Array, kp: Array, kd: Array, axes: str = "pose") -> Array:
    """The acceleration, as the derivative of the twist in a frame's own axes, with which its error obeys the equation
    of ``Task``.
    """
    turn = place[:3, :3]
    parts = []
    if axes != "rotation":
        target = sample.value if axes == "position" else sample.value[:3, 3]
        lag = turn @ twist[:3] - sample.velocity[:3]
        goal = sample.acceleration[:3] - kd[:3] * lag - kp[:3] * (place[:3, 3] - target)
        parts.append(goal @ turn - cross(scalars(twist[3:]), scalars(twist[:3])))  # the frame's own axes rotate with it
    if axes != "position":
        off = turn @ sample.value[:3, :3].T
        e = log(off)
        carried, carried_rate = off @ sample.velocity[-3:], off @ sample.acceleration[-3:]
        relative = scalars(turn @ twist[3:] - carried)
        rate = coordinate_rate(e, relative)
        second = -kd[-3:] * rate - kp[-3:] * e
        _, change = angular_motion(e, rate, scalars(second))
        turning = carried_rate + change + cross(relative, scalars(carried))
        parts.append(turning @ turn)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def one_state(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """q (nq,) and v (nv,) as arrays: a controller computes one state at a time."""
    here, speed = as_array(model, "q", "configuration", q), as_array(model, "v", "velocity", v)
    if here.ndim > 1 or speed.ndim > 1:
        raise ArgumentError(
            f"a controller takes one state at a time, q ({model.nq},) and v ({model.nv},), not {here.shape} and "
            f"{speed.shape}"
        )
    return check_finite(model, "q", "configuration", here), check_finite(model, "v", "velocity", speed)


def as_placement(placement: ArrayLike) -> Array:
    """A placement (4, 4) as an array."""
    place = finite_array("placement", placement)
    if place.shape != (4, 4):
        raise ArgumentError(f"placement must have shape (4, 4), as lw.forward_kinematics gives it, not {place.shape}")
    return place
