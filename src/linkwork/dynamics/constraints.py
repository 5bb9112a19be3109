"""Dynamics with loop closures and contacts.

A constraint holds frame a to frame b. With T the placement of a in b, the motion of a relative to b, in a's own axes,
and its rate are

    V = Vₐ - X V_b,      V̇ = Aₐ - X A_b + V × X V_b            X takes a motion from b to a

and the constraint keeps some rows of V̇ at zero, or at what Baumgarte's stabilisation asks for. The forces solve
(C Λ⁻¹ Cᵀ) λ = - C A_free - ..., with the Λ⁻¹ of all frames: Yamane and Nakamura's Eq. 7 over the loops alone, the
tree being eliminated by articulated bodies. O(n + m²) for Λ⁻¹, O(m³) for the solution, and O(n) for the
accelerations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import not_negative, seconds
from linkwork.dynamics.arguments import Array, as_batch, as_frames, check_model, put_into
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.engine.plans.task import moved
from linkwork.errors import ArgumentError, SingularError, shown
from linkwork.joints.joint import as_axis
from linkwork.model.builder import as_placement
from linkwork.model.model import WORLD, Model, Point
from linkwork.spatial import Transform

_MOST_ITERATIONS = 100
_TRACE = np.eye(3).ravel()
_CROSS = np.zeros((3, 9))
"""Takes a vector to the nine numbers of [v]×."""
_CROSS[[2, 1, 0], [3, 2, 7]], _CROSS[[2, 1, 0], [1, 6, 5]] = 1.0, -1.0
_BLOCKS = np.zeros((6, 6, 6))
_BLOCKS[:3, :3, 3:] = _BLOCKS[3:, :3, :3] = _BLOCKS[3:, 3:, 3:] = _CROSS.reshape(3, 3, 3)
_MOTION_CROSS = _BLOCKS.reshape(6, 36)
"""Takes a motion (v, w) to the numbers of [[[w]×, [v]×], [0, [w]×]]."""


@dataclass(frozen=True)
class Constraint(ABC):
    """Holds ``frame_a`` to ``frame_b``: names of frames or ``lw.Point`` objects; by default to the world.

    ``placement`` (from ``lw.placement``) is where a is held, as seen from b; by default at b itself.
    """

    frame_a: str | Point
    frame_b: str | Point = WORLD
    placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        for end in (self.frame_a, self.frame_b):
            if not isinstance(end, str | Point):
                raise ArgumentError(f"a constraint holds frames by name or as lw.Point objects, not {shown(end)}")
        where = f"a constraint of {self.frame_a!r}"
        object.__setattr__(self, "placement", as_placement(where, self.placement))

    @abstractmethod
    def rows(self, turn: Array) -> Array:
        """The rows (..., r, 6) that act on the relative motion in a's axes; ``turn`` is a's rotation in b's place."""

    def error(self, place: Array, turn: Array) -> Array:
        """How far off (..., 6) a is, in its own axes; ``place`` is its position in b's place."""
        linear = (place[..., None, :] @ turn)[..., 0, :]
        return np.concatenate([linear, _rotation_vector(turn)], axis=-1)


class Weld(Constraint):
    """All six motions are held: a is fixed to b."""

    def rows(self, turn: Array) -> Array:
        return np.broadcast_to(np.eye(6), (*turn.shape[:-2], 6, 6))


class Ball(Constraint):
    """The origins of a and b stay together, and turn freely: a ball joint, or a point contact without slip."""

    def rows(self, turn: Array) -> Array:
        return np.broadcast_to(np.eye(3, 6), (*turn.shape[:-2], 3, 6))


@dataclass(frozen=True)
class Hinge(Constraint):
    """The origins stay together and so does an axis, "x", "y", "z" or three numbers, which is the same in a and b."""

    axis: str | Sequence[float] = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_axis(self.axis)

    def rows(self, turn: Array) -> Array:
        rows = np.zeros((5, 6))
        rows[:3, :3] = np.eye(3)
        rows[3:, 3:] = np.linalg.svd(self._axis()[None, :])[2][1:]
        return np.broadcast_to(rows, (*turn.shape[:-2], 5, 6))

    def error(self, place: Array, turn: Array) -> Array:
        linear = (place[..., None, :] @ turn)[..., 0, :]
        axis = self._axis()
        return np.concatenate([linear, np.cross(np.einsum("...ji,j->...i", turn, axis), axis)], axis=-1)

    def _axis(self) -> Array:
        return np.array(as_axis(self.axis).direction.numbers(), dtype=np.float64)


