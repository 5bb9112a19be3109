"""The gradient of a loss through a whole rollout, by the adjoint method.

States are kept at checkpoints. The steps between two checkpoints are computed again and then run backward, each by one
kernel, for all trajectories at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import ceil, inf, nan, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import ALGORITHMS, STEP_PARTS
from linkwork.arguments import Array, finite_array, integer
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.compiling import compiled
from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.code import fingerprint
from linkwork.engine.plans.costs import looped
from linkwork.engine.run.threads import get_threads
from linkwork.engine.trace.differentiate import pulled
from linkwork.engine.trace.replay import replay
from linkwork.engine.trace.specialise import specialise
from linkwork.errors import ArgumentError
from linkwork.model.memo import kept_with_model, requesting
from linkwork.model.model import Model
from linkwork.simulation.step import Step
from linkwork.simulation.step_plans import state_of
from linkwork.spatial import absolute, where_less

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program
    from linkwork.simulation.jobs import Job


@dataclass(frozen=True)
class Gradients:
    """The derivatives of a loss with respect to the arguments of a rollout.

    The gradient of an argument that trajectories or steps share is the sum over them: it has a batch or time axis only
    where the argument had one.

    Attributes:
        q: with respect to the initial configurations (..., nv), in the tangent space.
        v: with respect to the initial velocities (..., nv).
        parts: with respect to tau, q_target (in the tangent space), kp, v_target, kd, damping, friction, effort, f_ext,
            inertias, armature and placements, as far as they were given: (n or 1, T or 1, numbers), with all
            trajectories in one axis.
        parameters: with respect to those of the law, in order, in the same shapes.
        cost_parameters: with respect to those of the cost, likewise.
    """

    q: Array
    v: Array
    parts: dict[str, Array]
    parameters: tuple[Array, ...]
    cost_parameters: tuple[Array, ...]


@kept_with_model
def difference_of(model: Model) -> Program:
    return specialise(ALGORITHMS["difference"], model, expand=False)


@kept_with_model
def integrate_of(model: Model) -> Program:
    return specialise(ALGORITHMS["integrate"], model, expand=False)


def solved(end: Sequence[Any]) -> Any:
    """0, or NaN if a velocity at the end of the step is not finite: a step that does not exist has no derivatives."""
    found: Any = 0.0
    for x in end:
        found = where_less(absolute(x), inf, found, nan)
    return found


def flat(array: Any) -> list[Any]:
    found: list[Any] = numbers(array).ravel().tolist()
    return found


# Backward through time


def pulled_back(job: Job, weights: Sequence[Array | None], of_cost: Array, checkpoints: int | None) -> Gradients:
    """The gradients, given the loss's derivatives with respect to the recorded q (n, K, nv), in the tangent space, and
    v (n, K, nv), and to each trajectory's cost (n,).
    """
    model, n, steps, shapes = job.model, len(job), job.steps, job.all_shapes
    names = [name for name in shapes if name != "dt"]
    sums_of = {name: np.zeros_like(job.parts[name]) for name in names}
    if "q_target" in sums_of:
        sums_of["q_target"] = np.zeros((*job.parts["q_target"].shape[:2], model.nv))
    adjoint = [np.zeros((n, model.nv)), np.zeros((n, model.nv))]
    backward = _Backward(job, of_cost)
    for now, q, v in _backward_in_time(job, checkpoints):
        _weigh(adjoint, weights, now + 1, steps, job.every)
        adjoint, gradients = backward(now, q, v, adjoint)
        for name, gradient in zip(names, gradients, strict=True):
            _gather(sums_of[name], gradient.reshape(n, -1), now)
    _weigh(adjoint, weights, 0, steps, job.every)
    law, cost = ([key for key in job.shapes if key.startswith(prefix)] for prefix in ("law_", "cost_"))
    named = (*STEP_PARTS, *job.step.varied)
    return Gradients(
        adjoint[0], adjoint[1], {name: sums_of[name] for name in names if name in named},
        tuple(sums_of[key] for key in law), tuple(sums_of[key] for key in cost),
    )  # fmt: skip


class _Backward:
    """One step of a job backward."""

    def __init__(self, job: Job, of_cost: Array) -> None:
        self.job, self.of_cost, self.kernel, self.shapes = job, of_cost, _backward(job), job.all_shapes

    def __call__(self, now: int, q: Array, v: Array, adjoint: Sequence[Array]) -> tuple[list[Array], Sequence[Array]]:
        """The adjoint before step ``now`` from that after it, and the gradients of the step's arguments."""
        job, n = self.job, len(self.job)
        sums = np.zeros((n, job.step.size_of_sums))
        sums[:, 0] = now
        given = [_row(job.parts[name], now).reshape((-1, *shape)) for name, shape in self.shapes.items()]
        rows = [array if len(array) == n else array.reshape(array.shape[1:]) for array in given]
        values = [q, v, sums, *rows, *adjoint, self.of_cost]
        leaves = self.kernel.quick(None, *values) or self.kernel.attempt(values)[0]
        return list(leaves[:2]), leaves[2:]


