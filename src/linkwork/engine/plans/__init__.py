"""What is to be computed, and in which form.

Comes in: a task (an algorithm for a model) and the requested form. Goes out: a plan with one way to run it:
interpreted, specialised (code for one model), rolled (code for all models of the same joint kinds) or segmented (one
state of a long chain over lanes and threads). ``planner`` is the one place that decides which, by the ``costs``.
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