@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """The origin of a stays in a plane through b with a normal, "x", "y", "z" or three numbers in b's axes."""

    normal: str | Sequence[float] = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_axis(self.normal)

    def rows(self, turn: Array) -> Array:
        normal = np.array(as_axis(self.normal).direction.numbers(), dtype=np.float64)
        linear = np.einsum("...ji,j->...i", turn, normal)[..., None, :]
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint],
    f_ext: ArrayLike | None = None,
    time_constant: float | None = None,
    proximal: float = 0.0,
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Accelerations of a mechanism with loop closures and contacts, and the forces of its constraints.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k of ``lw.Weld``, ``lw.Ball``, ``lw.Hinge``, ``lw.PointOnPlane``.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6).
        time_constant: Baumgarte's stabilisation: errors of place and velocity die out, critically damped, with this
            time (s), which should be several steps of the integration; no stabilisation if left out.
        proximal: for constraints that are redundant: a damping of the forces, relative to the mean diagonal of the
            constraints' matrix, whose effect is taken out again by iteration; 1e-6 is a good value. The forces are
            then the smallest that do.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), and wrenches (..., k, 6): the force (N) and moment (N m) on frame a of each constraint, in its
        own axes; frame b feels the opposite.

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; it names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(1, 1, 1))
        >>> box = builder.build()
        >>> a, wrenches = lw.constrained_dynamics(box, lw.neutral(box), [0.0] * 6, [0.0] * 6, [lw.Weld("box")])
        >>> a.round(12) + 0.0, wrenches.round(12) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([[ 0.,  0., 20.,  0.,  0.,  0.]]))
    """
    constraints = as_constraints(constraints)
    grip = _grips(model, constraints)
    damping, tau_b = not_negative("proximal", proximal), 0.0
    if time_constant is not None:
        tau_b = seconds("time_constant", time_constant)
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    (q_, v_, tau_, f_ext_), batch = as_batch(model, spaces, [q, v, tau, f_ext])
    assert q_ is not None and v_ is not None and tau_ is not None
    free = forward_dynamics(model, q_, v_, tau_, f_ext_)
    if not constraints:
        return put_into(out, free, np.zeros((*batch, 0, 6)))
    places = forward_kinematics(model, q_, grip.ends)
    V, A = frame_velocity(model, q_, v_, grip.ends), frame_acceleration(model, q_, v_, free, grip.ends)

    # Of all constraints at once: axis -2, or -3 of a matrix, counts them.
    b_in_a = _inverse(places[..., grip.a, :, :]) @ places[..., grip.b, :, :]
    held = _inverse(b_in_a @ grip.placements)
    turns, offsets = held[..., :3, :3], held[..., :3, 3]
    X = _motion_matrix(b_in_a)
    carried = _times(X, V[..., grip.b, :])
    relative = V[..., grip.a, :] - carried
    rate = A[..., grip.a, :] - _times(X, A[..., grip.b, :]) + _cross(relative, carried)
    rate[..., :3] += _times(_skew(relative[..., 3:]), relative[..., :3])  # of a point, as b sees it
    if tau_b:
        errors = [c.error(offsets[..., k, :], turns[..., k, :, :]) for k, c in enumerate(constraints)]
        square = tau_b**2 if tau_b < 1e154 else math.inf
        with np.errstate(all="ignore"):
            rate = rate + 2.0 / tau_b * relative + np.stack(errors, axis=-2) / square
        if not np.isfinite(rate).all():
            raise ArgumentError(
                f"time_constant must be several steps of the integration; with {tau_b:g} s it overflows"
            )

    rows = [constraint.rows(turns[..., k, :, :]) for k, constraint in enumerate(constraints)]
    starts = np.cumsum([0, *(G.shape[-2] for G in rows)]).tolist()
    C, right = np.zeros((*batch, starts[-1], 6 * len(grip.ends))), np.empty((*batch, starts[-1]))
    for k, G in enumerate(rows):
        own, a, b = slice(starts[k], starts[k + 1]), 6 * grip.a[k], 6 * grip.b[k]
        C[..., own, a : a + 6] += G
        C[..., own, b : b + 6] -= G @ X[..., k, :, :]
        right[..., own] = -_times(G, rate[..., k, :])
    across = np.swapaxes(C, -1, -2)
    sizes = _solved(C @ operational_inertia_inverse(model, q_, grip.ends) @ across, right, damping, constraints)

    forces = np.zeros((*batch, len(model.bodies), 6)) if f_ext_ is None else f_ext_.copy()
    at_bodies = _times(grip.to_bodies, _times(across, sizes).reshape((*batch, len(grip.ends), 6)))
    for i, body in enumerate(grip.bodies):
        if body:
            forces[..., body - 1, :] += at_bodies[..., i, :]
    wrenches = np.empty((*batch, len(constraints), 6))
    for k in range(len(constraints)):
        own, a = slice(starts[k], starts[k + 1]), 6 * grip.a[k]
        wrenches[..., k, :] = _times(across[..., a : a + 6, own], sizes[..., own])
    return put_into(out, forward_dynamics(model, q_, v_, tau_, forces), wrenches)


def as_constraints(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Constraints of a call, all of them constraints."""
    if not isinstance(constraints, Sequence) or isinstance(constraints, str):
        raise ArgumentError(f"constraints must be a list of lw.Weld, lw.Ball, ... objects, not {shown(constraints)}")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(f"constraints must hold lw.Weld, lw.Ball, ... objects, not {shown(constraint)}")
    return tuple(constraints)


