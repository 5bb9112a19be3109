"""Impacts: the velocity jump when constraints become active.

    M (v⁺ - v) = Cᵀ p,   C v⁺ = 0        p: impulses of the constraints, in no time, so that no other force counts

p solves (C Λ⁻¹ Cᵀ) p = - C V, with the velocities V of the constrained frames, just as the forces in ``constrained``
solve for accelerations. The impact is inelastic: catching, landing, a clutch that closes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_call import ConstrainedFunction, Shape
from linkwork.dynamics.constrained_state import ConstrainedState, all_rows
from linkwork.dynamics.coupled_joints import weightless
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, at_grips, held_by, loads_of, rows_of, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity
from linkwork.dynamics.operational import inertia_inverse
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed


def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[Constraint],
    proximal: float = 0.0,
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Velocities and impulses of an inelastic impact, at the instant when constraints become active.

    The constraints of a mechanism may change from call to call: a hand catches an object when a ``lw.Weld`` is added
    to them, and releases it when that is removed. The constrained frames then move together at once; this function
    returns the velocity after the impact.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity before (..., nv).
        constraints: k constraints, as in ``lw.constrained_dynamics``: all that are active from now on.
        proximal: damping for redundant constraints; see ``lw.constrained_dynamics``.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        v (..., nv) after the impact, rad/s or m/s, and impulses (..., k, 6): linear (N s) and angular (N m s), on frame
        a of each constraint, in the frame's own axes; the opposite acts on frame b.

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; the error names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> for name in ("cart", "parcel"):
        ...     _ = builder.add_body(name, joint=lw.joints.Prismatic("x"), mass=2.0, inertia=(1, 1, 1))
        >>> caught = [lw.PointOnPlane("parcel", "cart", normal="x")]
        >>> v, impulses = lw.impact(builder.build(), [0.0, 0.0], [0.0, 3.0], caught)
        >>> v.round(12), impulses[0, :3].round(12) + 0.0
        (array([1.5, 1.5]), array([-3.,  0.,  0.]))
    """
    after: tuple[Array, Array] = _IMPACT(held_by(model, constraints), (), (q, v), out, None, proximal)
    return after


class _Impact(ConstrainedFunction):
    """Velocities and impulses."""

    name = "impact"
    arguments = (("q", "configuration"), ("v", "velocity"))

    def shapes(self, held: HeldBy, choices: tuple[()]) -> list[Shape]:
        return [(held.model.nv,), (len(held.constraints), 6)]

    def free(self, state: ConstrainedState, choices: tuple[()]) -> tuple[Array, ...]:
        return state.v + 0.0, np.zeros((*state.v.shape[:-1], 0, 6))

    def text(self, state: ConstrainedState, choices: tuple[()]) -> tuple[Array, ...]:
        held, q, v = state.held, state.q, state.v
        model, ends = held.model, held.ends
        seen = at_grips(held, forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends), state.placements)
        rows, slips = [], []
        for constraint, grips in zip(held.constraints, held.grips, strict=True):
            G = constraint.all_rows(model, seen.of(grips))
            slips.append(sum(times(part, seen.relative[..., g, :]) for part, g in zip(G, grips, strict=True)))
            rows.append(rows_of(held, G, grips, seen.X))
        C = all_rows(held, rows)
        matrix = C @ inertia_inverse(model, q, ends) @ transposed(C)
        sizes, still = state.solver.solve(matrix, -np.concatenate(slips, axis=-1)), np.zeros(model.nv)
        after = v + forward_dynamics(weightless(model), q, still, still, loads_of(held, C, sizes, None))
        return after, wrenches_of(held, rows, sizes)


_IMPACT = _Impact()


def jump(state: ConstrainedState) -> tuple[Array, ...]:
    """The velocities after an impact, and the impulses, in a state over arrays."""
    return _IMPACT.text(state, ())
