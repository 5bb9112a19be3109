"""Derivatives of constrained dynamics, over arrays: accelerations and constraint forces, by implicit differentiation.

With s the magnitudes of the constraint forces, C the constraint rows over the motions of frames, J the frames'
Jacobian, K = C J the constraint Jacobian, and c(q, v, a) the rates that the constraints hold at zero,

    M a + h = τ + Jᵀ Cᵀ s              c(q, v, a) = 0                  ∂c/∂a = K

    ∂a = ∂a₀ + M⁻¹ Kᵀ ∂s               (K M⁻¹ Kᵀ) ∂s = - ∂c - K ∂a₀

where ∂a₀ is the derivative of forward dynamics under constant magnitudes s. The forces turn with their frames, so
∂a₀/∂q is the derivative from ``algorithms`` plus M⁻¹ Jᵀ ∂(Cᵀ s)/∂q. The constraints' dependence on the placements and
motions of their frames is differentiated through its trace; the dependence of these on q and v is found by recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constraint_solvers import Solver
from linkwork.dynamics.constraint_variations import seen, unit_wrenches, variations
from linkwork.dynamics.coupled_joints import Couplings, as_couplings, coupled_sizes
from linkwork.dynamics.derivatives import frame_acceleration_derivatives, frame_velocity_derivatives
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, loads_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity, jacobian
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

Responses = Callable[[Any, Any], tuple[Any, Any, Any, Any]]
"""(joint forces (..., nv), wrenches on bodies) -> a, da_dq, da_dv and M⁻¹ of the tree under these forces."""


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of ``lw.constrained_dynamics``, in the tangent space.

    Attributes:
        da_dq, da_dv, da_dtau: (..., nv, nv), of the accelerations.
        dw_dq, dw_dv, dw_dtau: (..., k, 6, nv), of the wrenches on frame a of each constraint, in the frame's own axes.
    """

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    dw_dq: Array
    dw_dv: Array
    dw_dtau: Array


def sizes_of(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, placements: Array, settings: Array | None,
    solver: Solver, model: Model | None = None,
) -> Array:  # fmt: skip
    """The magnitudes (..., r) of the constraint forces; for a ``model`` with other rotor inertias, if it is given."""
    own = held.model if model is None else model
    couplings = as_couplings(held.model, held.constraints)
    free = forward_dynamics(own, q, v, tau, f_ext)
    if couplings is not None:
        return coupled_sizes(own, couplings, q, v, free, settings, solver)[0]
    ends = held.ends
    places, V = forward_kinematics(own, q, ends), frame_velocity(own, q, v, ends)
    C, rates, _ = seen(held, q, places, V, frame_acceleration(own, q, v, free, ends), placements, settings)
    return solver.solve(C @ operational_inertia_inverse(own, q, ends) @ transposed(C), -rates)


class Pulls(NamedTuple):
    """The load of the constraints on the tree: joint forces (..., nv), or 0, and wrenches on bodies, f_ext included."""

    forces: Any
    loads: Any


def pulls_of(held: HeldBy, q: Array, v: Array, sizes: Array, f_ext: Array | None, placements: Array) -> Pulls:
    """The load on the tree from the magnitudes of the constraint forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return Pulls(times(couplings.rows.T, sizes), f_ext)
    places, V = forward_kinematics(held.model, q, held.ends), frame_velocity(held.model, q, v, held.ends)
    C, _, _ = seen(held, q, places, V, None, placements, None)
    return Pulls(0.0, loads_of(held, C, sizes, f_ext))


def derivatives_of(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, sizes: Array, placements: Array,
    settings: Array | None, solver: Solver, responses: Responses,
) -> ConstrainedDerivatives:  # fmt: skip
    """The derivatives, from the magnitudes of the constraint forces and the response of the tree to given forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return _of_couplings(held, couplings, q, tau, f_ext, sizes, settings, solver, responses)
    known = seen_frames(held, q, v, placements, settings)
    a, *free = responses(tau, loads_of(held, known.C, sizes, f_ext))
    return with_constraints(held, around_constraints(held, q, v, a, sizes, placements, settings, known), free, solver)


def with_constraints(held: HeldBy, around: Around, free: Any, solver: Solver) -> ConstrainedDerivatives:
    """The derivatives, from those of the tree under constant constraint forces with respect to q, v and tau: ``free``,
    three matrices, which are overwritten.
    """
    nv, k = held.model.nv, len(held.constraints)
    free[0] = free[0] + (free[2] @ transposed(around.J)) @ around.forces_q
    da, ds = _constrained(around.K, free, (around.c_q, around.c_v, None), solver)
    dw = [around.units @ each for each in ds]
    dw[0] = dw[0] + around.wrenches_q
    return ConstrainedDerivatives(*da, *(each.reshape((*each.shape[:-2], k, 6, nv)) for each in dw))


