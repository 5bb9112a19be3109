"""Configurations in which loops are closed: the search of inverse kinematics, with constraint errors as residuals."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import memory_for, positive, switch
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, as_batch, check_model
from linkwork.dynamics.held import HeldBy, at_grips, held_by, over_ends, rows_of, shown_constraint
from linkwork.dynamics.kinematics import forward_kinematics, jacobian, neutral
from linkwork.dynamics.pose_errors import pose_error
from linkwork.dynamics.search_coordinates import begun_within, within_limits
from linkwork.dynamics.searches import Problem
from linkwork.errors import ArgumentError, SingularError, warn_caller
from linkwork.model.constraints import Constraint, Held, Hinge, Rolling, Weld, direction
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

_TINY = 1e-12


def close_loops(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[Constraint] | Constraint | None = None,
    *,
    limits: bool = True,
    tolerance: float = 1e-9,
    out: Array | None = None,
) -> Array:
    """Configurations near q that satisfy constraints: valid initial states for a mechanism with loops.

    Damped least squares within the position limits, from q. A configuration that satisfies the constraints is returned
    unchanged.

    Args:
        model: the mechanism, a tree.
        q: configurations (..., nq); coordinates outside the limits start at the nearest limit, with a warning.
        constraints: ``lw.Weld``, ``lw.Ball``, ``lw.Hinge``, ``lw.PointOnPlane``, ``lw.Coupling``, ``lw.Rolling`` (the
            disc then touches its plane); those of the model, if left out. ``[]`` is satisfied by every configuration.
        limits: whether to keep within the position limits of the model; they are then never violated.
        tolerance: largest error (m, rad) along each constrained direction.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        q (..., nq).

    Raises:
        SingularError: if no such configuration was found; it names the state and the constraint with the largest error.

    Warns:
        LinkworkWarning: if q is outside the limits and ``limits`` is set, in which case it names the joint; or if no
            constraints are given and the model has none, so that there is nothing to close.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(4)
        >>> pin = lw.Ball("tip", placement=lw.placement(xyz=(2.0, 1.0, 0.0)))
        >>> q = lw.close_loops(arm, [0.3, 0.4, 0.5, 0.6], [pin])
        >>> (lw.forward_kinematics(arm, q, ["tip"])[0, :3, 3] + 0.0).round(6)
        array([2., 1., 0.])
    """
    check_model(model)
    chosen = model.constraints if constraints is None else constraints
    if constraints is None and not model.constraints:
        warn_caller(f"close_loops: there is nothing to close: model {model.name!r} has no constraints; pass some or []")
    held, kept, within = held_by(model, chosen), switch("limits", limits), positive("tolerance", tolerance)
    (configurations,), batch = as_batch(model, (("q", "configuration"),), [q])
    assert configurations is not None
    if is_traced(configurations):
        return _traced(held, configurations, kept, within)
    loops, states = _loops(held) if held.constraints else None, prod(batch)
    with memory_for("configurations", (states, 4 * model.nq + held.rows)):
        begin = begun_within(model, "q", configurations) if kept else np.array(configurations)
        if loops is None:
            return put_into(out, begin, apart={"q": q})
        rows = begin.reshape((states, model.nq))
    closed, off, _ = loops.solved(rows, *_fixed(loops, kept, within), held.placements)
    open_ = np.flatnonzero(~(off <= within).all(axis=-1))
    if open_.size:
        forward_kinematics(model, rows[open_[0]], held.ends)  # raises an error if the configuration is invalid
        raise loops.still_open(off[open_[0]], np.unravel_index(open_[0], batch) if batch else (), kept)
    return put_into(out, closed.reshape((*batch, model.nq)), apart={"q": q})


def _traced(held: HeldBy, q: Any, kept: bool, within: float) -> Any:
    """The configuration for a single traced state; nan where loops stay open."""
    if q.ndim != 1:
        raise ArgumentError("q must be of one state here, without leading axes")
    begin = within_limits(held.model, q) if kept else q
    if not held.constraints:
        return begin
    loops = _loops(held)
    closed, off, _ = loops.text(begin, *_fixed(loops, kept, within), held.placements)
    return np.where((off <= within).all(), closed, np.nan)


def _fixed(loops: Loops, kept: bool, within: float) -> list[Array]:
    count = len(loops.groups)
    return [*loops.fixed(kept, 1.0, 0), np.ones(count), np.full(count, within)]


def _loops(held: HeldBy) -> Loops:
    """The problem of a model's constraints, cached."""
    loops: Loops | None = held.problems.get("loops")
    if loops is None:
        loops = held.problems["loops"] = Loops(held)
    return loops


