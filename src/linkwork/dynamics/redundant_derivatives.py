"""Derivatives of constrained dynamics for redundant constraints: those of the minimum-norm constraint forces."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_state import ConstrainedState, ConstraintRows
from linkwork.dynamics.constraint_solvers import JoinedSolver
from linkwork.dynamics.constraint_variations import unit_wrenches, variations
from linkwork.dynamics.derivatives import (
    forward_dynamics_derivatives,
    frame_velocity_derivatives,
    inverse_dynamics_derivatives,
    mass_matrix_inverse,
)
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, loads_of
from linkwork.dynamics.held_derivatives import ConstrainedDerivatives, derivatives_of
from linkwork.dynamics.kinematics import frame_acceleration, jacobian
from linkwork.spatial.small_matrices import times, transposed

_CONFLICT = 1e-9
"""Relative to the constrained rates: a larger residual is a conflict between constraints, not rounding."""


@np.errstate(all="ignore")  # the solver reports non-finite numbers
def of_redundant(state: ConstrainedState) -> ConstrainedDerivatives:
    """The derivatives for the minimum-norm, least-squares magnitudes s = A⁺ b of the constraint forces. With
    A = K M⁻¹ Kᵀ, the projector N = 1 - A⁺ A and the residual e = b - A s,

        ds = A⁺ (db - dA s) + A⁺ A⁺ dA e + N dA A⁺ s

    where Kᵀ N = 0, so that dA e = K M⁻¹ dKᵀ e and N dA = N dK M⁻¹ Kᵀ. ``derivatives_of`` finds the first term.
    """
    held, q, v = state.held, state.q, state.v
    model, solver, sizes = held.model, state.solver, state.magnitudes()
    assert isinstance(solver, JoinedSolver)
    motions: list[Array] = []

    def responses(forces: Any, loads: Any) -> tuple[Any, Any, Any, Any]:
        motions.append(forward_dynamics(model, q, v, forces, loads))
        return motions[0], *forward_dynamics_derivatives(model, q, v, forces, loads)

    if held.couplings is not None:  # their rows are constant
        return derivatives_of(state, sizes, responses)
    rows = state.constraint_rows()
    J = jacobian(model, q, held.ends)
    K = rows.C @ J
    answers = mass_matrix_inverse(model, q) @ transposed(K)
    inverse = solver.inverse(K @ answers)
    N = np.eye(sizes.shape[-1]) - inverse @ (K @ answers)
    sizes = sizes - times(N, sizes)  # if constraints conflict, the proximal iteration leaves a part along N
    derivatives = derivatives_of(state, sizes, responses)
    b = -state.constraint_rows(frame_acceleration(model, q, v, motions[0], held.ends)).rates
    along_q = partial(_rows_along_q, held, q, rows, J)
    of_forces, _ = along_q(times(answers, times(inverse, sizes)), sizes)
    more, left = N @ of_forces, times(N, b)
    if np.abs(left).max(initial=0.0) > _CONFLICT * np.abs(b).max(initial=1.0):
        _, of_conflict = along_q(np.zeros_like(v), left)
        more = more + inverse @ (inverse @ (transposed(answers) @ of_conflict))
    wrenches = (unit_wrenches(held, rows.rows) @ more).reshape(derivatives.dw_dq.shape)
    return derivatives._replace(da_dq=derivatives.da_dq + answers @ more, dw_dq=derivatives.dw_dq + wrenches)


def _rows_along_q(
    held: HeldBy, q: Array, rows: ConstraintRows, J: Array, y: Array, sizes: Array
) -> tuple[Array, Array]:
    """The derivatives of K y and Kᵀ s with respect to q, for constant velocities y and force magnitudes s."""
    model, still = held.model, np.zeros_like(y)
    moving = [6 * end + row for end, body in enumerate(held.bodies) if body for row in range(6)]
    Jm = J[..., moving, :]
    moved = times(J, y).reshape(rows.V.shape)
    change = variations(held, q, rows.places, 0.0 * rows.V, moved, held.placements, None, sizes)
    V_q, _ = frame_velocity_derivatives(model, q, y, held.ends)
    loads = loads_of(held, rows.C, sizes, None)
    at_rest, loaded = (inverse_dynamics_derivatives(model, q, still, still, f)[0] for f in (None, loads))
    forces = transposed(J) @ (change.forces_places @ Jm) + at_rest - loaded
    return change.rates_places @ Jm + rows.C @ V_q, forces
