"""Whole-body control on the ground: accelerations and contact forces for tasks in priority, within friction cones and
torque limits.

The unknowns are x = (a, f), the joint accelerations and the corners' forces. They satisfy a linear equation,

    M a + h - Jᵀ f = 0      where there is no motor,  J a + J̇v = -D J v        at supporting corners,

whose solutions are x₀ + Z z. Each level then finds the z that comes nearest to the accelerations of its goals, within
the inequalities, and leaves to the levels below it the part of Z that does not change these accelerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, real
from linkwork.control.gains import gains
from linkwork.control.goals import Situation, Task, one_state
from linkwork.control.operational_space import Posture
from linkwork.control.quadratic import solver_of
from linkwork.control.references import Reference, as_reference
from linkwork.control.supports import Moving, Support, corner_rows
from linkwork.dynamics.arguments import Array, as_array, as_frames, check_model
from linkwork.dynamics.derivatives import momentum_derivatives
from linkwork.dynamics.dynamics import centre_of_mass, mass_matrix, nonlinear_effects
from linkwork.dynamics.kinematics import difference, forward_kinematics, jacobian, jacobian_drift
from linkwork.errors import ArgumentError, SingularError, shown, warn_caller
from linkwork.model.model import WORLD, Model, Point

_ROUNDING = 1e-9
"""Singular values below this fraction of the largest are rounding."""
_HARDLY = 1e-3
"""Supports do not constrain directions in which joints move corners by less than this fraction of the largest. Corners
that constrain the same motion twice, up to the ground's softness, would otherwise require unbounded accelerations.
"""
_PRIOR = 1e-8
"""The weight of z itself in each level, against the accelerations of its goals: motion without a goal stays small."""


class CentreOfMass:
    """Let the centre of mass follow a reference, in a ``WholeBodyController``: ë + D ė + K e = 0.

    Args:
        reference: a ``Reference`` of shape (3,), or a constant position (3,), m, in world axes.
        kp: K, 1/s²: one number, or one for each axis of the world.
        kd: D, 1/s, likewise; critical, 2 √K, if omitted.

    Example:
        >>> import linkwork as lw
        >>> lw.control.CentreOfMass([0.0, 0.0, 0.9], kp=25.0).kd
        array([10., 10., 10.])
    """

    points: tuple[Point, ...] = ()

    def __init__(self, reference: Reference | ArrayLike, kp: ArrayLike = 100.0, kd: ArrayLike | None = None) -> None:
        self.reference = as_reference("reference of the centre of mass", reference)
        if self.reference.shape != (3,):
            raise ArgumentError(f"reference of the centre of mass must have shape (3,), not {self.reference.shape}")
        self.kp, self.kd = gains("the centre of mass", kp, kd, 3)


@dataclass(frozen=True)
class WholeBodyCommand:
    """The result of a whole-body controller in one state.

    Attributes:
        torque: (nv,), N or N m, to be applied; zero where there is no motor.
        acceleration: (nv,), caused by it, rad/s² or m/s².
        forces: (k, 3), N, world axes: on the corners of all supports, in order.
        errors: for each level, the desired accelerations minus those reached (m/s², rad/s²), before weights.
    """

    torque: Array
    acceleration: Array
    forces: Array
    errors: tuple[Array, ...]


Goals = Task | CentreOfMass
Weighted = Goals | tuple[Goals, float]


class WholeBodyController:
    """Lets a robot that stands on supports follow tasks, with feasible contact forces and motor torques.

    Args:
        model: the mechanism; joints that ``model.actuated`` leaves out, such as a floating base, get no torque.
        levels: highest priority first; each is a ``Task``, a ``CentreOfMass``, or a list of these, which share one
            priority, each alone or as a pair with its weight: ``[(com, 10.0), hand]``.
        supports: the ``Support`` objects that it stands on; the list may be changed between calls.
        posture: beneath all levels; its kp, divided by the diagonal of M, and its kd give the desired joint
            accelerations.
        limits: on torque: "effort", by the model's ``effort_limit``; "none".
        settling: D, 1/s, damping of a corner's velocity. Corners that cannot all be at rest at once, such as those of a
            rotating sole, are so in the least-squares sense.
        solver: "daqp" or "piqp", the package that solves the quadratic programs.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
        >>> box = builder.build()
        >>> corners = [[0.1, 0.1, 0.0], [0.1, -0.1, 0.0], [-0.1, 0.1, 0.0], [-0.1, -0.1, 0.0]]
        >>> standing = lw.control.Support("box", corners)
        >>> controller = lw.control.WholeBodyController(box, [], [standing])
        >>> controller.command(0.0, lw.neutral(box), [0.0] * 6).forces.sum(axis=0).round(6) + 0.0
        array([ 0.  ,  0.  , 19.62])
    """

    def __init__(
        self,
        model: Model,
        levels: Sequence[Weighted | Sequence[Weighted]],
        supports: Sequence[Support] = (),
        posture: Posture | None = None,
        *,
        limits: str = "effort",
        settling: float = 20.0,
        solver: str = "daqp",
    ) -> None:
        check_model(model)
        self.model, self.posture, self.levels = model, posture, _as_levels(levels)
        if not isinstance(supports, list | tuple):
            raise ArgumentError(f"supports must be a list of lw.control.Support objects, not {shown(supports)}")
        self.supports: list[Support] = list(supports)
        self._solve, self._settling = solver_of(solver), real(settling)
        if not isinstance(limits, str) or limits not in ("effort", "none"):
            raise ArgumentError(f"limits must be 'effort' or 'none', not {shown(limits)}")
        self._most = model.effort_limit if limits == "effort" else np.full(model.nv, np.inf)
        self._driven = model.actuated
        if not 0.0 <= self._settling < np.inf:
            raise ArgumentError(f"settling must be finite and not negative (1/s), not {shown(settling)}")
        self._mass = model.mass
        points = [point for level in self.levels for goal, _ in level for point in goal.points]
        as_frames(model, (*points, *self._frames()))  # names are checked only once, here
        if not isinstance(posture, Posture | None):
            raise ArgumentError(f"posture must be an lw.control.Posture, not {shown(posture)}")
        if posture is not None:
            springs = posture.kp
            if posture.q is not None:
                inertia = mass_matrix(model, as_array(model, "q of the posture", "configuration", posture.q)).diagonal()
                springs = 25.0 if springs is None else finite_array("kp of the posture", springs) / inertia
            self._springs, self._damping = gains(
                "the posture", 0.0 if springs is None else springs, posture.kd, model.nv
            )

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Joint forces (nv,), N or N m, at time t (s) in the state q (nq,), v (nv,)."""
        return self.command(t, q, v).torque

    def command(self, t: float, q: ArrayLike, v: ArrayLike) -> WholeBodyCommand:
        """The torque with the accelerations and contact forces that belong to it; arguments as of ``torque``.

        Raises:
            SingularError: if no forces within the limits keep the supports at rest.
        """
        here, speed = one_state(self.model, q, v)
        now, moving = self._situation(here, speed)
        nv, parts = self.model.nv, [corner_rows(each, moving[each.frame], moving[each.on]) for each in self.supports]
        across = np.concatenate([np.zeros((0, nv)), *(rows for rows, _ in parts)])
        along = np.concatenate([np.zeros(0), *(drift for _, drift in parts)])
        count = len(across)
        x, free = self._feasible(now, across, along)
        A, b = self._inequalities(now, across, moving)
        errors = []
        for wanted in [*([self._wanted(goal, w, t, now) for goal, w in level] for level in self.levels), None]:
            if wanted is None:
                rows, right, weights = self._beneath(now, count)
            else:
                rows, right, weights = (np.concatenate(parts) for parts in zip(*wanted, strict=True))
            x, free = self._level(x, free, rows * weights[:, None], right * weights, A, b, t)
            if wanted is not None:
                errors.append(right - rows @ x)
        a, f = x[:nv], x[nv:]
        torque = np.where(self._driven, now.mass @ a + now.bias - across.T @ f, 0.0)
        return WholeBodyCommand(torque, a, f.reshape(-1, 3), tuple(errors))

    def _frames(self) -> list[str]:
        """The frames of the supports and those that they stand on, each once, without the world."""
        for support in self.supports:
            if not isinstance(support, Support):
                raise ArgumentError(f"supports must hold lw.control.Support objects, not {shown(support)}")
        names = dict.fromkeys(name for support in self.supports for name in (support.frame, support.on))
        return [name for name in names if name != WORLD]

    def _situation(self, q: Array, v: Array) -> tuple[Situation, dict[str, Moving]]:
        """The situation of the goals, with six rows per point in its own axes; and the motion of supports' frames."""
        model, names = self.model, self._frames()
        points = [point for level in self.levels for goal, _ in level for point in goal.points]
        J, drift, places = np.zeros((0, model.nv)), np.zeros(0), np.zeros((0, 4, 4))
        if points or names:
            places = forward_kinematics(model, q, [*points, *names])
        if points:
            J, drift = jacobian(model, q, points), jacobian_drift(model, q, v, points)
        moving = {WORLD: Moving(np.eye(4), np.zeros((6, model.nv)), np.zeros(6), np.zeros(6))}
        if names:
            rows = jacobian(model, q, names, "local_world_aligned").reshape(-1, 6, model.nv)
            rates = jacobian_drift(model, q, v, names, "local_world_aligned").reshape(-1, 6)
            known = zip(places[len(points) :], rows, rates, rows @ v, strict=True)
            moving |= {name: Moving(*each) for name, each in zip(names, known, strict=True)}
        mass, bias = mass_matrix(model, q), nonlinear_effects(model, q, v) + model.damping * v
        return Situation(model, q, v, places, J, np.empty((0, 0)), drift, J @ v, mass, bias), moving

    def _feasible(self, now: Situation, across: Array, drift: Array) -> tuple[Array, Array]:
        """x₀ and Z: all accelerations and forces that satisfy the equations of motion and the supports."""
        idle, count = ~self._driven, len(across)
        motion = np.concatenate((now.mass[idle], -across.T[idle]), axis=1)
        x, free = _solutions(motion, -now.bias[idle], _ROUNDING)
        if np.abs(motion @ x + now.bias[idle]).max(initial=0.0) > 1e-6 * (1.0 + np.abs(now.bias).max(initial=0.0)):
            raise SingularError("nothing holds what no motor drives in this state: its weight finds no support")
        standing = np.concatenate((across, np.zeros((count, count))), axis=1)
        y, left = _solutions(standing @ free, -drift - self._settling * (across @ now.v) - standing @ x, _HARDLY)
        return x + free @ y, free @ left

    def _inequalities(self, now: Situation, across: Array, moving: dict[str, Moving]) -> tuple[Array, Array]:
        """A x <= b: the friction pyramids, and the torque limits."""
        nv, count, parts, right = self.model.nv, len(across), [], []
        column = nv
        for support in self.supports:
            sides, bounds = support.faces()
            faces = sides @ moving[support.on].place[:3, :3].T
            for _ in support.corners:
                rows = np.zeros((len(faces), nv + count))
                rows[:, column : column + 3] = faces
                parts.append(rows)
                right.append(bounds)
                column += 3
        bounded = self._driven & np.isfinite(self._most)
        torque = np.concatenate((now.mass[bounded], -across.T[bounded]), axis=1)
        parts += [torque, -torque]
        right += [self._most[bounded] - now.bias[bounded], self._most[bounded] + now.bias[bounded]]
        return np.concatenate(parts), np.concatenate(right)

    def _wanted(self, goal: Goals, weight: float, t: float, now: Situation) -> tuple[Array, Array, Array]:
        """Rows of x, their desired values, and the square roots of their weights."""
        nv, size = self.model.nv, self.model.nv + 3 * sum(len(support.corners) for support in self.supports)
        if isinstance(goal, CentreOfMass):
            sample = goal.reference.at(t)
            rate, matrix = momentum_derivatives(self.model, now.q, now.v)
            J, drift = matrix[:3] / self._mass, rate[:3] @ now.v / self._mass
            off = centre_of_mass(self.model, now.q) - sample.value
            lag = J @ now.v - sample.velocity
            right = sample.acceleration - goal.kd * lag - goal.kp * off - drift
        else:
            first = self._first(goal)
            rows = [6 * first + row for row in goal.rows]
            J = now.jacobian[rows]
            right = goal.wanted(t, now, first, 0).acceleration - now.drift[rows]
        padded = np.zeros((len(J), size))
        padded[:, :nv] = J
        return padded, right, np.full(len(J), np.sqrt(weight))

    def _first(self, wanted: Goals) -> int:
        """The index of a goal's first point among those of all goals."""
        first = 0
        for level in self.levels:
            for goal, _ in level:
                if goal is wanted:
                    return first
                first += len(goal.points)
        raise AssertionError("a goal of no level")

    def _beneath(self, now: Situation, count: int) -> tuple[Array, Array, Array]:
        """The lowest level: the posture of the actuated joints, and an even distribution of forces."""
        nv = self.model.nv
        wanted = np.zeros(nv)
        if self.posture is not None:
            wanted = -self._damping * now.v
            if self.posture.q is not None:
                wanted = wanted + self._springs * difference(self.model, now.q, self.posture.q)
        weights = np.concatenate((np.where(self._driven, 1.0, 1e-3), np.full(count, 1e-3)))
        return np.eye(nv + count), np.concatenate((wanted, np.zeros(count))), weights

    def _level(
        self, x: Array, free: Array, rows: Array, right: Array, A: Array, b: Array, t: float
    ) -> tuple[Array, Array]:
        """The x nearest to the desired values of a level, and the directions that remain for the levels below it."""
        obeyed = not (A @ x > b + 1e-6 * (1.0 + np.abs(b))).any()
        if not free.shape[1]:
            if not obeyed:
                raise SingularError(_no_forces(t))
            return x, free
        seen, missing = rows @ free, right - rows @ x
        H = seen.T @ seen
        H[np.diag_indices_from(H)] += _PRIOR * max(1.0, float(H.diagonal().max()))
        z = self._solve(H, -(seen.T @ missing), A @ free, b - A @ x)
        if z is None:
            if not obeyed:
                raise SingularError(_no_forces(t))
            warn_caller(f"the solver has not solved for a level of tasks at t = {t:.6g} s; the level is left out there")
            z = np.zeros(free.shape[1])
        _, s, V = np.linalg.svd(seen)
        rank = int((s > _ROUNDING * s[0]).sum()) if s.size and s[0] > 0.0 else 0
        return x + free @ z, free @ V[rank:].T


