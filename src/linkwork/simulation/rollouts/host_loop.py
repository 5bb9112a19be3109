"""Rollouts with the time loop in Python: a policy over the whole batch, or a law beside contacts of many bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.algorithms import step_forces
from linkwork.arguments import array
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.engine.rollout import records
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError
from linkwork.simulation.rollouts.divergence import cut_off, explained, reason_of
from linkwork.simulation.rollouts.jobs import Job

Policy = Callable[[float, Array, Array], Any]


class HostLoop:
    """A job with driving forces computed in Python every ``hold`` steps: by a policy, or by the job's own law, with its
    cost, if these are ``outside`` the code of the step.

    Attributes:
        tau: the forces computed last (n, nv).
        kept: the driving forces at each record (n, K, nv).
    """

    def __init__(self, job: Job, batch: tuple[int, ...], policy: Policy | None, hold: int, outside: bool) -> None:
        self.job, self.batch, self.policy, self.hold, self.outside = job, batch, policy, hold, outside
        self.inner = replace(job, step=replace(job.step, law=None, cost=None), shapes={}) if outside else job
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
        state, costs = self.inner.begin(into), np.zeros(len(job))
        ends: list[tuple[Array, int]] = []
        span = 1 if self.outside else self.hold
        for first in range(0, job.steps if len(job) else 0, span):
            steps = min(span, job.steps - first)
            fine = self._say(first, state)
            given = job.parts["tau"][:, min(first, job.parts["tau"].shape[1] - 1)] if "tau" in job.parts else 0.0
            now = (self.tau + given)[:, None, :]
            driven = replace(self.inner, parts={**self.inner.parts, "tau": now})
            if self.outside and job.step.cost is not None:
                costs += self._results(job.step.cost, "cost", first, state, self._drive(driven, first, state))[0]
            self.kept[:, -(-first // job.every) :] = now
            said, q, v = fine, state[0].copy(), state[1].copy()
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
                    self._loss = at, first, driven.later(first, q, v, steps, 1).some(at, 1), bool(said[at])
                self.lost |= new
            if self.lost.any():
                state[0][self.lost], state[1][self.lost] = job.q[self.lost], job.v[self.lost]
        if self.outside and job.step.cost is not None:
            into[-1][...] = costs
        _cut(into, ends)
        return status

    def explained(self) -> tuple[int, str | None, str]:
        """For the first trajectory that became non-finite: the step, from 1, in which it did, the joint, and why."""
        assert self._loss is not None
        which, first, one, said = self._loss
        if not said and self.policy is not None:
            time = (self.job.before + first) * self.dt
            return first + 1, None, f"what policy(t, q, v) returns at t = {time:.6g} s is not finite"
        if not said:
            return first + 1, None, reason_of(self.job.some(which, 1).later(first, one.q, one.v, 1, 1))
        found = one.buffers()
        one.run(found, 1)
        step, joint, reason = explained(one, found, *cut_off(found)[0])
        return first + step, joint, reason

    def _say(self, first: int, state: Sequence[Array]) -> Any:
        """Compute the driving forces from step ``first`` on; returns for which trajectories they are finite."""
        law = self.job.step.law if self.outside else None
        if self.policy is not None and first % self.hold == 0:
            self.tau = self._policy(first, state)
        elif law is not None:
            self.tau = self._results(law, "law", first, state)[0]
        fine = np.asarray(np.isfinite(self.tau).all(axis=1))
        if not fine.all():
            self.tau = np.where(fine[:, None], self.tau, 0.0)
        return fine

    def _policy(self, first: int, state: Sequence[Array]) -> Array:
        assert self.policy is not None
        nv, shape = self.job.model.nv, (*self.batch, self.job.model.nv)
        q, v = (each.reshape((*self.batch, -1)).copy() for each in state[:2])
        tau = array("what policy(t, q, v) returns", self.policy((self.job.before + first) * self.dt, q, v), (nv,))
        try:
            return np.array(np.broadcast_to(tau, shape), dtype=np.float64).reshape(len(self.job), nv)
        except ValueError:
            raise ArgumentError(
                f"policy(t, q, v) must return joint forces of shape {shape}, but its result has shape {tau.shape}"
            ) from None

    def _results(
        self, law: CompiledFunction, key: str, first: int, state: Sequence[Array], *more: Array
    ) -> tuple[Array, Any]:
        """The results of a compiled function for all trajectories, and for which of them they are finite."""
        job, values = self.job, [np.float64((self.job.before + first) * self.dt), state[0], state[1], *more]
        for name, shape in job.shapes.items():
            if name.startswith(f"{key}_"):
                part = job.parts[name]
                values.append(part[:, min(first, part.shape[1] - 1)].reshape((len(part), *shape)))
        leaves, _, fine = law.attempt(values)
        return leaves[0], fine

    def _drive(self, driven: Job, first: int, state: Sequence[Array]) -> Array:
        """The forces of the motors: all driving forces, clamped to the effort limits."""
        algorithm, model = step_forces(driven.parts), self.job.model
        rows = []
        for name, space in algorithm.arguments[3:]:
            part = driven.parts[name]
            rows.append(part[:, min(first, part.shape[1] - 1)].reshape((len(part), *SPACES[space].shape(model, 0))))
        return call(algorithm, model, [state[0], state[1], self.dt, *rows])[2]


def _cut(into: Sequence[Array], ends: Sequence[tuple[Array, int]]) -> None:
    """Set the records of trajectories to NaN, each from where it ended on, and their costs."""
    for which, record in ends:
        for records_of in into[:2]:
            records_of[which, record:] = np.nan
        into[-1][which] = np.nan
