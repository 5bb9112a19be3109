"""Steps with contacts for mechanisms whose code has loops: in Python, for all trajectories at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import step_forces
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.dynamics.contact.many_bodies import ManyBodies
from linkwork.engine.spaces import SPACES
from linkwork.errors import LinkworkError
from linkwork.simulation.contact_steps import moved

if TYPE_CHECKING:
    from linkwork.simulation.rollouts.jobs import Job


def advance(job: Job, state: Sequence[Array], into: Sequence[Array], first: int, steps: int) -> int:
    """Advance ``steps`` steps from step ``first``; returns 2 if a trajectory became non-finite, otherwise 0."""
    q, v, sums = state
    dt = float(job.parts["dt"][0, 0, 0])
    for k in range(first, first + steps):
        going = _finite(q) & _finite(v)
        if going.any():
            rows = {name: part[:, min(k, part.shape[1] - 1)] for name, part in job.parts.items()}
            own = {name: row if len(row) == 1 else row[going] for name, row in rows.items()}
            last = sums[going, 2:]
            a, _, _ = answers(job, own, q[going], v[going], last)
            sums[going, 2:] = last
            fine = _finite(a)
            q[going], v[going] = _moved(job, q[going], v[going], np.where(fine[:, None], a, 0.0), dt)
            fine &= _finite(v[going])
            for array in (q, v):
                array[np.flatnonzero(going)[~fine]] = np.nan
        if (k + 1) % job.every == 0 or k + 1 == job.steps:
            for record, now in zip(into, (q, v), strict=False):
                record[:, -(-(k + 1) // job.every)] = now
    return 0 if (_finite(q) & _finite(v)).all() else 2


def _moved(job: Job, q: Array, v: Array, a: Array, dt: float) -> tuple[Array, Array]:
    """The states one step later; NaN where they do not exist."""
    try:
        return moved(job.model, q, v, a, dt)
    except LinkworkError:  # raised for one of the states
        if len(q) == 1:
            return np.full_like(q, np.nan), np.full_like(v, np.nan)
        each = [_moved(job, q[k : k + 1], v[k : k + 1], a[k : k + 1], dt) for k in range(len(q))]
        return np.concatenate([one[0] for one in each]), np.concatenate([one[1] for one in each])


def answers(
    job: Job, rows: Mapping[str, Array], q: Array, v: Array, last: Array | None = None
) -> tuple[Array, Array, Array]:
    """Accelerations (n, nv) over a step from n states, driving forces, and no constraint wrenches (n, 0, 6);
    accelerations that do not exist are NaN. ``rows`` are parts of the step, (n or 1, numbers). The ``last``
    accelerations (n, nv) are the warm start and are overwritten.
    """
    model, dt = job.model, float(job.parts["dt"][0, 0, 0])
    algorithm = step_forces(rows)
    values = {name: rows[name].reshape((-1, *SPACES[space].shape(model, 0))) for name, space in algorithm.arguments[3:]}
    force, _, drive = call(algorithm, model, [q, v, dt, *values.values()])
    f_ext = np.broadcast_to(values["f_ext"], (len(q), len(model.bodies), 6)) if "f_ext" in values else None
    groups, a = [slice(None)], np.full_like(v, np.nan)
    while groups:
        some = groups.pop()
        loads = None if f_ext is None else f_ext[some]
        try:
            drag = dt * np.broadcast_to(values["damping"], v.shape)[some] if "damping" in values else None
            start = np.zeros_like(v[some]) if last is None else last[some]
            found, a[some] = _touched(job).over_step(q[some], v[some], force[some], loads, dt, drag, start)
            start[...] = found
        except LinkworkError:
            if len(q[some]) > 1:  # raised for one of the states
                groups = [slice(k, k + 1) for k in range(len(q))]
    return a, drive, np.zeros((len(q), 0, 6))


def _touched(job: Job) -> ManyBodies:
    """The mechanism with its contacts."""
    found = job.step.touching
    assert isinstance(found, ManyBodies)
    return found


def _finite(array: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(array).all(axis=1))
