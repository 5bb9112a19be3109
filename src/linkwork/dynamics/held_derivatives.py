"""How constrained dynamics varies with the state, as texts over arrays: accelerations and the forces of constraints,
differentiated implicitly.

With s the sizes of the constraints' forces, C their rows over the motions of frames, J the frames' Jacobian, K = C J,
and c(q, v, a) the rates that they hold at zero,

    M a + h = τ + Jᵀ Cᵀ s              c(q, v, a) = 0                  ∂c/∂a = K

    ∂a = ∂a₀ + M⁻¹ Kᵀ ∂s               (K M⁻¹ Kᵀ) ∂s = - ∂c - K ∂a₀

where ∂a₀ is the derivative of forward dynamics under constant forces s, which turn with their frames: ∂a₀/∂q has
M⁻¹ Jᵀ ∂(Cᵀ s)/∂q beside the derivative that ``algorithms`` finds. What constraints see of their frames, places and
motions, is differentiated by its trace; how places and motions vary with q and v is known by recursion.
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
"""(forces (..., nv), wrenches on bodies) -> a, da_dq, da_dv and M⁻¹ of the tree under them."""


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of ``lw.constrained_dynamics``, in the tangent space.

    Attributes:
        da_dq, da_dv, da_dtau: (..., nv, nv), of the accelerations.
        dw_dq, dw_dv, dw_dtau: (..., k, 6, nv), of the wrenches on frame a of each constraint, in its own axes.
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
    """The sizes (..., r) of the constraints' forces; of a ``model`` with other rotors, if it is given."""
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
    """What constraints do to the tree: joint forces (..., nv), or 0, and wrenches on bodies with the external ones."""

    forces: Any
    loads: Any


def pulls_of(held: HeldBy, q: Array, v: Array, sizes: Array, f_ext: Array | None, placements: Array) -> Pulls:
    """From the sizes of the constraints' forces."""
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
    """From the sizes of the constraints' forces, and what the tree does under given forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return _of_couplings(held, couplings, q, tau, f_ext, sizes, settings, solver, responses)
    known = seen_frames(held, q, v, placements, settings)
    a, *free = responses(tau, loads_of(held, known.C, sizes, f_ext))
    return with_constraints(held, around_constraints(held, q, v, a, sizes, placements, settings, known), free, solver)


def with_constraints(held: HeldBy, around: Around, free: Any, solver: Solver) -> ConstrainedDerivatives:
    """From the derivatives of the tree under constant forces of the constraints, with respect to q, v and tau: three
    matrices, which are used up.
    """
    nv, k = held.model.nv, len(held.constraints)
    free[0] = free[0] + (free[2] @ transposed(around.J)) @ around.forces_q
    da, ds = _constrained(around.K, free, (around.c_q, around.c_v, None), solver)
    dw = [around.units @ each for each in ds]
    dw[0] = dw[0] + around.wrenches_q
    return ConstrainedDerivatives(*da, *(each.reshape((*each.shape[:-2], k, 6, nv)) for each in dw))


class Around(NamedTuple):
    """What of constraints varies with q and v under given accelerations and forces of given sizes: rows K (..., r, nv)
    over velocities; the Jacobian of the frames that move (..., 6m, nv), and how the forces on these vary with q; how
    what is held at zero varies with q and with v, (..., r, nv); what takes sizes to wrenches (..., 6k, r), and how
    wrenches vary with q besides (..., 6k, nv).
    """

    K: Any
    J: Any
    forces_q: Any
    c_q: Any
    c_v: Any
    units: Any
    wrenches_q: Any


class Seen(NamedTuple):
    """Where the constraints' frames are, how they move, and the rows over their motions, together and of each."""

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
    """Derivatives of accelerations and of the sizes of forces, from those of the tree under constant forces and of what
    the constraints ask for, each with respect to q, v and tau.
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
    """The same for joints that move together, whose rows over velocities are constant."""
    K = couplings.rows
    _, a_q, a_v, mobility = responses(tau + times(K.T, sizes), f_ext)
    asked: list[Any] = [None, None, None]
    if settings is not None:
        asked = [settings[1] * K, settings[0] * K, None]  # joints of one number each: q moves as v does
    da, ds = _constrained(K, [a_q, a_v, mobility], asked, solver)
    return ConstrainedDerivatives(*da, *(each[..., None, :] * couplings.wrenches[..., None] for each in ds))
