"""The constraints of a controller, such as the feet on which a robot stands: motors and constraint forces share what a
motion needs.

A motion that the constraints allow needs the joint forces u = M a + h. Where no motor is, constraints supply them:

    Bᵀ f = u_p,   τ = u - Kᵀ f,   τ_p = 0        p without motors, B the columns of K there

If several f do, the nearest to the desired reactions are taken; what these change is internal, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import finite_array
from linkwork.compiled.arrays import is_traced
from linkwork.control.references import Reference, as_reference
from linkwork.dynamics.arguments import Array, PointSet, as_frames
from linkwork.dynamics.constrained_inverse import smallest
from linkwork.dynamics.constrained_points import ConstrainedPoints, constrained_points, with_ends
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import JoinedSolver, TracedSolver
from linkwork.dynamics.dynamics import inverse_dynamics
from linkwork.dynamics.held import HeldBy, held_by
from linkwork.dynamics.questions import Constraints
from linkwork.errors import ArgumentError
from linkwork.model.model import Model, Point
from linkwork.model.queries import weightless
from linkwork.spatial.small_matrices import times, transposed

_CALLER = "OperationalSpaceController"


class Torques(NamedTuple):
    """Joint forces (..., nv) of motors, N or N m, and the wrenches (..., k, 6) on frame a of each constraint."""

    torque: Array
    reactions: Array


class ControllerConstraints:
    """Constraints, and the degrees of freedom that only they drive.

    Args:
        model: the mechanism.
        constraints: loops and supports.
        points: of the controller's tasks.
        idle: mask (nv,) of the degrees of freedom without a motor.
        reactions: desired wrenches (k, 6) on frame a of each constraint; zero if None.
    """

    def __init__(
        self,
        model: Model,
        constraints: Constraints,
        points: Sequence[Point],
        idle: NDArray[np.bool_],
        reactions: Reference | ArrayLike | None,
    ) -> None:
        self.held: HeldBy = held_by(model, constraints if constraints is not None else [])
        self.placements, self.idle = self.held.placements.ravel(), np.flatnonzero(idle)
        self.reactions = _reactions(self.held, reactions)
        self.driven = np.ones(model.nv)
        self.driven[self.idle] = 0.0
        self._asked: PointSet = as_frames(model, points)
        self._every = with_ends(self.held, self._asked)

    def __bool__(self) -> bool:
        return bool(self.held.constraints)

    @property
    def kinds(self) -> tuple[object, ...]:
        """What compiled code depends on."""
        return tuple(self.held.frames), repr(self.held.kinds), tuple(self.idle.tolist())

    def points(self, placements: Any) -> ConstrainedPoints:
        """The points of the tasks under the constraints, in their own axes."""
        points = self._asked, self._every, self._every.method, "local"
        there = placements.reshape(-1, 4, 4)
        return constrained_points(self.held, there, *points, self._asked.offsets, False)

    def needed(self, points: ConstrainedPoints, q: Array, v: Array, effort: Array, bias: Array) -> Array:
        """u = M a + bias for the motion due to joint forces ``effort`` beyond the bias, under the constraints."""
        free = weightless(self.held.model)
        a = points.allowed_accelerations(q, v, effort)
        return inverse_dynamics(free, q, np.zeros(free.nv), a) + bias

    def shared(self, points: ConstrainedPoints, q: Array, v: Array, needed: Array, wanted: Array) -> Torques:
        """The forces of motors and constraints that together are the joint forces needed."""
        held, traced = self.held, is_traced(q)
        solver = TracedSolver(held.name, 0.0, _CALLER) if traced else JoinedSolver(held.name, 0.0, _CALLER)
        rows, K = points.constraint_rows(q)
        sizes = self._sizes(rows, wanted)
        left = needed - times(transposed(K), sizes)
        state = ConstrainedState(held, solver, points.placements, None, q, v)
        sizes = sizes + smallest(state, self.idle, transposed(K[:, self.idle]), left[self.idle], needed)
        torque = (needed - times(transposed(K), sizes)) * self.driven
        return Torques(torque, points.constraint_wrenches(q, sizes))

    def _sizes(self, rows: list[dict[int, Array]], wanted: Array) -> Array:
        """The magnitudes of the constraint forces of wrenches (6k,), as far as the constraints can exert them."""
        parts, held = [], self.held
        for k, (own, grips) in enumerate(zip(rows, held.grips, strict=True)):
            parts.append(times(own[held.a[grips[0]]], wanted[6 * k : 6 * k + 6]))
        return np.concatenate(parts)


def _reactions(held: HeldBy, reactions: Reference | ArrayLike | None) -> Reference:
    """The desired wrenches as a reference of 6 numbers for each constraint."""
    count = len(held.constraints)
    if not isinstance(reactions, Reference):
        wrenches = np.zeros((count, 6)) if reactions is None else finite_array("reactions", reactions)
        if wrenches.shape != (count, 6):
            raise ArgumentError(
                f"reactions must have shape ({count}, 6), a wrench for each of the constraints, not {wrenches.shape}"
            )
        reactions = as_reference("reactions", wrenches.ravel() if count else np.zeros(1))
    if count and reactions.shape != (6 * count,):
        raise ArgumentError(f"reactions must be {6 * count} numbers for {count} constraints, not {reactions.shape}")
    return reactions
