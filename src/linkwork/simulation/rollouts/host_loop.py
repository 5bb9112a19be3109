"""Rollouts with the time loop in Python, around a policy over the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.arguments import array
from linkwork.dynamics.arguments import Array
from linkwork.engine.rollout import records
from linkwork.errors import ArgumentError
from linkwork.simulation.divergence import cut_off, explained
from linkwork.simulation.jobs import Job

Policy = Callable[[float, Array, Array], Any]


class HostLoop:
    """A job with driving forces that a policy computes in Python every ``hold`` steps.

    Attributes:
        tau: the forces computed last (n, nv).
        kept: the driving forces at each record (n, K, nv).
    """

    def __init__(self, job: Job, batch: tuple[int, ...], policy: Policy, hold: int) -> None:
        self.job, self.batch, self.policy, self.hold = job, batch, policy, hold
        self.dt = float(job.parts["dt"][0, 0, 0])
        self.tau = np.zeros((len(job), job.model.nv))
        self.kept = np.zeros((len(job), records(job.steps, job.every), job.model.nv))
        self.lost = np.zeros(len(job), dtype=bool)
        self._loss: tuple[int, int, Job, bool] | None = None
        """For the first trajectory that became non-finite: its index, the step at which it did, the job of the steps
        from there on, and whether the driving forces were finite.
        """

    def run(self, into: Sequence[Array], threads: int) -> int:
        """Run the time loop; returns its status. A trajectory that became non-finite is reset to its initial state
        while others go on, and its records are NaN.
        """
        job, status = self.job, 0
        state = job.begin(into)
        into[-1][...] = 0.0  # the cost
        ends: list[tuple[Array, int]] = []
        for first in range(0, job.steps if len(job) else 0, self.hold):
            steps = min(self.hold, job.steps - first)
            fine = self._say(first, state)
            more = job.parts["tau"][:, min(first, job.parts["tau"].shape[1] - 1)] if "tau" in job.parts else 0.0
            now = (self.tau + more)[:, None, :]
            driven = replace(job, parts={**job.parts, "tau": now})
            self.kept[:, -(-first // job.every) :] = now
            said, before = fine, [array.copy() for array in state]
            status |= driven.go(state, into, first, steps, threads)
            if status & 1:
                return status
            fine = said & np.isfinite(state[0]).all(axis=1) & np.isfinite(state[1]).all(axis=1)
            new = ~fine & ~self.lost
            if new.any():
                status |= 2
                ends.append((new, -(-(first + 1) // job.every)))
                at = int(np.argmax(new))
                if self._loss is None or at < self._loss[0]:
                    self._loss = at, first, driven.later(first, before, steps, 1).some(at, 1), bool(said[at])
                self.lost |= new
            if self.lost.any():
                state[0][self.lost], state[1][self.lost] = job.q[self.lost], job.v[self.lost]
        _cut(into, ends)
        return status

    def explained(self) -> tuple[int, str | None, str]:
        """For the first trajectory that became non-finite: the step, from 1, in which it did, the joint, and why."""
        assert self._loss is not None
        _, first, one, said = self._loss
        if not said:
            time = (self.job.before + first) * self.dt
            return first + 1, None, f"what policy(t, q, v) returns at t = {time:.6g} s is not finite"
        into = one.buffers()
        one.run(into, 1)
        step, joint, reason = explained(one, into, *cut_off(into)[0])
        return first + step, joint, reason

    def _say(self, first: int, state: Sequence[Array]) -> Any:
        """Compute the driving forces from step ``first`` on; returns for which trajectories they are finite."""
        if first % self.hold == 0:
            self.tau = self._policy(first, state)
        fine = np.asarray(np.isfinite(self.tau).all(axis=1))
        if not fine.all():
            self.tau = np.where(fine[:, None], self.tau, 0.0)
        return fine

    def _policy(self, first: int, state: Sequence[Array]) -> Array:
        nv, shape = self.job.model.nv, (*self.batch, self.job.model.nv)
        q, v = (each.reshape((*self.batch, -1)).copy() for each in state[:2])
        tau = array("what policy(t, q, v) returns", self.policy((self.job.before + first) * self.dt, q, v), (nv,))
        try:
            return np.array(np.broadcast_to(tau, shape), dtype=np.float64).reshape(len(self.job), nv)
        except ValueError:
            raise ArgumentError(
                f"policy(t, q, v) must return joint forces of shape {shape}, but its result has shape {tau.shape}"
            ) from None


def _cut(into: Sequence[Array], ends: Sequence[tuple[Array, int]]) -> None:
    """Set the records of trajectories to NaN, each from where it ended on, and their costs."""
    for which, record in ends:
        for records_of in into[:2]:
            records_of[which, record:] = np.nan
        into[-1][which] = np.nan
