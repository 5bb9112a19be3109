"""Events: constraints that come and go during a motion, at a time, at a sign change, or under too large a force.

``Event`` and ``BreakingForce`` are what users write; ``events_of`` checks them and makes ``Events``, a value that a
step has. Times, limits and parameters are data of a step, as those of a law are; so is which constraints are active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, array, choice, is_listed, switch
from linkwork.batches import leading_axes
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.held import held_by, shown_constraint
from linkwork.engine.ir.program import constants
from linkwork.errors import ArgumentError, LinkworkError, shown
from linkwork.model.constraints import Ball, Constraint, Hinge, PointOnPlane, Weld, as_constraints
from linkwork.model.model import Model
from linkwork.simulation.laws import Parameters, as_law, parameters_of

DIRECTIONS = ("both", "rising", "falling")
UNLIMITED = 1e300
"""The force that no constraint reaches, and the time that no motion does."""

Data = dict[str, tuple[str, Array, Shape]]
"""Numbers that events need, by the names of inputs of a step: the name for messages, rows over time, the shape."""


@dataclass(frozen=True, eq=False)
class BreakingForce:
    """The force at which a constraint breaks: as ``when`` of an ``lw.Event``, which then detaches it.

    A step begins without a constraint that would have to transmit more over it. Impulses, at attachments, break
    nothing.

    Args:
        constraint: one that is active at the start, or that another event attaches.
        force: the largest magnitude of its force, N; any, if left out; one number, or one for each trajectory.
        moment: the largest magnitude of its moment about the origin of its frame a, N m, in the same way.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("lamp", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
        >>> lamp, hook = builder.build(), lw.Weld("lamp")
        >>> load = [[0.0, 0.0, -force, 0.0, 0.0, 0.0] for force in (5.0, 15.0)]
        >>> run = lw.rollout(
        ...     lamp, lw.neutral(lamp), [0.0] * 6, dt=0.01, steps=20, constraints=hook, f_ext=[[[one]] for one in load],
        ...     events=lw.Event(lw.BreakingForce(hook, force=30.0)),
        ... )
        >>> run.events.counts[:, -1, 0]  # 2 kg weigh 19.62 N
        array([0, 1])
    """

    constraint: Constraint
    force: ArrayLike | None = None
    moment: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens during a motion: constraints become active or inactive.

    At attachment the velocities of all constraints that are then active become compatible in an inelastic impact, as
    by ``lw.impact``: momentum is kept, and energy does not grow. An event that would change nothing, as its constraints
    are already as it leaves them, does not happen; so one that has happened may happen again once another event has
    undone it. If several happen at once, they change constraints in the order of their list.

    Args:
        when: a time, s, or one for each trajectory; or a function of (t, q, v, *parameters), made by ``lw.compile``,
            that returns a number: the event happens where this changes its sign, which is located within the step; or
            an ``lw.BreakingForce``.
        attach: constraints that become active.
        detach: constraints that become inactive; that of a breaking force is one of them anyway.
        direction: of the sign change: "rising", "falling" or "both".
        parameters: of the function, in a tuple or in a dict by name, each in its own shape, or (..., 1, *shape) for
            each trajectory.
        in_place: whether the constraints attach where their frames then are, as by ``lw.Weld.at``; otherwise their own
            ``placement`` is held, and an error at that time decays with ``stabilisation``, which may do work. Couplings
            and rolling constraints take ``in_place=False``.
        name: for messages and records; by default one made of the constraints.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, 0))
        >>> for name in ("cart", "parcel"):
        ...     _ = builder.add_body(name, joint=lw.joints.Prismatic("x"), mass=2.0, inertia=(1, 1, 1))
        >>> carts, caught = builder.build(), lw.PointOnPlane("parcel", "cart", normal="x")
        >>> gap = lw.compile(lambda t, q, v: q[0] - q[1], t=(), q=2, v=2)
        >>> meeting = lw.Event(gap, attach=caught, name="catch")
        >>> run = lw.rollout(carts, [[1.0, 0.0], [2.0, 0.0]], [0.0, 3.0], dt=0.1, steps=10, events=[meeting])
        >>> run.v[:, -1].round(9)
        array([[1.5, 1.5],
               [1.5, 1.5]])
        >>> run.events.times[:, -1, 0].round(9)  # each has a time of its own
        array([0.33333333, 0.66666667])
    """

    when: Any
    attach: Sequence[Constraint] | Constraint = ()
    detach: Sequence[Constraint] | Constraint = ()
    direction: str = "both"
    parameters: Parameters = None
    in_place: bool = True
    name: str = ""


class Guard(NamedTuple):
    """When an event happens: a compiled function changes its sign, or else the force of the constraint with this number
    exceeds a limit, or else, with neither, at a time. ``limits`` are of the constraint's force, 0, or its moment, 1.
    """

    function: CompiledFunction | None = None
    constraint: int | None = None
    rises: bool = True
    falls: bool = False
    limits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Change:
    """What an event does: the numbers of the constraints that it attaches and detaches, and whether in place."""

    guard: Guard
    attach: tuple[int, ...]
    detach: tuple[int, ...]
    in_place: bool
    name: str


@dataclass(frozen=True)
class Events:
    """The events of a step, checked: the constraints that are ever active, the first ``initial`` of them from the
    start, and what each event changes.
    """

    constraints: tuple[Constraint, ...]
    initial: int
    changes: tuple[Change, ...]

    @property
    def functions(self) -> list[CompiledFunction]:
        """The compiled functions among them."""
        return [one.guard.function for one in self.changes if one.guard.function is not None]

    @property
    def digest(self) -> tuple[object, ...]:
        """All that code depends on."""
        own = [(type(one).__name__, one.kind(), one.placement.numbers()) for one in self.constraints]
        changes = [
            (None if one.guard.function is None else one.guard.function.digest, one.guard[1:], one.attach, one.detach,
             one.in_place)
            for one in self.changes
        ]  # fmt: skip
        return own, self.initial, changes

    @cached_property
    def crossing(self) -> list[int]:
        """The events at a time or a sign change."""
        return [k for k, one in enumerate(self.changes) if one.guard.constraint is None]

    @cached_property
    def breaking(self) -> list[int]:
        """The events at a breaking force."""
        return [k for k, one in enumerate(self.changes) if one.guard.constraint is not None]

    @cached_property
    def attaches(self) -> Array:
        """(events, constraints): 1 where an event attaches a constraint."""
        return self._table([one.attach for one in self.changes])

    @cached_property
    def detaches(self) -> Array:
        """(events, constraints): 1 where an event detaches a constraint."""
        return self._table([one.detach for one in self.changes])

    @cached_property
    def placed(self) -> list[int]:
        """The constraints that may attach in place."""
        return sorted({k for one in self.changes if one.in_place for k in one.attach})

    def _table(self, rows: Sequence[Sequence[int]]) -> Array:
        table = np.zeros((len(self.changes), len(self.constraints)))
        for row, own in zip(table, rows, strict=True):
            row[list(own)] = 1.0
        return table


def input_name(event: int) -> str:
    """The beginning of the names of an event's inputs."""
    return f"event{event:03}"


# Arguments


def events_of(model: Model, constraints: Sequence[Constraint], events: Any) -> tuple[Events, Data]:
    """Events, checked, and their data; ``constraints`` are active from the start."""
    listed = list(events) if is_listed(events) else [events]
    for k, each in enumerate(listed):
        if not isinstance(each, Event):
            raise ArgumentError(f"events must be lw.Event objects, but events[{k}] is {shown(each)}")
    names = [_name(k, each) for k, each in enumerate(listed)]
    own = [_own_constraints(name, each) for name, each in zip(names, listed, strict=True)]
    every = tuple(dict.fromkeys([*constraints, *(one for each in own for some in each for one in some)]))
    for name, each in zip(names, own, strict=True):
        _check_frames(model, name, [one for some in each for one in some])
    changes, data = [], Data()
    for k, (name, each, (attach, detach)) in enumerate(zip(names, listed, own, strict=True)):
        guard, inputs = _guard(model, name, each, every, input_name(k))
        places = [tuple(every.index(one) for one in some) for some in (attach, detach)]
        in_place = switch(f"in_place of event {name!r}", each.in_place)
        changes.append(Change(guard, places[0], places[1], in_place, name))
        data |= inputs
    return Events(every, len(tuple(dict.fromkeys(constraints))), tuple(changes)), data


def _name(number: int, event: Event) -> str:
    """What an event is called."""
    if not isinstance(event.name, str):
        raise ArgumentError(f"the name of events[{number}] must be text, not {shown(event.name)}")
    if event.name:
        return event.name
    broken = [event.when.constraint] if isinstance(event.when, BreakingForce) else []
    verbs = (("attach", event.attach), ("detach", [*_as_list(event.detach), *broken]))
    parts = [
        f"{verb} {', '.join(shown_constraint(one) for one in _as_list(some) if isinstance(one, Constraint))}"
        for verb, some in verbs
        if _as_list(some)
    ]
    return "; ".join(parts) or f"events[{number}]"


def _as_list(some: Any) -> list[Any]:
    return list(some) if is_listed(some) else [some]


def _own_constraints(name: str, event: Event) -> tuple[list[Constraint], list[Constraint]]:
    """The constraints that an event attaches, and those that it detaches."""
    try:
        attach, detach = list(as_constraints(event.attach)), list(as_constraints(event.detach))
    except ArgumentError as error:
        raise ArgumentError(f"event {name!r}: {error}") from None
    if isinstance(event.when, BreakingForce):
        broken = event.when.constraint
        if not isinstance(broken, Constraint):
            raise ArgumentError(
                f"event {name!r}: a breaking force is of one lw.Weld, lw.Ball, ..., not {shown(broken)}"
            )
        detach = [*detach, *([] if broken in detach else [broken])]
    if not attach and not detach:
        raise ArgumentError(f"event {name!r} changes nothing: it needs constraints to attach or to detach")
    for one in attach:
        if one in detach:
            raise ArgumentError(f"event {name!r} both attaches and detaches {shown_constraint(one)}")
        if event.in_place and type(one) not in (Weld, Ball, Hinge, PointOnPlane):
            raise ArgumentError(
                f"event {name!r}: {shown_constraint(one)} cannot attach where its frames are; pass in_place=False, so "
                f"that what it says is held"
            )
    return attach, detach


def _check_frames(model: Model, name: str, constraints: Sequence[Constraint]) -> None:
    """An error that names the event of a constraint that the model cannot have."""
    for one in constraints:
        try:
            held_by(model, (one,))
        except LinkworkError as error:
            error.args = (f"event {name!r}: {shown_constraint(one)}: {error}",)
            raise


def _guard(model: Model, name: str, event: Event, every: Sequence[Constraint], key: str) -> tuple[Guard, Data]:
    """When an event happens, and the data of that."""
    when = event.when
    choice(f"direction of event {name!r}", event.direction, DIRECTIONS)
    if event.parameters is not None and (isinstance(when, BreakingForce) or not callable(when)):
        raise ArgumentError(f"event {name!r}: parameters are for a function; it has none")
    if isinstance(when, BreakingForce):
        limits = {"force": when.force, "moment": when.moment}
        if when.force is None and when.moment is None:
            raise ArgumentError(f"event {name!r} can never happen: its breaking force has neither force nor moment")
        present = [(k, limit) for k, limit in enumerate(limits) if limits[limit] is not None]
        data = {f"{key}_{k:03}": _numbers(f"{limit} of event {name!r}", limits[limit]) for k, limit in present}
        return Guard(constraint=every.index(when.constraint), limits=tuple(k for k, _ in present)), data
    if callable(when):
        function = as_law(model, f"when of event {name!r}", when, ())
        rises, falls = event.direction != "falling", event.direction != "rising"
        if 0 in constants(function.program, "result0"):
            raise ArgumentError(f"event {name!r} can never happen: its function is constant")
        own = parameters_of(function, key, f"parameters of event {name!r}", event.parameters, 3)
        return Guard(function, rises=rises, falls=falls), own
    if event.direction != "both":
        raise ArgumentError(f"event {name!r}: a direction is that of a function's sign change; leave it out")
    return Guard(), {f"{key}_000": _numbers(f"when of event {name!r}", when)}


def _numbers(called: str, value: Any) -> tuple[str, Array, Shape]:
    """One positive number, or one for each trajectory; infinity becomes a number that is never reached."""
    try:
        numbers = np.array(array(called, value, ()))
    except LinkworkError:
        if called.startswith("when"):
            raise ArgumentError(
                f"{called} must be a time (s), a function of (t, q, v, ...) made by lw.compile, or an "
                f"lw.BreakingForce, not {shown(value)}"
            ) from None
        raise
    if not numbers.size:
        raise ArgumentError(f"{called} must be one number, or one for each trajectory, not an empty array")
    if not (numbers > 0.0).all():
        why = "; what is active from the start belongs in constraints" if called.startswith("when") else ""
        raise ArgumentError(f"{called} must be positive, not {shown(float(numbers.min()))}{why}")
    axes = leading_axes(called, numbers, ())
    return called, np.minimum(numbers, UNLIMITED).reshape((*axes, 1, 1) if axes else (1, 1)), ()


# Events that never can happen, and events that contradict


def check_events(events: Events, data: Mapping[str, Any], duration: float) -> None:
    """An error that names an event that never can happen within so many seconds, or two that contradict."""
    times = [_times(events, data, k) for k in range(len(events.changes))]
    for change, time in zip(events.changes, times, strict=True):
        if time is not None and time.min() > duration * (1.0 + 1e-9):
            raise ArgumentError(
                f"event {change.name!r} can never happen: it is at {time.min():g} s, and the motion ends at "
                f"{duration:g} s"
            )
    _check_contradictions(events, times)
    _check_possible(events, times)


def _times(events: Events, data: Mapping[str, Any], event: int) -> Array | None:
    """The times (...,) of an event that has any."""
    guard = events.changes[event].guard
    if guard.function is not None or guard.constraint is not None:
        return None
    rows: Array = data[f"{input_name(event)}_000"][1]
    return rows.reshape(rows.shape[:-2])


def _check_possible(events: Events, times: Sequence[Array | None]) -> None:
    """An error for an event whose constraints are always as it would leave them."""
    at_first = [k < events.initial for k in range(len(events.constraints))]
    active = [0.0 if on else np.inf for on in at_first]
    """The earliest time at which each constraint may be active; and inactive."""
    inactive = [np.inf if on else 0.0 for on in at_first]
    for _ in events.changes:
        for change, own in zip(events.changes, times, strict=True):
            soonest = _soonest(change, own, active, inactive)
            for numbers, earliest in ((change.attach, active), (change.detach, inactive)):
                for k in numbers:
                    earliest[k] = min(earliest[k], soonest)
    for change, own in zip(events.changes, times, strict=True):
        if _soonest(change, own, active, inactive) == np.inf:
            stays = [
                *(f"{shown_constraint(events.constraints[k])} is active already" for k in change.attach),
                *(f"{shown_constraint(events.constraints[k])} is not active" for k in change.detach),
            ]
            raise ArgumentError(
                f"event {change.name!r} can never happen, as it would change nothing: {' and '.join(stays)}"
            )


def _soonest(change: Change, own: Array | None, active: Sequence[float], inactive: Sequence[float]) -> float:
    """The earliest time at which an event may happen, if constraints may be active and inactive from these times on;
    infinite, if it never can. ``own`` are its times in trajectories, if it has any.
    """
    soonest = min(*(inactive[k] for k in change.attach), *(active[k] for k in change.detach), np.inf)
    if change.guard.constraint is not None:
        soonest = max(soonest, active[change.guard.constraint])
    if own is None:
        return soonest
    return float(own.min()) if soonest < own.max() else np.inf


def _check_contradictions(events: Events, times: Sequence[Array | None]) -> None:
    """An error for two events at the same time, of which one attaches what the other detaches. (Of two at the same sign
    change only one would change anything.)
    """
    for (one, own), (other, others) in combinations(zip(events.changes, times, strict=True), 2):
        both = [*({*one.attach} & {*other.detach}), *({*one.detach} & {*other.attach})]
        if both and own is not None and others is not None and np.any(own == others):
            raise ArgumentError(
                f"events {one.name!r} and {other.name!r} contradict each other: at the same time one attaches and the "
                f"other detaches {shown_constraint(events.constraints[both[0]])}"
            )
