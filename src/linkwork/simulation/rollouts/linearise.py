"""One step of a rollout, linearised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.algorithms import STEP_PARTS, linearising
from linkwork.arguments import seconds
from linkwork.batches import all_converted, as_out
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_array, check_model
from linkwork.dynamics.constrained import constrained_dynamics
from linkwork.dynamics.derivatives import Two
from linkwork.dynamics.held import held_by
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import current_form
from linkwork.engine.plans.costs import within
from linkwork.engine.run.entries import Serve
from linkwork.errors import ArgumentError, LinkworkError, TracingError
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.arguments import check_not_traced, without_effort
from linkwork.simulation.rollouts.asked import Asked, asked_of
from linkwork.simulation.rollouts.chained_steps import chained, is_a_chain
from linkwork.simulation.rollouts.driven_steps import by_recursion
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.rollouts.pushed_steps import along, by_pushing
from linkwork.simulation.rollouts.steps import plain
from linkwork.simulation.step import Step
from linkwork.unsolved import unsolved

_MANY = 4096
"""Directions per batch."""


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
    if joint_limits is False and integrator == "semi_implicit_euler" and friction_law == "smoothed":
        others, drives = (
            (torque, contacts, parameters, inertias, armature, placements),
            (q_target, kp, v_target, kd, f_ext),
        )
        switches, settings = (damping, friction, springs, effort_limits), (constraints, stabilisation, proximal)
        known = _known(model, tau is None, length, switches, settings, drives, others)
    answer = None if known is None else _recalled(known, out, q, v, tau, length)
    if answer is not None:
        return Linearised._make(answer)
    check_not_traced("lw.linearise", q, v, tau)
    given = {
        "q_target": q_target, "kp": kp, "v_target": v_target, "kd": kd, "damping": damping, "friction": friction,
        "springs": springs, "effort_limits": effort_limits, "torque": torque, "parameters": parameters,
        "constraints": constraints, "stabilisation": stabilisation, "proximal": proximal, "f_ext": f_ext,
        "joint_limits": joint_limits, "contacts": contacts, "friction_law": friction_law, "integrator": integrator,
    }  # fmt: skip
    data = {"inertias": inertias, "armature": armature, "placements": placements}
    forces = None if tau is None else as_array(model, "tau", "velocity", tau)[..., None, :]
    asked = asked_of(
        model, q, v, forces, dt=length, steps=1, every=1, cost=None, cost_parameters=None, data=data, driven=False,
        **given,
    )  # fmt: skip
    asked.check_finite()
    into = None if out is None else _into(out, asked, {"q": q, "v": v, "tau": tau, **given, **data})
    A, B, code = linearised(asked.job, into)
    if known is not None and code is not None and current_form() == "auto" and len(asked.job):
        memo, key, drive = known
        if not (without_effort(model) and (drive or forces is not None)):
            memo[key] = _Served(asked.job, *code)
    return Linearised(*(_shaped(asked, A, B) if out is None or into is None else _written(out, into, (A, B))))


def _shaped(asked: Asked, *found: Array) -> list[Array]:
    """New arrays with the leading axes of the batch, in the layout that ``out`` requires."""
    return [np.ascontiguousarray(array).reshape((*asked.batch, *array.shape[1:])) for array in found]


def _written(out: Two, into: Two, found: Two) -> Two:
    """``out``, with these arrays written to it."""
    for target, array in zip(into, found, strict=True):
        if array is not target and not np.may_share_memory(array, target):
            target[...] = array
    return out


def _recalled(known: _Known, out: Any, q: Any, v: Any, tau: Any, dt: float) -> Any:
    """The result by code of an earlier call; None if there is none, or if it cannot take these arrays."""
    memo, key, drive = known
    served = memo.get(key)
    if served is None:
        return None
    answer = served(out, q, v, tau, dt, drive)
    return served(out, *all_converted((q, v, tau), out), dt, drive) if answer is None else answer


def _into(out: Any, asked: Asked, values: Mapping[str, Any]) -> Two:
    """The arrays of ``out`` for A and B, with one batch axis, checked against the arguments."""
    nv, n = asked.job.model.nv, len(asked.job)
    given = {"q": asked.job.q, "v": asked.job.v, **asked.parts, **asked.others}
    shapes = [(*asked.batch, 2 * nv, 2 * nv), (*asked.batch, 2 * nv, nv)]
    arguments = [(array, array.ndim) for array in given.values()]
    A, B = as_out(out, shapes, list(given), arguments, [values.get(name) for name in given])
    return A.reshape(n, 2 * nv, 2 * nv), B.reshape(n, 2 * nv, nv)


Code = tuple[Serve, Sequence[str], Mapping[str, Array]]
"""The builtin that serves plain arrays, the names of its arguments, and those that are no part of the step."""


class _Served:
    """Serves plain arrays, or returns None, with all arguments but q, v, tau, dt and the drive as in a job."""

    def __init__(self, job: Job, code: Serve, names: Sequence[str], others: Mapping[str, Array]) -> None:
        same: dict[str, Any] = {name: array[0, 0].copy() for name, array in job.parts.items()}
        same |= {**others, "q": None, "v": None, "tau": np.zeros(job.model.nv)}
        self._code, self._names = code, names
        self._first = [names.index(name) for name in ("q", "v", "tau", "dt")]
        self._fixed = [same[name] for name in names]

    def __call__(self, out: Any, q: Any, v: Any, tau: Any, dt: float, drive: Mapping[str, Any]) -> Any:
        values, (at_q, at_v, at_tau, at_dt) = self._fixed.copy(), self._first
        values[at_q], values[at_v], values[at_dt] = q, v, dt
        if tau is not None:
            values[at_tau] = tau
        for name in drive:
            values[self._names.index(name)] = drive[name]
        return self._code(out, *values)


_NOTHING: Mapping[str, Any] = {}


_Known = tuple[dict[Any, Any], tuple[Any, ...], Mapping[str, Array]]
"""What identifies a step with nothing but the model's own parameters, some of them switched off, and its drive: where
its code is kept, by which key, and the rows of the drive.
"""
_DRIVES = ("q_target", "kp", "v_target", "kd", "f_ext")
_BOOLS = frozenset((bool,))


def _known(
    model: Model,
    undriven: bool,
    dt: float,
    switches: tuple[Any, ...],
    settings: tuple[Any, ...],
    drives: tuple[Any, ...],
    others: tuple[Any, ...],
) -> _Known | None:
    """Such a step; None for others."""
    constraints, stabilisation, proximal = settings
    if any(map(_given_at_all, others)) or not _BOOLS.issuperset(map(type, switches)):
        return None
    drive: Mapping[str, Array] | None = _NOTHING
    if any(map(_given_at_all, drives)):
        drive = _rows(model, {name: x for name, x in zip(_DRIVES, drives, strict=True) if x is not None})
    if drive is None or type(proximal) is not float or proximal:
        return None
    key = ("linearise", undriven, switches, *drive)
    if constraints is None and not model.constraints:
        return (model._memo.derived, key, drive) if stabilisation is None else None
    if not isinstance(constraints, (NoneType, list, tuple, Constraint)) or type(stabilisation) not in (NoneType, float):
        return None
    if not constraints and stabilisation is not None:
        return None
    memo = held_by(model, constraints).quick if constraints else model._memo.derived
    return memo, (*key, stabilisation, dt), drive  # the time step is a constant in the code that stabilises


def _given_at_all(value: Any) -> bool:
    return value is not None


def _rows(model: Model, given: Mapping[str, Any]) -> dict[str, Array] | None:
    """The given targets, gains and external forces as rows that all states share, as code takes them; None if they must
    be checked and broadcast first.
    """
    found: dict[str, Array] = {}
    for name, value in given.items():
        if type(value) in (float, int, np.float64) and name in ("kp", "kd"):
            found[name] = np.full(model.nv, value, dtype=np.float64)
        elif type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1 + (name == "f_ext"):
            found[name] = value
        else:
            return None
    complete = ("q_target" in found) == ("kp" in found) and ("kd" in found or "v_target" not in found)
    return found if complete else None


def linearised(job: Job, into: Two | None = None) -> tuple[Array, Array, Code | None]:
    """A (n, 2nv, 2nv) and B (n, 2nv, nv) of the first step, written ``into`` these arrays if code can do so; and the
    code that serves such steps, if there is any.
    """
    step, nv = job.step, job.model.nv
    if plain(step):
        return _by_loops(job, into)
    shapes = {name: shape for name, shape in job.all_shapes.items() if name != "tau"}
    small = within("derived_whole" if step.constraints else "linearised_whole", nv)
    smooth = _is_smooth(step)
    if smooth and not small and current_form() == "auto" and is_a_chain(step):
        return _by_chain(job, shapes, into)
    whole = small or step.joints or step.several or step.contacts is not None
    if step.has_loops or step.varied or not whole:
        return *_by_columns(job, shapes), None
    text = by_recursion if smooth else by_pushing
    kernel, given = _kernel(job, text(step, shapes), shapes), _given(job, shapes)
    rows = [array if len(array) == len(job) else array[0] for array in given.values()]
    A, B = _leaves(job, kernel, [job.q, job.v, *rows], into)
    return A, B, _code(kernel)


def _is_smooth(step: Step) -> bool:
    """Whether the step is a recursion and the solution of linear equations, whose derivatives are known."""
    searches = step.joints or step.contacts is not None or (step.constraints and step.proximal)
    return not (searches or step.several or step.varied)


def _kernel(
    job: Job, text: Callable[..., Any], shapes: Mapping[str, Shape], direction: Mapping[str, Shape] = _NOTHING
) -> CompiledFunction:
    """The code of a text over q, v, tau and the other arguments of the step."""
    model, name = job.model, f"linearise of {job.model.name!r}"
    memo, key = (
        model._memo.derived,
        fingerprint.key("linearise", *map(list, (shapes.items(), direction)), job.step.digests),
    )
    if key not in memo:
        whole = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), **shapes, **direction}
        try:
            found, structure, results = trace("linearise", text, whole)
        except TracingError as error:
            if isinstance(error.__cause__, ZeroDivisionError):  # in every state
                _say_why(job, 0)
            raise
        memo[key] = CompiledFunction(name, whole, lambda: found, structure, results)
    kernel: CompiledFunction = memo[key]
    return kernel


def _by_chain(job: Job, shapes: Mapping[str, Shape], into: Two | None) -> tuple[Array, Array, Code | None]:
    """A and B of a step of a large robot whose frames are held."""
    held = held_by(job.model, job.step.constraints)
    kernel, held_at = chained(held, shapes), [held.placements, held.settings(job.step.stabilisation, 0.0)]
    rows = [array if len(array) == len(job) else array[0] for array in _given(job, shapes).values()]
    A, B = _leaves(job, kernel, [job.q, job.v, *rows, *held_at], into)
    return A, B, _code(kernel, held_at)


def _given(job: Job, shapes: Mapping[str, Shape]) -> dict[str, Array]:
    """The arguments of a step besides its state, tau first, each with a row for each state or for all."""
    tau = job.parts["tau"][:, 0] if "tau" in job.parts else np.zeros((1, job.model.nv))
    return {"tau": tau} | {
        name: job.parts[name][:, 0].reshape((len(job.parts[name]), *shape)) for name, shape in shapes.items()
    }


def _leaves(job: Job, kernel: CompiledFunction, values: Sequence[Array], into: Two | None) -> Sequence[Array]:
    """The results of a kernel, or an error."""
    leaves: Sequence[Array] | None = kernel.quick(into, *values)
    if leaves is None:
        leaves, _, fine = kernel.attempt(values, into)
        _check(job, fine)
    return leaves


def _code(kernel: CompiledFunction, last: Sequence[Array] = ()) -> Code:
    """The code of a kernel, whose ``last`` arguments are these."""
    names = list(kernel.shapes)
    others = dict(zip(names[len(names) - len(last) :], last, strict=True))
    return kernel.served, names, others


def _check(job: Job, fine: NDArray[np.bool_]) -> None:
    if not fine.all():
        worst = int(np.argmin(fine))
        _say_why(job, worst)
        where = f" at state {worst} of the batch" if len(job) > 1 else ""
        one = job.some(worst, 1)
        with unsolved() as problems, suppress(LinkworkError, ArithmeticError):
            replace(one, engine="interpreted").run(one.buffers(), 1)
        if problems:
            raise ArgumentError(f"the step has no finite derivatives{where}: {', and '.join(problems)}")
        hint = "; for constraints that are nearly redundant, pass proximal=1e-6" if job.step.constraints else ""
        raise ArgumentError(f"the step has no finite derivatives{where}{hint}")


def _say_why(job: Job, k: int) -> None:
    """Raise an error that names the joint or the constraints, if the accelerations of a state do not exist."""
    constraints, proximal = job.step.constraints, job.step.proximal
    constrained_dynamics(job.model, job.q[k], job.v[k], np.zeros(job.model.nv), constraints, proximal=proximal)


def _by_columns(job: Job, shapes: Mapping[str, Shape]) -> tuple[Array, Array]:
    """A and B by derivatives of the step along one direction at a time: the directions of a state are a batch."""
    n, nv = len(job), job.model.nv
    kernel = _kernel(job, along(job.step, shapes), shapes, {"direction": (3 * nv,)})
    given = [job.q, job.v, *_given(job, shapes).values()]
    both, fine = np.empty((n, 2 * nv, 3 * nv)), np.ones(n, dtype=bool)
    some = max(1, _MANY // (3 * nv))
    for first in range(0, n, some):
        few = slice(first, first + some)
        rows = [array[:, None] if len(array) == 1 else array[few, None] for array in given]
        (columns,), _, sound = kernel.attempt([*rows, np.eye(3 * nv)])
        both[few] = columns.reshape(-1, 3 * nv, 2 * nv).transpose(0, 2, 1)
        fine[few] = sound.reshape(-1, 3 * nv).all(axis=1)
    _check(job, fine)
    return both[:, :, : 2 * nv].copy(), both[:, :, 2 * nv :].copy()


def _by_loops(job: Job, into: Two | None) -> tuple[Array, Array, Code | None]:
    """A and B of a plain step, by one algorithm, whose code may have loops."""
    model, table = job.model, job.model._memo.quick
    algorithm = linearising([*(name for name in job.parts if name in STEP_PARTS), "tau"])
    given = {"q": job.q, "v": job.v, "tau": np.zeros((1, model.nv)), **{k: x[:, 0] for k, x in job.parts.items()}}
    given["dt"] = given["dt"][0, 0]
    if "f_ext" in given:
        given["f_ext"] = given["f_ext"].reshape(-1, len(model.bodies), 6)
    names = [name for name, _ in algorithm.arguments]
    A, B = call.call(algorithm, model, [given[name] for name in names], table=table, out=into)
    serve = table.get(algorithm.name)
    return A, B, None if serve is None else (serve, names, {})
