"""The routes by which a step is linearised: one recursion, tangents through its program, or a chain of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import STEP_PARTS, linearising
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.compiling import compiled
from linkwork.compiled.tracing import Shape
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained import constrained_dynamics
from linkwork.dynamics.derivatives import Two
from linkwork.dynamics.held import held_by
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import current_form
from linkwork.engine.plans.costs import within
from linkwork.errors import ArgumentError, LinkworkError, TracingError
from linkwork.simulation.jobs import Job
from linkwork.simulation.rollouts.gradients import form_of_derivatives
from linkwork.simulation.rollouts.kernel_chain import chain_of, is_a_chain
from linkwork.simulation.rollouts.recall import NOTHING, Code
from linkwork.simulation.rollouts.tangent_steps import along, by_tangents
from linkwork.unsolved import unsolved

_MANY = 4096
"""Directions per batch."""


def linearised(job: Job, into: Two | None = None) -> tuple[Array, Array, Code | None]:
    """A (n, 2nv, 2nv) and B (n, 2nv, nv) of the first step, written ``into`` these arrays if code can do so; and the
    code that serves such steps, if there is any.
    """
    step = job.step
    if step.plain:
        return _by_loops(job, into)
    shapes = {name: shape for name, shape in job.all_shapes.items() if name != "tau"}
    small = within("derived_whole" if step.constraints else "linearised_whole", job.model.nv)
    if not small and current_form() == "auto" and is_a_chain(step):
        return _by_chain(job, shapes, into)
    searches = bool(step.joints) or step.contacts is not None
    if step.has_loops or step.varied or not (small or step.several or searches):
        return *_by_columns(job, shapes), None
    return _whole(job, shapes, into)


def _whole(job: Job, shapes: Mapping[str, Shape], into: Two | None) -> tuple[Array, Array, Code | None]:
    """A and B by one kernel; a column at a time if it would be too long."""
    kernel, given = _kernel(job, by_tangents(job.step, shapes), shapes), _given(job, shapes)
    if current_form() == "auto" and not kernel.fits:
        return *_by_columns(job, shapes), None
    rows = [array if len(array) == len(job) else array[0] for array in given.values()]
    A, B = _leaves(job, kernel, [job.q, job.v, *rows], into)
    return A, B, _code(kernel)


def _kernel(
    job: Job, text: Callable[..., Any], shapes: Mapping[str, Shape], direction: Mapping[str, Shape] = NOTHING
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
            with form_of_derivatives(job.step):
                memo[key] = compiled(name, text, whole)
        except TracingError as error:
            if isinstance(error.__cause__, ZeroDivisionError):  # in every state
                _say_why(job, 0)
            raise
    kernel: CompiledFunction = memo[key]
    return kernel


def _by_chain(job: Job, shapes: Mapping[str, Shape], into: Two | None) -> tuple[Array, Array, Code | None]:
    """A and B of a step of a large robot whose frames are held."""
    held = held_by(job.model, job.step.constraints)
    kernel, held_at = chain_of(held, shapes), [held.placements, held.settings(job.step.stabilisation, 0.0)]
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
