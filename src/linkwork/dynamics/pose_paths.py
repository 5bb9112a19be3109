"""Configurations along a path of poses, each found from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import one_or_each, seconds, switch
from linkwork.batches import spread
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, as_frames, as_given
from linkwork.dynamics.inverse_kinematics import (
    FramesToTargets,
    IKResult,
    inverse_kinematics,
    problem_of,
    solutions,
)
from linkwork.dynamics.pose_errors import as_placements
from linkwork.errors import ArgumentError
from linkwork.model.model import Model


def follow_path(
    model: Model,
    targets: ArrayLike,
    frames: Frames,
    q0: ArrayLike | None = None,
    *,
    dt: float | None = None,
    velocity_limit: ArrayLike | None = None,
    limits: bool = True,
    tolerance: float | Sequence[float] = 1e-6,
    restarts: int = 16,
    weights: ArrayLike | None = None,
    posture: ArrayLike | None = None,
    couplings: bool = True,
) -> IKResult:
    """Configurations along a path of target placements, each near the one before.

    Each is found by ``lw.inverse_kinematics`` from the last one, without restarts. With ``dt`` no joint is faster than
    its limit: where the solution is too far away for one step, another one within reach is searched for; if there is
    none, the joints go towards the solution as fast as they may, off the path, until they have caught up.

    Args:
        model: the mechanism.
        targets: target placements of the m frames along the path (..., steps, m, 4, 4), for one path or a batch of
            them, which are followed side by side; (steps, 4, 4) is accepted for one path of one frame.
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, as for ``lw.inverse_kinematics``.
        q0: where the search for the first configuration begins (..., nq); if left out ``posture``, or the middle of the
            limits. A robot that is at q0 begins its path there.
        dt: time from each target to the next (s), to limit velocities; without it joints may jump.
        velocity_limit: largest velocities (nv,), rad/s or m/s, or one for all; ``model.velocity_limit`` if left out.
            Ball and free joints are not limited.
        limits: whether to keep within the position limits of the model.
        tolerance: largest error of a frame, m and rad; or two numbers, for distances and angles.
        restarts: the number of further initial configurations that may be tried for the first target.
        weights: weights of the frames, as for ``lw.inverse_kinematics``.
        posture: a configuration (..., nq) to stay near, if there are many solutions: a closed path then ends as it
            began.
        couplings: whether joints coupled by ``model.constraints`` follow the joints they are coupled to.

    Returns:
        An ``IKResult`` with a row for each target: q (..., steps, nq), error, converged, iterations.

    Example:
        Half a turn of a circle takes at least 1.6 s if the first joint may do 2 rad/s; here it takes 2 s.

        >>> import linkwork as lw
        >>> import numpy as np
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> angles = np.linspace(0.0, np.pi, 101)
        >>> circle = np.array([lw.placement((2.0 * np.cos(x), 2.0 * np.sin(x), 0.0)) for x in angles])
        >>> tip = lw.Point("tip", axes="position")
        >>> motion = lw.follow_path(arm, circle, [tip], [0.0, 1.0, 1.0], dt=0.02, velocity_limit=2.0)
        >>> motion.q.shape, bool(motion.converged.all()), bool(abs(np.diff(motion.q, axis=0)).max() < 0.04)
        ((101, 3), True, True)
    """
    point_set = as_frames(model, frames)
    problem = problem_of(point_set, posture is not None, switch("couplings", couplings))
    aims = _as_path(targets, len(point_set.points))
    change = _change(model, dt, velocity_limit)
    choices: dict[str, Any] = {"limits": limits, "tolerance": tolerance, "weights": weights, "couplings": couplings}
    first = inverse_kinematics(model, aims[..., 0, :, :, :], frames, q0, restarts=restarts, posture=posture, **choices)
    batch, steps = first.q.shape[:-1], aims.shape[-4]
    rows, inner = prod(batch), len(batch)
    fixed = [*problem.fixed(limits, 2.0 * problem.length, 0), problem.weights(weights), problem.tolerances(tolerance)]
    path = _Path(problem, fixed, [] if posture is None else _rows(model, posture, batch), change)
    aims = spread(aims, 4, batch).reshape((rows, steps, *aims.shape[-3:]))
    results = [IKResult(*(each.reshape((rows, *each.shape[inner:])) for each in first))]
    start = results[0].q
    for step in range(1, steps):
        following, start = path.following(results[-1].q, start, aims[:, step])
        results.append(following)
    together = (np.stack(each, axis=1) for each in zip(*results, strict=True))
    return IKResult(*(each.reshape((*batch, *each.shape[1:])) for each in together))


def _as_path(targets: Any, count: int) -> Array:
    """Placements (..., steps, m, 4, 4)."""
    if is_traced(targets):
        raise ArgumentError("lw.follow_path cannot be part of a compiled function; lw.inverse_kinematics can")
    aims = as_placements("targets", targets)
    aims = aims[:, None] if count == 1 and aims.ndim == 3 else aims
    if aims.ndim < 4 or aims.shape[-3] != count or not aims.shape[-4]:
        wanted = f"(..., steps, {count}, 4, 4) for {count} frame(s)"
        raise ArgumentError(f"targets must have shape {wanted}, but has shape {aims.shape}")
    return aims


def _change(model: Model, dt: float | None, velocity_limit: Any) -> Array:
    """The largest change of each degree of freedom in a step (nv,)."""
    if dt is None:
        if velocity_limit is not None:
            raise ArgumentError("velocity_limit needs dt, the time from each target to the next")
        return np.full(model.nv, np.inf)
    speeds = model.velocity_limit
    if velocity_limit is not None:
        speeds = np.array(one_or_each("velocity_limit", velocity_limit, model.nv))
    if not (speeds >= 0.0).all():
        raise ArgumentError(f"velocity_limit must not be negative, but is {speeds.min():g}")
    return seconds("dt", dt) * speeds


def _rows(model: Model, posture: ArrayLike, batch: tuple[int, ...]) -> list[Array]:
    pairs, _ = as_given(model, [("posture", "configuration")], [posture])
    return [spread(*pair, batch).reshape((prod(batch), model.nq)) for pair in pairs if pair is not None]


class _Path:
    """The search along a batch of paths: the arguments of its problem, the postures (none, or an array of rows), and
    the largest change of each coordinate in a step.
    """

    def __init__(self, problem: FramesToTargets, fixed: list[Array], postures: list[Array], change: Array) -> None:
        self.problem, self.fixed, self.postures = problem, fixed, postures
        self.change = problem.coordinates.largest(change)

    def following(self, before: Array, start: Array, aims: Array) -> tuple[IKResult, Array]:
        """The results for the next targets, after the configurations ``before``, and where the next search starts."""
        own = self.problem.coordinates
        goal = solutions(self.problem, [start, *self.postures], self.fixed, aims)
        here = before[:, own.q]
        low, high = np.maximum(self.fixed[0], here - self.change), np.minimum(self.fixed[1], here + self.change)
        there = own.whole(np.clip(goal.q[:, own.q], low, high), goal.q)
        far = np.flatnonzero((there != goal.q).any(axis=-1))
        if not far.size:
            return goal, goal.q
        box = [low[far], high[far], *self.fixed[2:]]
        near = solutions(self.problem, [each[far] for each in (there, *self.postures)], box, aims[far])
        lengths = self.problem.lengths(there[far], aims[far])
        reached = np.all(lengths <= self.fixed[-1], axis=-1)
        near = near._replace(iterations=near.iterations + goal.iterations[far])
        late = IKResult(there[far], self.problem.errors(lengths), reached, near.iterations)
        results = IKResult(goal.q.copy(), goal.error.copy(), goal.converged.copy(), goal.iterations.copy())
        for result, one, other in zip(results, near, late, strict=True):
            result[far] = np.where(near.converged.reshape((-1, *(1,) * (one.ndim - 1))), one, other)
        return results, np.where(results.converged[:, None], results.q, goal.q)
