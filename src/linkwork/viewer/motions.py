"""Models, trajectories and rollouts as motions that are played side by side over one interval of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.arguments import is_listed
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import neutral
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.plain import one_line
from linkwork.simulation.happened import Happened
from linkwork.simulation.rollouts.result import Rollout
from linkwork.simulation.trajectory import ARRAYS, Trajectory

MOST_MOTIONS = 100
"""The largest number of motions shown side by side."""


@dataclass(frozen=True)
class Motion:
    """One mechanism over time; ``trajectory`` is None for one that rests in ``q``. ``driven`` says whether its
    accelerations are known, too.
    """

    model: Model
    q: Array
    trajectory: Trajectory | None = None
    driven: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time (s)."""
        if self.trajectory is None:
            return 0.0, 0.0
        return float(self.trajectory.t[0]), float(self.trajectory.t[-1])

    @property
    def events(self) -> list[Happened]:
        """What happens at a known time."""
        return [] if self.trajectory is None else [one for one in self.trajectory.events if one.t == one.t]

    @property
    def recorded(self) -> int:
        """The number of constraint or contact forces that its states have."""
        return 0 if self.trajectory is None else self.trajectory.constraint_forces.shape[1]

    def at(self, times: Array) -> Array:
        """Configurations (M, nq) at increasing times; before the first state and after the last it rests."""
        states = self.states(times)
        return np.broadcast_to(self.q, (len(times), self.model.nq)) if states is None else states.q

    def states(self, times: Array) -> Trajectory | None:
        """The states at these times, of which some may be equal; None for a model at rest."""
        if self.trajectory is None:
            return None
        first, last = self.span
        inside, place = np.unique(np.clip(times, first, last), return_inverse=True)
        samples = self.trajectory.resample(inside)
        if len(inside) == len(times):
            return samples
        return replace(samples, **{name: getattr(samples, name)[place.ravel()] for name in ARRAYS})


def last_event(motions: Sequence[Motion], time: float) -> str:
    """The last event up to a time, in words; nothing if there is none."""
    past = [one for motion in motions for one in motion.events if one.t <= time + 1e-9]
    return one_line(str(max(past, key=lambda one: one.t))) if past else ""


def motions_of(what: Any, called: str = "trajectory") -> list[Motion]:
    """A model at rest, a trajectory, a rollout with all its trajectories, or several of these in a list."""
    listed = is_listed(what) and not isinstance(what, Rollout)
    motions = [motion for one in (what if listed else [what]) for motion in _motions(one, called)]
    if not 0 < len(motions) <= MOST_MOTIONS:
        raise ArgumentError(f"{called} must hold 1 to {MOST_MOTIONS} motions to show side by side, not {len(motions)}")
    return motions


def _motions(what: Any, called: str) -> list[Motion]:
    if isinstance(what, Model):
        return [Motion(what, neutral(what))]
    if isinstance(what, Trajectory):
        if not len(what):
            raise ArgumentError("a trajectory without states cannot be shown")
        return [Motion(what.model, what.q[0], what, driven=True)]
    if isinstance(what, Rollout):
        return _rolled_out(what)
    raise ArgumentError(
        f"{called} must be an lw.Trajectory, as from lw.simulate, a result of lw.rollout, an lw.Model, or a list of "
        f"these, not {shown(what)}"
    )


def _rolled_out(rollout: Rollout) -> list[Motion]:
    if rollout._job is None or not rollout.t.size:
        raise ArgumentError("only a result of lw.rollout that recorded states can be shown")
    model = rollout._job.model
    count = int(np.prod(rollout.q.shape[:-2]))
    if count > MOST_MOTIONS:
        raise ArgumentError(
            f"the rollout has {count:,} trajectories, of which {MOST_MOTIONS} can be shown side by side; pass some of "
            f"them, as in [rollout.trajectory(0), rollout.trajectory(1)]"
        )
    motions = []
    parts = (states.reshape(count, *states.shape[-2:]) for states in (rollout.q, rollout.v))
    for which, q, v in zip(np.ndindex(rollout.q.shape[:-2]), *parts, strict=True):
        still, forces = np.zeros_like(v), np.zeros((len(v), 0, 6))
        events = () if rollout.events is None else rollout.events.happened(which, rollout.t)
        states = Trajectory(model, rollout.t.copy(), q.copy(), v.copy(), still, still, forces, False, events)
        motions.append(Motion(model, states.q[0], states))
    return motions
