"""The arguments of a rollout, checked and made into a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from linkwork.arguments import all_finite, choice, finite_array, memory_for
from linkwork.batches import is_plain
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.engine.mode import current_form
from linkwork.errors import ArgumentError
from linkwork.late import LateFunction
from linkwork.memory import fits_memory
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.integrators import INTEGRATORS
from linkwork.simulation.laws import parameters_of
from linkwork.simulation.parts import (
    OVER_TIME,
    broadcast,
    check_over_time,
    rows,
    step_count,
    step_parts,
    warn_of_efforts,
)
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.step_arguments import step_of, with_events

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
    step, friction = step_of(model, dt, given)
    step, of_events = with_events(step, given.get("events"))
    present = {name: given[name] for name in _DATA if given.get(name) is not None}
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
    parts = step_parts(model, given, friction, step.law is not None or driven)
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
            np.broadcast_to(start, (*batch, model.nq)).reshape(n, model.nq),  # type: ignore[arg-type]
            np.broadcast_to(speed, (*batch, model.nv)).reshape(n, model.nv),  # type: ignore[arg-type]
            {"dt": np.full((1, 1, 1), dt), **{name: rows(array, batch) for name, array in every_part.items()}},
            count,
            min(every or max(count, 1), max(count, 1)),
            current_form(),
            {key: shape for key, (_, _, shape) in inputs.items()},
        )
    return Request(job, batch, parts, named)


# The same options as in an earlier call: short rollouts would otherwise spend most of their time on checks


_MOST_KEPT = 100
"""Options of calls that are kept with a model."""
_PLAIN = (type(None), bool, int, float, str)
_ROWS = ("tau", "q_target", "v_target")
_SIMPLE = ("kp", "kd", "damping", "friction", "springs", "effort_limits", "stabilisation", "proximal", "joint_limits",
           "integrator", "friction_law", "method")  # fmt: skip
_OBJECTS = ("torque", "cost", "constraints", "contacts")
_DATA = ("inertias", "armature", "placements")


class _NoIdentity(Exception):
    """A value that identifies no call: it may change, or is made anew in each call."""


def _shape(value: Any) -> Any:
    """The shape of a plain array."""
    if value is not None and not is_plain(value):
        raise _NoIdentity
    return None if value is None else value.shape


def _shapes(value: Any) -> Any:
    """The shapes of plain arrays in a tuple."""
    if value is not None and type(value) is not tuple:
        raise _NoIdentity
    return None if value is None else tuple(map(_shape, value))


def _number(value: Any) -> Any:
    """A number, a switch or a name; 1 and True differ."""
    if type(value) not in _PLAIN:
        raise _NoIdentity
    return type(value), value


def _identity(value: Any) -> Any:
    """An object, or some in a list, that cannot change."""
    if type(value) in (list, tuple):
        return tuple(map(id, value))
    if value is not None and not isinstance(value, (CompiledFunction, Constraint, Contact, Contacts)):
        raise _NoIdentity
    return id(value)


def _absent(value: Any) -> Any:
    """Nothing."""
    if value is not None:
        raise _NoIdentity
    return None


_IDENTIFIED = (
    (_shape, ("q", "v", *_ROWS)),
    (_shapes, ("parameters", "cost_parameters")),
    (_number, _SIMPLE),
    (_identity, _OBJECTS),
    (_absent, ("f_ext", "events", *_DATA)),
)
"""How each argument identifies a call, besides the numbers of its arrays."""


def repeated_request(
    model: Model, given: Mapping[str, Any], dt: float, steps: int | None, every: int, driven: bool
) -> Request:
    """``request_of``; of a call that differs from an earlier one in numbers only, these alone are checked."""
    own = dt, steps, every, driven
    try:
        key = (current_form(), *map(_number, own), *[how(given[name]) for how, names in _IDENTIFIED for name in names])
    except _NoIdentity:
        return request_of(model, given, *own)
    requests: dict[Any, tuple[Request, list[Any]]] = model._memo.derived.setdefault(repeated_request, {})
    earlier = requests.get(key)
    if earlier is not None and all_finite(given["q"]) and all_finite(given["v"]):
        return _with_numbers(earlier[0], given, driven)
    request = request_of(model, given, *own)
    if len(requests) >= _MOST_KEPT:
        requests.clear()
    objects = [given[name] for name in _OBJECTS]  # their identities are part of the key, so they must live
    requests[key] = _without_numbers(request), objects
    return request


def _without_numbers(request: Request) -> Request:
    """The request without the arrays that each call has of its own."""
    job, nothing = request.job, np.empty((1, 1, 0))
    own = {*_ROWS, *job.shapes}
    arrays = {name: nothing if name in own else array for name, array in job.parts.items()}
    parts = {name: nothing if name in own else array for name, array in request.parts.items()}
    return Request(replace(job, q=nothing[0], v=nothing[0], parts=arrays), request.batch, parts, {})


def _with_numbers(earlier: Request, arguments: Mapping[str, Any], driven: bool) -> Request:
    """An earlier request with the numbers of this call."""
    job, batch, parameters = earlier.job, earlier.batch, dict[str, Array]()
    step, model = job.step, job.model
    warn_of_efforts(model, arguments["effort_limits"], step.law is not None or driven, earlier.parts)
    parts, arrays = dict(earlier.parts), dict(job.parts)
    for name in _ROWS:
        value = arguments[name]
        if value is not None:
            parts[name] = value if value.ndim > 1 else value[None]
            arrays[name] = rows(parts[name], batch)
    inputs = {
        **parameters_of(step.law, "law", "parameters", arguments["parameters"], 3),
        **parameters_of(step.cost, "cost", "cost_parameters", arguments["cost_parameters"], 4),
    }
    for name, (called, array, _) in inputs.items():
        parameters[called], arrays[name] = array, rows(array, batch)
    n = prod(batch)
    q, v = (
        (array if array.shape == (*batch, size) else np.broadcast_to(array, (*batch, size))).reshape(n, size)
        for array, size in ((arguments["q"], model.nq), (arguments["v"], model.nv))
    )
    return Request(replace(job, q=q, v=v, parts=arrays), batch, parts, parameters)
