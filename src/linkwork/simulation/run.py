"""The loop of one motion over its steps: in machine code, with Python functions between the steps, or in Python.

``Step.observed`` is what all of them repeat. Code does it many times by itself, or once for each step where Python
functions say driving forces or external wrenches (``evaluations``). What code cannot do is done in Python: the adaptive
integrator, methods of studies, texts that are too long, and the step that has no finite result, which so raises the
error that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import prod

import numpy as np

from linkwork.algorithms import STEP_PARTS, STUDIES
from linkwork.arguments import all_finite
from linkwork.dynamics.arguments import Array
from linkwork.engine.plans import Plan, for_steps
from linkwork.engine.plans.plan import Compiled
from linkwork.engine.rollout import records, run_over_time, step_by_step
from linkwork.errors import SingularError, TracingError
from linkwork.late import LateFunction
from linkwork.progress import Bar
from linkwork.simulation.arguments import allocated
from linkwork.simulation.evaluations import Evaluations, Functions, read_only
from linkwork.simulation.integrators import Adaptive, integrator_of
from linkwork.simulation.jobs import Job
from linkwork.simulation.plant import Plant
from linkwork.simulation.step_plans import observations_of
from linkwork.simulation.torques import Hold
from linkwork.simulation.trajectory import Trajectory

event_record = LateFunction("linkwork.simulation.event_record:event_record")
reason_of = LateFunction("linkwork.simulation.divergence:reason_of")

Arrays = Sequence[Array]
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
        self, job: Job, functions: Functions, adaptive: Adaptive | None, bar: Bar | None, kept: tuple[int, bool]
    ) -> None:
        """Of the states that the job records the trajectory has one in so many, and wrenches or not: these are
        ``kept``.
        """
        told = (("torque", functions.torque), ("load", functions.load))
        step = replace(job.step, told=tuple(name for name, function in told if function is not None))
        said, model = {name: np.zeros((1, 1, prod(shape))) for name, shape in step.told_shapes.items()}, job.model
        self.job = replace(job, step=step, parts=job.parts | said, shapes=job.shapes | step.told_shapes)
        self.functions, self.bar, self.kept = functions, bar, kept
        self.dt, self.integrator = float(job.parts["dt"][0, 0, 0]), adaptive or integrator_of(step)
        rows = records(job.steps, job.every)
        shapes = [(rows, *size) for size in ((model.nq,), (model.nv,), *observations_of(job.step))]
        self.arrays = allocated(f"{rows:,} states of {model.name!r}", shapes, job.every)
        self.into = [array.reshape(1, rows, -1) for array in self.arrays]
        if job.step.events is not None:
            self.into[2:2] = job.buffers()[2:-1]
        self.k, self.v, self.count, self.interrupted = 0, job.v[0], 0, False

    @cached_property
    def source(self) -> Hold:
        """Of driving forces, for steps in Python."""
        step = self.job.step
        law = None if step.law is None else partial(step.driving(self.job.values), 0)
        return Hold(law or self.functions.torque, self.functions.hold)

    @cached_property
    def plant(self) -> Plant:
        """For steps in Python."""
        step = self.job.step
        return step.plant(self.dt, {}, source=self.source, load=self.functions.load or step.load)

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

    def go(self) -> None:
        """Do all steps."""
        plan, functions = self._plan(), self.functions
        if plan is None:
            self._in_python(*(array[0].copy() for array in (self.job.q, self.job.v)))
        elif functions.torque is None and functions.load is None:
            self._repeat(plan)
        else:
            self._drive(plan)

    def _plan(self) -> Plan | None:
        """The plan of the step; None if only Python can do it, or explain why it cannot be done."""
        if self.job.step.method in STUDIES or self.job.step.integrator == "adaptive":
            return None
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
        """Step by step, with what Python functions say in each evaluation."""
        job, watched, every = self.job, self.functions.watched, self.job.every
        state, seen = job.begin(self.into), [each.view() for each in self.arrays[:2]]
        for array in seen:
            array.setflags(write=False)
        step = step_by_step(plan, state, job.inputs, self.into, every, job.steps)
        evaluations = Evaluations(self.functions, self.job, state, self.dt)
        say, others, dt, bar = evaluations.say, evaluations.others, self.dt, self.bar
        if self.functions.torque is not None:
            self.plant.tau = evaluations.tau
        for k in range(job.steps + 1):
            q, v = (seen[0][k], seen[1][k]) if every == 1 else map(read_only, (state[0][0], state[1][0]))
            self.k, self.v = k, v
            said = say(0, k, k * dt, q, v)
            before = [array.copy() for array in state] if job.step.events is not None else []
            if not others(k) or (step(k) and not self._ends(k)):
                self._check(before)
                return self._in_python(q, v, said)
            self.count = k // every + 1
            if watched is not None:
                watched.see(self.t, q, v, *(array[k] for array in self.arrays[2:]))
            if bar is not None:
                self._tick(bar)
        self.count = len(self.arrays[0])

    def _tick(self, bar: Bar) -> None:
        """Move the progress bar from time to time."""
        if self.k % _AT_ONCE == 0:
            bar(self.k)

    def _in_python(self, q: Array, v: Array, said: Array | None = None) -> None:
        """From a state on in Python, where ``said`` are the driving forces of the function, if it has been called."""
        job, plant, names = self.job, self.plant, [name for name in STEP_PARTS if name in self.job.parts]
        if said is not None:
            self.source.keep(self.k, said)
        for k in range(self.k, job.steps + 1):
            self.k, self.v, plant.count = k, v, k
            if self.bar is not None:
                self._tick(self.bar)
            plant.use({name: self._part(name, k) for name in names})
            answer = plant.answer(self.t, q, v, plant.source(k, self.t, q, v) if said is None else said)
            said = None
            if self._is_recorded(k):
                for array, numbers in zip(self.arrays, (q, v, *answer), strict=True):
                    array[self.count] = numbers
                self.count += 1
            if self.functions.watched is not None:
                self.functions.watched.see(self.t, q, v, *answer)
            if k < job.steps:
                q, v = self.integrator(plant, self.t, q, v, answer.a, self.dt)
                q = job.step.within(q)

    def _check(self, state: Arrays) -> None:
        """An error for the step that is reached if it has events, which only code and its interpreter do."""
        if self.job.step.events is not None:
            alone = replace(self.job.later(self.k, state, 1, 1), observed=False)
            raise SingularError(reason_of(alone))

    def _part(self, name: str, k: int) -> Array:
        """A part of step k."""
        rows = self.job.parts[name][0]
        row = rows[min(k, len(rows) - 1)]
        return row.reshape(-1, 6) if name == "f_ext" else row
