"""What is to be computed, and in which form.

Comes in: a task (an algorithm for a model, or a program traced from a text over arrays, such as a time step) and the
requested form. Goes out: a plan with one way to run it: interpreted, straight-line code (which may call code with
loops), or with loops (code for all models of the same joint kinds; one state of a long chain over lanes and threads).
``planner`` is the one place that decides which, by the ``costs``.

    task, callee            what to compute; the same, called by other code
    costs                   every number by which a form is chosen
    plan                    the one way to run something; interpreted, or compiled
    straight_line           code without loops
    specialised, traced     of an algorithm for one model; of a text over arrays
    loops                   code with loops
    chain                   links of straight-line code and code with loops, in one kernel
    permuted                code that wants numbers in another order
    one_state               one state in parallel
    planner                 chooses among them
"""

from linkwork.engine.plans.costs import looped
from linkwork.engine.plans.plan import Plan
from linkwork.engine.plans.planner import (
    code_for_trace,
    for_steps,
    form_of,
    plan_for,
    plan_for_trace,
    short_plan,
    written_out,
)
from linkwork.engine.plans.task import Task
from linkwork.engine.plans.traced import TracedTask

__all__ = [
    "Plan",
    "Task",
    "TracedTask",
    "code_for_trace",
    "for_steps",
    "form_of",
    "looped",
    "plan_for",
    "plan_for_trace",
    "short_plan",
    "written_out",
]
