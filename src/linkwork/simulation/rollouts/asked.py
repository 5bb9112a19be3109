"""The arguments of a rollout, checked and made into a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, memory_for, not_negative, positive, switch
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.contact.law import touching
from linkwork.dynamics.varied import as_parameters
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.errors import ArgumentError
from linkwork.memory import fits_memory
from linkwork.model.all_contacts import as_contacts
from linkwork.model.constraints import as_constraints
from linkwork.model.model import Model
from linkwork.simulation.laws import as_law, parameters_of
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.rollouts.parts import OVER_TIME, broadcast, check_over_time, rows, step_count, step_parts
from linkwork.simulation.rollouts.steps import Extras


class Asked(NamedTuple):
    """A job, the leading axes of its trajectories, and the arrays given by the user, by the names of the arguments."""

    job: Job
    batch: tuple[int, ...]
    parts: dict[str, Array]
    others: Mapping[str, Array]

    def check_finite(self) -> None:
        """An error that names the first non-finite number, if there is one."""
        check_over_time(self.job.model, self.parts)
        for called, array in self.others.items():
            finite_array(called, array)


def asked_of(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, *, dt: float, steps: int | None, every: int,
    torque: Any, parameters: Any, cost: Any, cost_parameters: Any, constraints: Any, stabilisation: Any, proximal: Any,
    joint_limits: Any, contacts: Any, friction: Any, springs: Any, effort_limits: Any,
    data: Mapping[str, ArrayLike | None], driven: bool, **others: Any,
) -> Asked:  # fmt: skip
    """The job for the arguments of ``lw.rollout``. ``dt`` and ``every`` are already checked, ``data`` are parameters of
    the mechanism, ``driven`` says whether a policy adds driving forces, and ``others`` are parts of a step.
    """
    extras = _extras(model, dt, torque, cost, constraints, stabilisation, proximal, joint_limits, contacts, friction)
    friction = False if extras.contacts is not None else friction
    varied = as_parameters(model, {name: value for name, value in data.items() if value is not None})
    if varied:
        extras = replace(extras, varied=tuple(varied))
        if extras.apart(model):
            raise ArgumentError(f"a law that calls code with loops and {next(iter(varied))} as data exclude each other")
    own = {
        **varied,
        **parameters_of(extras.law, "law", "parameters", parameters, 3),
        **parameters_of(extras.cost, "cost", "cost_parameters", cost_parameters, 4),
    }
    (start, speed), batch = as_batch(model, (("q", "configuration"), ("v", "velocity")), (q, v))
    parts = step_parts(
        model, effort_limits, extras.law is not None or driven, tau=tau, friction=friction,
        springs=switch("springs", springs), **others,
    )  # fmt: skip
    named = {called: array for called, array, _ in own.values()}
    batch = broadcast(batch, {**parts, **named})
    count = step_count(steps, batch, {name: parts[name] for name in OVER_TIME if name in parts} | named)
    if not isfinite(count * dt):
        raise ArgumentError(f"{count} steps of dt = {dt:g} s last longer than a number can say; make dt smaller")
    n, every_part = prod(batch), {**parts, **{key: array for key, (_, array, _) in own.items()}}
    with memory_for("arguments of trajectories", (n, model.nq + model.nv)):
        if not fits_memory(8.0 * n * (model.nq + model.nv)):
            raise MemoryError
        job = Job(
            model,
            np.broadcast_to(start, (*batch, model.nq)).reshape(n, model.nq),  # type: ignore[arg-type]
            np.broadcast_to(speed, (*batch, model.nv)).reshape(n, model.nv),  # type: ignore[arg-type]
            {"dt": np.full((1, 1, 1), dt), **{name: rows(array, batch) for name, array in every_part.items()}},
            count,
            min(every or max(count, 1), max(count, 1)),
            current_form(),
            extras,
            {key: shape for key, (_, _, shape) in own.items()},
        )
    return Asked(job, batch, parts, named)


def _extras(
    model: Model, dt: float, torque: Any, cost: Any, constraints: Any, stabilisation: Any, proximal: Any, stops: Any,
    contacts: Any, friction: Any,
) -> Extras:  # fmt: skip
    """The law, cost, constraints, stops and contacts of the step."""
    held_by = model.constraints if constraints is None else as_constraints(constraints)
    extras = Extras(
        None if torque is None else as_law(model, "torque", torque, (model.nv,)),
        None if cost is None else as_law(model, "cost", cost, (), ("tau",)),
        held_by,
        10.0 * dt if stabilisation is None else positive("stabilisation", stabilisation),
        not_negative("proximal", proximal),
        switch("joint_limits", stops) and contacts is None,
        None if contacts is None else as_contacts(contacts),
        contacts is not None and switch("friction", friction, " beside contacts, where it is the model's"),
    )
    if extras.contacts is not None:
        touching(model, extras.contacts, True, extras.rough, extras.constraints)  # raises an error for invalid contacts
    if len(model.bodies) > MOST_BODIES and extras.stops:
        raise ArgumentError(
            f"a rollout takes joint_limits for up to {MOST_BODIES} bodies; model {model.name!r} has "
            f"{len(model.bodies)}. lw.simulate takes any number"
        )
    return extras