class Around(NamedTuple):
    """The constraints around a state, for given accelerations and magnitudes of forces.

    Attributes:
        K: the constraint Jacobian (..., r, nv).
        J: the Jacobian of the moving frames (..., 6m, nv).
        forces_q: the derivative of the forces on these frames with respect to q (..., 6m, nv).
        c_q, c_v: the derivatives of the rates that are held at zero, with respect to q and v (..., r, nv).
        units: wrenches for unit magnitudes (..., 6k, r).
        wrenches_q: the derivative of the wrenches with respect to q for constant magnitudes (..., 6k, nv).
    """

    K: Any
    J: Any
    forces_q: Any
    c_q: Any
    c_v: Any
    units: Any
    wrenches_q: Any


class Seen(NamedTuple):
    """The placements and velocities of the constraints' frames, and the rows over their motions, together and each."""

    places: Any
    V: Any
    C: Any
    rows: Any


def seen_frames(held: HeldBy, q: Any, v: Any, placements: Any, settings: Any) -> Seen:
    places, V = forward_kinematics(held.model, q, held.ends), frame_velocity(held.model, q, v, held.ends)
    C, _, rows = seen(held, q, places, V, None, placements, settings)
    return Seen(places, V, C, rows)


def around_constraints(
    held: HeldBy, q: Any, v: Any, a: Any, sizes: Any, placements: Any, settings: Any, known: Seen
) -> Around:
    model, ends = held.model, held.ends
    places, V, C, rows = known
    J = jacobian(model, q, ends)
    moving = [6 * end + row for end, body in enumerate(held.bodies) if body for row in range(6)]
    Jm = J[..., moving, :]
    V_q, _ = frame_velocity_derivatives(model, q, v, ends)
    A_q, A_v, _ = frame_acceleration_derivatives(model, q, v, a, ends)
    A = frame_acceleration(model, q, v, a, ends)
    change = variations(held, q, places, V, A, placements, settings, sizes)
    c_q = change.rates_places @ Jm + change.rates_motions @ V_q[..., moving, :] + C @ A_q + change.rates_q
    c_v = change.rates_motions @ Jm + C @ A_v
    forces_q = (change.forces_places @ Jm)[..., moving, :]
    return Around(C @ J, Jm, forces_q, c_q, c_v, unit_wrenches(held, rows), change.wrenches_places @ Jm)


def _constrained(
    K: Array, free: Any, asked: Sequence[Array | None], solver: Solver
) -> tuple[Sequence[Array], Sequence[Array]]:
    """Derivatives of accelerations and of constraint force magnitudes with respect to q, v and tau. ``free`` are the
    derivatives of the tree's accelerations under constant forces, ``asked`` those of the constrained rates.
    """
    answers = free[2] @ transposed(K)
    nv = K.shape[-1]
    if is_traced(answers):
        right = [-(K @ x) if c is None else -c - K @ x for x, c in zip(free, asked, strict=True)]
        all_sizes = solver.columns(K @ answers, np.concatenate(right, axis=-1))
        ds = [all_sizes[..., k * nv : (k + 1) * nv] for k in range(len(free))]
        return [x + answers @ own for x, own in zip(free, ds, strict=True)], ds
    every = free if isinstance(free, np.ndarray) else np.stack(free)
    rates = K @ every
    for own, c in zip(rates, asked, strict=True):
        if c is not None:
            own += c
    sizes = solver.columns(K @ answers, -rates)
    every += answers @ sizes
    return list(every), list(sizes)


def _of_couplings(
    held: HeldBy, couplings: Couplings, q: Array, tau: Array, f_ext: Array | None, sizes: Array,
    settings: Array | None, solver: Solver, responses: Responses,
) -> ConstrainedDerivatives:  # fmt: skip
    """The derivatives for couplings of joints, whose rows over joint velocities are constant."""
    K = couplings.rows
    _, a_q, a_v, mobility = responses(tau + times(K.T, sizes), f_ext)
    asked: list[Any] = [None, None, None]
    if settings is not None:
        asked = [settings[1] * K, settings[0] * K, None]  # each joint has one coordinate, so dq/dt = v
    da, ds = _constrained(K, [a_q, a_v, mobility], asked, solver)
    return ConstrainedDerivatives(*da, *(each[..., None, :] * couplings.wrenches[..., None] for each in ds))