def _solutions(E: Array, e: Array, least: float) -> tuple[Array, Array]:
    """x₀ and Z: E (x₀ + Z z) is as close to e as possible, for all z; singular values below ``least`` times the largest
    count as zero.
    """
    if not len(E):
        return np.zeros(E.shape[1]), np.eye(E.shape[1])
    U, s, V = np.linalg.svd(E)
    rank = int((s > least * s[0]).sum()) if s.size else 0
    return V[:rank].T @ ((U.T @ e)[:rank] / s[:rank]), V[rank:].T


def _no_forces(t: float) -> str:
    return (
        f"at t = {t:.6g} s no forces within the cones of friction and the limits of torque let the supports stand: the "
        f"state is out of balance, too fast, or the limits are too low"
    )


def _as_levels(levels: Sequence[Weighted | Sequence[Weighted]]) -> tuple[tuple[tuple[Goals, float], ...], ...]:
    if not isinstance(levels, list | tuple):
        raise ArgumentError(f"levels must be a list of lw.control.Task and CentreOfMass objects, not {shown(levels)}")
    result = []
    for given in levels:
        together = given if isinstance(given, list) else [given]
        level = []
        for each in together:
            goal, weight = each if isinstance(each, tuple) and len(each) == 2 else (each, 1.0)
            if not isinstance(goal, Task | CentreOfMass):
                raise ArgumentError(
                    f"levels must hold lw.control.Task and CentreOfMass objects, pairs of these with a weight, or "
                    f"lists of them, not {shown(goal)}"
                )
            if not 0.0 < real(weight) < np.inf:
                raise ArgumentError(f"the weight of a task must be a positive number, not {shown(weight)}")
            level.append((goal, real(weight)))
        result.append(tuple(level))
    return tuple(level for level in result if level)
