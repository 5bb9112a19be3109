"""Operational-space control: tasks at points in strict priority, with a posture beneath them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import choice, finite_array, is_listed, real, with_old_names
from linkwork.compiled.arrays import is_traced
from linkwork.control.constrained import ControllerConstraints
from linkwork.control.gains import Gains, gains
from linkwork.control.goals import Goal, Situation, Task, one_state
from linkwork.control.held_object import HeldObject
from linkwork.control.impedance import Impedance
from linkwork.control.law import CompiledController, ControlLaw, warn_of_motors
from linkwork.control.limits import TorqueLimits, limited
from linkwork.control.priorities import HANDLING, Hierarchy, Level, regular_forces
from linkwork.control.references import Reference, Sample
from linkwork.dynamics.arguments import Array, as_array, as_frames, check_model
from linkwork.dynamics.at_points import AtPoints
from linkwork.dynamics.constrained_points import ConstrainedPoints
from linkwork.dynamics.dynamics import inverse_dynamics, mass_matrix, nonlinear_effects
from linkwork.dynamics.kinematics import (
    difference,
    forward_kinematics,
    frame_velocity,
    jacobian,
    jacobian_drift,
)
from linkwork.dynamics.loads import external_wrench
from linkwork.dynamics.operational import force_responses
from linkwork.dynamics.questions import Constraints
from linkwork.engine.plans.costs import within
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model, Point
from linkwork.model.queries import weightless


class Posture(Gains):
    """The motion of the joints in the null space of all tasks: towards a configuration, or only damped.

    Springs pull the joints to the configuration, so that finally their energy is the least among all configurations
    that the tasks allow. Damping is proportional to the mass matrix, M D v, so that all joints come to rest at the same
    rate.

    Args:
        q: the configuration (nq,); None for damping only.
        kp: N m/rad or N/m: one number, or one for each degree of freedom; if omitted, 25/s² times the diagonal of M at
            q: in proportion to the inertia that the joint moves.
        kd: D, 1/s, likewise.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> lw.control.Posture(lw.neutral(person), kp=16.0).q.shape
        (24,)
    """

    @with_old_names(stiffness="kp", damping="kd")
    def __init__(self, q: ArrayLike | None = None, kp: ArrayLike | None = None, kd: ArrayLike = 10.0) -> None:
        self.q = None
        if q is not None:
            given = finite_array("q of the posture", q)
            if given.ndim != 1:
                raise ArgumentError(f"q of the posture must be one configuration (nq,), not {given.shape}")
            self.q = given.copy()
        if q is None and kp is not None:
            raise ArgumentError("kp of a posture needs q, the configuration to be pulled to")
        if kd is None:
            raise ArgumentError("kd of a posture must be one number (1/s), or one for each degree of freedom")
        self.kp, self.kd = kp, kd


@dataclass(frozen=True)
class Command:
    """The torque of a controller in one state, with its parts.

    Attributes:
        torque: (nv,), N or N m, to be applied.
        compensation: (nv,), the part that compensates gravity, damping and Coriolis forces, and carries held objects.
        posture: (nv,), the part that is due to the posture; it accelerates no point of a task. With constraints, before
            motors and constraints share it.
        levels: for each level, its rank and its singular directions.
        factor: by which ``limits="scale"`` reduced everything beyond the compensation; 1 if not at all.
        reactions: (k, 6), N and N m: the wrenches that the torque relies on, on frame a of each constraint, in its
            axes.
    """

    torque: Array
    compensation: Array
    posture: Array
    levels: tuple[Level, ...]
    factor: float
    reactions: Array


class OperationalSpaceController(CompiledController):
    """Lets points follow their references, each like a decoupled unit mass on a spring and a damper.

    τ = h + Σ N Jᵀ F + N τ_posture. Gravity and Coriolis forces are compensated in full: h at the joints is μ and p at
    the points. So is the model's viscous damping, which ``lw.simulate`` applies, too. Each level's forces act in the
    dynamically consistent null space N of the levels before it, and the posture in that of all levels. Every degree of
    freedom is assumed to be actuated, except those of held objects.

    With ``constraints``, such as the feet on which a humanoid stands, all of this is done in the motions that they
    allow (Sentis, Khatib), and only joints with a motor (``model.actuated``) are commanded: constraint forces drive the
    rest, a floating base above all. They are bilateral: ``Command.reactions`` says what the ground must exert, and
    ``WholeBodyController`` chooses forces within friction cones.

    Args:
        model: the mechanism.
        levels: highest priority first; each is a ``Task``, an ``Impedance``, a ``HeldObject`` or a list of these, which
            then share one priority.
        posture: for the motion that the tasks leave free; without it that motion is undamped.
        limits: on torque, by the model's ``effort_limit``: "none"; "clip", each joint by itself; or "scale", everything
            beyond the compensation by one factor, which keeps the direction of motion.
        singular: treatment of directions in which a level has almost no mobility: "drop", they are left to the levels
            below and the posture; "damp", they stay with the level, with a force that goes continuously to zero with
            the mobility; "raise", a ``SingularError``. ``Command.levels`` reports them.
        threshold: the mobility below which a direction is singular, as a fraction of the point's mobility without the
            levels before.
        constraints: supports and loops, as in ``lw.constrained_dynamics``, which may be redundant; without the welds
            of held objects. None if left out.
        reactions: wrenches (k, 6), N and N m, on frame a of each constraint, in its axes, or a ``Reference`` to these
            6k numbers: of all constraint forces that let the robot move as it should, the nearest to these are used.
            Zero by default: the least forces.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> q, v = lw.neutral(person), [0.0] * 24
        >>> hand = lw.control.Task(lw.Point("left_hand", axes="position"), [0.3, 0.3, 1.0])
        >>> controller = lw.control.OperationalSpaceController(person, [hand], posture=lw.control.Posture(q))
        >>> controller.torque(0.0, q, v).shape
        (24,)
        >>> controller.command(0.0, q, v).levels[0].rank
        3
    """

    def __init__(
        self,
        model: Model,
        levels: Sequence[Goal | Sequence[Goal]],
        posture: Posture | None = None,
        *,
        limits: str = "none",
        singular: str = "drop",
        threshold: float = 1e-6,
        constraints: Constraints = None,
        reactions: Reference | ArrayLike | None = None,
    ) -> None:
        check_model(model)
        self.model, self.posture = model, posture
        self.levels = _as_levels(levels)
        self._singular = choice("singular", singular, HANDLING)
        self._threshold, self._limits = real(threshold), TorqueLimits(model, limits)
        if not 0.0 < self._threshold < 1.0:
            raise ArgumentError(f"threshold must be between 0 and 1, not {shown(threshold)}")
        goals = [goal for level in self.levels for goal in level]
        self._points: tuple[Point, ...] = tuple(point for goal in goals for point in goal.points)
        seen = (frame for goal in goals for frame in goal.seen)
        self._places: tuple[str | Point, ...] = (*self._points, *seen)
        as_frames(model, self._places)  # names are checked only once, here
        self._viscous, self._driven = model.damping, np.ones(model.nv)
        self._driven[[k for goal in goals for k in goal.passive(model)]] = 0.0
        self._goals, self._rows = goals, []
        first = 0
        for goal in goals:
            self._rows += [6 * first + row for row in goal.rows]
            first += len(goal.points)
        if not isinstance(posture, Posture | None):
            raise ArgumentError(f"posture must be an lw.control.Posture, not {shown(posture)}")
        if posture is not None:
            self._springs, self._damping = _posture_gains(model, posture)
        self._constraints = self._as_constraints(constraints, reactions)
        if not self._constraints:
            warn_of_motors("OperationalSpaceController", model, self._driven > 0.0)

    def _as_constraints(self, constraints: Constraints, reactions: Any) -> ControllerConstraints:
        model = self.model
        idle = (self._driven > 0.0) & ~model.actuated
        if reactions is not None and not constraints:
            raise ArgumentError("reactions are the wrenches of constraints; pass constraints, too")
        found = ControllerConstraints(model, constraints, self._points, idle, reactions)
        ends = {frozenset((each.frame_a, each.frame_b)) for each in found.held.constraints}
        for weld in (weld for goal in self._goals if isinstance(goal, HeldObject) for weld in goal.welds):
            if frozenset((weld.frame_a, weld.frame_b)) in ends:
                raise ArgumentError(
                    f"constraints hold {weld.frame_a!r} to {weld.frame_b!r}, and so does a held object of the levels; "
                    f"leave the welds of its hands out of constraints"
                )
        return found

    def _by_floats(self, t: float, q: Array, v: Array) -> Array:
        return self.command(t, q, v).torque

    def command(self, t: float, q: ArrayLike, v: ArrayLike) -> Command:
        """The torque with its parts, and the singular directions, as a ``Command``; arguments as of ``torque``."""
        with np.errstate(all="ignore"):  # the torque limits reject non-finite numbers
            return self._command(t, self._situation(*one_state(self.model, q, v)))

    def _compiled_law(self) -> ControlLaw | None:
        """The law for regular states, in which every level has full rank; the same as ``command`` to rounding."""
        plain = all(type(goal) in (Task, HeldObject, Impedance) for goal in self._goals)
        own = type(self).command is OperationalSpaceController.command
        if not plain or not own or not within("task_rows", len(self._rows)):
            return None
        structure = [[goal.structure for goal in level] for level in self.levels]
        posture = self.posture is not None, self.posture is not None and self.posture.q is not None
        limiting = self._limits.limiting
        what: tuple[Any, ...] = repr(structure), posture, limiting, self._singular, self._threshold
        what = *what, tuple(self._driven.tolist())
        followed: list[tuple[object, str]] = [(goal, name) for goal in self._goals for name in goal.follows]
        if self._constraints:
            followed.append((self._constraints, "reactions"))
            what = *what, self._constraints.kinds
        owners = [(self, "_limits"), (self, "posture")]
        name, model, places = "OperationalSpaceController", self.model, self._places
        return ControlLaw(name, model, places, followed, self._numbers, owners, self._regular, *what)

    def _numbers(self) -> list[tuple[object, str]]:
        """The attributes of the law for regular states besides references: gains and limits."""
        numbers: list[tuple[object, str]] = [(self, "_viscous"), (self._limits, "most")]
        if self._constraints:
            numbers.append((self._constraints, "placements"))
        for goal in self._goals:
            numbers += [(goal, "kp"), (goal, "kd")]
        if self.posture is not None:
            numbers.append((self, "_damping"))
            if self.posture.q is not None:
                numbers += [(self, "_springs"), (self.posture, "q")]
        return numbers

    def _regular(self, q: Array, v: Array, samples: list[Sample], numbers: list[Array]) -> Array:
        """Joint forces in a regular state, over traced arrays; NaN where a level is singular.

        All levels are then met exactly, so that together they are one task: F = Λ (a - J̇v - J M⁻¹ τ_posture).
        """
        model, points, rows = self.model, self._points, self._rows
        left, given = iter(samples), iter(numbers)
        viscous, most = next(given), next(given)
        at = self._at(next(given) if self._constraints else None)
        bias, none = nonlinear_effects(model, q, v) + viscous * v, np.empty((0, 0))
        places, velocity = forward_kinematics(model, q, self._places), frame_velocity(model, q, v, points).ravel()
        under = (at.held.constraints, at.placements) if isinstance(at, ConstrainedPoints) else ()
        now = Situation(model, q, v, places, none, none, none, velocity, mass_matrix(model, q), bias, *under)
        held, loads, first, seen = bias * self._driven, np.zeros(6 * len(points)), 0, len(points)
        accelerations = []
        for goal in self._goals:
            followed = [next(left) for _ in goal.follows]
            acceleration, load = goal.asked(followed, next(given), next(given), now, first, seen)
            accelerations.append(acceleration)
            loads = loads if load is None else loads + _between(load, 6 * first, len(loads))
            first, seen = first + len(goal.points), seen + len(goal.seen)
        missing = np.concatenate(accelerations) - at.drift(q, v)[rows]
        posture: Any = np.zeros(model.nv)
        if self.posture is not None:
            free, still = weightless(model), np.zeros(model.nv)
            posture = inverse_dynamics(free, q, still, -next(given) * v)
            if self.posture.q is not None:
                posture = posture + next(given) * difference(model, q, next(given))
            posture = posture * self._driven
            missing = missing - at.accelerations(q, posture)[rows]
        sizes = [sum(len(goal.rows) for goal in level) for level in self.levels]
        mobility = at.inertia_inverse(q)[np.ix_(rows, rows)]
        forces = regular_forces(mobility, missing, sizes, self._singular, self._threshold)
        wrenches = forces @ np.eye(len(loads))[rows]
        if isinstance(at, ConstrainedPoints):
            compensation = held + self._applied(q, loads)
            effort = self._applied(q, wrenches) + posture
            torque, compensation, _ = self._by_motors(at, q, v, effort, compensation, next(left))
            return limited(torque, compensation, self._limits.limiting, most)[0]
        torque = held + self._applied(q, loads + wrenches) + posture
        return limited(torque, held + self._applied(q, loads), self._limits.limiting, most)[0]

    def _at(self, placements: Any) -> AtPoints:
        """The points of the tasks, under constraints if placements that these hold are given."""
        if placements is not None:
            return self._constraints.points(placements)
        asked = as_frames(self.model, self._points)
        return AtPoints(asked, asked.method, "local", asked.offsets)

    def _by_motors(
        self, at: ConstrainedPoints, q: Array, v: Array, effort: Array, compensation: Array, reactions: Sample
    ) -> tuple[Array, Array, Array]:
        """The forces of motors for joint forces ``effort`` beyond the compensation, and of this alone; the wrenches of
        the constraints.
        """
        share = self._constraints
        needed = share.needed(at, q, v, effort, compensation)
        torque, wrenches = share.shared(at, q, v, needed, reactions.value)
        if self._limits.limiting != "none" or not is_traced(q):
            compensation = share.shared(at, q, v, compensation, reactions.value).torque
        return torque, compensation, wrenches

    def _applied(self, q: Array, wrenches: Array) -> Array:
        """Jᵀ f, the joint forces of wrenches (6m,) at the points, by one recursion over traced arrays."""
        model, loads = self.model, [np.zeros(6) for _ in self.model.bodies]
        for point, wrench in zip(self._points, wrenches.reshape(-1, 6), strict=True):
            felt = external_wrench(model, q, {point: wrench}, "local")
            loads = [own + more for own, more in zip(loads, felt, strict=True)]
        still = np.zeros(model.nv)
        return -inverse_dynamics(weightless(model), q, still, still, np.stack(loads))

    def _command(self, t: float, now: Situation) -> Command:
        hierarchy = Hierarchy(self.model.nv, self._singular, self._threshold)
        compensation, first, seen = now.bias * self._driven, 0, len(self._points)
        asked = []
        for level in self.levels:
            rows: list[int] = []
            parts = []
            for goal in level:
                acceleration, load = goal.wanted(t, now, first, seen)
                rows += [6 * first + row for row in goal.rows]
                parts.append(acceleration)
                if load is not None:
                    compensation = compensation + load @ now.jacobian[6 * first : 6 * first + len(load)]
                first, seen = first + len(goal.points), seen + len(goal.seen)
            asked.append((rows, np.concatenate(parts)))
        at = self._at(self._constraints.placements if self._constraints else None)
        J, responses, drift = now.jacobian, now.responses, now.drift
        if isinstance(at, ConstrainedPoints):
            J, responses, drift = at.jacobian(now.q), at.responses(now.q), at.drift(now.q, now.v)
        for rows, acceleration in asked:
            hierarchy.add(J[rows], responses[rows], acceleration - drift[rows])
        posture = np.zeros(self.model.nv)
        if self.posture is not None:
            posture = hierarchy.beneath(self._advised(now) * self._driven)
        wanted, reactions = compensation + hierarchy.forces + posture, np.zeros((0, 6))
        if isinstance(at, ConstrainedPoints):
            effort, told = hierarchy.forces + posture, self._constraints.reactions.at(t)
            wanted, compensation, reactions = self._by_motors(at, now.q, now.v, effort, compensation, told)
        torque, factor = self._limits(wanted, compensation)
        return Command(torque, compensation, posture, tuple(hierarchy.levels), factor, reactions)

    def _advised(self, now: Situation) -> Array:
        """The joint forces (nv,) of the posture's springs and dampers."""
        assert self.posture is not None
        forces = now.mass @ (-self._damping * now.v)
        if self.posture.q is not None:
            forces = forces + self._springs * difference(self.model, now.q, self.posture.q)
        return forces

    def _situation(self, q: Array, v: Array) -> Situation:
        model, points = self.model, self._points
        J = jacobian(model, q, points)
        places, responses = forward_kinematics(model, q, self._places), force_responses(model, q, points)
        bias = nonlinear_effects(model, q, v) + self._viscous * v
        drift, mass = jacobian_drift(model, q, v, points), mass_matrix(model, q)
        constraints = self._constraints.held.constraints
        return Situation(model, q, v, places, J, responses, drift, J @ v, mass, bias, constraints)


