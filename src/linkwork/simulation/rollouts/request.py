"""The arguments of a rollout, checked and made into a job."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, prod
from typing import Any, NamedTuple

from linkwork.arguments import choice, finite_array, memory_for
from linkwork.batches import spread
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.errors import ArgumentError
from linkwork.late import LateFunction
from linkwork.memory import fits_memory
from linkwork.model.model import Model
from linkwork.simulation.integrators import INTEGRATORS
from linkwork.simulation.jobs import Job, job_of
from linkwork.simulation.parts import OVER_TIME, broadcast, check_over_time, step_count
from linkwork.simulation.step_arguments import step_arguments

check_events = LateFunction("linkwork.simulation.events:check_events")


class Request(NamedTuple):
    """The arguments of a rollout, checked.

    Attributes:
        job: what is to be computed, all trajectories along one axis.
        batch: the leading axes that the user's arrays have.
        parts: the user's arrays that are parts of a step (``STEP_PARTS``), by name.
        others: their other inputs, such as parameters of a law, by their names in messages.
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
    model: Model, arguments: Mapping[str, Any], dt: float, steps: int | None, every: int, driven: bool = False
) -> Request:
    """The request of ``lw.rollout``, or ``lw.linearise``, from all its ``arguments`` by name, of which these
    are already checked: ``dt`` and ``every``. ``driven`` says whether a policy adds driving forces.
    """
    choice("integrator", arguments["integrator"], INTEGRATORS[:2])
    of_steps = step_arguments(model, dt, arguments, driven)
    step, parts, called = of_steps.step, of_steps.parts, of_steps.called
    (start, speed), batch = as_batch(
        model, (("q", "configuration"), ("v", "velocity")), (arguments["q"], arguments["v"])
    )
    batch = broadcast(batch, {**parts, **called})
    count = step_count(steps, batch, {name: parts[name] for name in OVER_TIME if name in parts} | called)
    if not isfinite(count * dt):
        raise ArgumentError(f"{count} steps of dt = {dt:g} s last longer than a number can say; make dt smaller")
    if step.events is not None:
        check_events(step.events, of_steps.inputs, count * dt)
    n, most = prod(batch), max(count, 1)
    with memory_for("arguments of trajectories", (n, model.nq + model.nv)):
        if not fits_memory(8.0 * n * (model.nq + model.nv)):
            raise MemoryError
        q = spread(start, 1, batch).reshape(n, model.nq)  # type: ignore[arg-type]
        v = spread(speed, 1, batch).reshape(n, model.nv)  # type: ignore[arg-type]
        job = job_of(of_steps, q, v, dt, count, min(every or most, most), batch)
    return Request(job, batch, parts, called)
