"""A step to be linearised, in parts: its driving forces, its end state, and the derivatives of its accelerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms import STEP_PARTS, step_forces
from linkwork.compiled.arrays import array_of, traced
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import TracedSolver
from linkwork.dynamics.derivatives import forward_dynamics_derivatives
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import held_by
from linkwork.dynamics.held_derivatives import Responses, derivatives_of, pulls_of
from linkwork.dynamics.traced import traced_call
from linkwork.engine.trace.differentiate import pushed
from linkwork.model.model import Model
from linkwork.model.rotors import with_rotors
from linkwork.simulation.rollouts.gradients import flat, integrate_of
from linkwork.simulation.rollouts.tangent_steps import in_tangent_space, tangents
from linkwork.simulation.step import Step, numbered


class StepParts(NamedTuple):
    """A step in parts: driving forces and armature (nv,), the magnitudes of the constraint forces (r,), accelerations
    (nv,), the derivatives of forces and armature with respect to q, v and tau, (nv, 3 nv), and those of q⁺ with respect
    to q and to the step, (nv, nv).
    """

    forces: Any
    rotors: Any
    sizes: Any
    a: Any
    df: Any
    dr: Any
    carried: Any
    moved: Any


def parts_of(step: Step, shapes: Mapping[str, Shape]) -> Callable[..., StepParts]:
    """A traceable function for the driving and dissipative forces and for the end of a step."""
    model, nv, law = step.model, step.model.nv, step.law

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> StepParts:
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
        (f, r), changes = pushed(program, own, tangents(model, own[0], [len(each) for each in own[3:]]))
        df, dr = (traced(np.array([each[k] for each in changes], dtype=object).T) for k in range(2))
        driving, f_ext, rotored = array_of(f), given.get("f_ext"), with_rotors(model, r)
        sizes, a = traced(np.zeros(0).astype(object)), None
        if step.constraints:
            state = _state(step, q, v, driving, f_ext)
            sizes = state.magnitudes(rotored)
            pulls = pulls_of(state, sizes)
            a = forward_dynamics(rotored, q, v, driving + pulls.forces, pulls.loads)
        else:
            a = forward_dynamics(rotored, q, v, driving, f_ext)
        return StepParts(driving, array_of(r), sizes, a, df, dr, *moved(model, own[0], flat(dt * (v + dt * a))))

    return text


def _state(step: Step, *values: Any) -> ConstrainedState:
    """q, v, joint forces and external forces under the constraints of a step."""
    held = held_by(step.model, step.constraints)
    settings = held.settings(step.stabilisation, 0.0)
    return ConstrainedState(held, TracedSolver(held.name, 0.0), held.placements, settings, *values)


def by_recursion(step: Step, shapes: Mapping[str, Shape]) -> Callable[..., tuple[Any, Any]]:
    """A traceable function for a whole step, by the derivatives of forward dynamics, or of constrained dynamics.

    (M + diag r) a = f - h,    da = a_q dq + a_v dv + a_f (df - a dr)
    """
    drive, model = parts_of(step, shapes), step.model

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
        parts = drive(q, v, tau, dt, **given)
        rotored = with_rotors(model, flat(parts.rotors))

        def responses(forces: Any, loads: Any) -> tuple[Any, Any, Any, Any]:
            return parts.a, *forward_dynamics_derivatives(rotored, q, v, forces, loads)

        return _assembled(dt, parts, *_responses(step, q, v, given.get("f_ext"), parts, responses))

    return text


def _responses(step: Step, q: Any, v: Any, f_ext: Any, parts: StepParts, responses: Responses) -> tuple[Any, Any, Any]:
    """The derivatives of accelerations with respect to q, v and forces, under the constraints of the step."""
    if not step.constraints:
        _, a_q, a_v, inverse = responses(parts.forces, f_ext)
        return a_q, a_v, inverse
    found = derivatives_of(_state(step, q, v, parts.forces, f_ext), parts.sizes, responses)
    return found.da_dq, found.da_dv, found.da_dtau


def _assembled(dt: Any, parts: StepParts, a_q: Any, a_v: Any, inverse: Any) -> tuple[Any, Any]:
    """A and B from the derivatives of accelerations with respect to q, v and forces."""
    nv, nothing = parts.a.shape[-1], np.zeros_like(inverse)
    unit = nothing + np.eye(nv)
    da = np.concatenate([a_q, a_v, nothing], axis=-1) + inverse @ (parts.df - parts.a[..., None] * parts.dr)
    dv = dt * da + np.concatenate([nothing, unit, nothing], axis=-1)
    dq = parts.moved @ (dt * dv) + np.concatenate([parts.carried, nothing, nothing], axis=-1)
    both = np.concatenate([dq, dv], axis=-2)
    return both[..., : 2 * nv], both[..., 2 * nv :]


def moved(model: Model, q: list[Any], step: list[Any]) -> tuple[Any, Any]:
    """The derivatives of q⁺ = q ⊕ step in its tangent space, with respect to q in its own, and to the step."""
    nv, program = model.nv, integrate_of(model)
    units = np.eye(nv).tolist()
    lifted = [pushed(program, [q, [0.0] * nv], [[[0.0] * model.nq, unit]])[1][0][0] for unit in units]
    directions = [[each, [0.0] * nv] for each in lifted] + [[[0.0] * model.nq, unit] for unit in units]
    (after,), changes = pushed(program, [q, step], directions)
    columns = [in_tangent_space(model, after, change) for (change,) in changes]
    matrix = np.array(columns, dtype=object).reshape(2 * nv, nv).T
    return traced(matrix[:, :nv].copy()), traced(matrix[:, nv:].copy())
