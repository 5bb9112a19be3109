"""Forward-mode derivatives of a step of any kind, by tangents pushed through its program: traceable functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.compiled.arrays import array_of, traced
from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.ir.program import Program
from linkwork.engine.trace.differentiate import pushed
from linkwork.model.model import Model
from linkwork.simulation.rollouts.gradients import difference_of, flat, integrate_of, solved
from linkwork.simulation.step import Step


def tangents(model: Model, q: list[Any], others: Sequence[int]) -> list[list[list[Any]]]:
    """The unit tangents of q (in the tangent space), v and tau, for arguments q, v, tau and others of these sizes."""
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


def in_tangent_space(model: Model, q: list[Any], change: list[Any]) -> list[Any]:
    """A change of q's coordinates as a tangent vector at q."""
    _, ((found,),) = pushed(difference_of(model), [q, q], [[[0.0] * model.nq, change]])
    return found


def moved_by_step(model: Model, q: list[Any], step: list[Any]) -> Any:
    """The derivative (nv, nv) of q⁺ = q ⊕ step, in its tangent space, with respect to the step."""
    directions = [[[0.0] * model.nq, unit] for unit in np.eye(model.nv).tolist()]
    (after,), changes = pushed(integrate_of(model), [q, step], directions)
    columns = [in_tangent_space(model, after, change) for (change,) in changes]
    return traced(np.array(columns, dtype=object).reshape(model.nv, model.nv).T.copy())


def _advancing(step: Step, shapes: Mapping[str, Shape], names: Sequence[str]) -> Program:
    """The program of a step: from q, v, tau, dt and the arguments of these names to q and v."""
    model = step.model
    arguments: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "dt": ()}
    arguments |= {name: shapes[name] for name in names}

    def advance(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
        ordered = {
            name: tau if name == "tau" else given[name] for name in (*STEP_PARTS, *names) if name in (*names, "tau")
        }
        after, end, _ = step.advance(q, v, traced(np.zeros(step.size_of_sums).astype(object)), dt, **ordered)
        return after, end

    return trace("step", advance, arguments)[0]


def along(step: Step, shapes: Mapping[str, Shape]) -> Callable[..., Any]:
    """A traceable function: the derivative of any step along one direction of q (in the tangent space), v and tau."""
    model = step.model

    def text(q: Any, v: Any, tau: Any, dt: Any, direction: Any, **given: Any) -> Any:
        nv, names = model.nv, list(given)
        own = [flat(x) for x in (q, v, tau, dt, *(given[name] for name in names))]
        along = flat(direction)
        _, ((dq,),) = pushed(integrate_of(model), [own[0], [0.0] * nv], [[[0.0] * model.nq, along[:nv]]])
        others = [[0.0] * len(each) for each in own[3:]]
        program = _advancing(step, shapes, names)
        (after, end), ((d_after, dv),) = pushed(program, own, [[dq, along[nv : 2 * nv], along[2 * nv :], *others]])
        changes: list[Any] = [*in_tangent_space(model, after, d_after), *dv]
        changes[0] = changes[0] + solved(end)
        return array_of(changes)

    return text


def by_tangents(step: Step, shapes: Mapping[str, Shape]) -> Callable[..., tuple[Any, Any]]:
    """A traceable function: A and B of any step, by propagating all unit tangents."""
    model = step.model

    def text(q: Any, v: Any, tau: Any, dt: Any, **given: Any) -> tuple[Any, Any]:
        program = _advancing(step, shapes, list(given))
        own = [flat(x) for x in (q, v, tau, dt, *given.values())]
        directions = tangents(model, own[0], [len(each) for each in own[3:]])
        (after, end), changes = pushed(program, own, directions)
        columns = [[*in_tangent_space(model, after, dq), *dv] for dq, dv in changes]
        columns[0][0] = columns[0][0] + solved(end)
        matrix = np.array(columns, dtype=object).reshape(3 * model.nv, 2 * model.nv).T
        return traced(matrix[:, : 2 * model.nv].copy()), traced(matrix[:, 2 * model.nv :].copy())

    return text
