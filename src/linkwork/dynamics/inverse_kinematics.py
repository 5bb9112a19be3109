"""Inverse kinematics: configurations that bring frames to target placements, for many targets at once.

The solver is ``least_squares`` with the pose errors of the frames, in the world's axes, as residuals; it is traced as a
whole for a model and its frames. Limits, weights and tolerances are arguments of the compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import array, integer, memory_for, positive, several, switch
from linkwork.batches import Given, broadcast, spread
from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.dynamics.arguments import Array, Frames, PointSet, as_frames, as_given
from linkwork.dynamics.kinematics import forward_kinematics, jacobian, neutral
from linkwork.dynamics.pose_errors import as_placements, pose_error
from linkwork.dynamics.search_coordinates import begun_within, followers, within_limits
from linkwork.dynamics.searches import Problem
from linkwork.engine.plans.task import moved
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.model import Model

_SLICE = 20_000
"""Targets after which control returns to Python, for instance to handle Ctrl-C."""
_MOST_RESTARTS = 10_000


class IKResult(NamedTuple):
    """The result of ``lw.inverse_kinematics``, one row for each target.

    Attributes:
        q: configurations (..., nq); the best ones found where none converged.
        error: pose errors (..., m, 2) of each frame: distance (m) and angle (rad), 0 for axes that are not asked for.
        converged: whether all errors are within the tolerance (...).
        iterations: configurations evaluated (...).
    """

    q: Array
    error: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]


def inverse_kinematics(
    model: Model,
    targets: ArrayLike,
    frames: Frames,
    q0: ArrayLike | None = None,
    *,
    limits: bool = True,
    tolerance: float | Sequence[float] = 1e-6,
    restarts: int = 16,
    weights: ArrayLike | None = None,
    posture: ArrayLike | None = None,
    couplings: bool = True,
) -> IKResult:
    """Inverse kinematics: configurations that bring frames to target placements.

    Damped least squares within the position limits, from q0 and, if that does not converge, from further initial
    configurations spread evenly over the limits. The whole search runs in one kernel, with each target on a lane of its
    own. A target's result has the same bits alone, in any batch and on any number of threads.

    Args:
        model: the mechanism.
        targets: target placements of the m frames (..., m, 4, 4), as ``lw.forward_kinematics`` returns them; (4, 4) is
            accepted for one target of one frame.
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, whose ``axes`` may select the position or the
            rotation alone.
        q0: initial configuration (..., nq); if left out ``posture``, or the middle of the limits. Joints that move none
            of the frames stay there. Coordinates outside the limits start at the nearest limit, with a warning.
        limits: whether to keep within the position limits of the model; they are then never violated.
        tolerance: largest error of a frame, m and rad; or two numbers, for distances and angles.
        restarts: the number of further initial configurations that may be tried. If none converges, the search returns
            once to the nearest configuration, with the joints that are at a limit in the middle of their ranges.
        weights: weights of the frames for targets that cannot all be reached: (m,), or (m, 2) for distances and
            angles, positive. Angles are weighted as distances: by the path of a point at a typical distance from the
            frame's joints.
        posture: a configuration (..., nq) to stay near, if there are many solutions; it may be outside the limits.
        couplings: whether joints coupled by ``model.constraints``, such as mimic joints, follow the joints they
            are coupled to, with both inside their limits. Other constraints are ignored.

    Returns:
        An ``IKResult``: q, error, converged, iterations. There is no ``out``: these arrays cost little compared with
        the search, and not all of them are float64.

    Warns:
        LinkworkWarning: if q0 is outside the limits and ``limits`` is set; it names the joint.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(4)
        >>> q, _ = lw.random_state(arm, 0, shape=100)
        >>> targets = lw.forward_kinematics(arm, q, ["tip"])
        >>> found = lw.inverse_kinematics(arm, targets, ["tip"])
        >>> bool(found.converged.all()), bool((found.error <= 1e-6).all()), found.q.shape
        (True, True, (100, 4))
    """
    point_set = as_frames(model, frames)
    problem = problem_of(point_set, posture is not None, switch("couplings", couplings))
    kept = switch("limits", limits)
    reach = problem.tolerances(tolerance)
    begin, again = posture if q0 is None else q0, integer("restarts", restarts, 0, _MOST_RESTARTS)
    fixed = [*problem.fixed(kept, 2.0 * problem.length, again, begin is None), problem.weights(weights), reach]
    inside = any(map(is_traced, (targets, q0, posture)))  # called in a function that is being traced
    aims = _as_targets(targets, len(point_set.frames), inside)
    near = [("q0", q0), ("posture", posture)] if q0 is not None or posture is None else [("posture", posture)] * 2
    starts, leading = _starts(model, [(name, x) for name, x in near if x is not None] or [("q0", problem.middle(kept))])
    if inside:
        return _traced(problem, [start for start, _ in starts], fixed, aims, kept)
    batch = broadcast(["targets", "configurations"], [aims.shape[:-3], leading])
    count = prod(batch)
    with memory_for("targets and configurations", (count, 4 * model.nq + 18 * len(point_set.frames))):
        if kept and begin is not None:  # a posture may be outside the limits
            (q, axes), following = starts[0], problem.coordinates.followers
            starts[0] = within_limits(model, q) if q0 is None else begun_within(model, "q0", q, following), axes
        own = [spread(*each, batch).reshape((count, model.nq)) for each in starts]
        aims = spread(aims, 3, batch).reshape((count, *aims.shape[-3:]))
    rows = solutions(problem, own, fixed, aims)
    return IKResult(*(each.reshape((*batch, *each.shape[1:])) for each in rows))


def _starts(model: Model, near: list[tuple[str, ArrayLike]]) -> tuple[list[Given], tuple[int, ...]]:
    """Configurations by the names of their arguments, checked, and the leading axes of all."""
    pairs, leading = as_given(model, [(name, "configuration") for name, _ in near], [q for _, q in near])
    return [pair for pair in pairs if pair is not None], leading


def solutions(problem: FramesToTargets, own: list[Array], fixed: list[Array], aims: Array) -> IKResult:
    """The results for rows of configurations (and postures) and targets, some at a time; ``fixed`` are the arguments of
    the search, for all rows or a row for each.
    """
    count, reach = len(aims), fixed[-1]
    with memory_for("configurations", (count, problem.model.nq)):
        q, lengths, iterations = np.empty((count, problem.model.nq)), np.empty((count, len(reach))), np.empty(count)
    for first in range(0, count, _SLICE):
        part = slice(first, first + _SLICE)
        some = [x[part] if x.ndim > 1 else x for x in fixed]
        solution = problem.solved(own[0][part], *some, *(x[part] for x in own[1:]), aims[part])
        for result, rows in zip((q, lengths, iterations), solution, strict=True):
            result[part] = rows
    lost = np.flatnonzero(np.isnan(lengths).any(axis=-1))
    if lost.size:
        forward_kinematics(
            problem.model, own[0][lost[0]], problem.point_set.points
        )  # raises one for invalid quaternions
        raise SingularError(f"inverse_kinematics: the numbers of target {lost[0]} overflow; begin with smaller ones")
    return IKResult(q, problem.errors(lengths), np.all(lengths <= reach, axis=-1), iterations.astype(np.int64))


def _as_targets(value: Any, count: int, inside: bool) -> Array:
    """Placements (..., m, 4, 4); (4, 4) is accepted for one frame. Those ``inside`` a traced function are not checked
    further.
    """
    targets: Array = traced(numbers(value)) if inside else as_placements("targets", value)
    if count == 1 and targets.ndim == 2:
        return targets[None]
    if targets.ndim < 3 or targets.shape[-3:] != (count, 4, 4):
        wanted = f"(..., {count}, 4, 4) for {count} frame(s)"
        hint = "; targets[..., None, :, :] are many targets of one frame" if count == 1 else ""
        raise ArgumentError(f"targets must have shape {wanted}, but has shape {targets.shape}{hint}")
    return targets


def _traced(problem: FramesToTargets, own: list[Any], fixed: list[Array], aims: Any, kept: bool) -> IKResult:
    """The result for a single traced state."""
    if any(each.ndim != 1 for each in own) or aims.ndim != 3:
        raise ArgumentError("targets, q0 and posture must be of one state here, without leading axes")
    begin = within_limits(problem.model, own[0]) if kept else own[0]
    q, lengths, total = problem.text(begin, *fixed, *own[1:], aims)
    return IKResult(q, problem.errors(lengths), (lengths <= fixed[-1]).all(), total)


# The problem


def problem_of(point_set: PointSet, posture: bool, coupled: bool) -> FramesToTargets:
    """The problem of some frames of a model, cached."""
    if not point_set.frames:
        raise ArgumentError("frames must name at least one frame")
    key = "inverse_kinematics", posture, coupled
    problem: FramesToTargets | None = point_set.answers.get(key)
    if problem is None:
        problem = point_set.answers[key] = FramesToTargets(point_set, posture, coupled)
    return problem


class FramesToTargets(Problem):
    """Frames of a model that are to be brought to targets.

    Attributes:
        places: index of each group of residuals in the flattened distances and angles (m, 2).
        length: (m) by which angles are multiplied to be comparable with distances; 1 if only one kind is present.
    """

    name = "inverse_kinematics"

    def __init__(self, point_set: PointSet, posture: bool, coupled: bool) -> None:
        self.point_set = point_set
        parts = {"pose": (0, 1), "position": (0,), "rotation": (1,)}
        self.places = [2 * k + part for k, point in enumerate(point_set.points) for part in parts[point.axes]]
        groups = [range(3 * k, 3 * k + 3) for k in range(len(self.places))]
        frames = moved(point_set.frames, point_set.offsets)
        following = followers(point_set.model) if coupled else []
        super().__init__(point_set.model, frames, [frame.body for frame in frames], groups, posture, following)
        self.argument = "targets", (len(frames), 4, 4)
        self.what = self.places, self.coordinates.followers
        self.length, self.size = self._measured()
        self._middles: dict[bool, Array] = {}
        self._equal = np.repeat((np.ones((len(frames), 2)) * (1.0, self.length)).ravel()[self.places], 3)

    def residuals(self, q: Any, argument: Any) -> tuple[Any, Any]:
        """Pose errors of the frames, and J, both in the world's axes."""
        points = self.point_set.points
        poses = forward_kinematics(self.model, q, points)
        J = jacobian(self.model, q, points, "local_world_aligned")
        poses = pose_error(poses, argument, "local_world_aligned")
        return self.point_set.rows(poses.reshape((*poses.shape[:-2], -1)), -1), J

    def errors(self, lengths: Any) -> Any:
        """Distances and angles of all frames (..., m, 2) from the lengths of the residuals."""
        errors = np.zeros_like(lengths, shape=(*lengths.shape[:-1], 2 * len(self.frames)))
        errors[..., self.places] = lengths
        return errors.reshape((*lengths.shape[:-1], len(self.frames), 2))

    def _measured(self) -> tuple[float, float]:
        """Length and size, measured from J at sample configurations."""
        J = jacobian(self.model, self.configurations(), self.point_set.points, "local_world_aligned")
        J = self.coordinates.columns(J) if self.coordinates.followers else J
        squares = (J * J).reshape((len(J), len(self.places), -1)).sum(axis=-1).mean(axis=0)
        parts = [[square for square, place in zip(squares, self.places, strict=True) if place % 2 == k] for k in (0, 1)]
        distances, angles = (float(np.mean(part)) if part else 0.0 for part in parts)
        length = float(np.sqrt(distances / angles)) if distances > 0.0 and angles > 0.0 else 1.0
        return length, max(distances, length**2 * angles) / 3.0 or 1.0

    def middle(self, kept: bool) -> Array:
        """The middle of the limits if they are kept; the neutral configuration where there are none."""
        if kept not in self._middles:
            rest, lower, upper = neutral(self.model), self.model.lower_limit, self.model.upper_limit
            with np.errstate(all="ignore"):
                middle = 0.5 * lower + 0.5 * upper
            self._middles[kept] = np.where(np.isfinite(middle) & (lower <= upper) & kept, middle, rest)
        return self._middles[kept]

    def weights(self, weights: Any) -> Array:
        """Weights of each residual: those given, with angles scaled as distances."""
        if weights is None:
            return self._equal
        count, factors = len(self.frames), array("weights", weights)
        if factors.shape not in ((count,), (count, 2)):
            raise ArgumentError(f"weights must have shape ({count},) or ({count}, 2), not {factors.shape}")
        if not (np.isfinite(factors).all() and (factors > 0.0).all()):
            raise ArgumentError(
                "weights must be positive and finite; to leave out the position or the rotation of a frame, pass "
                'lw.Point(frame, axes="rotation") or "position"'
            )
        each = factors[:, None] * np.ones(2) if factors.ndim == 1 else factors
        return np.repeat(each.ravel()[self.places], 3) * self._equal

    def tolerances(self, tolerance: Any) -> Array:
        """Tolerances of each group of residuals."""
        listed = isinstance(tolerance, list | tuple) or (isinstance(tolerance, np.ndarray) and tolerance.ndim > 0)
        pair = several("tolerance", tolerance, 2) if listed else [tolerance, tolerance]
        each = [positive("tolerance", number) for number in pair]
        return np.array([each[place % 2] for place in self.places])