@dataclass(frozen=True)
class _Grips:
    """What of constraints does not depend on the state: their frames, each once, and where these are on bodies."""

    ends: tuple[str | Point, ...]
    a: list[int]
    b: list[int]
    placements: Array  # (k, 4, 4)
    bodies: list[int]
    to_bodies: Array  # (ends, 6, 6), takes a force from a frame to its body


def _grips(model: Model, constraints: tuple[Constraint, ...]) -> _Grips:
    check_model(model)
    try:
        return _known_grips(model, constraints)
    except TypeError:  # an axis given as a list, for instance, cannot be looked up
        return _known_grips.__wrapped__(model, constraints)


@lru_cache(maxsize=256)
def _known_grips(model: Model, constraints: tuple[Constraint, ...]) -> _Grips:
    ends = tuple(dict.fromkeys(end for c in constraints for end in (c.frame_a, c.frame_b)))
    asked = as_frames(model, ends)
    frames = moved(asked.frames, asked.offsets)
    to_bodies = [_motion_matrix(_inverse(_matrix(frame.placement))).T for frame in frames]
    return _Grips(
        ends,
        [ends.index(c.frame_a) for c in constraints],
        [ends.index(c.frame_b) for c in constraints],
        np.array([_matrix(c.placement) for c in constraints]),
        [frame.body for frame in frames],
        np.array(to_bodies),
    )


def _solved(matrix: Array, right: Array, proximal: float, constraints: Sequence[Constraint]) -> Array:
    """The sizes of the constraint forces, by Cholesky; if damped, by the proximal iteration."""
    size = matrix.shape[-1]
    diagonal = matrix.diagonal(axis1=-2, axis2=-1)
    if not proximal:
        largest = diagonal.max(axis=-1)
        if not _well_conditioned(matrix, largest):
            ranks = np.linalg.matrix_rank(matrix, hermitian=True, tol=1e-11 * largest)
            if (ranks < size).any():
                names = ", ".join(f"{type(c).__name__}({c.frame_a!r}, {c.frame_b!r})" for c in constraints)
                raise SingularError(
                    f"constrained_dynamics: the constraints {names} hold {size} motions, of which only {ranks.min()} "
                    f"are independent. Leave out what is redundant, or pass proximal=1e-6"
                )
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
    damping = proximal * diagonal.mean(axis=-1)[..., None]
    damped = np.linalg.inv(matrix + damping[..., None] * np.eye(size))
    sizes = np.zeros_like(right)
    for _ in range(_MOST_ITERATIONS):
        following = _times(damped, right + damping * sizes)
        step = np.abs(following - sizes).max(initial=0.0)
        sizes = following
        if step <= 1e-13 * np.abs(sizes).max(initial=0.0):
            break
    return sizes


def _well_conditioned(matrix: Array, largest: Array) -> bool:
    """Whether a matrix is regular beyond doubt, by its pivots; else its rank must be found."""
    try:
        pivots = np.linalg.cholesky(matrix).diagonal(axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=-1) ** 2 > 1e-7 * largest).all())


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0], dtype=np.float64)


def _matrix(placement: Transform) -> Array:
    full = np.eye(4)
    full[:3, :3] = np.array(placement.rotation.numbers(), dtype=np.float64).reshape(3, 3)
    full[:3, 3] = placement.translation.numbers()
    return full


def _inverse(placement: Array) -> Array:
    result = np.zeros_like(placement)
    back = np.swapaxes(placement[..., :3, :3], -1, -2)
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = back, -_times(back, placement[..., :3, 3]), 1.0
    return result


def _motion_matrix(placement: Array) -> Array:
    """The 6×6 matrix that takes a motion from the child to the parent of a placement: [[R, [p]x R], [0, R]]."""
    turn, place = placement[..., :3, :3], placement[..., :3, 3]
    result = np.zeros((*placement.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = turn
    result[..., :3, 3:] = _skew(place) @ turn
    return result


def _cross(a: Array, b: Array) -> Array:
    """a × b of two motions."""
    return _times((a @ _MOTION_CROSS).reshape((*a.shape, 6)), b)


def _skew(vector: Array) -> Array:
    """[v]×. A product with constants: ``np.cross`` takes ten times as long."""
    return np.asarray((vector @ _CROSS).reshape((*vector.shape, 3)), dtype=np.float64)


def _rotation_vector(turn: Array) -> Array:
    """The axis times the angle of rotations."""
    numbers = turn.reshape((*turn.shape[:-2], 9))
    twice = numbers @ _CROSS.T  # the axis times twice the sine
    sine = 0.5 * np.sqrt((twice * twice).sum(axis=-1))
    angle = np.arctan2(sine, 0.5 * (numbers @ _TRACE - 1.0))
    return np.asarray(0.5 * twice * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0)[..., None])