def _backward_in_time(job: Job, checkpoints: int | None) -> Iterator[tuple[int, Array, Array]]:
    """The steps of a job, the last one first, with their initial states; these are computed again from checkpoints."""
    steps = job.steps
    span = max(1, ceil(sqrt(steps)) if checkpoints is None else ceil(steps / integer("checkpoints", checkpoints, 1)))
    starts = _states(job, 0, job.q, job.v, steps, span)
    every_state = None
    if span == 1:  # nothing has to be done again
        every_state, span = starts, max(1, steps)
    for block in reversed(range(ceil(steps / span))):
        first = block * span
        count = min(span, steps - first)
        inside = every_state or _states(job, first, starts[0][:, block], starts[1][:, block], count, 1)
        q, v = (np.ascontiguousarray(array.swapaxes(0, 1)) for array in inside)  # steps come first
        for k in reversed(range(count)):
            yield first + k, q[k], v[k]


def _states(job: Job, first: int, q: Array, v: Array, steps: int, every: int) -> list[Array]:
    """Recorded q and v of some steps, computed again."""
    part = job.later(first, [np.ascontiguousarray(each) for each in (q, v)], steps, min(every, max(1, steps)))
    into = part.buffers()
    part.run(into, get_threads())
    return list(into[:2])


def _row(part: Array, step: int) -> Array:
    return part[:, min(step, part.shape[1] - 1)]


def _gather(total: Array, gradient: Array, step: int) -> None:
    """Add a step's gradient (n, numbers) to the sum of its trajectory and time."""
    own = gradient if len(total) > 1 or len(gradient) == 1 else gradient.sum(axis=0, keepdims=True)
    total[:, min(step, total.shape[1] - 1)] += own


def _weigh(adjoint: list[Array], weights: Sequence[Array | None], step: int, steps: int, every: int) -> None:
    """Add the loss's derivative with respect to the state after this number of steps, if that is recorded."""
    if step % every and step != steps:
        return
    for own, given in zip(adjoint, weights, strict=True):
        if given is not None:
            own += given[:, -(-step // every)]


def _backward(job: Job) -> CompiledFunction:
    """The kernel of a step backward: from the step's arguments and the adjoint after it to the adjoint before it."""
    model, shapes = job.model, job.all_shapes
    memo, key = model._memo.derived, fingerprint.key("backward", list(shapes.items()), job.step.digests)
    if key not in memo:
        memo[key] = _made_backward(model, job.step, shapes)
    found: CompiledFunction = memo[key]
    return found


def form_of_derivatives(step: Step) -> AbstractContextManager[None]:
    """The form that derivatives of a step are traced in. Those of coupled joints that stop or stick are of straight
    code, however long: in code with loops their couplings are rows like others, and where redundant forces hold such
    joints, derivatives along the couplings lose digits.
    """
    coupled = bool(step.joints) and step.together is not None and not looped(step.model)
    return requesting("specialised") if coupled else nullcontext()


def _made_backward(model: Model, step: Step, shapes: Mapping[str, Shape]) -> CompiledFunction:
    arguments = {**state_of(step), **shapes}

    def in_tangent_space(q: list[Any], gradient: list[Any]) -> Any:
        _, ((_, found),) = pulled(integrate_of(model), [q, [0.0] * model.nv], [[gradient]])
        return _shaped(found, (model.nv,))

    def text(w_q: Any, w_v: Any, w_cost: Any, **given: Any) -> Any:
        program, _, _ = trace("step", step.advance, arguments)
        own = [flat(given[name]) for name in arguments]
        after, end = replay(program, own)[:2]
        _, ((_, by_numbers),) = pulled(difference_of(model), [after, after], [[flat(w_q)]])
        of_sums = [0.0, w_cost.item(), *(0.0 for _ in own[2][2:])]
        _, (gradient,) = pulled(program, own, [[by_numbers, flat(w_v), of_sums]])
        rest = {name: _shaped(gradient[k + 3], shape) for k, (name, shape) in enumerate(shapes.items()) if name != "dt"}
        if "q_target" in rest:
            rest["q_target"] = in_tangent_space(flat(given["q_target"]), flat(rest["q_target"]))
        first, *others = gradient[1]
        by_v = _shaped([first + solved(end), *others], (model.nv,))
        return (in_tangent_space(own[0], gradient[0]), by_v, *rest.values())

    whole = {**arguments, "w_q": (model.nv,), "w_v": (model.nv,), "w_cost": ()}
    with form_of_derivatives(step):
        return compiled(f"a step of {model.name!r} backward", text, whole)


def _shaped(values: list[Any], shape: Shape) -> Any:
    return array_of(values).reshape(shape)


def as_weights(name: str, value: Any, shape: tuple[int, ...]) -> Array | None:
    """The loss's derivatives with respect to recorded states: (..., K, nv) as (n, K, nv)."""
    if value is None:
        return None
    given = finite_array(name, value)
    try:
        spread = np.broadcast_to(given, shape)
    except ValueError:
        raise ArgumentError(f"{name} must have shape {shape}, but has shape {given.shape}") from None
    return spread.reshape(prod(shape[:-2]), *shape[-2:])
