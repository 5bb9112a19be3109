"""What has happened in many trajectories, up to each recorded state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.model.constraints import Constraint
from linkwork.simulation.event_steps import parts
from linkwork.simulation.events import Events
from linkwork.simulation.happened import Happened
from linkwork.simulation.step import Step


class EventRecord(NamedTuple):
    """What has happened in each trajectory up to each of its K recorded states.

    Attributes:
        names: of the events.
        constraints: all that are ever active.
        counts: how often each event has happened (..., K, events).
        times: when each did last, s (..., K, events); NaN before it has.
        active: whether each constraint is active (..., K, constraints).
    """

    names: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    counts: Array
    times: Array
    active: Array

    def happened(self, which: tuple[Any, ...], at: Array) -> tuple[Happened, ...]:
        """The events of one trajectory in order of time, whose states are at these times."""
        found: list[tuple[float, Happened]] = []
        counts, last = self.counts[which], self.times[which]
        for event, name in enumerate(self.names):
            for k in range(1, len(counts)):
                new = int(counts[k, event] - counts[k - 1, event])
                some = [np.nan] * (new - 1) + [float(last[k, event])] * (new > 0)
                found += [(float(at[k]) if np.isnan(t) else t, Happened(t, event, name)) for t in some]
        return tuple(each for _, each in sorted(found, key=lambda one: one[0]))


def event_record(step: Step, sums: Array, batch: tuple[int, ...]) -> EventRecord:
    """The record, from the recorded sums (trajectories, K, numbers)."""
    events = step.events
    assert events is not None
    now = parts(events, sums.reshape((*batch, *sums.shape[1:]))[..., step.events_from : step.events_to])
    counts = np.nan_to_num(now.counts).astype(np.int64)
    last = np.where(counts > 0, now.last, np.nan)
    names = tuple(one.name for one in events.changes)
    return EventRecord(names, events.constraints, counts, last, now.active > 0.5)


def may_be_active(events: Events, numbers: Array) -> list[tuple[Constraint, ...]]:
    """The constraints that are active, by the numbers that the time loop carries of events, and after each event."""
    active = parts(events, numbers).active > 0.5
    sets = [active]
    for attach, detach in zip(events.attaches > 0.5, events.detaches > 0.5, strict=True):
        sets.append((active & ~detach) | attach)
    return [tuple(one for one, on in zip(events.constraints, each, strict=True) if on) for each in sets]
