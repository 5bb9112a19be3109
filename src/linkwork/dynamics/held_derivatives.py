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

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_state import ConstrainedState, ConstraintRows
from linkwork.dynamics.constraint_solvers import Solver
from linkwork.dynamics.constraint_variations import unit_wrenches, variations
from linkwork.dynamics.coupled_joints import Couplings
from linkwork.dynamics.derivatives import frame_acceleration_derivatives, frame_velocity_derivatives
from linkwork.dynamics.held import HeldBy, loads_of
from linkwork.dynamics.kinematics import frame_acceleration, jacobian
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


def derivatives_of(state: ConstrainedState, sizes: Array, responses: Responses) -> ConstrainedDerivatives:
    """The derivatives, from the magnitudes of the constraint forces and the response of the tree to given forces."""
    held = state.held
    if held.couplings is not None:
        return _of_couplings(state, held.couplings, sizes, responses)
    rows = state.constraint_rows()
    a, *free = responses(state.tau, loads_of(held, rows.C, sizes, state.f_ext))
    J = jacobian(held.model, state.q, held.ends)
    R = J @ free[2]
    around = around_constraints(state, a, sizes, rows, R, R @ transposed(J))
    return with_constraints(held, *around, free, state.solver)


class Around(NamedTuple):
    """The constraints around a state, for given accelerations and magnitudes of forces.

    Attributes:
        K: the constraint Jacobian (..., r, nv).
        C: the constraint rows over the motions of the moving frames (..., r, 6m).
        R: accelerations of the joints due to unit forces at these frames, M⁻¹ Jᵀ transposed (..., 6m, nv).
        answers: the same due to unit magnitudes of the constraint forces, C R (..., r, nv).
        units: wrenches for unit magnitudes (..., 6k, r).
        system: K M⁻¹ Kᵀ as ``Solver.columns`` takes it.
    """

    K: Any
    C: Any
    R: Any
    answers: Any
    units: Any
    system: Any


class AlongColumns(NamedTuple):
    """The same for each degree of freedom, a column.

    Attributes:
        c_q, c_v: the derivatives of the rates that are held at zero, with respect to q, as the forces turn with their
            frames, and to v (..., r, nv).
        answers: as above; the derivative with respect to tau.
        forces_q: the derivative of the forces on moving frames with respect to q for constant magnitudes (..., 6m, nv).
        wrenches_q: that of the wrenches (..., 6k, nv).
    """

    c_q: Any
    c_v: Any
    answers: Any
    forces_q: Any
    wrenches_q: Any


def with_constraints(
    held: HeldBy, around: Around, along: AlongColumns, free: Sequence[Any], solver: Solver
) -> ConstrainedDerivatives:
    """The derivatives, from those of the tree under constant constraint forces with respect to q, v and tau: ``free``.
    Each column depends on the same column of ``along`` and ``free`` only; there may be any number of columns.
    """
    K, C, R, answers, units, system = around
    x_q, x_v, mobility = free
    rates = _plus(_times(K, x_q, x_v), along.c_q, along.c_v)
    ds = [-each for each in solver.columns(system, [*rates, along.answers])]
    da_q = x_q + transposed(R) @ (along.forces_q + transposed(C) @ ds[0])
    da = [da_q, *_plus(_times(transposed(answers), *ds[1:]), x_v, mobility)]
    dw = _times(units, *ds)
    dw[0] = dw[0] + along.wrenches_q
    k = len(held.constraints)
    return ConstrainedDerivatives(*da, *(each.reshape((*each.shape[:-2], k, 6, each.shape[-1])) for each in dw))


def _times(matrix: Array, *others: Array) -> list[Array]:
    """A matrix times others, at once: each of its numbers is used for all of them in turn."""
    edges = np.cumsum([each.shape[-1] for each in others])
    return np.split(matrix @ np.concatenate(others, axis=-1), edges[:-1], axis=-1)


def _plus(some: Sequence[Array], *others: Array) -> list[Array]:
    return [x + y for x, y in zip(some, others, strict=True)]


def around_constraints(
    state: ConstrainedState, a: Any, sizes: Any, constraint_rows: ConstraintRows, R: Any, mobility: Any
) -> tuple[Around, AlongColumns]:
    """The constraints around a state. ``R`` is M⁻¹ Jᵀ transposed (..., 6m, nv), and ``mobility`` J M⁻¹ Jᵀ, of all
    frames.
    """
    held, q, v = state.held, state.q, state.v
    model, ends = held.model, held.ends
    places, V, C, _, rows = constraint_rows
    moving = [6 * end + row for end, body in enumerate(held.bodies) if body for row in range(6)]
    Jm, Cm, Rm = jacobian(model, q, ends)[..., moving, :], C[..., moving], R[..., moving, :]
    V_q, _ = frame_velocity_derivatives(model, q, v, ends)
    A_q, A_v, _ = frame_acceleration_derivatives(model, q, v, a, ends)
    A = frame_acceleration(model, q, v, a, ends)
    change = variations(held, q, places, V, A, state.placements, state.settings, sizes)
    forces_q = (change.forces_places @ Jm)[..., moving, :]
    reached = (C @ mobility)[..., moving]
    c_q = change.rates_places @ Jm + change.rates_motions @ V_q[..., moving, :] + C @ A_q + change.rates_q
    c_v = change.rates_motions @ Jm + C @ A_v
    answers = Cm @ Rm
    along = AlongColumns(c_q + reached @ forces_q, c_v, answers, forces_q, change.wrenches_places @ Jm)
    system = state.solver.system(C @ mobility @ transposed(C))
    return Around(Cm @ Jm, Cm, Rm, answers, unit_wrenches(held, rows), system), along


def _of_couplings(
    state: ConstrainedState, couplings: Couplings, sizes: Array, responses: Responses
) -> ConstrainedDerivatives:
    """The derivatives for couplings of joints, whose rows over joint velocities are constant."""
    K, settings, solver = couplings.rows, state.settings, state.solver
    _, a_q, a_v, mobility = responses(state.tau + times(K.T, sizes), state.f_ext)
    stabilising: list[Any] = [None, None, None]
    if settings is not None:
        stabilising = [settings[1] * K, settings[0] * K, None]  # each joint has one coordinate, so dq/dt = v
    answers = K @ mobility
    rates = [K @ x if c is None else K @ x + c for x, c in zip((a_q, a_v, mobility), stabilising, strict=True)]
    ds = [-each for each in solver.columns(solver.system(answers @ K.T), rates)]
    da = [x + transposed(answers) @ each for x, each in zip((a_q, a_v, mobility), ds, strict=True)]
    return ConstrainedDerivatives(*da, *(each[..., None, :] * couplings.wrenches[..., None] for each in ds))
