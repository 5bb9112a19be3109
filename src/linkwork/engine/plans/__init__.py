"""What is to be computed, and in which form.

Comes in: a task (an algorithm for a model) and the requested form. Goes out: a plan with one way to run it:
interpreted, specialised (code for one model), rolled (code for all models of the same joint kinds) or segmented (one
state of a long chain over lanes and threads). ``planner`` is the one place that decides which, by the ``costs``.

    task, callee            what to compute; the same, called by other code
    costs                   every number by which a form is chosen
    plan                    the one way to run something; interpreted, or compiled
    straight_line           code without loops
    in_parallel             one state over lanes and threads
    specialised, rolled, segmented, levelled
                            of an algorithm
    traced                  of a text over arrays
    stages, stage_words, staged
                            such a text, cut at its calls of code that cuts a chain
    chain, columns          plans one after another; a text over each column of matrices
    planner                 chooses among them
"""

from linkwork.engine.plans.costs import looped
from linkwork.engine.plans.plan import Plan
from linkwork.engine.plans.planner import (
    code_for_trace,
    form_of,
    plan_for,
    plan_for_trace,
    short_plan,
)
from linkwork.engine.plans.task import Task
from linkwork.engine.plans.traced import TracedTask

__all__ = [
    "Plan",
    "Task",
    "TracedTask",
    "code_for_trace",
    "form_of",
    "looped",
    "plan_for",
    "plan_for_trace",
    "short_plan",
]
