"""The one place that decides in which form a task is computed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from linkwork.algorithms import Algorithm
from linkwork.engine.code import jit, loader
from linkwork.engine.ir.program import calls
from linkwork.engine.mode import engine_form
from linkwork.engine.plans import permuted
from linkwork.engine.plans.costs import looped, most, within
from linkwork.engine.plans.permuted import of_parts, some_rows
from linkwork.engine.plans.plan import Interpreted, Plan
from linkwork.engine.plans.specialised import Specialised
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.plans.task import Task
from linkwork.engine.plans.traced import Traced, TracedTask, evaluated
from linkwork.engine.trace.tracer import TooLong
from linkwork.errors import LinkworkError, warn_caller
from linkwork.model.memo import requested
from linkwork.model.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.callee import Callee
    from linkwork.engine.plans.loops import Looped


def form_of(algorithm: Algorithm, model: Model, form: str = "auto") -> str:
    """The form in which an algorithm is computed for a model if ``form`` is requested: that one, or the nearest that it
    has; for "auto" the best one. "specialised" code that would be too long becomes rolled after all.
    """
    form = engine_form(form)
    many = algorithm.of_mechanism and not within("straight", model)
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
        return some_rows(task, plan_for(task.whole, form, cpu, lanes))
    with jit.lock:  # tracing too: the lock of Python 3.11's cached_property may be held in a forked child
        if task.derivatives:
            return _of_loops(task, form, cpu, lanes)
        if chosen == "segmented":
            return _segmented(task, form, cpu, lanes)
        if chosen == "interpreted":
            return Interpreted(task)
        if chosen == "rolled":
            return _looped(task, cpu, lanes)
        if form != "auto" or "rolled" not in task.algorithm.forms:
            return StraightLine(task, Specialised(task), cpu, lanes)
        loops = None if task.algorithm.split else partial(_looped, task, cpu, lanes)
        source = Specialised(task)
        plan = StraightLine(task, source, cpu, lanes, loops)
        if plan.is_kept or source.fits(most("straight_alone")):
            return plan
        return _looped(task, cpu, lanes)


def plan_for_trace(
    task: TracedTask, what: str, form: str = "auto", cpu: tuple[str, str] | None = None, lanes: int | None = None
) -> Plan:
    """The plan of a traced program; a warning names ``what``, if that is not empty and it is too long for machine
    code.
    """
    if form == "interpreted":
        return _evaluated(task)
    plan, lengths = _short(task, cpu, lanes)
    if plan is not None:
        return plan
    least = min(lengths, key=lengths.__getitem__, default=task)
    if what:
        has = f"{lengths[least]:,} instructions, more" if lengths else "more instructions"
        warn_caller(
            f"{what} has {has} than the {most('traced'):,} up to which machine code is made; it runs by the "
            f"interpreter, slowly. Use smaller matrices, fewer bodies, points or iterations"
        )
    return _evaluated(least)


def for_steps(plan: Plan, steps: int) -> Plan:
    """The plan of a step that is repeated so many times; the interpreter, which has the same bits, while that takes
    less time for all steps so far than compilation.
    """
    task = plan.task
    if not (isinstance(plan, StraightLine) and isinstance(task, TracedTask)) or plan.source.callees:
        return plan
    if plan.is_ready or plan.is_kept:
        return plan
    task.interpreted += steps * len(task.program.operations)
    return _evaluated(task) if within("interpreted", task.interpreted) else plan


def _evaluated(task: TracedTask) -> Interpreted:
    return Interpreted(task, lambda arguments, states, _: evaluated(task.any_program, task, arguments, states))


def code_for_trace(task: TracedTask, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> StraightLine:
    """The plan of a traced program by machine code, however long it is."""
    return StraightLine(task, Traced(task, _callees(task, cpu, lanes)), cpu, lanes)


def _short(
    task: TracedTask, cpu: tuple[str, str] | None = None, lanes: int | None = None
) -> tuple[Plan | None, dict[TracedTask, int]]:
    """The plan of a traced program if it is short enough for machine code, or is kept: as it is, or with calls of code
    with loops; and how many instructions each has that is too long, and worth tracing.
    """
    lengths: dict[TracedTask, int] = {}
    for first in (True,) if task.form else (True, False):
        with jit.lock, suppress(TooLong, *([] if first else [LinkworkError])):
            each = task if first else task.in_loops
            plan = code_for_trace(each, cpu, lanes)
            if not (instructions := _excess(each, plan)):
                return plan, {}
            lengths[each] = instructions
    return None, lengths


def _excess(task: TracedTask, plan: StraightLine) -> int:
    """``plan.excess``, or ``TooLong`` if an earlier process has found that it has some."""
    key, longest = plan.key(plan.lanes) if task.found_without_tracing else "", most("traced")
    if key and loader.is_too_long(key, longest):
        raise TooLong
    try:
        instructions = plan.excess
    except TooLong:
        instructions = -1
    if key and instructions:
        loader.keep_too_long(key, longest)
    if instructions < 0:
        raise TooLong
    return instructions


def _callees(task: TracedTask, cpu: tuple[str, str] | None, lanes: int | None) -> dict[Callee, Looped]:
    """The plans of the code with loops that a program calls."""
    if task.found_without_tracing:
        return {}
    if not calls(task.program):
        return {}
    from linkwork.engine.ir.shared_calls import share_calls

    found: dict[Callee, Looped] = {}
    for callee in dict.fromkeys(calls(share_calls(task.program))):
        called = callee.task()
        if (segments := called.algorithm.segmented) is not None:
            called = Task(segments, called.model, called.absent)
        found[callee] = _with_loops(called, cpu, lanes)
    return found


def written_out(task: TracedTask) -> tuple[TracedTask, Program, Mapping[Callee, Looped]]:
    """A traced task for other languages: the task, with calls of code with loops if it is too long without; its program
    in the order in which it runs, all of it arithmetic; and the plans of the code that it calls, which is not compiled.
    """
    from linkwork.engine.ir.passes import needed, schedule
    from linkwork.engine.ir.shared_calls import share_calls
    from linkwork.engine.trace.replay import expanded

    chosen = task
    try:
        if task.first and not within("traced", needed(task.program)):
            chosen = task.in_loops
    except TooLong:
        chosen = task.in_loops
    callees = _callees(chosen, None, None)
    program = expanded(chosen.program)
    return chosen, schedule(share_calls(program) if callees else program), callees


def short_plan(task: TracedTask) -> Plan | None:
    """The plan of a traced program that is short enough for machine code, or has it on disk; None if it is too long."""
    return _short(task)[0]


def _chain(algorithm: Algorithm, model: Model) -> bool:
    """Whether the algorithm has a segmented text, and the chain is long enough."""
    if algorithm.segmented is None:
        return False
    from linkwork.model.segments import cut, lined_up

    order = lined_up(model)
    return cut(order.model if order else model) is not None


def _with_loops(task: Task, cpu: tuple[str, str] | None, lanes: int | None) -> Looped:
    """The plan of code with loops; of a chain's bodies, lined up, if they are cut into segments."""
    algorithm = task.algorithm
    if algorithm.by_levels or "segmented" in algorithm.forms:
        from linkwork.engine.plans import one_state

        return one_state.by_levels(task, cpu, lanes) if algorithm.by_levels else one_state.by_segments(task, cpu, lanes)
    from linkwork.engine.plans.loops import BodyLoops, Looped

    return Looped(task, BodyLoops(task), cpu, lanes)


