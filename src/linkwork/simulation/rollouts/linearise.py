"""One step of a rollout, linearised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import STEP_PARTS, step_forces
from linkwork.compiled.arrays import array_of, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array, as_array, check_model
from linkwork.dynamics.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from linkwork.dynamics.dynamics import forward_dynamics, inverse_dynamics
from linkwork.dynamics.traced import traced_call
from linkwork.engine.code import fingerprint
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.trace.differentiate import pushed
from linkwork.errors import ArgumentError
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.rollouts.gradients import difference_of, flat, integrate_of
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.rollouts.rollout import rollout
from linkwork.simulation.rollouts.steps import Step, numbered
from linkwork.simulation.rotors import with_rotors

_MOST_WHOLE = 20
"""Degrees of freedom up to which one kernel is made."""


class Linearised(NamedTuple):
    """x⁺ ≈ A x + B u about a state, of one step; x is (δq, δv), of 2 nv numbers, δq in the tangent space.

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
) -> Linearised:
    """One step of ``lw.rollout``, linearised about states: what LQR and model-predictive control need.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m; none if left out.
        dt: the time of the step, s.
        q_target: what a step has, as in ``lw.rollout``; likewise ``kp``, ``v_target``, ``kd``, ``damping``,
            ``friction``, ``springs``, ``effort_limits``, ``torque`` (a law is part of the step), ``parameters``,
            ``constraints``, ``stabilisation``, ``proximal``, ``f_ext``, ``joint_limits`` and ``contacts``. Where a
            contact is about to open, to close or to slide, the derivatives are those of the side on which it is.

    Returns:
        ``Linearised``: A (..., 2 nv, 2 nv) and B (..., 2 nv, nv) for x = (δq, δv), δq in the tangent space (q ⊕ δq).

    Example:
        >>> import linkwork as lw
        >>> A, B = lw.linearise(lw.mechanisms.pendulum(), [0.0], [0.0], dt=0.01)
        >>> A.shape, B.shape
        ((2, 2), (2, 1))
    """
    check_model(model)
    if len(model.bodies) > MOST_BODIES:
        raise ArgumentError(
            f"lw.linearise takes up to {MOST_BODIES} bodies; model {model.name!r} has {len(model.bodies)}"
        )
    forces = None if tau is None else as_array(model, "tau", "velocity", tau)[..., None, :]
    step = rollout(
        model, q, v, forces, dt=dt, steps=1, q_target=q_target, kp=kp, v_target=v_target, kd=kd, damping=damping,
        friction=friction, springs=springs, effort_limits=effort_limits, torque=torque, parameters=parameters,
        constraints=constraints, stabilisation=stabilisation, proximal=proximal, f_ext=f_ext, joint_limits=joint_limits,
        contacts=contacts,
    )  # fmt: skip
    job = step._job
    assert job is not None
    if step._tau is not None:
        raise ArgumentError("the law in torque calls code for a mechanism of many bodies, which is not differentiated")
    A, B = linearised(job)
    batch = step.q.shape[:-2]
    return Linearised(A.reshape((*batch, *A.shape[1:])), B.reshape((*batch, *B.shape[1:])))


