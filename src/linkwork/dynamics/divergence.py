"""Trajectories that leave the finite numbers: which, when, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.dynamics.arguments import Array, name_coordinate
from linkwork.dynamics.call import diagnose
from linkwork.dynamics.jobs import Job

_FAST = 1e6
"""Above this speed (rad/s or m/s) there is no need to look for another reason."""


def cut_off(into: Sequence[Array]) -> list[tuple[int, int]]:
    """Make every record NaN from the first that is not finite on; the trajectories with the numbers of these."""
    finite = np.asarray(np.isfinite(into[0]).all(axis=-1)) & np.asarray(np.isfinite(into[1]).all(axis=-1))
    found = []
    for trajectory in np.flatnonzero(~finite.all(axis=1)):
        record = int(np.argmin(finite[trajectory]))
        found.append((int(trajectory), record))
        for array in into:
            array[trajectory, record:] = np.nan
    return found


def explained(job: Job, into: Sequence[Array], trajectory: int, record: int) -> tuple[int, str | None, str]:
    """The step that led out of the finite numbers, from 1, the joint, and why: its interval is done again."""
    before = (record - 1) * job.every
    q, v = (array[trajectory, record - 1][None] for array in into)
    again = job.some(trajectory, 1).later(before, q, v, min(job.every, job.steps - before))
    room = again.room()
    again.run(room, 1)
    ((_, bad),) = cut_off(room)
    q, v = (array[0, bad - 1] for array in room)
    fastest = int(abs(v).argmax())
    if abs(v[fastest]) > _FAST:
        joint = name_coordinate(job.model, "velocity", (fastest,)).split("'")[1]
        reason = (
            f"joint {joint!r} was the fastest one step before, at {v[fastest]:.3g} rad/s or m/s. Try a smaller dt, "
            f"smaller gains, or damping"
        )
        return before + bad, joint, reason
    names = [name for name, _ in job.algorithm.arguments[2:]]
    rows = [again.parts[name][0, min(bad, again.parts[name].shape[1]) - 1] for name in names]
    reason = str(diagnose(job.algorithm, job.model, [q, v, *rows], ())).removeprefix(f"{job.algorithm.name}: ")
    return before + bad, next((name for name in job.model.joint_names if f"joint {name!r}" in reason), None), reason
