"""Public functions of configurations and frame motions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import REFERENCES
from linkwork.arguments import choice, integer, is_integer, memory_for
from linkwork.batches import put_into
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, Frames, check_model
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model

_JACOBIAN, _DRIFT, _VELOCITY, _ACCELERATION = (
    {reference: f"{text}/{reference}" for reference in REFERENCES}
    for text in ("jacobian", "jacobian_drift", "frame_velocities", "frame_accelerations")
)
"""Algorithm names for each reference."""


def neutral(model: Model, *, out: Array | None = None) -> Array:
    """The neutral configuration: angles and lengths zero, rotations the identity.

    Args:
        model: the mechanism.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        q (nq,).

    Example:
        >>> import linkwork as lw
        >>> lw.neutral(lw.mechanisms.serial_chain(1, joint="spherical"))
        array([0., 0., 0., 1.])
    """
    check_model(model)
    numbers = [number for body in model.bodies for number in body.joint.neutral()]
    return put_into(out, np.array(numbers, dtype=np.float64))


_BOUNDLESS = 1e6
"""Limits at least this far apart, rad or m, count as none: files write absent limits so."""


def random_state(
    model: Model,
    rng: np.random.Generator | int | None = None,
    shape: int | tuple[int, ...] = (),
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """A random configuration, within the position limits where these are finite, and a random velocity.

    Args:
        model: the mechanism.
        rng: a NumPy generator, or a seed for one.
        shape: batch shape; () for one state.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        q (*shape, nq) and v (*shape, nv), the latter normal with unit variance (rad/s, m/s).

    Example:
        >>> import linkwork as lw
        >>> q, v = lw.random_state(lw.mechanisms.serial_chain(3), 0, shape=5)
        >>> q.shape, v.shape
        ((5, 3), (5, 3))
    """
    check_model(model)
    generator, batch = _generator(rng), _shape(shape)
    lower, upper = model.lower_limit, model.upper_limit
    with np.errstate(over="ignore", invalid="ignore"):
        bounded = (upper - lower < _BOUNDLESS) & (lower <= upper)
    with memory_for("states", (*batch, model.nq + model.nv)):
        if prod(batch) > 2**50:  # more than NumPy counts
            raise MemoryError
        q = np.empty((*batch, model.nq))
    for state in np.ndindex(batch):
        q[state] = [number for body in model.bodies for number in body.joint.random(generator)]
    q[..., bounded] = generator.uniform(lower[bounded], upper[bounded], (*batch, int(bounded.sum())))
    return put_into(out, q, generator.normal(size=(*batch, model.nv)))


def integrate(model: Model, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None) -> Array:
    """q ⊕ dv: the configuration reached from q at constant joint velocity in unit time, exact on the manifold.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        dv: displacement in the tangent space (..., nv): a velocity times a time (rad, m).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        q (..., nq).

    Example:
        >>> import linkwork as lw
        >>> lw.integrate(lw.mechanisms.serial_chain(2), [0.1, 0.2], [1.0, 2.0])
        array([1.1, 2.2])
    """
    return call.every("integrate", model, out, q, dv)


def difference(model: Model, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array:
    """q1 ⊖ q0: the constant joint velocity that leads from q0 to q1 in unit time; the inverse of ``integrate``.

    Args:
        model: the mechanism.
        q0: initial configuration (..., nq).
        q1: final configuration (..., nq).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        The displacement in the tangent space (..., nv), rad or m; rotations take the shorter way.

    Example:
        >>> import linkwork as lw
        >>> lw.difference(lw.mechanisms.serial_chain(2), [0.0, 0.0], [1.0, 2.0])
        array([1., 2.])
    """
    return call.every("difference", model, out, q0, q1)


def forward_kinematics(model: Model, q: ArrayLike, frames: Frames, *, out: Array | None = None) -> Array:
    """The placements of frames in the world.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., m, 4, 4): the placement of each frame in the world, [[R, p], [0, 1]], p in m.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> lw.forward_kinematics(arm, [0.0, 0.0], ["tip"])[0, :3, 3]
        array([2., 0., 0.])
    """
    return call.every_frames("frame_placements", model, frames, out, q)


def jacobian(
    model: Model, q: ArrayLike, frames: Frames, reference: str = "local", *, out: Array | None = None
) -> Array:
    """The Jacobian J of frames: their velocities are J v.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: "local" (the frame's own axes and origin), "world" (the world's axes and origin) or
            "local_world_aligned" (the world's axes at the frame's origin).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, nv): for each frame three rows of linear (m/s) and three of angular (rad/s) velocity;
        three rows only for a point with axes "position" or "rotation".

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> lw.jacobian(arm, [0.0, 0.0], [lw.Point("tip", axes="position")], "world")[1]
        array([ 0., -1.])
        >>> lw.jacobian(arm, [0.0, 0.0], [lw.Point("tip", axes="position")], "local")[1]
        array([2., 1.])
    """
    name = _JACOBIAN[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q)


def jacobian_drift(
    model: Model, q: ArrayLike, v: ArrayLike, frames: Frames, reference: str = "local", *, out: Array | None = None
) -> Array:
    """J̇ v: the part of the acceleration of frames that is due to velocity alone.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: as in ``jacobian``, so that J a + (J̇ v) is the derivative of J v. With "local_world_aligned" it is
            the classical acceleration of the frame's origin.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m), linear (m/s²) and angular (rad/s²) for each frame; three rows only for some points, as in
        ``jacobian``.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(1)
        >>> lw.jacobian_drift(arm, [0.0], [3.0], ["tip"], "local_world_aligned")[:3]  # centripetal, ω² r
        array([-9.,  0.,  0.])
    """
    name = _DRIFT[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q, v)


def frame_velocity(
    model: Model, q: ArrayLike, v: ArrayLike, frames: Frames, reference: str = "local", *, out: Array | None = None
) -> Array:
    """The velocity of frames: J v, by one recursion.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: as in ``jacobian``.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., m, 6), linear (m/s) and angular (rad/s) velocity.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(1)
        >>> lw.frame_velocity(arm, [0.0], [3.0], ["tip"])[0]
        array([0., 3., 0., 0., 0., 3.])
    """
    name = _VELOCITY[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q, v, poses="frame_velocity")


def frame_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frames: Frames,
    reference: str = "local",
    *,
    out: Array | None = None,
) -> Array:
    """The acceleration of frames: J a + J̇ v.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: as in ``jacobian``; "local_world_aligned" gives the classical acceleration of the frame's origin.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., m, 6), linear (m/s²) and angular (rad/s²).

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(1)
        >>> lw.frame_acceleration(arm, [0.0], [3.0], [2.0], ["tip"], "local_world_aligned")[0, :3]
        array([-9.,  2.,  0.])
    """
    name = _ACCELERATION[choice("reference", reference, REFERENCES)]
    return call.every_frames(name, model, frames, out, q, v, a, poses="frame_acceleration")


def _generator(rng: Any) -> np.random.Generator:
    """A random generator. Only integer seeds are passed on to NumPy's own check."""
    if rng is None or isinstance(rng, np.random.Generator | np.random.BitGenerator | np.random.SeedSequence):
        return np.random.default_rng(rng)
    seeds = list(rng) if isinstance(rng, list | tuple) or (isinstance(rng, np.ndarray) and rng.ndim == 1) else [rng]
    if not seeds or not all(is_integer(seed) and seed >= 0 for seed in seeds):
        raise ArgumentError(f"rng must be a NumPy generator or an integer of 0 or more as its seed, not {shown(rng)}")
    return np.random.default_rng(rng)


def _shape(shape: Any) -> tuple[int, ...]:
    """The shape of a batch."""
    listed = (shape,) if is_integer(shape) else shape
    if not isinstance(listed, list | tuple):
        raise ArgumentError(f"shape must be an integer or several of these, not {shown(shape)}")
    return tuple(integer("shape", length, 0) for length in listed)
