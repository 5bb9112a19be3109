"""Trajectories as a job: all data that a worker needs to compute them, here or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import ALGORITHMS, STEP_PARTS
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import Array
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.rollout import records, run_over_time
from linkwork.engine.spaces import SPACES
from linkwork.errors import SingularError, TracingError
from linkwork.late import LateFunction
from linkwork.model.model import Model
from linkwork.simulation.arguments import allocated
from linkwork.simulation.parts import rows
from linkwork.simulation.step import Step
from linkwork.simulation.step_plans import recorded, step_plan

if TYPE_CHECKING:
    from linkwork.simulation.step_arguments import StepArguments

events_at_start = LateFunction("linkwork.simulation.event_steps:start")
diagnose = LateFunction("linkwork.dynamics.diagnosis:diagnose")


@dataclass(frozen=True)
class Job:
    """Trajectories to compute, with checked arrays; it can be pickled.

    Attributes:
        q, v: initial states (n, nq), (n, nv).
        parts: the other arguments of a step, dt first, each (n or 1, steps or 1, numbers of one step).
        every: steps between two records.
        engine: the form in which it runs.
        shapes: of the parameters of a law and a cost, for one step.
        before: the number of steps already done.
        happened: what the time loop carries of events, if steps are already done (n, numbers).
        observed: whether accelerations and forces are recorded, too.
    """

    step: Step
    q: Array
    v: Array
    parts: dict[str, Array]
    steps: int
    every: int
    engine: str
    shapes: dict[str, Shape] = field(default_factory=dict)
    before: int = 0
    happened: Array | None = None
    observed: bool = False

    def __len__(self) -> int:
        return len(self.q)

    @property
    def model(self) -> Model:
        return self.step.model

    def some(self, first: int, count: int) -> Job:
        """Some of the trajectories."""
        few = slice(first, first + count)
        happened = None if self.happened is None else self.happened[few]
        parts = {name: array if len(array) == 1 else array[few] for name, array in self.parts.items()}
        return replace(self, q=self.q[few], v=self.v[few], parts=parts, happened=happened)

    def later(self, step: int, state: Sequence[Array], steps: int, every: int) -> Job:
        """``steps`` steps from a later step on, where the time loop has this state."""
        span = slice(step, step + steps)
        parts = {name: array if array.shape[1] == 1 else array[:, span] for name, array in self.parts.items()}
        of = self.step
        happened = None if of.events is None else state[2][:, of.events_from : of.events_to]
        now = replace(self, q=state[0], v=state[1], parts=parts, happened=happened)
        return replace(now, steps=steps, every=every, before=self.before + step)

    def apart_from(self, into: Sequence[Array]) -> Job:
        """The same job, with copies of the arrays that share memory with ``into``."""

        def apart(array: Array) -> Array:
            return array.copy() if any(np.may_share_memory(array, other) for other in into) else array

        parts = {name: apart(array) for name, array in self.parts.items()}
        return replace(self, q=apart(self.q), v=apart(self.v), parts=parts)

    def buffers(self) -> list[Array]:
        """Arrays for the records of q and v, of the sums if there are events, and for the cost of each trajectory."""
        count = records(self.steps, self.every)
        widths = (self.model.nq, self.model.nv, self.step.size_of_sums)[: recorded(self.step)]
        shapes = [(len(self), count, size) for size in widths]
        what = f"{count:,} records of {len(self):,} trajectories"
        return [*allocated(what, shapes, self.every), np.zeros(len(self))]

    def run(self, into: Sequence[Array], threads: int) -> int:
        """Run the time loop here; returns its status: 1 if an argument is non-finite, plus 2 if a record is, or 0."""
        state = self.begin(into)
        into[-1][...] = 0.0  # the cost
        if not (self.steps and len(self)):
            return 0
        return self.go(state, into, 0, self.steps, threads)

    def begin(self, into: Sequence[Array]) -> list[Array]:
        """The arrays of the state, which the time loop updates. The initial state is recorded."""
        step, sums = self.step, np.zeros((len(self), self.step.size_of_sums))
        sums[:, 0] = self.before
        if step.events is not None:
            sums[:, step.events_from : step.events_to] = self.events_at_start
        state = [*(np.array(array, order="C") for array in (self.q, self.v)), sums]
        for array, start, _ in zip(into, state, range(recorded(step)), strict=False):
            array[:, 0] = start
        return state

    def go(self, state: Sequence[Array], into: Sequence[Array], first: int, steps: int, threads: int) -> int:
        """Advance the state by ``steps`` steps, from step ``first`` on; returns the status of the time loop."""
        inputs = [part if part.shape[1] == 1 else part[:, first : first + steps] for part in self.inputs]
        try:
            status = run_over_time(
                self.step_plan, state, inputs, into[:-1], steps, self.every, threads, first, self.steps
            )
        except (ZeroDivisionError, OverflowError, TracingError) as error:
            if isinstance(error, TracingError) and not isinstance(error.__cause__, ArithmeticError):
                raise
            # due to a constant of the model: every trajectory fails
            raise self.diagnosis() from None
        if self.step.cost is not None:
            into[-1][...] = state[-1][:, 1]
        return status

    @property
    def events_at_start(self) -> Array:
        """What the time loop carries of events, before the first step."""
        if self.happened is not None:
            return self.happened
        own = {name: array[:, 0].reshape(-1, *self.all_shapes[name]) for name, array in self.parts.items()}
        found: Array = events_at_start(self.step, self.q, self.v, self.before * float(own["dt"][0]), own)
        return found

    def diagnosis(self) -> SingularError:
        """Why the mechanism has no accelerations in the initial state of the first trajectory."""
        tau = self.parts["tau"][0, 0] if "tau" in self.parts else np.zeros(self.model.nv)
        found: SingularError = diagnose(
            ALGORITHMS["articulated_body"], self.model, [self.q[0], self.v[0], tau, None], ()
        )
        return found

    @property
    def _names(self) -> list[str]:
        """The names of the arguments of a step besides its state, in order."""
        return ["dt", *(name for name in (*STEP_PARTS, *self.shapes) if name in self.parts)]

    @property
    def inputs(self) -> list[Array]:
        """The arguments of the steps besides the state, in order."""
        return [self.parts[name] for name in self._names]

    @property
    def values(self) -> dict[str, Array]:
        """The arguments of the first trajectory's first step besides the state, by name."""
        return {name: self.parts[name][0, 0].reshape(shape) for name, shape in self.all_shapes.items()}

    @property
    def step_plan(self) -> Plan:
        """The plan of the step over time."""
        engine = current_form() if self.engine == "auto" else self.engine  # a worker may not support machine code
        plans, key = self.step.plans, (engine, self.observed, *self._names)
        if key not in plans:
            plans[key] = step_plan(self.step, self.all_shapes, engine, self.observed)
        return plans[key]

    @property
    def all_shapes(self) -> dict[str, Shape]:
        """The shape of each argument of a traced step besides its state."""
        own = {name: SPACES[space].shape(self.model, 0) for name, space in STEP_PARTS.items()}
        return {name: (() if name == "dt" else (own | self.shapes)[name]) for name in self._names}


def job_of(
    arguments: StepArguments, q: Array, v: Array, dt: float, steps: int, every: int, batch: tuple[int, ...] = (),
    observed: bool = False,
) -> Job:  # fmt: skip
    """The job of trajectories that begin in these states (n, ...), along one axis instead of the leading axes that the
    arrays of the arguments may have.
    """
    arrays = arguments.parts | {key: array for key, (_, array, _) in arguments.inputs.items()}
    parts = {"dt": np.full((1, 1, 1), dt)} | {name: rows(array, batch) for name, array in arrays.items()}
    shapes = {key: shape for key, (_, _, shape) in arguments.inputs.items()}
    return Job(arguments.step, q, v, parts, steps, every, current_form(), shapes, observed=observed)


def compute(job: Job) -> tuple[Any, ...]:
    """Run a job in one thread, as a worker does: records and costs, and the status of the time loop."""
    job = replace(job, step=replace(job.step, model=_first_equal(job.model)))
    into = job.buffers()
    return *into, job.run(into, 1)


@lru_cache(maxsize=4)
def _first_equal(model: Model) -> Model:
    """The first of equal models, with which compiled code is kept."""
    return model
