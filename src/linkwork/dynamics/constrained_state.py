"""A state of a model under constraints: their rows over the motions of frames, and the magnitudes of their forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constraint_solvers import Solver
from linkwork.dynamics.coupled_joints import coupled_sizes
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, Rows, conditions, one_by_one, over_ends
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.operational import inertia_inverse
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import transposed


class ConstrainedState(NamedTuple):
    """One state or a batch; arrays of floats or of traced numbers.

    Attributes:
        held: the model and its constraints.
        solver: what solves for the magnitudes of the constraint forces.
        placements: of a relative to b that the constraints hold.
        settings: the Baumgarte gains, then others; None without stabilisation.
        q, v, tau: configuration, velocity, and joint forces (or whatever a function takes third).
        f_ext: external forces on bodies; None if there are none.
    """

    held: HeldBy
    solver: Solver
    placements: Any
    settings: Any
    q: Any
    v: Any
    tau: Any = None
    f_ext: Any = None

    def constraint_rows(self, A: Any = None) -> ConstraintRows:
        """The constraints in this state; their rates are accelerations if the frames' accelerations A are given."""
        model, q, ends = self.held.model, self.q, self.held.ends
        places, V = forward_kinematics(model, q, ends), frame_velocity(model, q, self.v, ends)
        return ConstraintRows(places, V, *rows_and_rates(self.held, q, places, V, A, self.placements, self.settings))

    def magnitudes(self, own: Model | None = None) -> Any:
        """The magnitudes (..., r) of the constraint forces; for a model with other rotor inertias, if it is given."""
        held, model = self.held, self.held.model if own is None else own
        if held.couplings is None:
            return self.solution(model)[0]
        free = forward_dynamics(model, self.q, self.v, self.tau, self.f_ext)
        return coupled_sizes(model, held.couplings, self.q, self.v, free, self.settings, self.solver)[0]

    def solution(self, model: Model) -> tuple[Any, ConstraintRows]:
        """The same with couplings as rows over motions of frames, like other constraints; and the constraints."""
        q, v, ends = self.q, self.v, self.held.ends
        free = forward_dynamics(model, q, v, self.tau, self.f_ext)
        known = self.constraint_rows(frame_acceleration(model, q, v, free, ends))
        mobility = known.C @ inertia_inverse(model, q, ends) @ transposed(known.C)
        return self.solver.solve(mobility, -known.rates), known


class ConstraintRows(NamedTuple):
    """The placements and velocities of the constraints' frames; the rows over their motions, together (..., r, 6m) and
    by constraint; and the rates (..., r) that are held at zero.
    """

    places: Any
    V: Any
    C: Any
    rates: Any
    rows: list[Rows]


def rows_and_rates(
    held: HeldBy, q: Any, places: Any, V: Any, A: Any, placements: Any, settings: Any
) -> tuple[Array, Array, list[Rows]]:
    """Rows over the motions of all frames (..., r, 6m), the constrained rates (..., r), and each constraint's rows."""
    rows, rates = one_by_one(held, conditions(held, q, places, V, A, placements, settings))
    return all_rows(held, rows), np.concatenate(rates, axis=-1), rows


def all_rows(held: HeldBy, rows: Sequence[Rows]) -> Array:
    """The rows (..., r, 6m) of all constraints over the motions of all frames."""
    return np.concatenate([over_ends(held, own) for own in rows], axis=-2)
