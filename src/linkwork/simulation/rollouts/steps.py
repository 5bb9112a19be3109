"""The plans of a rollout's step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import Plan, TracedTask, plan_for_trace
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.late import LateFunction
from linkwork.simulation.step import Step

sizes_of_events = LateFunction("linkwork.simulation.event_steps:sizes")
often = LateFunction("linkwork.dynamics.varied:often")


def plain(step: Step) -> bool:
    """Whether a step is that of ``algorithms.step``, without anything besides its parts."""
    more = step.functions or step.constraints or step.joints or step.varied or step.several or step.events
    return not more and step.contacts is None


def size_of_sums(step: Step) -> int:
    """The size of the state besides q and v: the steps done, the cost, and with contacts the last accelerations, which
    are the warm start of the next step, and what the time loop carries of events.
    """
    own = 2 if step.contacts is None else 2 + step.model.nv
    return own if step.events is None else own + sum(sizes_of_events(step.events))


def recorded(step: Step) -> int:
    """The number of arrays of the state that are recorded: q and v, and with events the sums."""
    return 2 if step.events is None else 3


def step_plan(step: Step, shapes: Mapping[str, Shape], form: str) -> Plan:
    """The plan that repeats the step; ``shapes`` are those of all arguments besides the state, in order."""
    return _plan("rollout", step.advance, step, list(_state(step).values()), shapes, form, True)


def answer_plan(step: Step, shapes: Mapping[str, Shape]) -> Plan:
    """The plan for accelerations, driving forces and wrenches in a state; not worth machine code."""
    nv = step.model.nv
    constraints = step.constraints if step.events is None else step.events.constraints
    results = [(nv,), (nv,), (0 if step.contacts is not None else len(constraints), 6)]
    return _plan("rollout answer", step.answer, step, results, shapes, "interpreted", False)


def _state(step: Step) -> dict[str, Shape]:
    return {"q": (step.model.nq,), "v": (step.model.nv,), "sums": (size_of_sums(step),)}


def _plan(
    name: str,
    text: Callable[..., tuple[Any, ...]],
    step: Step,
    results: list[Shape],
    shapes: Mapping[str, Shape],
    form: str,
    over_time: bool,
) -> Plan:
    model, arguments = step.model, {**_state(step), **shapes}
    key = step.key(name, list(arguments.items()))
    plans, place = model._memo.plans, (key, form)
    earlier: Plan | None = plans.get(place) if key else None
    if earlier is not None:
        return earlier

    def program(isomorphic: bool = False) -> Program:
        return trace(name, text, arguments, isomorphic)[0]

    arrays = {name: f"argument{k}" for k, name in enumerate(arguments)}
    usual = {arrays[name]: numbers for name, numbers in (often(model, arguments) if step.varied else {}).items()}
    branches = branches_of(model, program)
    identity = None if step.has_loops else key  # what is called is known from the trace alone
    kept = recorded(step)
    task = TracedTask(program, list(arguments.values()), results, identity, None, over_time, kept, usual, branches)
    plan = plan_for_trace(task, f"the step of this rollout of {model.name!r}", form)
    if key:
        if len(plans) >= 1000:  # laws that change from call to call
            plans.clear()
        plans[place] = plan
    return plan
