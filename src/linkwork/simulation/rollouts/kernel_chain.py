"""A linearised step of a large robot whose frames are held, as a chain of kernels.

With x the columns of the step's linearisation under constant constraint forces (``algorithms.linearised_step``), K, C,
R and c those of ``dynamics.held_derivatives``, and E the derivative of q⁺ with respect to dt v⁺,

    ∂a₀ = (x_v - ∂v) / dt        (K M⁻¹ Kᵀ) ∂s = - ∂c - K ∂a₀        ∂a - ∂a₀ = Rᵀ (∂f + Cᵀ ∂s)

    A, B = x + dt (dt E, 1) (∂a - ∂a₀)

One kernel finds everything about the constraints, the next linearises the step under their forces as loads on bodies,
and two join them, a column at a time: columns of A and of B.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import STEP_PARTS, linearising, step_forces
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.constrained_derivatives import is_chained, moving_numbers, over_columns, rows_held
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import TracedSolver
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, held_by, loads_of
from linkwork.dynamics.held_derivatives import around_constraints
from linkwork.dynamics.operational import force_responses
from linkwork.dynamics.operational_inertia import operational_inertia_inverse
from linkwork.dynamics.traced import traced_call
from linkwork.engine.plans import Plan, Task, TracedTask, plan_for
from linkwork.model.rotors import with_rotors
from linkwork.simulation.rollouts.gradients import flat
from linkwork.simulation.rollouts.tangent_steps import moved_by_step
from linkwork.simulation.step import Step
from linkwork.simulation.step_arguments import DEFAULT
from linkwork.spatial.small_matrices import transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction
    from linkwork.engine.plans.chain import Columns


def is_a_chain(step: Step) -> bool:
    """Whether such a chain linearises a step of a robot with more joints than one kernel is for."""
    if step.law is not None or step.joints or step.contacts is not None or step.varied or step.proximal or step.several:
        return False
    if step.method != DEFAULT:
        return False
    return bool(step.constraints) and is_chained(held_by(step.model, step.constraints))


def chain_of(held: HeldBy, shapes: Mapping[str, Shape]) -> CompiledFunction:
    """A and B from q, v, tau, the other arguments of the step, the constraints' placements and settings."""

    def made() -> CompiledFunction:
        from linkwork.compiled.law import law

        model, nv = held.model, held.model.nv
        arguments: dict[str, Shape] = {"q": (model.nq,), "v": (nv,), "tau": (nv,), **shapes}
        arguments |= {"placements": held.placements.shape, "settings": (3,)}
        results, planned = [(2 * nv, 2 * nv), (2 * nv, nv)], partial(_chain, held, arguments)
        return law("linearise", _nothing, arguments, results, model, held.frames, held.kinds, planned=planned)

    return held.kept_law(("linearise", tuple(shapes.items())), made)


def _nothing(**_: Any) -> Any:
    raise AssertionError("a chain has no text of its own")


def _chain(held: HeldBy, arguments: Mapping[str, Shape], task: TracedTask) -> Plan:
    from linkwork.engine.plans.chain import Chain, Link

    names, around, nv = list(arguments), _around(held, arguments), held.model.nv
    algorithm = linearising([*(name for name in names if name in STEP_PARTS), "tau", "f_ext"])
    loads, *found, c, forces = range(len(names), len(names) + len(around.result_shapes))
    tree = [loads if name == "f_ext" else names.index(name) for name, _ in algorithm.arguments]
    dt, A0 = names.index("dt"), forces + 1
    links = [
        Link(around.straight(), range(len(names))),
        Link(plan_for(Task(algorithm, held.model)), tree),
        Link(_joining(held, around, 2 * nv), [*found, c, forces, dt, A0]),
        Link(_joining(held, around, nv), [*found, dt, A0 + 1]),
    ]
    return Chain(task, links, [A0 + 2, A0 + 3])


def _around(held: HeldBy, arguments: Mapping[str, Shape]) -> CompiledFunction:
    """The wrenches of the constraints on bodies, and what the columns of A and B need to know of the constraints."""
    from linkwork.compiled.law import law

    model, nv, r, several = held.model, held.model.nv, rows_held(held), moving_numbers(held)
    solver, algorithm = TracedSolver(held.name, 0.0), step_forces([*(set(arguments) & set(STEP_PARTS)), "tau"])

    def text(q: Any, v: Any, dt: Any, placements: Any, settings: Any, f_ext: Any = None, **given: Any) -> Any:
        parts = [q, v, dt, *(given[name] for name, _ in algorithm.arguments[3:])]
        driving, rotors, _ = traced_call(algorithm, model, parts, (), ())
        rotored = with_rotors(model, flat(rotors))
        state = ConstrainedState(held, solver, placements, settings, q, v, driving, f_ext)
        sizes, known = state.magnitudes(rotored), state.constraint_rows()
        loads = loads_of(held, known.C, sizes, f_ext)
        a = forward_dynamics(rotored, q, v, driving, loads)
        R, mobility = force_responses(rotored, q, held.ends), operational_inertia_inverse(rotored, q, held.ends)
        around, along = around_constraints(state, a, sizes, known, R, mobility)
        E = moved_by_step(model, flat(q), flat(dt * (v + dt * a)))
        c = np.concatenate([along.c_q, along.c_v - around.K / dt], axis=-1)
        forces = np.concatenate([along.forces_q, 0.0 * along.forces_q], axis=-1)
        return loads, around.K, around.C, around.R, around.system, E, c, forces

    results = [(len(model.bodies), 6), *_shapes_shared(held), (r, 2 * nv), (several, 2 * nv)]
    return law("around_linearised_step", text, arguments, results, model, held.frames, held.kinds)


def _joining(held: HeldBy, around: CompiledFunction, columns: int) -> Columns:
    """Columns of A, which have a part of the constraints' own, or of B, from those under constant constraint forces."""
    nv, shared, solver = held.model.nv, _shapes_shared(held), TracedSolver(held.name, 0.0)
    own = [rows_held(held), moving_numbers(held)] if columns > nv else []

    def text(K: Any, C: Any, R: Any, system: Any, E: Any, *others: Any) -> Any:
        *own, dt, x = others
        rates = (K @ x[nv:]) * (1.0 / dt)
        (ds,) = solver.columns(system, [rates + own[0] if own else rates])
        pull = -(transposed(C) @ ds)
        change = dt * (transposed(R) @ (own[1] + pull if own else pull))
        return np.concatenate([x[:nv] + E @ (dt * change), x[nv:] + change], axis=-2)

    shapes, known = [*shared, *((n, 1) for n in own), (), (2 * nv, 1)], len(shared) + len(own)
    alike, what = [*range(len(shared)), known], list(around.shapes.items())
    return over_columns(held, around, "joined_step", text, shapes, alike, [(2 * nv, columns)], known, what)


def _shapes_shared(held: HeldBy) -> list[Shape]:
    r, several, nv = rows_held(held), moving_numbers(held), held.model.nv
    return [(r, nv), (r, several), (several, nv), (r * (r + 1) // 2,), (nv, nv)]