class Loops(Problem):
    """Constraints that are to be satisfied; each constrained direction is a residual."""

    name = "close_loops"

    def __init__(self, held: HeldBy) -> None:
        self.held, self.what = held, held.kinds
        self.argument = "placements", held.placements.shape
        at_rest = neutral(held.model)
        owners = [k for k, part in enumerate(self._parts(at_rest, held.placements)) for _ in range(part[0].shape[-1])]
        self.owners = owners
        super().__init__(held.model, held.frames, held.bodies, [[k] for k in range(len(owners))])
        _, J = self.residuals(self.configurations(), held.placements)
        with np.errstate(all="ignore"):
            size = float((J * J).sum(axis=(-2, -1)).mean() / len(owners))
        self.size = size if 0.0 < size < np.inf else 1.0

    def residuals(self, q: Any, argument: Any) -> tuple[Any, Any]:
        errors, rows = zip(*self._parts(q, argument), strict=True)
        J = jacobian(self.model, q, self.held.ends)
        return np.concatenate(errors, axis=-1), np.concatenate(rows, axis=-2) @ J

    def _parts(self, q: Any, placements: Any) -> list[tuple[Any, Any]]:
        """The residuals (..., r) of each constraint, and their rows (..., r, 6 ends) over the motions of all frames."""
        held, model = self.held, self.held.model
        places = forward_kinematics(model, q, held.ends)
        seen = at_grips(held, places, np.zeros((len(held.ends), 6)), placements)
        parts = []
        for constraint, grips in zip(held.constraints, held.grips, strict=True):
            own = seen.of(grips)
            G = constraint.all_rows(model, own)
            errors, G = _residuals(constraint, model, q, own, G, seen.place[..., grips[0], :, :])
            parts.append((errors, over_ends(held, rows_of(held, G, grips, seen.X))))
        return parts

    def still_open(self, off: Array, where: Any, kept: bool) -> SingularError:
        """The error that names the constraint with the largest error, and what may help."""
        worst = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        constraint = shown_constraint(self.held.constraints[self.owners[worst]])
        state = f" from state {[int(k) for k in where]} of the batch" if len(where) else ""
        hint = ", or limits=False" if kept else ""
        return SingularError(
            f"close_loops: no configuration was found{state} that satisfies the constraints: {constraint} stays off by "
            f"{off[worst]:.3g} (m or rad). Begin nearer to one{hint}"
        )


def _residuals(
    constraint: Constraint, model: Model, q: Any, own: Sequence[Held], G: list[Any], place: Any
) -> tuple[Any, list[Any]]:
    """The negative error of a constraint, and the rows of its position-level part. It is exact for finite rotations;
    the errors in ``constraints`` are those of small angles.
    """
    if isinstance(constraint, Weld):
        return pose_error(place, np.eye(4)), G
    if isinstance(constraint, Rolling):  # only its height is a position-level constraint
        normal = times(transposed(own[0].turn), direction(constraint.normal))[..., None, :]
        return times(normal, -constraint.all_errors(model, q, own)), [normal @ G[0]]
    errors = -constraint.all_errors(model, q, own)
    if isinstance(constraint, Hinge):
        axis = direction(constraint.axis)
        there = times(transposed(own[0].turn), axis)
        sine, cosine = errors[..., 3:], (axis * there).sum(axis=-1)
        size = np.sqrt((sine * sine).sum(axis=-1))
        angle = np.arctan2(size, cosine)
        factor = np.where(size > _TINY, angle / np.maximum(size, _TINY), 1.0)
        turned = np.where((size <= _TINY) & (cosine < 0.0), np.pi, 0.0)[..., None] * np.array([1.0, 0.0])
        errors = np.concatenate([errors[..., :3], factor[..., None] * sine + turned], axis=-1)
    return errors, G
