"""The arguments of a rollout, checked and made into a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from linkwork.arguments import choice, finite_array, memory_for
from linkwork.batches import spread
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.engine.mode import current_form
from linkwork.errors import ArgumentError
from linkwork.late import LateFunction
from linkwork.memory import fits_memory
from linkwork.model.model import Model
from linkwork.simulation.integrators import INTEGRATORS
from linkwork.simulation.laws import parameters_of
from linkwork.simulation.parts import (
    OVER_TIME,
    broadcast,
    check_over_time,
    driving_parts,
    rows,
    step_count,
)
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.step_arguments import options_of, with_events

check_events = LateFunction("linkwork.simulation.events:check_events")
as_parameters = LateFunction("linkwork.dynamics.varied:as_parameters")


class Request(NamedTuple):
    """The arguments of a rollout, checked.

    Attributes:
        job: what is to be computed, all trajectories along one axis.
        batch: the leading axes that the user's arrays have.
        parts: the user's arrays that are parts of a step (``STEP_PARTS``), by name.
        others: the parameters of a law and a cost, by their names in messages.
    """

    job: Job
    batch: tuple[int, ...]
    parts: dict[str, Array]
    others: Mapping[str, Array]

    def check_finite(self) -> None:
        """An error that names the first non-finite number, if there is one."""
        check_over_time(self.job.model, self.parts)
        for called, array in self.others.items():
            finite_array(called, array)


def request_of(
    model: Model, given: Mapping[str, Any], dt: float, steps: int | None, every: int, driven: bool = False
) -> Request:
    """The request of ``lw.rollout``, or ``lw.linearise``, whose arguments are ``given`` by name, of which these are
    already checked: ``dt`` and ``every``. ``driven`` says whether a policy adds driving forces.
    """
    choice("integrator", given["integrator"], INTEGRATORS[:2])
    step, constant = options_of(model, dt, given, driven)
    step, of_events = with_events(step, given.get("events"))
    present = {name: given[name] for name in ("inertias", "armature", "placements") if given.get(name) is not None}
    varied = as_parameters(model, present) if present else {}
    if varied:
        step = replace(step, varied=tuple(varied))
    inputs = {
        **varied,
        **parameters_of(step.law, "law", "parameters", given["parameters"], 3),
        **parameters_of(step.cost, "cost", "cost_parameters", given.get("cost_parameters"), 4),
        **of_events,
    }
    (start, speed), batch = as_batch(model, (("q", "configuration"), ("v", "velocity")), (given["q"], given["v"]))
    parts = constant | driving_parts(model, given)
    named = {called: array for called, array, _ in inputs.values()}
    batch = broadcast(batch, {**parts, **named})
    count = step_count(steps, batch, {name: parts[name] for name in OVER_TIME if name in parts} | named)
    if not isfinite(count * dt):
        raise ArgumentError(f"{count} steps of dt = {dt:g} s last longer than a number can say; make dt smaller")
    if step.events is not None:
        check_events(step.events, of_events, count * dt)
    n, every_part = prod(batch), {**parts, **{key: array for key, (_, array, _) in inputs.items()}}
    with memory_for("arguments of trajectories", (n, model.nq + model.nv)):
        if not fits_memory(8.0 * n * (model.nq + model.nv)):
            raise MemoryError
        job = Job(
            step,
            spread(start, 1, batch).reshape(n, model.nq),  # type: ignore[arg-type]
            spread(speed, 1, batch).reshape(n, model.nv),  # type: ignore[arg-type]
            {"dt": np.full((1, 1, 1), dt), **{name: rows(array, batch) for name, array in every_part.items()}},
            count,
            min(every or max(count, 1), max(count, 1)),
            current_form(),
            {key: shape for key, (_, _, shape) in inputs.items()},
        )
    return Request(job, batch, parts, named)
