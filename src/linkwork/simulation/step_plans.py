"""The plan of a step over time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import Plan, TracedTask, plan_for_trace
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.late import LateFunction
from linkwork.simulation.step import Step

answered = LateFunction("linkwork.simulation.event_steps:answered")
often = LateFunction("linkwork.dynamics.varied:often")


def state_of(step: Step) -> dict[str, Shape]:
    """The arrays of the state, which a step updates."""
    return {"q": (step.model.nq,), "v": (step.model.nv,), "sums": (step.size_of_sums,)}


def recorded(step: Step) -> int:
    """The number of arrays of the state that are recorded: q and v, and with events the sums."""
    return 2 if step.events is None else 3


def observations_of(step: Step) -> list[Shape]:
    """The shapes of accelerations, driving forces and wrenches, which ``Step.observed`` adds to the state."""
    return [(step.model.nv,), (step.model.nv,), (step.wrenches, 6)]


def answer_plan(step: Step, shapes: Mapping[str, Shape]) -> Plan:
    """The plan, by the interpreter, for the observations of a step with events alone."""
    arguments = {**state_of(step), **shapes}
    text = partial(answered, step)
    task = TracedTask(
        lambda: trace("answers", text, arguments)[0], list(arguments.values()), observations_of(step)
    )  # fmt: skip
    return plan_for_trace(task, "", "interpreted")


def step_plan(step: Step, shapes: Mapping[str, Shape], form: str, observed: bool) -> Plan:
    """The plan that repeats the step; ``shapes`` are those of all arguments besides the state, in order."""
    model, state = step.model, state_of(step)
    arguments, results = {**state, **shapes}, list(state.values())
    name, text, more = ("observed", step.observed, observations_of(step)) if observed else ("rollout", step.advance, [])
    key = step.key(name, list(arguments.items()))
    plans, place = model._memo.plans, (key, form)
    earlier: Plan | None = plans.get(place) if key else None
    if earlier is not None:
        return earlier

    def program(isomorphic: bool = False) -> Program:
        return trace(name, text, arguments, isomorphic)[0]

    arrays = {name: f"argument{k}" for k, name in enumerate(arguments)}
    usual = {arrays[name]: numbers for name, numbers in (often(model, arguments) if step.varied else {}).items()}
    identity = None if step.has_loops else key  # what is called is known from the trace alone
    task = TracedTask(
        program, list(arguments.values()), [*results, *more], identity, None, True, recorded(step), len(more), usual,
        branches_of(model, program),
    )  # fmt: skip
    plan = plan_for_trace(task, "" if observed else f"the step of this rollout of {model.name!r}", form)
    if key:
        if len(plans) >= 1000:  # laws that change from call to call
            plans.clear()
        plans[place] = plan
    return plan


def points_of(step: Step, shapes: Mapping[str, Shape]) -> CompiledFunction:
    """``Step.points`` as a function of the arguments of a step."""
    memo, key = step.model._memo.derived, step.key("points", list(shapes.items()))
    found: CompiledFunction | None = memo.get(key) if key else None
    if found is None:
        results = [(step.model.nq,), (step.model.nv,)] * 3
        found = CompiledFunction(
            "points", shapes, lambda: trace("points", step.points, shapes)[0], (tuple, [None] * 6), results,
            None if step.has_loops else key,
        )  # fmt: skip
        if key:
            memo[key] = found
    return found