def _between(numbers: Array, first: int, count: int) -> Array:
    """The numbers, padded with zeros to ``count``, from index ``first``."""
    return np.concatenate([np.zeros(first), numbers, np.zeros(count - first - len(numbers))])


def _as_levels(levels: Sequence[Goal | Sequence[Goal]]) -> tuple[tuple[Goal, ...], ...]:
    if not is_listed(levels) or not levels:
        raise ArgumentError(f"levels must be a list of at least one lw.control.Task or HeldObject, not {shown(levels)}")
    result: list[tuple[Goal, ...]] = []
    for given in levels:
        level: tuple[Any, ...] = tuple(given) if isinstance(given, list | tuple) and given else (given,)
        for goal in level:
            if not isinstance(goal, Goal):
                raise ArgumentError(
                    f"levels must hold lw.control.Task and HeldObject objects, or lists of them, not {shown(goal)}"
                )
        result.append(level)
    return tuple(result)


def _posture_gains(model: Model, posture: Posture) -> tuple[Array, Array]:
    """Stiffness and damping of a posture; without the user's own, stiffness by the mass matrix there."""
    springs = posture.kp
    if posture.q is not None:
        there = as_array(model, "q of the posture", "configuration", posture.q)
        springs = 25.0 * mass_matrix(model, there).diagonal() if springs is None else springs
    return gains("the posture", 0.0 if springs is None else springs, posture.kd, model.nv)
