"""Dynamics as seen at operational points: consistent inverses, null spaces, biases and effective masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import array, finite_array, go_together, memory_for, once
from linkwork.batches import put_into
from linkwork.dynamics.arguments import Array, Frames, as_array, as_batch, as_frames
from linkwork.dynamics.dynamics import gravity_torques, nonlinear_effects
from linkwork.dynamics.inversion import inverted
from linkwork.dynamics.kinematics import jacobian, jacobian_drift
from linkwork.dynamics.operational import force_responses, operational_inertia, operational_inertia_inverse
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model, Point


@dataclass(frozen=True)
class OperationalSpace:
    """The dynamics of one state, or a batch of states, at m points: F = Λ a + μ + p, all in the points' own axes.

    ``a`` is the spatial acceleration J q̈ + J̇v of the points. Rows and columns are 6 for each point, or 3 for one that
    asks for "position" or "rotation"; r is their number.

    Attributes:
        jacobian: J (..., r, nv).
        drift: J̇v (..., r), m/s² and rad/s².
        inertia_inverse: Λ⁻¹ = J M⁻¹ Jᵀ (..., r, r).
        inertia: Λ (..., r, r), kg, kg m, kg m².
        consistent_inverse: J̄ = M⁻¹ Jᵀ Λ (..., nv, r).
        coriolis: μ (..., r), the forces of Coriolis and centrifugal effects, N and N m.
        gravity: p (..., r), the forces of gravity, N and N m.
    """

    jacobian: Array
    drift: Array
    inertia_inverse: Array
    inertia: Array
    consistent_inverse: Array
    coriolis: Array
    gravity: Array

    def force(self, acceleration: ArrayLike) -> Array:
        """F = Λ a + μ + p: the force (..., r) at the points that accelerates them so."""
        given = self._vector("acceleration", acceleration, self.inertia.shape[-1])
        return _times(self.inertia, given) + self.coriolis + self.gravity

    def torque(self, force: ArrayLike) -> Array:
        """Jᵀ F: the joint forces (..., nv) of a force (..., r) at the points."""
        return _times(np.swapaxes(self.jacobian, -1, -2), self._vector("force", force, self.inertia.shape[-1]))

    def null_space_torque(self, tau: ArrayLike) -> Array:
        """Nᵀ τ = τ - Jᵀ J̄ᵀ τ: the part of joint forces (..., nv) that does not accelerate the points."""
        given = self._vector("tau", tau, self.jacobian.shape[-1])
        return given - self.torque(_times(np.swapaxes(self.consistent_inverse, -1, -2), given))

    def _vector(self, name: str, value: ArrayLike, size: int) -> Array:
        """Finite numbers (..., size) whose leading dimensions go with those of the state."""
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
) -> OperationalSpace:
    """Everything that a controller at operational points needs, for one state or a batch.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        points: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        damping: added to the diagonal of Λ⁻¹; F = Λ a + μ + p is then approximate.
        pseudo_inverse: take the pseudo-inverse where Λ does not exist.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        An ``OperationalSpace``.

    Raises:
        SingularError: if the points cannot be moved independently in all the ways asked for, unless damped or
            pseudo-inverted; it names the points and the rank.

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
    asked = as_frames(model, points)
    inverse = operational_inertia_inverse(model, q, points, method)
    inertia = inverted(asked, inverse, damping, pseudo_inverse)
    responses = force_responses(model, q, points)
    drift = jacobian_drift(model, q, v, points)
    gravity = gravity_torques(model, q)
    moving = nonlinear_effects(model, q, v) - gravity
    mu = _times(inertia, _times(responses, moving) - drift)
    p = _times(inertia, _times(responses, gravity))
    consistent = np.swapaxes(responses, -1, -2) @ inertia
    return OperationalSpace(jacobian(model, q, points), drift, inverse, inertia, consistent, mu, p)


def dynamically_consistent_inverse(
    model: Model, q: ArrayLike, frames: Frames, method: str = "auto", *, out: Array | None = None
) -> Array:
    """J̄ = M⁻¹ Jᵀ Λ: of all inverses of J (J J̄ = 1) the one that moves no more kinetic energy than it must.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., nv, 6m): joint motion for a unit motion of each point; three columns for a point that asks for "position"
        or "rotation".

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
    inertia = operational_inertia(model, q, frames, method)
    return put_into(out, np.swapaxes(force_responses(model, q, frames), -1, -2) @ inertia)


def null_space_torque(
    model: Model, q: ArrayLike, tau: ArrayLike, frames: Frames, method: str = "auto", *, out: Array | None = None
) -> Array:
    """Nᵀ τ = τ - Jᵀ J̄ᵀ τ: the part of joint forces that does not accelerate points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        tau: joint forces (..., nv), N or N m.
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.

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
    as_batch(model, (("q", "configuration"), ("tau", "velocity")), (q, tau))
    tau = as_array(model, "tau", "velocity", tau)
    force = _times(operational_inertia(model, q, frames, method), _times(force_responses(model, q, frames), tau))
    return put_into(out, tau - _times(np.swapaxes(jacobian(model, q, frames), -1, -2), force))


def operational_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frames: Frames,
    method: str = "auto",
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """μ and p of F = Λ a + μ + p: Coriolis and centrifugal forces, and gravity, as felt at points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
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
    space = operational_space(model, q, v, frames, method)
    return put_into(out, space.coriolis, space.gravity)


def effective_mass(
    model: Model,
    q: ArrayLike,
    point: str | Point,
    direction: ArrayLike,
    method: str = "auto",
    *,
    out: Array | None = None,
) -> Array:
    """The mass that is felt when a point is pushed along a direction: 1 / (uᵀ Λ⁻¹ u).

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        point: a name of ``model.frame_names`` or an ``lw.Point``; only its place matters.
        direction: (..., 3), of any length, in the frame's own axes.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
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
    given = Point(point) if isinstance(point, str) else point
    u = array("direction", direction, (3,))
    few = once(u)
    largest = np.abs(few).max(axis=-1, keepdims=True, initial=0.0) if u.ndim else u
    if u.shape[-1:] != (3,) or not np.isfinite(few).all() or not (largest > 0.0).all():
        raise ArgumentError(f"direction must be three finite numbers that are not all zero, not {shown(direction)}")
    with memory_for("directions", u.shape):
        extreme = (largest > 1e100) | (largest < 1e-100)  # whose squares leave the range of floats
        u = np.where(extreme, u / largest, u) if extreme.any() else u
        u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    inverse = operational_inertia_inverse(model, q, [Point(given.frame, given.offset, "position")], method)
    if not go_together(u.shape[:-1], inverse.shape[:-2]):
        raise ArgumentError(
            f"the leading (batch) dimensions do not broadcast: q {inverse.shape[:-2]}, direction {u.shape[:-1]}"
        )
    with np.errstate(divide="ignore"):
        return put_into(out, np.asarray(1.0 / np.einsum("...i,...ij,...j->...", u, inverse, u)))


def _times(matrix: Array, vector: Array) -> Array:
    with memory_for("vectors", vector.shape):
        return np.asarray((matrix @ vector[..., None])[..., 0], dtype=np.float64)
