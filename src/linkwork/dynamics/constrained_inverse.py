"""Inverse dynamics with loop closures and bilateral contacts: motor and constraint forces for a given motion.

    M q̈ + h = τ + Kᵀ λ,   τ = 0 where there is no motor,   K = C J of the constrained frames

The rows without a motor determine the constraint forces, the other rows the motor forces. λ is the minimum-norm
solution. The method is written once, over arrays; traced, it is one kernel. States in which the rows without a motor
are dependent are computed on floats, where the rank is determined and forces that nothing can produce are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import masked
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constraint_solvers import TracedSolver, no_number
from linkwork.dynamics.dynamics import inverse_dynamics
from linkwork.dynamics.held import HeldBy, at_grips, held_by, over_ends, rows_of, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity, jacobian
from linkwork.errors import ArgumentError, SingularError, excuse, shown
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_NAME = "constrained_inverse_dynamics"
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
    choices = _NAME, f_ext is None, mask
    answer: tuple[Array, Array] | None = call.recall(held.quick, choices, out, *values)
    if answer is not None:
        return answer
    law = held.laws.get((_NAME, mask, f_ext is not None))
    if law is not None:
        answer = call.serve_by(law, held.quick, choices, (held.placements,), out, *values)
        if answer is not None:
            return answer
    return _checked(held, mask, q, v, a, f_ext, out)


def _checked(
    held: HeldBy, mask: bytes | None, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None, out: Any
) -> tuple[Array, Array]:
    """The results for any valid arguments: by the kernel if there is one, and on floats for states without a result."""
    model = held.model
    spaces = (("q", "configuration"), ("v", "velocity"), ("a", "velocity"), ("f_ext", "wrenches"))
    (q_, v_, a_, load_), batch = as_batch(model, spaces, [q, v, a, f_ext])
    assert q_ is not None and v_ is not None and a_ is not None
    idle, apart = _idle(model, mask), {"q": q, "v": v, "a": a, "f_ext": f_ext}
    if any(map(is_traced, (q_, v_, a_, load_))):
        return _forces(held, idle, q_, v_, a_, load_, held.placements)
    law = _law(held, mask, f_ext is not None)
    if law is None:
        return put_into(out, *_forces(held, idle, q_, v_, a_, load_, held.placements), apart=apart)
    (tau, wrenches), _, fine = law.attempt([q_, v_, a_, *([] if load_ is None else [load_]), held.placements])
    if not fine.all():
        where = np.unravel_index(np.flatnonzero(~fine), batch) if batch else ()
        some = None if load_ is None else load_[where]
        tau[where], wrenches[where] = _forces(held, idle, q_[where], v_[where], a_[where], some, held.placements, where)
    return put_into(out, tau, wrenches, apart=apart)


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


def _forces(
    held: HeldBy, idle: Any, q: Array, v: Array, a: Array, f_ext: Array | None, placements: Array, states: Any = ()
) -> tuple[Array, Array]:
    """Joint forces and wrenches. ``idle`` are the degrees of freedom without a motor; ``states`` are the indices of
    these states in the batch.
    """
    model, ends = held.model, held.ends
    needed = inverse_dynamics(model, q, v, a, f_ext)
    driven = np.ones(model.nv)
    driven[idle] = 0.0
    if not held.constraints:
        _check(held, idle, needed, states)
        return needed * driven, np.zeros((*needed.shape[:-1], 0, 6))
    seen = at_grips(held, forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends), placements)
    rows = [
        rows_of(held, constraint.all_rows(model, seen.of(grips)), grips, seen.X)
        for constraint, grips in zip(held.constraints, held.grips, strict=True)
    ]
    K = np.concatenate([over_ends(held, own) for own in rows], axis=-2) @ jacobian(model, q, ends)
    sizes = _smallest(held, idle, transposed(K[..., :, idle]), needed[..., idle], needed, states)
    return (needed - times(transposed(K), sizes)) * driven, wrenches_of(held, rows, sizes)


def _smallest(held: HeldBy, idle: Any, B: Array, right: Array, needed: Array, states: Any) -> Array:
    """The minimum-norm λ with B λ = right."""
    count, unknown = B.shape[-2:]
    if not count:
        return np.zeros((*right.shape[:-1], unknown))
    if not is_traced(B):
        if not np.isfinite(B).all():
            raise no_number(_NAME, held.name)
        inverse: Array = np.asarray(np.linalg.pinv(B, rcond=1e-9), dtype=np.float64)
        sizes = times(inverse, right)
        sizes = sizes + times(inverse, right - times(B, sizes))
        _check(held, idle, needed, states, right - times(B, sizes))
        return sizes
    solver = TracedSolver(held.name, 0.0)
    if count <= unknown:
        found: Array = times(transposed(B), solver.solve(B @ transposed(B), right))
        return found
    found = solver.solve(transposed(B) @ B, times(transposed(B), right))
    missing = np.max(np.abs(right - times(B, found)), axis=-1, keepdims=True)
    sound = np.where(missing <= _NOTHING * np.max(np.abs(needed), axis=-1, keepdims=True), 0.0, np.nan)
    return found + sound


def _check(held: HeldBy, idle: Any, needed: Array, states: Any, missing: Array | None = None) -> None:
    """Raise an error if forces (..., number of ``idle``) are missing beyond rounding."""
    missing = needed[..., idle] if missing is None else missing
    if not missing.size:
        return
    worst = np.abs(missing).max(axis=-1)
    bad = worst > _NOTHING * np.abs(needed).max(axis=-1)
    if not bad.any():
        return
    model = held.model
    where = np.unravel_index(int(np.argmax(np.where(bad, worst, 0.0))), worst.shape) if worst.ndim else ()
    k = int(np.abs(missing[where]).argmax())
    freedom = int(idle[k])
    joint = max(i for i, start in enumerate(model.v_start) if start <= freedom and model.bodies[i].joint.nv)
    at = [int(axis[where[0]]) for axis in states] if states and where else list(map(int, where))
    state = f" at state {at} of the batch" if at else ""
    holds = f"the constraints {held.name} cannot" if held.constraints else "no constraint is there to"
    raise SingularError(
        f"constrained_inverse_dynamics: the motion cannot be made{state}: joint {model.joint_names[joint]!r} has no "
        f"motor, and {holds} exert all that it needs: {abs(missing[where][k]):.3g} N (or N m) are missing in its "
        f"degree of freedom {freedom - model.v_start[joint]}. Ask for another acceleration, add a constraint, or say "
        f"by actuated= where motors are"
    )


def _law(held: HeldBy, mask: bytes | None, loaded: bool) -> CompiledFunction | None:
    """The kernel for these motors, if there is one."""

    def make() -> CompiledFunction:
        from linkwork.compiled.law import law

        model, idle = held.model, _idle(held.model, mask)

        def text(q: Any, v: Any, a: Any, placements: Any, f_ext: Any = None) -> Any:
            return _forces(held, idle, q, v, a, f_ext, placements)

        shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (model.nv,), "a": (model.nv,)}
        if loaded:
            shapes["f_ext"] = (len(model.bodies), 6)
        shapes["placements"] = held.placements.shape
        results = [(model.nv,), (len(held.constraints), 6)]
        return law(_NAME, text, shapes, results, model, held.frames, held.kinds, idle.tolist(), optional=True)

    return held.short_law((_NAME, mask, loaded), make)
