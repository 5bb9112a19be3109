"""Trajectories that become non-finite: which, when, and why."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained import constrained_dynamics
from linkwork.errors import LinkworkError, LinkworkWarning, SingularError
from linkwork.late import LateFunction
from linkwork.model.constraints import Constraint
from linkwork.simulation.blow_up import BLOWN_UP, joint_of
from linkwork.simulation.jobs import Job
from linkwork.unsolved import unsolved

may_be_active = LateFunction("linkwork.simulation.event_record:may_be_active")

_FINER = 1000
"""The number of records into which an interval is divided."""


def cut_off(into: Sequence[Array]) -> list[tuple[int, int]]:
    """Set all records of q and v from the first non-finite one on, and the cost, to NaN; returns the trajectories
    concerned, each with the index of that record.
    """
    finite = np.asarray(np.isfinite(into[0]).all(axis=-1)) & np.asarray(np.isfinite(into[1]).all(axis=-1))
    found = []
    for trajectory in np.flatnonzero(~finite.all(axis=1)):
        record = int(np.argmin(finite[trajectory]))
        found.append((int(trajectory), record))
        for array in into[:2]:
            array[trajectory, record:] = np.nan
        into[-1][trajectory] = np.nan
    return found


def explained(job: Job, into: Sequence[Array], trajectory: int, record: int) -> tuple[int, str | None, str]:
    """The step, from 1, in which the state becomes non-finite, the joint, and the reason. The interval is computed
    again, with ever finer records.
    """
    one, done, every = job.some(trajectory, 1), (record - 1) * job.every, job.every
    state = [array[trajectory : trajectory + 1, record - 1] for array in into[:-1]]
    while every > 1:
        again = one.later(done, state, min(every, job.steps - done), max(1, every // _FINER))
        finer = again.buffers()
        again.run(finer, 1)
        ((_, bad),) = cut_off(finer)
        state = [array[:, bad - 1] for array in finer[:-1]]
        done, every = done + (bad - 1) * again.every, again.every
    v = state[1][0]
    fastest = int(abs(v).argmax())
    if abs(v[fastest]) > BLOWN_UP:
        joint = joint_of(job.model, fastest)
        reason = (
            f"joint {joint!r} was the fastest one step before, at {v[fastest]:.3g} rad/s or m/s. Try a smaller dt, "
            f"smaller gains, or damping"
        )
        return done + 1, joint, reason
    last = one.later(done, state, 1, 1)
    reason = reason_of(last)
    return done + 1, next((name for name in job.model.joint_names if f"joint {name!r}" in reason), None), reason


def reason_of(job: Job) -> str:
    """Why one step from a finite state has no finite result."""
    step, (q,), (v,) = job.step, job.q, job.v
    with unsolved() as problems, suppress(LinkworkError, ArithmeticError):
        replace(job, engine="interpreted").run(job.buffers(), 1)
    if problems:
        fastest = int(abs(v).argmax())
        return (
            f"{', and '.join(problems)}; joint {joint_of(job.model, fastest)!r} is the fastest, at "
            f"{v[fastest]:.3g} rad/s or m/s. Try a smaller dt"
        )
    if step.law is not None:
        rows = [job.parts[name][0, 0].reshape(shape) for name, shape in job.shapes.items() if name.startswith("law_")]
        try:
            step.law(job.before * job.parts["dt"][0, 0, 0], q, v, *rows)
        except SingularError as error:
            return f"the law in torque has no finite result: {error}"
    reason = next(filter(None, (_of_constraints(job, several) for several in _constraints(job))), None)
    if reason is not None:
        return reason
    return str(job.diagnosis()).removeprefix("articulated_body: ")


def _constraints(job: Job) -> list[tuple[Constraint, ...]]:
    """The constraints of the first step; or, as any event may happen in it, the sets of them that may be active."""
    step = job.step
    if step.events is None:
        return [step.constraints]
    numbers = job.events_at_start
    sets: list[tuple[Constraint, ...]] = may_be_active(step.events, numbers[0])
    return sets


def _of_constraints(job: Job, constraints: tuple[Constraint, ...]) -> str | None:
    """Why these have no finite forces; None if they have."""
    step, (q,), (v,) = job.step, job.q, job.v
    if not constraints:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)
            zero = np.zeros_like(v)
            constrained_dynamics(job.model, q, v, zero, constraints, None, step.stabilisation, step.proximal)
    except LinkworkError as error:
        return str(error)
    if step.proximal:
        return (
            f"the proximal iteration of the constraints does not end, since some are nearly redundant; pass a "
            f"smaller proximal than {step.proximal:g}, or leave out what is redundant"
        )
    return None
