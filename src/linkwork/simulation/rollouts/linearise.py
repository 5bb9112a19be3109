"""One step of a rollout, linearised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import seconds
from linkwork.batches import as_out
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array, as_array, check_model
from linkwork.dynamics.derivatives import Two
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.arguments import check_not_traced
from linkwork.simulation.rollouts.derivatives import linearised
from linkwork.simulation.rollouts.recall import Known, known_step, recalled, remember
from linkwork.simulation.rollouts.request import Request, request_of


class Linearised(NamedTuple):
    """The linearisation x⁺ ≈ A x + B u of one step about a state; x = (δq, δv) (2 nv,), δq in the tangent space.

    Attributes:
        A: (..., 2 nv, 2 nv).
        B: (..., 2 nv, nv), with respect to the joint forces tau.
    """

    A: Array
    B: Array


def linearise(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    q_target: ArrayLike | None = None,
    kp: ArrayLike | None = None,
    v_target: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    damping: bool | ArrayLike = True,
    friction: bool | ArrayLike = True,
    friction_law: str = "smoothed",
    springs: bool = True,
    effort_limits: bool | ArrayLike = True,
    torque: CompiledFunction | Callable[..., Any] | None = None,
    parameters: Any = None,
    constraints: Sequence[Constraint] | Constraint | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    f_ext: ArrayLike | None = None,
    joint_limits: bool = False,
    contacts: Sequence[Contact] | None = None,
    integrator: str = "semi_implicit_euler",
    inertias: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    out: Two | None = None,
) -> Linearised:
    """Linearise one step of ``lw.rollout`` about states, as LQR and model-predictive control need it.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m; zero if omitted.
        dt: time step, s.
        q_target: as in ``lw.rollout``, for one step; likewise ``kp``, ``v_target``, ``kd``, ``damping``, ``friction``,
            ``springs``, ``effort_limits``, ``torque`` (a law is part of the step), ``parameters``, ``constraints``,
            ``stabilisation``, ``proximal``, ``f_ext``, ``joint_limits``, ``contacts``, ``friction_law``,
            ``integrator``, ``inertias``, ``armature`` and ``placements``. Where a contact is about to open, to close or
            to slide, the derivatives are one-sided: those of its present state.
        out: a tuple of two arrays for A and B, written in place and returned; new ones if omitted.

    Returns:
        ``Linearised``: A (..., 2 nv, 2 nv) and B (..., 2 nv, nv) for x = (δq, δv), δq in the tangent space (q ⊕ δq).

    Raises:
        ArgumentError: for invalid arguments, or if the step has no finite derivatives.
        SingularError: if constraints are redundant and ``proximal`` is 0.

    Example:
        >>> import linkwork as lw
        >>> A, B = lw.linearise(lw.mechanisms.pendulum(), [0.0], [0.0], dt=0.01)
        >>> A.shape, B.shape
        ((2, 2), (2, 1))
    """
    check_model(model)
    length = dt if type(dt) is float and 0.0 < dt < inf else seconds("dt", dt)
    known = None
    names = integrator, friction_law
    if joint_limits is False and {*map(type, names)} == {str} and names == ("semi_implicit_euler", "smoothed"):
        others = torque, contacts, parameters, inertias, armature, placements
        drives = q_target, kp, v_target, kd, f_ext
        switches, settings = (damping, friction, springs, effort_limits), (constraints, stabilisation, proximal)
        known = known_step(model, tau is None, length, switches, settings, drives, others)
    answer = None if known is None else recalled(known, out, q, v, tau, length)
    if answer is not None:
        return Linearised._make(answer)
    check_not_traced("lw.linearise", q, v, tau)
    return _computed(model, locals(), length, known)  # all arguments by name


def _computed(model: Model, arguments: Mapping[str, Any], dt: float, known: Known | None) -> Linearised:
    """The linearisation for any arguments, whose code serves such calls from now on, if it can."""
    out, tau = arguments["out"], arguments["tau"]
    forces = None if tau is None else as_array(model, "tau", "velocity", tau)[..., None, :]
    request = request_of(model, {**arguments, "tau": forces}, dt, 1, 1)
    request.check_finite()
    into = None if out is None else _into(out, request, arguments)
    A, B, code = linearised(request.job, into)
    if known is not None and code is not None:
        remember(known, request.job, code, forces is not None)
    return Linearised(*(_shaped(request, A, B) if into is None else _written(out, into, (A, B))))


def _shaped(request: Request, *found: Array) -> list[Array]:
    """New arrays with the leading axes of the batch, in the layout that ``out`` requires."""
    return [np.ascontiguousarray(array).reshape((*request.batch, *array.shape[1:])) for array in found]


def _written(out: Two, into: Two, found: Two) -> Two:
    """``out``, with these arrays written to it."""
    for target, array in zip(into, found, strict=True):
        if array is not target and not np.may_share_memory(array, target):
            target[...] = array
    return out


def _into(out: Any, request: Request, values: Mapping[str, Any]) -> Two:
    """The arrays of ``out`` for A and B, with one batch axis, checked against the arguments."""
    nv, n = request.job.model.nv, len(request.job)
    given = {"q": request.job.q, "v": request.job.v, **request.parts, **request.others}
    shapes = [(*request.batch, 2 * nv, 2 * nv), (*request.batch, 2 * nv, nv)]
    arguments = [(array, array.ndim) for array in given.values()]
    A, B = as_out(out, shapes, list(given), arguments, [values.get(name) for name in given])
    return A.reshape(n, 2 * nv, 2 * nv), B.reshape(n, 2 * nv, nv)
