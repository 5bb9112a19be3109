"""The result of a rollout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, is_integer
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.late import LateFunction
from linkwork.simulation.jobs import Job
from linkwork.simulation.step_plans import answer_plan, observations_of, step_plan

if TYPE_CHECKING:
    from linkwork.simulation.event_record import EventRecord
    from linkwork.simulation.rollouts.gradients import Gradients
    from linkwork.simulation.trajectory import Trajectory

as_weights = LateFunction("linkwork.simulation.rollouts.gradients:as_weights")
made_trajectory = LateFunction("linkwork.simulation.trajectory:Trajectory")
pulled_back = LateFunction("linkwork.simulation.rollouts.gradients:pulled_back")


class _States(NamedTuple):
    t: Array
    q: Array
    v: Array


class Rollout(_States):
    """Recorded states of trajectories; ``t, q, v = rollout`` unpacks them.

    Attributes:
        t: times (K,), s.
        q: configurations (..., K, nq).
        v: velocities (..., K, nv), rad/s or m/s.
        cost: cost of each trajectory (...,), the sum over its steps; None without a cost function.
        events: what has happened up to each record, an ``EventRecord``; None without events.
    """

    cost: Array | None = None
    events: EventRecord | None = None
    _job: Job | None = None
    _tau: Array | None = None
    _sums: Array | None = None
    _differentiable: Job | None = None
    """The job with its law and its cost; None if a policy computed the driving forces."""

    def __new__(cls, t: Array, q: Array, v: Array, cost: Array | None = None) -> Rollout:
        made = super().__new__(cls, t, q, v)
        made.cost = cost
        return made

    def __repr__(self) -> str:
        whose = f" of {self._job.model.name!r}" if self._job else ""
        batch, states = self.q.shape[:-2], len(self.t)
        noun = "trajectory" if np.prod(batch) == 1 else "trajectories"
        many = f"{' x '.join(map(str, batch))} {noun} of " if batch else ""
        span = f", {self.t[0]:.6g} to {self.t[-1]:.6g} s" if states else ""
        return f"<Rollout{whose}: {many}{states} states{span}{', with costs' * (self.cost is not None)}>"

    def trajectory(self, index: int | tuple[int, ...] = ()) -> Trajectory:
        """One trajectory, with accelerations, driving forces and constraint forces in its states.

        These are computed by this call, from the rollout's arguments as they now are in memory. Accelerations are those
        of the step that begins in a state; in the last state they are those of a step with the driving forces of the
        last one.

        Args:
            index: one integer for each leading (batch) dimension; omitted if there is none.

        Returns:
            A ``Trajectory`` of K states.

        Raises:
            ArgumentError: if the index does not name one trajectory, or if no states were recorded.

        Example:
            >>> import linkwork as lw
            >>> pendulum = lw.mechanisms.pendulum()
            >>> many = lw.rollout(pendulum, [[0.1], [0.2]], [0.0], dt=0.01, steps=100, record=10)
            >>> many
            <Rollout of 'pendulum': 2 trajectories of 11 states, 0 to 1 s>
            >>> many.trajectory(1)
            <Trajectory of 'pendulum': 11 states, 0 to 1 s>
        """
        if self._job is None:
            raise ArgumentError("only a result of lw.rollout has trajectories; this one was made by hand")
        which = index if isinstance(index, tuple) else (index,)
        batch = self.q.shape[:-2]
        inside = len(which) == len(batch) and all(is_integer(i) for i in which)
        if not inside or not all(-n <= i < n for i, n in zip(which, batch, strict=True)):
            raise ArgumentError(f"index must name one trajectory of {batch}, an integer for each, not {shown(index)}")
        if not self.t.size:
            raise ArgumentError("record=0 kept no states, so that there is no trajectory")
        flat = int(np.ravel_multi_index([int(i) % n for i, n in zip(which, batch, strict=True)], batch)) if batch else 0
        q, v = self.q[which].copy(), self.v[which].copy()
        sums = None if self._sums is None else self._sums[flat]
        a, tau, wrenches = _answers(self._job, flat, q, v, sums, None if self._tau is None else self._tau[flat])
        happened = () if self.events is None else self.events.happened(which, self.t)
        found: Trajectory = made_trajectory(self._job.model, self.t.copy(), q, v, a, tau, wrenches, False, happened)
        return found

    def pullback(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        *,
        checkpoints: int | None = None,
    ) -> Gradients:
        """The gradients of a loss with respect to all arguments of the rollout, by the adjoint method.

        The states between checkpoints are computed again, so that memory grows with the square root of the number of
        steps.

        Args:
            q: the loss's derivative with respect to the recorded configurations (..., K, nv), in the tangent space;
                zero if omitted.
            v: with respect to the recorded velocities (..., K, nv); zero if omitted.
            cost: with respect to each trajectory's cost (...,); 1 if q and v are omitted, too.
            checkpoints: how many states to keep; by default the square root of the number of steps.

        Returns:
            ``Gradients`` with respect to the initial states, the forces and targets over time, the gains, and the
            parameters of the law and the cost.

        Raises:
            ArgumentError: if the rollout had a policy, or if it had no cost and neither q nor v is given.

        Example:
            >>> import linkwork as lw
            >>> import numpy as np
            >>> arm = lw.mechanisms.pendulum()
            >>> price = lw.compile(lambda t, q, v, tau: q @ q + 0.01 * tau @ tau, t=(), q=1, v=1, tau=1)
            >>> forces = np.zeros((100, 1))
            >>> run = lw.rollout(arm, [0.5], [0.0], forces, dt=0.01, cost=price)
            >>> run.pullback().parts["tau"].shape  # of the forces over time
            (1, 100, 1)
        """
        job = self._differentiable
        if job is None and self.events is not None:
            raise ArgumentError("a rollout with events has no gradients: its velocities jump where they happen")
        if job is None:
            raise ArgumentError("a result of lw.rollout without a policy has gradients; this one has none")
        if cost is not None and job.step.cost is None:
            raise ArgumentError("cost is the derivative with respect to a cost, but the rollout had none")
        batch, nv = self.q.shape[:-2], job.model.nv
        if q is None and v is None and cost is None:
            if job.step.cost is None:
                raise ArgumentError("give the derivatives of a loss with respect to q or v; the rollout had no cost")
            cost = 1.0
        shape = (*batch, len(self.t), nv)
        weights = [as_weights("q", q, shape), as_weights("v", v, shape)]
        of_cost = np.zeros(len(job))
        if cost is not None:
            of_cost = np.array(np.broadcast_to(finite_array("cost", cost), batch)).reshape(-1)
        found = pulled_back(job, weights, of_cost, checkpoints)
        return replace(found, q=found.q.reshape((*batch, nv)), v=found.v.reshape((*batch, nv)))


def _answers(
    job: Job, trajectory: int, q: Array, v: Array, recorded: Array | None, held: Array | None
) -> tuple[Array, Array, Array]:
    """Accelerations, driving forces and constraint wrenches in recorded states of a trajectory."""
    states = len(q)
    if held is not None:
        job = replace(job, parts={**job.parts, "tau": held[None]})
    steps = np.minimum(np.arange(states) * job.every, job.steps)
    rows = {}
    for name, part in job.parts.items():
        one = part[min(trajectory, len(part) - 1)]
        rows[name] = np.ascontiguousarray(one[np.minimum(steps, len(one) - 1)]) if len(one) else np.zeros((states, 0))
    if held is not None:
        rows["tau"] = held
    sums = np.zeros((states, job.step.size_of_sums))
    sums[:, 0] = steps
    if recorded is not None:
        sums[:, 2:] = recorded[:, 2:]
    shapes = job.all_shapes
    plan = step_plan(job.step, shapes, "interpreted", True) if recorded is None else answer_plan(job.step, shapes)
    found, _ = plan.run([q, v, sums, *(rows[name] for name in shapes)], states)
    a, tau, wrenches = found[-len(observations_of(job.step)) :]
    return a, tau, wrenches.reshape(states, -1, 6)
