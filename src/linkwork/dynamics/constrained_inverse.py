"""Inverse dynamics with loop closures and bilateral contacts: motor and constraint forces for a given motion.

    M q̈ + h = τ + Kᵀ λ,   τ = 0 where there is no motor,   K = C J of the constrained frames

The rows without a motor determine the constraint forces, the other rows the motor forces. λ is the minimum-norm
solution. States in which the rows without a motor are dependent are computed on floats (``constrained_call``), where
the rank is determined and forces that nothing can produce are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import masked
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_call import ConstrainedFunction, Shape
from linkwork.dynamics.constrained_state import ConstrainedState, all_rows
from linkwork.dynamics.constraint_solvers import JoinedSolver, no_number
from linkwork.dynamics.dynamics import inverse_dynamics
from linkwork.dynamics.held import HeldBy, at_grips, held_by, rows_of, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity, jacobian
from linkwork.errors import ArgumentError, SingularError, excuse, shown
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

_NOTHING = 1e-8
"""Missing forces up to this fraction of the largest joint force count as rounding."""


def constrained_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    constraints: Sequence[Constraint] | Constraint,
    actuated: ArrayLike | None = None,
    *,
    f_ext: ArrayLike | None = None,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Inverse dynamics with loop closures and bilateral contacts: the motor and constraint forces of a given motion.

    Degrees of freedom without a motor get no force. Where the constraint forces are not unique, as on two feet, those
    with the least sum of squares are returned (N and N m counted alike). Contacts are bilateral. Whether the motion
    satisfies the constraints is not checked.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        constraints: k constraints, as in ``constrained_dynamics``.
        actuated: mask (nv,) of the degrees of freedom that have a motor; ``model.actuated`` if left out.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        tau (..., nv), N or N m, and wrenches (..., k, 6): the force (N) and moment (N m) on frame a of each constraint,
        in the frame's own axes; the opposite acts on frame b.

    Raises:
        SingularError: if motors and constraints together cannot produce the motion; the error says which force is
            missing, and how much.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(1, 1, 1))
        >>> box = builder.build()
        >>> still = [0.0] * 6
        >>> tau, wrenches = lw.constrained_inverse_dynamics(box, lw.neutral(box), still, still, [lw.Weld("box")])
        >>> tau, wrenches.round(12) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([[ 0.,  0., 20.,  0.,  0.,  0.]]))
    """
    held, values = held_by(model, constraints), (q, v, a) if f_ext is None else (q, v, a, f_ext)
    mask = None if actuated is None else _mask(model, actuated)
    forces: tuple[Array, Array] = _FORCES(held, (mask,), values, out)
    return forces


def _idle(model: Model, mask: bytes | None) -> NDArray[np.intp]:
    """The degrees of freedom without a motor."""
    return np.flatnonzero(~(model.actuated if mask is None else np.frombuffer(mask, dtype=bool)))


def _mask(model: Model, actuated: ArrayLike) -> bytes:
    """A byte for each degree of freedom, 1 if it has a motor: fast to compare."""
    if type(actuated) is np.ndarray and actuated.dtype is _TRUTH and actuated.shape == (model.nv,):
        return actuated.tobytes()
    try:
        given = np.empty(0) if masked(actuated) else np.asarray(actuated)
    except Exception as error:  # anything that the conversion of ``actuated`` raises
        excuse(error)
        given = np.empty(0)
    if given.dtype != bool or given.shape != (model.nv,):
        raise ArgumentError(
            f"actuated must be a mask of {model.nv} truth values, one for each degree of freedom of model "
            f"{model.name!r}, not {shown(actuated)}"
        )
    return given.tobytes()


_TRUTH = np.dtype(bool)


# The algorithm, over arrays


Mask = tuple[bytes | None]
"""A byte for each degree of freedom, 1 if it has a motor; None for the motors of the model."""


