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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from linkwork.dynamics.arguments import Array, as_batch, as_frames
from linkwork.dynamics.call import moved
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.errors import ArgumentError, SingularError
from linkwork.joints.joint import as_axis
from linkwork.model.model import WORLD, Model, Point
from linkwork.spatial import Transform

_MOST_ITERATIONS = 100


@dataclass(frozen=True)
class Constraint(ABC):
    """Holds ``frame_a`` to ``frame_b``: names of frames or ``lw.Point`` objects; by default to the world.

    ``placement`` (from ``lw.placement``) is where a is held, as seen from b; by default at b itself.
    """

    frame_a: str | Point
    frame_b: str | Point = WORLD
    placement: Transform = field(default_factory=Transform.identity)

    @abstractmethod
    def rows(self, turn: Array) -> Array:
        """The rows (..., r, 6) that act on the relative motion in a's axes; ``turn`` is a's rotation in b's place."""

    def error(self, place: Array, turn: Array) -> Array:
        """How far off (..., 6) a is, in its own axes; ``place`` is its position in b's place."""
        linear = np.einsum("...ji,...j->...i", turn, place)
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

    def rows(self, turn: Array) -> Array:
        rows = np.zeros((5, 6))
        rows[:3, :3] = np.eye(3)
        rows[3:, 3:] = np.linalg.svd(self._axis()[None, :])[2][1:]
        return np.broadcast_to(rows, (*turn.shape[:-2], 5, 6))

    def error(self, place: Array, turn: Array) -> Array:
        linear = np.einsum("...ji,...j->...i", turn, place)
        axis = self._axis()
        return np.concatenate([linear, np.cross(np.einsum("...ji,j->...i", turn, axis), axis)], axis=-1)

    def _axis(self) -> Array:
        return np.array(as_axis(self.axis).direction.numbers(), dtype=np.float64)


@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """The origin of a stays in a plane through b with a normal, "x", "y", "z" or three numbers in b's axes."""

    normal: str | Sequence[float] = "z"

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
    for constraint in constraints:
        if not isinstance(constraint, Constraint) or type(constraint) is Constraint:
            raise ArgumentError(f"constraints must hold lw.Weld, lw.Ball, ... objects, not {constraint!r}")
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    (q_, v_, tau_, f_ext_), batch = as_batch(model, spaces, [q, v, tau, f_ext])
    assert q_ is not None and v_ is not None and tau_ is not None
    free = forward_dynamics(model, q_, v_, tau_, f_ext_)
    if not constraints:
        return free, np.zeros((*batch, 0, 6))
    ends: list[str | Point] = []  # every frame once
    for constraint in constraints:
        ends += [end for end in (constraint.frame_a, constraint.frame_b) if end not in ends]
    places = forward_kinematics(model, q_, ends)
    V, A = frame_velocity(model, q_, v_, ends), frame_acceleration(model, q_, v_, free, ends)

    rows, right = [], []
    for constraint in constraints:
        a, b = ends.index(constraint.frame_a), ends.index(constraint.frame_b)
        b_in_a = _inverse(places[..., a, :, :]) @ places[..., b, :, :]
        held = _inverse(b_in_a @ _matrix(constraint.placement))
        turn, place = held[..., :3, :3], held[..., :3, 3]
        X, G = _motion_matrix(b_in_a), constraint.rows(turn)
        carried = _times(X, V[..., b, :])
        relative = V[..., a, :] - carried
        rate = A[..., a, :] - _times(X, A[..., b, :]) + _cross(relative, carried)
        rate[..., :3] += np.cross(relative[..., 3:], relative[..., :3])  # of a point, as b sees it
        if time_constant is not None:
            rate = rate + 2.0 / time_constant * relative + constraint.error(place, turn) / time_constant**2
        C = np.zeros((*batch, G.shape[-2], 6 * len(ends)))
        C[..., 6 * a : 6 * a + 6] += G
        C[..., 6 * b : 6 * b + 6] -= G @ X
        rows.append(C)
        right.append(-_times(G, rate))
    C, b_right = np.concatenate(rows, axis=-2), np.concatenate(right, axis=-1)
    matrix = C @ operational_inertia_inverse(model, q_, ends) @ np.swapaxes(C, -1, -2)
    sizes = _solved(matrix, b_right, proximal, constraints)

    forces = np.zeros((*batch, len(model.bodies), 6)) if f_ext_ is None else f_ext_.copy()
    at_ends = _times(np.swapaxes(C, -1, -2), sizes).reshape((*batch, len(ends), 6))
    asked = as_frames(model, ends)
    for i, frame in enumerate(moved(asked.frames, asked.offsets)):
        if frame.body:
            to_body = np.swapaxes(_motion_matrix(_inverse(_matrix(frame.placement))), -1, -2)
            forces[..., frame.body - 1, :] += _times(to_body, at_ends[..., i, :])
    wrenches, start = np.empty((*batch, len(constraints), 6)), 0
    for k, (constraint, C_k) in enumerate(zip(constraints, rows, strict=True)):
        a, count = ends.index(constraint.frame_a), C_k.shape[-2]
        own = np.swapaxes(C_k[..., 6 * a : 6 * a + 6], -1, -2)
        wrenches[..., k, :] = _times(own, sizes[..., start : start + count])
        start += count
    return forward_dynamics(model, q_, v_, tau_, forces), wrenches


def _solved(matrix: Array, right: Array, proximal: float, constraints: Sequence[Constraint]) -> Array:
    """The sizes of the constraint forces, by Cholesky; if damped, by the proximal iteration."""
    if not proximal >= 0.0:
        raise ArgumentError(f"proximal must be a number from 0, not {proximal!r}")
    size = matrix.shape[-1]
    diagonal = np.einsum("...ii->...i", matrix)
    damping = proximal * diagonal.mean(axis=-1)[..., None]
    if not proximal:
        ranks = np.linalg.matrix_rank(matrix, hermitian=True, tol=1e-11 * diagonal.max(axis=-1))
        if (ranks < size).any():
            names = ", ".join(f"{type(c).__name__}({c.frame_a!r}, {c.frame_b!r})" for c in constraints)
            raise SingularError(
                f"constrained_dynamics: the constraints {names} hold {size} motions, of which only {ranks.min()} are "
                f"independent. Leave out what is redundant, or pass proximal=1e-6"
            )
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
    damped = np.linalg.inv(matrix + damping[..., None] * np.eye(size))
    sizes = np.zeros_like(right)
    for _ in range(_MOST_ITERATIONS):
        following = _times(damped, right + damping * sizes)
        step = np.abs(following - sizes).max(initial=0.0)
        sizes = following
        if step <= 1e-13 * np.abs(sizes).max(initial=0.0):
            break
    return sizes


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
    result[..., :3, 3:] = np.cross(place[..., None, :], np.swapaxes(turn, -1, -2)).swapaxes(-1, -2)
    return result


def _cross(a: Array, b: Array) -> Array:
    """a × b of two motions."""
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, np.cross(a[..., 3:], b[..., 3:])], axis=-1)


def _rotation_vector(turn: Array) -> Array:
    """The axis times the angle of rotations."""
    twice = np.stack(
        [turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 0] - turn[..., 0, 1]],
        axis=-1,
    )
    sine = np.linalg.norm(twice, axis=-1) / 2.0
    angle = np.arctan2(sine, (np.einsum("...ii", turn) - 1.0) / 2.0)
    return 0.5 * twice * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0)[..., None]