def linearised(job: Job) -> tuple[Array, Array]:
    """A (n, 2nv, 2nv) and B (n, 2nv, nv) of the first step."""
    model, n, extras = job.model, len(job), job.extras
    shapes = {name: shape for name, shape in job.all_shapes.items() if name != "tau"}
    held = bool(extras.constraints or extras.stops) or extras.contacts is not None
    apart = model.nv > _MOST_WHOLE
    memo, key = model._memo.derived, fingerprint.key("linearise", list(shapes.items()), extras.digests)
    if key not in memo:
        if held:
            text: Callable[..., Any] = _by_pushing(model, Step(model, extras), shapes)
        else:
            text = _driven(model, extras.law, shapes) if apart else _by_recursion(model, extras.law, shapes)
        whole: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), **shapes}
        found, structure, results = trace("linearise", text, whole)
        memo[key] = CompiledFunction(f"linearise of {model.name!r}", whole, lambda: found, structure, results)
    kernel: CompiledFunction = memo[key]
    tau = job.parts["tau"][:, 0] if "tau" in job.parts else np.zeros((1, model.nv))
    given = {name: job.parts[name][:, 0].reshape((-1, *shapes[name])) for name in shapes}
    rows = {name: array if len(array) == n else array[0] for name, array in {"tau": tau, **given}.items()}
    leaves, _, fine = kernel.attempt([job.q, job.v, *rows.values()])
    if not fine.all():
        raise ArgumentError(f"the step has no finite derivatives at state {int(np.argmin(fine))} of the batch")
    if held or not apart:
        return leaves[0], leaves[1]
    return _joined(model, job.q, job.v, job.parts["dt"].item(), rows.get("f_ext"), Driven(*leaves))


def _tangents(model: Model, q: list[Any], others: Sequence[int]) -> list[list[list[Any]]]:
    """The unit directions of q, in the tangent space, of v and of tau, for arguments q, v, tau and others of so many
    numbers.
    """
    nv, found = model.nv, []
    for which in range(3):
        for k in range(nv):
            unit = [float(i == k) for i in range(nv)]
            own: list[list[Any]] = [[0.0] * model.nq, [0.0] * nv, [0.0] * nv]
            if which == 0:
                _, ((own[0],),) = pushed(integrate_of(model), [q, [0.0] * nv], [[[0.0] * model.nq, unit]])
            else:
                own[which] = unit
            found.append([*own, *([0.0] * size for size in others)])
    return found


def _in_tangent_space(model: Model, q: list[Any], change: list[Any]) -> list[Any]:
    """A change of q's numbers as a tangent vector at q."""
    _, ((found,),) = pushed(difference_of(model), [q, q], [[[0.0] * model.nq, change]])
    return found


