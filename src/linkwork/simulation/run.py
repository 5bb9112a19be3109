"""The loop of one motion over its steps: in machine code, with Python functions between the steps, or in Python.

``Step.observed`` is what all of them repeat. Code does it once for each step where Python functions say driving forces
or external wrenches, if these act for the whole step, and many times by itself where there are none. What code cannot
do is done in Python: functions that are called in each evaluation of an integrator, the adaptive integrator, other
methods, texts that are too long, and the step that has no finite result, which so raises the error that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.arguments import all_finite
from linkwork.dynamics.arguments import Array
from linkwork.engine.plans import Plan, for_steps
from linkwork.engine.plans.plan import Compiled
from linkwork.engine.rollout import records, run_over_time, step_by_step
from linkwork.errors import SingularError, TracingError
from linkwork.late import LateFunction
from linkwork.progress import Bar
from linkwork.simulation.arguments import allocated
from linkwork.simulation.integrators import Integrator
from linkwork.simulation.plant import Plant
from linkwork.simulation.rollouts.jobs import Job
from linkwork.simulation.rollouts.steps import observations_of
from linkwork.simulation.torques import Hold, Told
from linkwork.simulation.trajectory import Trajectory
from linkwork.simulation.watching import ViewerLoads

event_record = LateFunction("linkwork.simulation.event_record:event_record")
reason_of = LateFunction("linkwork.simulation.rollouts.divergence:reason_of")

_SPAN = 0.05
"""Seconds of work after which control returns to Python, for the progress bar."""
_AT_ONCE = 32
"""Steps between two of its updates where Python has control in each."""


class Run:
    """A motion, and its recorded states.

    Attributes:
        k: the number of the step reached.
        v: the velocity there.
        interrupted: whether the run ended early.
    """

    def __init__(
        self,
        job: Job,
        plant: Plant,
        integrator: Integrator,
        torque: Told | None,
        hold: int,
        load: Told | None,
        bar: Bar | None,
        watched: ViewerLoads | None,
        kept: tuple[int, bool],
    ) -> None:
        """``plant`` and ``integrator`` do steps in Python; ``torque`` and ``load`` are functions that are called from
        there, the torque every ``hold`` steps, or in each evaluation of the accelerations if that is 0. Of the states
        that the job records the trajectory has one in so many, and wrenches or not: these are ``kept``.
        """
        self.parts, own, model = job.parts, dict(job.parts), job.model
        if torque is not None:
            own["tau"] = np.zeros((1, 1, model.nv))
        if load is not None:
            own["f_ext"] = np.zeros((1, 1, 6 * len(model.bodies)))
        self.job, self.plant, self.integrator = replace(job, parts=own), plant, integrator
        self.torque, self.hold, self.load, self.kept = torque, hold, load, kept
        self.bar, self.watched, self.dt = bar, watched, float(own["dt"][0, 0, 0])
        rows = records(job.steps, job.every)
        shapes = [(rows, *size) for size in ((model.nq,), (model.nv,), *observations_of(job.step))]
        self.arrays = allocated(f"{rows:,} states of {model.name!r}", shapes, job.every)
        self.into = [array.reshape(1, rows, -1) for array in self.arrays]
        if job.step.events is not None:
            self.into[2:2] = job.buffers()[2:-1]
        self.k, self.v, self.count, self.interrupted = 0, job.v[0], 0, False

    @property
    def t(self) -> float:
        """The time (s) reached."""
        return self.k * self.dt

    def trajectory(self) -> Trajectory:
        """The states so far."""
        n, job, (every, wrenches) = self.count, self.job, self.kept
        t, which = np.minimum(np.arange(n) * job.every, job.steps) * self.dt, np.arange(0, n, every)
        if n > job.steps and which[-1] < n - 1:
            which = np.append(which, n - 1)
        whole = len(which) == len(self.arrays[0])
        q, v, a, tau, forces = (array if whole else array[which] for array in self.arrays)
        forces = forces if wrenches else np.zeros((len(forces), 0, 6))
        happened = ()
        if job.step.events is not None:
            happened = event_record(job.step, self.into[2][:, :n], ()).happened((), t)
        return Trajectory(job.model, t[which], q, v, a, tau, forces, self.interrupted, happened)

    def go(self, by_code: bool) -> None:
        """Do all steps; in Python, unless they may be done ``by_code``."""
        plan = self._plan() if by_code else None
        if plan is None:
            self._in_python(*(array[0].copy() for array in (self.job.q, self.job.v)))
        elif self.torque is None and self.load is None:
            self._repeat(plan)
        else:
            self._drive(plan)

    def _plan(self) -> Plan | None:
        """The plan of the step; None if only Python can do it, or explain why it cannot be done."""
        try:
            plan = self.job.step_plan
            if not isinstance(plan, Compiled):
                return plan if self.job.step.events is not None or self.job.engine == "interpreted" else None
            plan = for_steps(plan, self.job.steps)
            if isinstance(plan, Compiled):
                plan.code(1)
            return plan
        except (TracingError, ZeroDivisionError, OverflowError):  # a constant of the model
            return None

    def _reach(self, k: int, v: Array) -> None:
        """Step k begins now."""
        self.k, self.v = k, v
        if self.bar is not None and k % _AT_ONCE == 0:
            self.bar(k)

    def _ends(self, k: int) -> bool:
        """Whether all of the last state is known, if it is state k; the state after it need not exist."""
        return k == self.job.steps and all(all_finite(array[0, -1]) for array in self.into)

    def _is_recorded(self, k: int) -> bool:
        return k % self.job.every == 0 or k == self.job.steps

    def _repeat(self, plan: Plan) -> None:
        """Many steps at a time."""
        job, span = self.job, 1 << 10
        state, longest, k = job.begin(self.into), max(1, int(_SPAN / plan.task.seconds)), 0
        while k <= job.steps:
            before, some = [array.copy() for array in state], min(span, longest, job.steps + 1 - k)
            self.k, self.v = k, before[1][0]
            inputs = [array if array.shape[1] == 1 else array[:, k : k + some] for array in job.inputs]
            status = run_over_time(plan, state, inputs, self.into, some, job.every, 1, k, job.steps)
            if not status or self._ends(k):
                k, span = k + some, 2 * span
                self.count = (k - 1) // job.every + 1 + (k > job.steps and job.steps % job.every > 0)
                if self.bar is not None:
                    self.bar(k)
            elif some > 1:
                span = some // 2
                state = before
            else:
                self._check(before)
                return self._in_python(before[0][0], before[1][0])

    def _drive(self, plan: Plan) -> None:
        """Step by step, with what Python functions say at the beginning of each."""
        job, torque, load, (tau, said, forces) = self.job, self.torque, self.load, np.zeros((3, 0))
        rows = self.parts["tau"][0] if "tau" in self.parts else np.zeros((1, job.model.nv))
        if torque is not None:
            tau = self.plant.tau = job.parts["tau"][0, 0]
        if load is not None:
            forces = job.parts["f_ext"][0, 0].reshape(-1, 6)
        state, seen, hold = job.begin(self.into), [each.view() for each in self.arrays[:2]], self.hold
        for array in seen:
            array.setflags(write=False)
        step = step_by_step(plan, state, job.inputs, self.into, job.every, job.steps)
        for k in range(job.steps + 1):
            if job.every == 1:
                q, v = seen[0][k], seen[1][k]
            else:
                q, v = state[0][0].copy(), state[1][0].copy()
            self._reach(k, v)
            t, before = k * self.dt, [array.copy() for array in state] if job.step.events is not None else []
            if torque is not None:
                if not hold or k % hold == 0:
                    said = torque(t, q, v)
                    said = said.copy() if hold > 1 else said
                np.add(rows[min(k, len(rows) - 1)], said, out=tau)
            if load is not None:
                forces[...] = load(t, q, v)
            if step(k) and not self._ends(k):
                self._check(before)
                return self._in_python(q, v, None if torque is None else said)
            if self._is_recorded(k):
                self.count += 1
            if self.watched is not None:
                self.watched.see(t, q, v, *(array[self.count - 1] for array in self.arrays[2:]))

    def _in_python(self, q: Array, v: Array, said: Array | None = None) -> None:
        """From a state on in Python, where ``said`` are the driving forces of the function, if it has been called."""
        job, plant, names = self.job, self.plant, [name for name in STEP_PARTS if name in self.parts]
        if said is not None and isinstance(plant.source, Hold):
            plant.source.keep(self.k, said)
        for k in range(self.k, job.steps + 1):
            self._reach(k, v)
            plant.count = k
            plant.use({name: self._part(name, k) for name in names})
            answer = plant.answer(self.t, q, v, plant.source(k, self.t, q, v) if said is None else said)
            said = None
            if self._is_recorded(k):
                for array, numbers in zip(self.arrays, (q, v, *answer), strict=True):
                    array[self.count] = numbers
                self.count += 1
            if self.watched is not None:
                self.watched.see(self.t, q, v, *answer)
            if k < job.steps:
                q, v = self.integrator(plant, self.t, q, v, answer.a, self.dt)
                q = job.step.within(q)

    def _check(self, state: Sequence[Array]) -> None:
        """An error for the step that is reached if it has events, which only code and its interpreter do."""
        if self.job.step.events is not None:
            alone = replace(self.job.later(self.k, state, 1, 1), observed=False, known=[])
            raise SingularError(reason_of(alone))

    def _part(self, name: str, k: int) -> Array:
        """A part of step k."""
        rows = self.parts[name][0]
        row = rows[min(k, len(rows) - 1)]
        return row.reshape(-1, 6) if name == "f_ext" else row
