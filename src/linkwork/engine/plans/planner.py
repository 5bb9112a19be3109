"""The one place that decides in which form a task is computed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from linkwork.algorithms import Algorithm
from linkwork.engine.code import jit
from linkwork.engine.ir.program import calls
from linkwork.engine.mode import engine_form
from linkwork.engine.plans.costs import looped, most, within
from linkwork.engine.plans.plan import Compiled, Interpreted, Plan, SomeRows
from linkwork.engine.plans.specialised import Specialised
from linkwork.engine.plans.task import Task
from linkwork.engine.plans.traced import Evaluated, Traced, TracedTask
from linkwork.errors import warn_caller
from linkwork.model.memo import requested
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.engine.plans.callee import Callee
    from linkwork.engine.plans.rolled import Rolled


def form_of(algorithm: Algorithm, model: Model, form: str = "auto") -> str:
    """The form in which an algorithm is computed for a model if ``form`` is requested: that one, or the nearest that it
    has; for "auto" the best one. "specialised" code that would be too long becomes rolled after all.
    """
    form = engine_form(form)
    many = algorithm.of_mechanism and not within("straight", len(model.bodies))
    loops = form == "rolled" or (algorithm.of_mechanism and form != "specialised" and looped(model))
    if "segmented" in algorithm.forms or (many and loops and _chain(algorithm, model)):
        return "segmented"
    if form in ("interpreted", "specialised", *algorithm.on_request):
        return form
    if "rolled" in algorithm.forms:
        return "rolled" if loops else "specialised"
    return "specialised" if "specialised" in algorithm.forms and not many else "interpreted"


def plan_for(task: Task, form: str = "auto", cpu: tuple[str, str] | None = None, lanes: int | None = None) -> Plan:
    """The plan of a task, in the form of ``form_of``; cpu and lanes are the host's unless a test overrides them."""
    form = requested.get() or form if form == "auto" else engine_form(form)
    chosen = form_of(task.algorithm, task.model, form)
    if task.kept is not None and chosen != "specialised":
        return SomeRows(task, plan_for(task.whole, form, cpu, lanes))
    with jit.lock:  # tracing too: the lock of Python 3.11's cached_property may be held in a forked child
        if task.derivatives:
            return _of_loops(task, form, cpu, lanes)
        if chosen == "segmented":
            return _segmented(task, form, cpu, lanes)
        if chosen == "interpreted":
            return Interpreted(task)
        if chosen == "rolled":
            return _rolled(task, cpu, lanes)
        if form != "auto" or "rolled" not in task.algorithm.forms:
            return Specialised(task, cpu, lanes)
        loops = None if task.over_time or task.algorithm.split else partial(_loops, task, cpu, lanes)
        plan = Specialised(task, cpu, lanes, loops)
        if _short_enough(plan):
            return plan
        return _rolled(task, cpu, lanes) if task.kept is None else SomeRows(task, _rolled(task.whole, cpu, lanes))


def plan_for_trace(
    task: TracedTask, what: str, form: str = "auto", cpu: tuple[str, str] | None = None, lanes: int | None = None
) -> Plan:
    """The plan of a traced program; a warning names ``what`` if it is too long for machine code."""
    callees = _callees(task, cpu, lanes) if form != "interpreted" else {}
    if callees is None:
        from linkwork.engine.plans.staged import Staged

        return Staged(
            task,
            lambda stage: plan_for_trace(stage, what, form, cpu, lanes),
            lambda called: plan_for(called, form, cpu, lanes),
        )
    if form == "interpreted":
        return Evaluated(task)
    with jit.lock:
        plan = Traced(task, cpu, lanes, callees)
        instructions = plan.excess
        if not instructions:
            return plan
    warn_caller(
        f"{what} has {instructions:,} instructions, more than the {most('traced'):,} up to which machine "
        f"code is made; it runs by the interpreter, slowly. Use smaller matrices, fewer bodies, points or iterations"
    )
    return Evaluated(task)


def code_for_trace(task: TracedTask) -> Traced:
    """The plan of a traced program, all of whose calls take tiles, by machine code, however long it is."""
    callees = _callees(task, None, None)
    assert callees is not None
    return Traced(task, callees=callees)


def _callees(task: TracedTask, cpu: tuple[str, str] | None, lanes: int | None) -> dict[Callee, Rolled] | None:
    """The plans of the code with loops that a program calls; None if some of it cannot be called for tiles."""
    if task.found_without_tracing:
        return {}
    if not calls(task.program):
        return {}
    from linkwork.engine.ir.shared_calls import share_calls

    found: dict[Callee, Rolled] = {}
    for callee in dict.fromkeys(calls(share_calls(task.program))):
        if not callee.takes_tiles:
            return None
        plan = _looped(callee.task(), cpu, lanes)
        found[callee] = plan.moved(callee.offsets) if callee.offsets else plan
    return found


def short_plan(task: TracedTask) -> Plan | None:
    """The plan of a traced program that is short enough for machine code, or has it on disk; None if it is too long."""
    from linkwork.engine.trace.tracer import TooLong

    with jit.lock:
        try:
            plan = code_for_trace(task)
            return None if plan.excess else plan
        except TooLong:
            return None


def _chain(algorithm: Algorithm, model: Model) -> bool:
    """Whether the algorithm has a segmented text, and the chain is long enough."""
    if algorithm.segmented is None:
        return False
    from linkwork.model.segments import cut, lined_up

    order = lined_up(model)
    return cut(order.model if order else model) is not None


def _loops(task: Task, cpu: tuple[str, str] | None, lanes: int | None) -> Compiled | SomeRows:
    return _looped(task, cpu, lanes) if task.kept is None else SomeRows(task, _looped(task.whole, cpu, lanes))


def _looped(task: Task, cpu: tuple[str, str] | None, lanes: int | None) -> Rolled:
    from linkwork.engine.plans.rolled import Rolled

    return Rolled(task, cpu, lanes)


def _rolled(task: Task, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    from linkwork.engine.plans.rolled import OfParts, Rolled

    if task.algorithm.by_levels:
        from linkwork.engine.plans.levelled import ByLevels

        plan = ByLevels(task, cpu, lanes)
        return Interpreted(task) if plan.too_long else plan
    if task.algorithm.split is None:
        return _loops(task, cpu, lanes)
    from linkwork.model.splitting import split

    parted = split(task.model)
    return OfParts(task, Rolled(Task(task.algorithm.split, parted.model, task.absent), cpu, lanes), parted)


def _of_loops(task: Task, form: str, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    """The plan of derivatives, which are those of a rolled program."""
    from linkwork.engine.plans.rolled import EvaluatedRolled, Rolled

    plan = Rolled(task, cpu, lanes)
    return EvaluatedRolled(plan) if form == "interpreted" else plan


def _segmented(task: Task, form: str, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    from linkwork.engine.plans.segmented import Reordered, Segmented
    from linkwork.model.segments import lined_up

    order = None
    inner = task
    if task.algorithm.segmented is not None:
        order = lined_up(task.model)
        inner = Task(task.algorithm.segmented, order.model if order else task.model, task.absent)
    plan: Plan = Interpreted(inner) if form == "interpreted" else Segmented(inner, cpu, lanes)
    return Reordered(task, plan, order) if order else plan


def _short_enough(plan: Specialised) -> bool:
    """Whether code for the one model is cached, or would not be too long."""
    return plan.is_kept or plan.fits(most("straight_alone"))