def _by_pushing(model: Model, step: Step, shapes: Mapping[str, Shape]) -> Callable[..., tuple[Any, Any]]:
    """The text for any step: its program with every direction in turn."""

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
        names = list(given)
        arguments: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "dt": ()}
        arguments |= {name: shapes[name] for name in names}

        def advance(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
            ordered = {
                name: tau if name == "tau" else given[name] for name in (*STEP_PARTS, *names) if name in (*names, "tau")
            }
            after, end, _ = step.advance(q, v, traced(np.zeros(step.extras.sums(model)).astype(object)), dt, **ordered)
            return after, end

        program, _, _ = trace("step", advance, arguments)
        own = [flat(x) for x in (q, v, tau, dt, *(given[name] for name in names))]
        directions = _tangents(model, own[0], [len(each) for each in own[3:]])
        (after, _), changes = pushed(program, own, directions)
        columns = [[*_in_tangent_space(model, after, dq), *dv] for dq, dv in changes]
        matrix = np.array(columns, dtype=object).reshape(3 * model.nv, 2 * model.nv).T
        return traced(matrix[:, : 2 * model.nv].copy()), traced(matrix[:, 2 * model.nv :].copy())

    return text


class Driven(NamedTuple):
    """A step in its parts: accelerations and rotors, (nv,), how forces and rotors change with q, v and tau, (nv, 3 nv),
    and how q⁺ changes with q, and with the step, (nv, nv).
    """

    a: Any
    rotors: Any
    df: Any
    dr: Any
    carried: Any
    moved: Any


def _driven(model: Model, law: CompiledFunction | None, shapes: Mapping[str, Shape]) -> Callable[..., Driven]:
    """The text for what drives and drags, and for where a step leads."""
    nv = model.nv

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> Driven:
        names = list(given)
        algorithm = step_forces([*(name for name in names if name in STEP_PARTS), "tau"])

        def forces(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
            if law is not None:
                tau = tau + law(0.0 * dt, q, v, *numbered("law", given))
            parts = {**given, "tau": tau}
            f, r, _ = traced_call(algorithm, model, [q, v, dt, *(parts[n] for n, _ in algorithm.arguments[3:])], (), ())
            return f, r

        arguments: dict[str, Shape] = {"q": (model.nq,), "v": (nv,), "tau": (nv,), "dt": ()}
        program, _, _ = trace("forces", forces, arguments | {name: shapes[name] for name in names})
        own = [flat(x) for x in (q, v, tau, dt, *(given[name] for name in names))]
        (f, r), changes = pushed(program, own, _tangents(model, own[0], [len(each) for each in own[3:]]))
        df, dr = (traced(np.array([each[k] for each in changes], dtype=object).T) for k in range(2))
        a = forward_dynamics(with_rotors(model, r), q, v, array_of(f), given.get("f_ext"))
        return Driven(a, array_of(r), df, dr, *_moved(model, own[0], flat(dt * (v + dt * a))))

    return text


def _by_recursion(
    model: Model, law: CompiledFunction | None, shapes: Mapping[str, Shape]
) -> Callable[..., tuple[Any, Any]]:
    """The text for a whole step without constraints, by the derivatives of forward dynamics.

    (M + diag r) a = f - h,    da = a_q dq + a_v dv + (M + diag r)⁻¹ (df - a dr)
    """
    driven = _driven(model, law, shapes)

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
        parts = driven(q, v, tau, dt, **given)
        rotored, f_ext = with_rotors(model, flat(parts.rotors)), given.get("f_ext")
        force = inverse_dynamics(rotored, q, v, parts.a, f_ext)
        return _assembled(dt, parts, *forward_dynamics_derivatives(rotored, q, v, force, f_ext))

    return text


def _joined(model: Model, q: Array, v: Array, dt: float, f_ext: Array | None, parts: Driven) -> tuple[Array, Array]:
    """The same over floats, for a mechanism of so many joints that one kernel would be too long."""
    by_q, by_v, M = inverse_dynamics_derivatives(model, q, v, parts.a, f_ext)
    inverse = np.linalg.inv(M + (parts.rotors - model.armature)[..., None] * np.eye(model.nv))
    return _assembled(dt, parts, -inverse @ by_q, -inverse @ by_v, inverse)


def _assembled(dt: Any, parts: Driven, a_q: Any, a_v: Any, inverse: Any) -> tuple[Any, Any]:
    """A and B from the derivatives of accelerations with respect to q, v and forces."""
    nv, nothing = parts.a.shape[-1], np.zeros_like(inverse)
    unit = nothing + np.eye(nv)
    da = np.concatenate([a_q, a_v, nothing], axis=-1) + inverse @ (parts.df - parts.a[..., None] * parts.dr)
    dv = dt * da + np.concatenate([nothing, unit, nothing], axis=-1)
    dq = parts.moved @ (dt * dv) + np.concatenate([parts.carried, nothing, nothing], axis=-1)
    both = np.concatenate([dq, dv], axis=-2)
    return both[..., : 2 * nv], both[..., 2 * nv :]


def _moved(model: Model, q: list[Any], step: list[Any]) -> tuple[Any, Any]:
    """Of q⁺ = q ⊕ step: how it changes, in its tangent space, with q in its own, and with the step."""
    nv, program = model.nv, integrate_of(model)
    units = np.eye(nv).tolist()
    lifted = [pushed(program, [q, [0.0] * nv], [[[0.0] * model.nq, unit]])[1][0][0] for unit in units]
    directions = [[each, [0.0] * nv] for each in lifted] + [[[0.0] * model.nq, unit] for unit in units]
    (after,), changes = pushed(program, [q, step], directions)
    columns = [_in_tangent_space(model, after, change) for (change,) in changes]
    matrix = np.array(columns, dtype=object).reshape(2 * nv, nv).T
    return traced(matrix[:, :nv].copy()), traced(matrix[:, nv:].copy())
