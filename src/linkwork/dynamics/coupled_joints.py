"""Dynamics of coupled joints: couplings as rows over joint velocities, not over motions of frames.

With J the rows of v_a - ratio v_b, the coupling forces solve (J M⁻¹ Jᵀ) λ = - J a_free - ...: one unknown for
each coupling, whereas frames would need twelve numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.arguments import Array
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.constraint_solvers import Solver
from linkwork.dynamics.dynamics import forward_dynamics, mass_matrix
from linkwork.model.constraints import Constraint, Coupling
from linkwork.model.doubtful import own_shares
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times


class Couplings(NamedTuple):
    """The couplings, their rows (k, nv), and the wrenches (k, 6) of unit forces on the bodies of their joints a."""

    couplings: tuple[Coupling, ...]
    rows: Array
    wrenches: Array


def as_couplings(model: Model, constraints: Sequence[Constraint]) -> Couplings | None:
    """The state-independent part; None if there is any other constraint."""
    found = tuple(each for each in constraints if isinstance(each, Coupling))
    if len(found) < len(constraints):
        return None
    rows = np.zeros((len(found), model.nv))
    for row, each in zip(rows, found, strict=True):
        for joint, factor in ((each.joint_a, 1.0), (each.joint_b, -each.ratio)):
            row[model.v_start[model.joint_index(joint)]] += factor
    wrenches = [each._row(model, each.joint_a)[0] for each in found]
    return Couplings(found, rows, np.array(wrenches).reshape(-1, 6))


def coupled_motion(
    model: Model, held: Couplings, q: Array, v: Array, tau: Array, f_ext: Array | None, settings: Array | None,
    solver: Solver, method: str = "articulated_body",
) -> tuple[Array, Array]:  # fmt: skip
    """Accelerations and wrenches, as ``constrained_dynamics`` returns them; the tree by any ``method``."""
    free = forward_dynamics(model, q, v, tau, f_ext, method)
    sizes, response = coupled_sizes(model, held, q, v, free, settings, solver, method)
    return free + times(response, sizes), sizes[..., None] * held.wrenches


def coupled_sizes(
    model: Model, held: Couplings, q: Array, v: Array, free: Array, settings: Array | None, solver: Solver,
    method: str = "articulated_body",
) -> tuple[Array, Array]:  # fmt: skip
    """The coupling forces (..., k) from the accelerations without them, and the unit responses (..., nv, k)."""
    if is_traced(free):
        light, rest = weightless(model), np.zeros(model.nv)  # the inertias are those of ``free``
        response = np.stack([forward_dynamics(light, q, rest, row, method=method) for row in held.rows], axis=-1)
    else:  # less code to compile
        response = np.asarray(np.linalg.solve(mass_matrix(model, q), held.rows.T), dtype=np.float64)
    asked = times(held.rows, free)
    if settings is not None:
        errors = np.concatenate([each.all_errors(model, q, ()) for each in held.couplings], axis=-1)
        asked = asked + settings[0] * times(held.rows, v) + settings[1] * errors
    return solver.solve(held.rows @ response, -asked), response


def weightless(model: Model) -> Model:
    """The model without gravity, whose inertias may be traced numbers."""
    made = model.with_gravity((0.0, 0.0, 0.0))
    made._memo.derived[own_shares.__wrapped__] = own_shares(model)  # type: ignore[attr-defined]
    return made