def _looped(task: Task, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    """The same for a task whose results may be some rows, or whose links are split."""
    if task.kept is not None:
        return some_rows(task, _with_loops(task.whole, cpu, lanes))
    if task.algorithm.split is None:
        plan = _with_loops(task, cpu, lanes)
        return Interpreted(task) if plan.loops.too_long else plan
    from linkwork.model.splitting import split

    parted = split(task.model)
    return of_parts(task, _with_loops(Task(task.algorithm.split, parted.model, task.absent), cpu, lanes), parted)


def _of_loops(task: Task, form: str, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    """The plan of derivatives, which are those of a program with loops."""
    plan = _with_loops(task, cpu, lanes)
    return (
        Interpreted(task, lambda arguments, states, _: plan.loops.evaluated(arguments, states))
        if form == "interpreted"
        else plan
    )


def _segmented(task: Task, form: str, cpu: tuple[str, str] | None, lanes: int | None) -> Plan:
    from linkwork.model.segments import lined_up

    order = None
    inner = task
    if task.algorithm.segmented is not None:
        order = lined_up(task.model)
        inner = Task(task.algorithm.segmented, order.model if order else task.model, task.absent)
    plan = Interpreted(inner) if form == "interpreted" else _with_loops(inner, cpu, lanes)
    return permuted.lined_up(task, plan, order) if order else plan
