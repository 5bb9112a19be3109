"""The plan of an algorithm for a model, made once."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms import Algorithm
from linkwork.engine.plans import Plan, Task, plan_for
from linkwork.model.model import Frame, Model


def function(
    algorithm: Algorithm,
    model: Model,
    absent: tuple[str, ...] = (),
    frames: Sequence[Frame] = (),
    offsets: bool = False,
    form: str = "auto",
    kept: tuple[int, ...] | None = None,
) -> Plan:
    """How an algorithm is computed for a model, in the requested form. Plans are kept in the model's memo, except
    interpreted ones, which cost nothing to make.
    """
    if form == "interpreted":
        return plan_for(Task(algorithm, model, absent, frames, offsets, kept=kept), form)
    plans, key = model._memo.plans, (algorithm.name, absent, tuple(frames), offsets, form, kept)
    found: Plan | None = plans.get(key)
    if found is None:
        found = plans[key] = plan_for(Task(algorithm, model, absent, frames, offsets, kept=kept), form)
    return found
