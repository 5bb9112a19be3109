"""Impacts: the velocity jump when constraints become active.

    M (v⁺ - v) = Cᵀ p,   C v⁺ = 0        p: impulses of the constraints, in no time, so that no other force counts

p solves (C Λ⁻¹ Cᵀ) p = - C V, with the velocities V of the constrained frames, just as the forces in ``constrained``
solve for accelerations. The impact is inelastic: catching, landing, a clutch that closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, at_grips, held_by, loads_of, over_ends, rows_of, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.model.queries import weightless
from linkwork.spatial.small_matrices import times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_NAME = "impact"


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
    held, choices = held_by(model, constraints), (_NAME, proximal, type(proximal))
    answer: tuple[Array, Array] | None = call.recall(held.quick, choices, out, q, v)
    if answer is not None:
        return answer
    settings = held.settings(None, proximal)
    damped = bool(settings[2])
    law = held.laws.get((_NAME, damped))
    if law is not None:
        answer = call.serve_by(law, held.quick, choices, (held.placements, settings), out, q, v)
        if answer is not None:
            return answer
    (q_, v_), batch = as_batch(model, (("q", "configuration"), ("v", "velocity")), [q, v])
    assert q_ is not None and v_ is not None
    if not held.constraints:
        return put_into(out, v_ + 0.0, np.zeros((*batch, 0, 6)), apart={"q": q, "v": v})
    damping = float(settings[2])
    if is_traced(q_) or is_traced(v_):
        return _after(held, q_, v_, held.placements, TracedSolver(held.name, damping, _NAME))
    joined, law = JoinedSolver(held.name, damping, _NAME), _law(held, damped)
    if law is None:
        return put_into(out, *_after(held, q_, v_, held.placements, joined), apart={"q": q, "v": v})
    (after, impulses), _, fine = law.attempt([q_, v_, held.placements, settings])
    if not fine.all():  # on floats, an error says why there is no result
        bad = ~fine.reshape(batch)
        after[bad], impulses[bad] = _after(held, q_[bad], v_[bad], held.placements, joined)
    return put_into(out, after, impulses, apart={"q": q, "v": v})


def _law(held: HeldBy, damped: bool) -> CompiledFunction | None:
    """The kernel, with or without proximal damping, if there is one."""

    def make() -> CompiledFunction:
        from linkwork.compiled.law import law

        def text(q: Any, v: Any, placements: Any, settings: Any) -> Any:
            solver = TracedSolver(held.name, settings[2].item() if damped else 0.0, _NAME)
            return _after(held, q, v, placements, solver)

        model = held.model
        shapes = {"q": (model.nq,), "v": (model.nv,), "placements": held.placements.shape, "settings": (3,)}
        results = [(model.nv,), (len(held.constraints), 6)]
        return law(_NAME, text, shapes, results, model, held.frames, held.kinds, damped, optional=True)

    return held.short_law((_NAME, damped), make)


# The algorithm, over arrays


def _after(held: HeldBy, q: Array, v: Array, placements: Array, solver: Solver) -> tuple[Array, Array]:
    """Velocities and impulses. ``placements`` are the placements of a relative to b that the constraints hold."""
    model, ends = held.model, held.ends
    seen = at_grips(held, forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends), placements)
    rows, slips = [], []
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        G = constraint.all_rows(model, seen.of(grips))
        slips.append(sum(times(part, seen.relative[..., g, :]) for part, g in zip(G, grips, strict=True)))
        rows.append(rows_of(held, G, grips, seen.X))
    C = np.concatenate([over_ends(held, own) for own in rows], axis=-2)
    matrix = C @ operational_inertia_inverse(model, q, ends) @ transposed(C)
    sizes = solver.solve(matrix, -np.concatenate(slips, axis=-1))
    still = np.zeros(model.nv)
    after = v + forward_dynamics(weightless(model), q, still, still, loads_of(held, C, sizes, None))
    return after, wrenches_of(held, rows, sizes)
