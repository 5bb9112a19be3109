"""Operational-space dynamics at points: consistent inverses, null spaces, bias forces and effective masses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import choice, finite_array, go_together, memory_for, once, switch
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, as_frames
from linkwork.dynamics.at_points import AtPoints
from linkwork.dynamics.inversion import as_damping
from linkwork.dynamics.operational import METHODS
from linkwork.dynamics.questions import Constraints, Question
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model, Point
from linkwork.spatial.small_matrices import times, transposed


@dataclass(frozen=True)
class OperationalSpace:
    """The dynamics of a state, or of a batch of states, at m points: F = Λ a + μ + p, all in the axes of one reference.

    ``a`` is the spatial acceleration J q̈ + J̇v of the points. r is the number of rows: 6 for each point, or 3 for one
    with axes "position" or "rotation".

    Attributes:
        jacobian: J (..., r, nv).
        drift: J̇v (..., r), m/s² and rad/s².
        inertia_inverse: Λ⁻¹ = J M⁻¹ Jᵀ (..., r, r).
        inertia: Λ (..., r, r), kg, kg m, kg m².
        consistent_inverse: J̄ = M⁻¹ Jᵀ Λ (..., nv, r).
        coriolis: μ (..., r), the Coriolis and centrifugal forces, N and N m.
        gravity: p (..., r), the gravity forces, N and N m.
    """

    jacobian: Array
    drift: Array
    inertia_inverse: Array
    inertia: Array
    consistent_inverse: Array
    coriolis: Array
    gravity: Array

    def force(self, acceleration: ArrayLike) -> Array:
        """F = Λ a + μ + p: the force (..., r), N and N m, that gives the points an ``acceleration`` (..., r), m/s² and
        rad/s².
        """
        given = self._vector("acceleration", acceleration, self.inertia.shape[-1])
        return _times(self.inertia, given) + self.coriolis + self.gravity

    def torque(self, force: ArrayLike) -> Array:
        """Jᵀ F: the joint forces (..., nv), N or N m, of a ``force`` (..., r), N and N m, at the points."""
        return _times(np.swapaxes(self.jacobian, -1, -2), self._vector("force", force, self.inertia.shape[-1]))

    def null_space_torque(self, tau: ArrayLike) -> Array:
        """Nᵀ τ = τ - Jᵀ J̄ᵀ τ: the part of joint forces (..., nv), N or N m, that does not accelerate the points."""
        given = self._vector("tau", tau, self.jacobian.shape[-1])
        return given - self.torque(_times(np.swapaxes(self.consistent_inverse, -1, -2), given))

    def _vector(self, name: str, value: ArrayLike, size: int) -> Array:
        """Finite numbers (..., size) whose leading dimensions broadcast with those of the state."""
        given = finite_array(name, value)
        batch = self.inertia.shape[:-2]
        if given.shape[-1:] != (size,) or not go_together(given.shape[:-1], batch):
            wanted = ", ".join(map(str, (*batch, size)))
            raise ArgumentError(f"{name} must have shape (..., {wanted}), but has shape {given.shape}")
        return given


def operational_space(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: Frames,
    method: str = "auto",
    damping: float = 0.0,
    pseudo_inverse: bool = False,
    reference: str = "local",
    *,
    constraints: Constraints = None,
    out: OperationalSpace | None = None,
) -> OperationalSpace:
    """All quantities of operational-space control at points, for a state or a batch; one kernel for few points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        points: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        damping: added to the diagonal of Λ⁻¹; F = Λ a + μ + p is then approximate.
        pseudo_inverse: use the pseudo-inverse of Λ⁻¹ where Λ does not exist.
        reference: "local", "world" or "local_world_aligned", as in ``jacobian``: the axes and origin of all
            accelerations and forces.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
        out: an ``OperationalSpace`` whose arrays are written in place and which is returned; a new one if left out.

    Returns:
        An ``OperationalSpace``.

    Raises:
        SingularError: if the mechanism cannot move the points independently in all the axes asked for, and neither
            ``damping`` nor ``pseudo_inverse`` is set; the error names the points and the rank.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2, joint=lw.joints.Revolute("y"))
        >>> hand = lw.Point("tip", axes="rotation")
        >>> space = lw.operational_space(arm, [0.1, 0.2], [0.0, 0.0], [hand], pseudo_inverse=True)
        >>> space.jacobian.round(12) + 0.0
        array([[0., 0.],
               [1., 1.],
               [0., 0.]])
    """
    if out is not None:
        if not isinstance(out, OperationalSpace):
            raise ArgumentError(f"out must be an lw.OperationalSpace, as the function returns, not {shown(out)}")
        _spaces(model, q, v, points, method, damping, pseudo_inverse, reference, constraints, out=_ARRAYS(out))
        return out
    found = _spaces(model, q, v, points, method, damping, pseudo_inverse, reference, constraints, out=None)
    space = object.__new__(OperationalSpace)  # half the time of a frozen dataclass's own constructor
    own = space.__dict__
    (
        own["jacobian"], own["drift"], own["inertia_inverse"], own["inertia"], own["consistent_inverse"],
        own["coriolis"], own["gravity"],
    ) = found  # fmt: skip
    return space


_ARRAYS = attrgetter(*(field.name for field in fields(OperationalSpace)))


def _spaces(
    model: Model, q: ArrayLike, v: ArrayLike, points: Frames, method: str, damping: float, pseudo_inverse: bool,
    reference: str, constraints: Constraints, *, out: tuple[Array, ...] | None,
) -> tuple[Array, ...]:  # fmt: skip
    """The arrays of an ``OperationalSpace``."""
    answer = _SPACE.at(model, points, method, reference, constraints)
    damping = as_damping(damping)
    if pseudo_inverse is not False:
        pseudo_inverse = switch("pseudo_inverse", pseudo_inverse)
    found: tuple[Array, ...] = answer(out, q, v, damping, pseudo_inverse=pseudo_inverse)
    return found


def _space(points: AtPoints, q: Array, v: Array, damping: Any) -> tuple[Array, ...]:
    """J, J̇v, Λ⁻¹, Λ, J̄, μ = Λ (J M⁻¹ c - J̇v) and p = Λ J M⁻¹ g, in an order in which few operations wait for Λ."""
    coasting, falling, drift = points.coasting(q, v), points.free_fall(q), points.drift(q, v)
    J, inverse = points.jacobian(q), points.inertia_inverse(q, by_rows=True)
    inertia = points.inertia(inverse, damping)
    consistent = points.consistent_inverse(q, inertia)
    return J, drift, inverse, inertia, consistent, *_forces(inertia, coasting, falling)


def _forces(inertia: Array, coasting: Array, falling: Array) -> tuple[Array, Array]:
    """μ and p."""
    with memory_for("vectors", coasting.shape):
        return -_times(inertia, coasting), -_times(inertia, falling)


_Q, _V, _TAU, _DAMPING = ("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("damping", "scalar")
_SPACE = Question("operational_space", _space, (_Q, _V, _DAMPING), ("rv", "r", "rr", "rr", "vr", "r", "r"))


def dynamically_consistent_inverse(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    method: str = "auto",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """J̄ = M⁻¹ Jᵀ Λ: the generalised inverse of J (J J̄ = 1) that minimises the kinetic energy.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., nv, 6m): joint velocities for a unit velocity of each point; three columns for a point with axes
        "position" or "rotation".

    Raises:
        SingularError: as ``operational_inertia``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.humanoid()
        >>> q, hand = lw.neutral(arm), [lw.Point("left_hand", axes="position")]
        >>> (lw.jacobian(arm, q, hand) @ lw.dynamically_consistent_inverse(arm, q, hand)).round(9) + 0.0
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
    """
    found: Array = _CONSISTENT_INVERSE.at(model, frames, method, constraints=constraints)(out, q)
    return found


def _consistent_inverse(points: AtPoints, q: Array) -> tuple[Array]:
    return (points.consistent_inverse(q, points.inertia(points.inertia_inverse(q, by_rows=True), 0.0)),)


_CONSISTENT_INVERSE = Question("dynamically_consistent_inverse", _consistent_inverse, (_Q,), ("vr",))


def null_space_torque(
    model: Model,
    q: ArrayLike,
    tau: ArrayLike,
    frames: Frames,
    method: str = "auto",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """Nᵀ τ = τ - Jᵀ J̄ᵀ τ: the part of the joint forces that does not accelerate the points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        tau: joint forces (..., nv), N or N m.
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., nv), N or N m.

    Raises:
        SingularError: as ``operational_inertia``.

    Example:
        >>> import linkwork as lw
        >>> arm, hand = lw.mechanisms.humanoid(), [lw.Point("left_hand", axes="position")]
        >>> q = lw.neutral(arm)
        >>> tau = lw.null_space_torque(arm, q, [1.0] * arm.nv, hand)
        >>> bool(abs(lw.force_responses(arm, q, hand) @ tau).max() < 1e-9)  # J M⁻¹ Nᵀ τ
        True
    """
    found: Array = _NULL_SPACE_TORQUE.at(model, frames, method, constraints=constraints)(out, q, tau)
    return found


def _null_space_torque(points: AtPoints, q: Array, tau: Array) -> tuple[Array]:
    force = _times(points.inertia(points.inertia_inverse(q), 0.0), points.accelerations(q, tau))
    return (tau - _times(transposed(points.jacobian(q)), force),)


_NULL_SPACE_TORQUE = Question("null_space_torque", _null_space_torque, (_Q, _TAU), ("v",))


def operational_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frames: Frames,
    method: str = "auto",
    *,
    constraints: Constraints = None,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """The bias forces at points, μ and p of F = Λ a + μ + p: Coriolis and centrifugal forces, and gravity.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        μ = Λ (J M⁻¹ c - J̇v) and p = Λ J M⁻¹ g, each (..., 6m), N and N m, in the frames' own axes.

    Raises:
        SingularError: as ``operational_inertia``.

    Example:
        >>> import linkwork as lw
        >>> box = lw.mechanisms.free_box()
        >>> mu, p = lw.operational_bias(box, lw.neutral(box), [0.0] * 6, [box.body_names[0]])
        >>> bool(abs(p[2] - 9.81 * box.mass) < 1e-9)
        True
    """
    found: tuple[Array, Array] = _BIAS.at(model, frames, method, constraints=constraints)(out, q, v)
    return found


def _bias(points: AtPoints, q: Array, v: Array) -> tuple[Array, ...]:
    coasting, falling = points.coasting(q, v), points.free_fall(q)
    return _forces(points.inertia(points.inertia_inverse(q), 0.0), coasting, falling)


_BIAS = Question("operational_bias", _bias, (_Q, _V), ("r", "r"))


def effective_mass(
    model: Model,
    q: ArrayLike,
    point: str | Point,
    direction: ArrayLike,
    method: str = "auto",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """The mass felt when a point is pushed along a direction u: 1 / (uᵀ Λ⁻¹ u).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        point: a name of ``model.frame_names`` or an ``lw.Point``; only its position matters, not its axes.
        direction: (..., 3), of any length, in the frame's own axes.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (...), kg; infinite where the point cannot move along the direction.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> float(lw.effective_mass(builder.build(), [0.0], "cart", [3.0, 0.0, 0.0]))
        2.0
    """
    if not isinstance(point, str | Point):
        raise ArgumentError(f"point must be a frame's name or an lw.Point, not {shown(point)}")
    known = as_frames(model, point).answers
    key = effective_mass, method if type(method) is str else choice("method", method, METHODS)
    answer = known.get(key) if constraints is None else None
    if answer is None:
        given = Point(point) if isinstance(point, str) else point
        position = Point(given.frame, given.offset, "position")
        answer = _MASS.at(model, [position], method, constraints=constraints)
        if constraints is None:
            known[key] = answer
    found: Array = answer(out, q, direction)
    return found


@np.errstate(divide="ignore")
def _mass(points: AtPoints, q: Array, direction: Array) -> tuple[Array]:
    u = _direction(direction)
    felt = np.sum(u * _times(points.inertia_inverse(q), u), axis=-1)
    return (1.0 / felt if is_traced(felt) else np.asarray(1.0 / felt),)


_MASS = Question("effective_mass", _mass, (_Q, ("direction", "vector")), ("",))


def _direction(direction: Array) -> Array:
    """Directions (..., 3) normalised to unit vectors."""
    if not is_traced(direction):
        few = once(direction)
        if not np.isfinite(few).all() or not few.any(axis=-1).all():
            wrong = "three finite numbers that are not all zero"
            raise ArgumentError(f"direction must be {wrong}, not {shown(direction)}")
    with memory_for("directions", direction.shape):
        u = direction / np.max(np.abs(direction), axis=-1, keepdims=True)  # the squares neither overflow nor underflow
        return u / np.linalg.norm(u, axis=-1, keepdims=True)


def _times(matrix: Array, vector: Array) -> Array:
    with memory_for("vectors", vector.shape):
        return times(matrix, vector)