class _Forces(ConstrainedFunction):
    """Joint forces and wrenches, where the degrees of freedom of a mask have motors; None for those of the model."""

    name = "constrained_inverse_dynamics"
    arguments = (("q", "configuration"), ("v", "velocity"), ("a", "velocity"), ("f_ext", "wrenches"))

    def shapes(self, held: HeldBy, choices: Mask) -> list[Shape]:
        return [(held.model.nv,), (len(held.constraints), 6)]

    def identity(self, held: HeldBy, choices: Mask) -> object:
        return _idle(held.model, *choices).tolist()

    def free(self, state: ConstrainedState, choices: Mask) -> tuple[Array, ...]:
        needed, idle, driven = _without(state, *choices)
        _check(state, idle, needed, needed[..., idle])
        return needed * driven, np.zeros((*needed.shape[:-1], 0, 6))

    def text(self, state: ConstrainedState, choices: Mask) -> tuple[Array, ...]:
        held, q = state.held, state.q
        needed, idle, driven = _without(state, *choices)
        model, ends = held.model, held.ends
        places, V = forward_kinematics(model, q, ends), frame_velocity(model, q, state.v, ends)
        seen = at_grips(held, places, V, state.placements)
        rows = [
            rows_of(held, constraint.all_rows(model, seen.of(grips)), grips, seen.X)
            for constraint, grips in zip(held.constraints, held.grips, strict=True)
        ]
        K = all_rows(held, rows) @ jacobian(model, q, ends)
        sizes = smallest(state, idle, transposed(K[..., :, idle]), needed[..., idle], needed)
        return (needed - times(transposed(K), sizes)) * driven, wrenches_of(held, rows, sizes)


_FORCES = _Forces()


def _without(state: ConstrainedState, mask: bytes | None) -> tuple[Array, NDArray[np.intp], Array]:
    """The joint forces without constraints, the degrees of freedom without a motor, and ones for those with one."""
    model, idle = state.held.model, _idle(state.held.model, mask)
    driven = np.ones(model.nv)
    driven[idle] = 0.0
    return inverse_dynamics(model, state.q, state.v, state.tau, state.f_ext), idle, driven


def smallest(state: ConstrainedState, idle: Any, B: Array, right: Array, needed: Array) -> Array:
    """The minimum-norm λ with B λ = right, the part of the forces ``needed`` where no motor is (``idle``)."""
    count, unknown = B.shape[-2:]
    if not count:
        return np.zeros((*right.shape[:-1], unknown))
    if isinstance(state.solver, JoinedSolver):
        if not np.isfinite(B).all():
            raise no_number(state.solver.function, state.held.name)
        inverse: Array = np.asarray(np.linalg.pinv(B, rcond=1e-9), dtype=np.float64)
        sizes = times(inverse, right)
        sizes = sizes + times(inverse, right - times(B, sizes))
        _check(state, idle, needed, right - times(B, sizes))
        return sizes
    solver = state.solver
    if count <= unknown:
        found: Array = times(transposed(B), solver.solve(B @ transposed(B), right))
        return found
    found = solver.solve(transposed(B) @ B, times(transposed(B), right))
    missing = np.max(np.abs(right - times(B, found)), axis=-1, keepdims=True)
    sound = np.where(missing <= _NOTHING * np.max(np.abs(needed), axis=-1, keepdims=True), 0.0, np.nan)
    return found + sound


def _check(state: ConstrainedState, idle: Any, needed: Array, missing: Array) -> None:
    """Raise an error if forces (..., number of ``idle``) are missing beyond rounding."""
    if not missing.size or is_traced(missing):
        return
    worst = np.abs(missing).max(axis=-1)
    bad = worst > _NOTHING * np.abs(needed).max(axis=-1)
    if not bad.any():
        return
    held = state.held
    model = held.model
    where = np.unravel_index(int(np.argmax(np.where(bad, worst, 0.0))), worst.shape) if worst.ndim else ()
    k = int(np.abs(missing[where]).argmax())
    freedom = int(idle[k])
    joint = max(i for i, start in enumerate(model.v_start) if start <= freedom and model.bodies[i].joint.nv)
    solver = state.solver
    at = solver.states[int(where[0])] if isinstance(solver, JoinedSolver) and solver.states else list(map(int, where))
    batch = f" at state {at} of the batch" if at else ""
    holds = f"the constraints {held.name} cannot" if held.constraints else "no constraint is there to"
    raise SingularError(
        f"{solver.function}: the motion cannot be made{batch}: joint {model.joint_names[joint]!r} has no "
        f"motor, and {holds} exert all that it needs: {abs(missing[where][k]):.3g} N (or N m) are missing in its "
        f"degree of freedom {freedom - model.v_start[joint]}. Ask for another acceleration, add a constraint, or say "
        f"by actuated= where motors are"
    )
