"""A step with events: its text over arrays of traced numbers.

Until the first event, a step is that of the constraints which are active from the start. It ends with the question
whether anything happens in it: whether a guard has changed its sign, or a constraint would have to transmit more than
it can. If so, and in all later steps of that trajectory, the step is made again from its beginning, with all
constraints, of which those that are not active have no force. Which are active is data.

The step is then a sequence of spans, in each of which nothing happens but at its end:

    whole      try what is left of the step: if nothing happens, the step is done
    breaks     a constraint would break: it is inactive from here on; try again
    narrower   a guard changes its sign in the span: find out where, by false position and bisection
    happens    there, constraints change and velocities jump (``dynamics.impacts``); go on with the rest

Each round of this search computes one span; it ends when the step does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import OfActive
from linkwork.dynamics.held import HeldBy, held_by
from linkwork.dynamics.impacts import jump
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.model.constraints import Ball, PointOnPlane
from linkwork.simulation.events import Events, input_name
from linkwork.spatial.small_matrices import cross, inverse, matrix_of

if TYPE_CHECKING:
    from linkwork.simulation.plant import Answer, Plant
    from linkwork.simulation.step import Step

MOST_ROUNDS = 2000
"""The largest number of spans that are tried in a step."""
NARROW = 1e-11
"""The width, relative to a step, to which the time of an event is known."""
_ON_TIME = 1.0 - 1e-14
"""The share of its time at which an event is due: the sum of many steps may be less by rounding."""
PROBLEM = "the search for events within a step: too many follow each other"


class Happenings(NamedTuple):
    """What the time loop carries of events.

    Attributes:
        active: (constraints,), 1 for those that are active.
        sides: (guards,), the numbers whose signs change, at the end of the last step.
        counts: (events,), how often each has happened.
        last: (events,), when it did last, s.
        places: (numbers,), where constraints hold that may attach in place.
    """

    active: Any
    sides: Any
    counts: Any
    last: Any
    places: Any


def sizes(events: Events) -> Happenings:
    """The number of numbers in each part."""
    n = len(events.changes)
    places = sum(_place_size(events, k) for k in events.placed)
    return Happenings(len(events.constraints), len(events.crossing), n, n, places)


def size_of(events: Events) -> int:
    """The number of all numbers that the time loop carries."""
    return sum(sizes(events))


def parts(events: Events, numbers: Any) -> Happenings:
    """The parts (...,) of the numbers (..., n) that the time loop carries."""
    own, edges = sizes(events), [0]
    for size in own:
        edges.append(edges[-1] + size)
    return Happenings(*(numbers[..., a:b] for a, b in pairwise(edges)))


def start(step: Step, q: Array, v: Array, t: float, inputs: Mapping[str, Any]) -> Array:
    """These numbers (n, numbers) before the first step, from plain arrays: states (n, ...) and inputs (n or 1, ...)."""
    events, n = step.events, len(q)
    assert events is not None
    own, held = sizes(events), held_by(step.model, events.constraints)
    active = np.tile(_at_first(events), (n, 1))
    sides = [np.broadcast_to(x, (n,)) for x in _guards(events, t, q, v, inputs)]
    places = _numbers_of(events, held.placements[[held.grips[k][0] for k in events.placed]])
    nothing = np.zeros((n, 2 * own.counts))
    return np.concatenate([active, np.reshape(sides, (own.sides, n)).T, nothing, np.tile(places, (n, 1))], axis=-1)


def _at_first(events: Events) -> Array:
    """(constraints,), 1 for those that are active from the start."""
    return np.array([float(k < events.initial) for k in range(len(events.constraints))])


# Guards


def _guards(events: Events, t: Any, q: Any, v: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """The numbers whose signs change."""
    found = []
    for k in events.crossing:
        own, function = _inputs_of(inputs, k), events.changes[k].guard.function
        found.append(t - _ON_TIME * own[0] if function is None else function(t, q, v, *own))
    return found


def _inputs_of(inputs: Mapping[str, Any], event: int) -> list[Any]:
    return [value for key, value in inputs.items() if key.startswith(f"{input_name(event)}_")]


def _armed(events: Events, active: Any) -> Any:
    """(events,): 1 for those that would change something."""
    changed = events.attaches @ (1.0 - active) + events.detaches @ active
    return np.where(changed > 0.5, 1.0, 0.0)


def _crossed(events: Events, sides: Any, now: Any, active: Any) -> Any:
    """(guards,): 1 for those that have changed their signs, of events that would change something."""
    guards = [events.changes[k].guard for k in events.crossing]
    rises, falls = (np.array([float(getattr(guard, which)) for guard in guards]) for which in ("rises", "falls"))
    up = np.where(sides < 0.0, np.where(now < 0.0, 0.0, 1.0), 0.0)
    down = np.where(sides > 0.0, np.where(now > 0.0, 0.0, 1.0), 0.0)
    return _armed(events, active)[events.crossing] * (rises * up + falls * down)


def _broken(events: Events, wrenches: Any, active: Any, inputs: Mapping[str, Any]) -> Any:
    """(breaking events,): 1 for those whose constraint would transmit too much; ``wrenches`` of the first constraints,
    or all.
    """
    found = []
    for k in events.breaking:
        guard, most = events.changes[k].guard, _inputs_of(inputs, k)
        number, broken = guard.constraint, 0.0 * active[:1].sum()
        assert number is not None
        if number >= len(wrenches):
            found.append(broken)
            continue
        for which, limit in zip(guard.limits, most, strict=True):
            own = wrenches[number, 3 * which : 3 * which + 3]
            broken = np.where(own @ own > limit * limit, active[number], broken)
        found.append(broken)
    return np.stack(found)


def _most(numbers: Any) -> Any:
    """The largest of some numbers that are 0 or 1; 0 of none."""
    return np.max(numbers) if len(numbers) else np.zeros(())


# Where constraints hold


def _place_size(events: Events, number: int) -> int:
    """The numbers of a held placement: its translation, and of constraints with orientation two axes."""
    return 3 if isinstance(events.constraints[number], Ball | PointOnPlane) else 9


def _numbers_of(events: Events, placements: Any) -> Any:
    """The numbers of the placements (placed constraints, 4, 4)."""
    found = []
    for at, number in enumerate(events.placed):
        found.append(placements[at, :3, 3])
        if _place_size(events, number) == 9:
            found += [placements[at, :3, 0], placements[at, :3, 1]]
    return np.concatenate(found) if found else np.zeros(0)


def _placements(events: Events, held: HeldBy, places: Any) -> Any:
    """The held placements (grips, 4, 4): constant, but for constraints that may attach in place."""
    found, at = list(held.placements), 0
    for number in events.placed:
        own, constant = places[at : at + _place_size(events, number)], matrix_of(events.constraints[number].placement)
        at += len(own)
        turn = constant[:3, :3]
        if len(own) == 9:
            x, y = own[3:6], own[6:]
            turn = np.stack([x, y, cross(x, y)], axis=-1)
        top = np.concatenate([turn, own[:3, None]], axis=-1)
        found[held.grips[number][0]] = np.concatenate([top, constant[3:]], axis=-2)
    return np.stack(found)


def _here(events: Events, held: HeldBy, q: Any) -> Any:
    """The numbers of the placements of constraints that may attach in place, where their frames are now."""
    grips, poses = [held.grips[k][0] for k in events.placed], forward_kinematics(held.model, q, held.ends)
    return _numbers_of(events, inverse(poses[[held.b[g] for g in grips]]) @ poses[[held.a[g] for g in grips]])


# The step


def stepped(
    step: Step, t: Any, q: Any, v: Any, numbers: Any, dt: Any, following: Sequence[Any], inputs: Mapping[str, Any],
    observed: bool,
) -> tuple[Any, Any, Answer, Any]:  # fmt: skip
    """The configuration and velocity after a step, the answer at its beginning, and the numbers of ``Happenings``.
    ``following`` are the first three if nothing has happened so far, nor happens in this step; other answers are given
    only if they are ``observed``.
    """
    events = step.events
    assert events is not None
    now, names, (end, speed, answer) = parts(events, numbers), list(inputs), following
    guards = _guards(events, t + dt, end, speed, inputs)
    sides, at_first = np.stack(guards) if guards else now.sides, _at_first(events)
    happens = np.sum(now.counts)  # once something has happened, which constraints are active has to be looked up
    if events.crossing:
        happens = happens + np.sum(_crossed(events, now.sides, sides, at_first))
    if events.breaking:
        happens = happens + np.sum(_broken(events, answer.wrenches, at_first, inputs))
    unchanged = [end, speed, now.active, sides, now.counts, now.last, now.places]
    if observed:
        rest = np.zeros((len(events.constraints) - events.initial, 6))
        unchanged += [answer.a, answer.tau, np.concatenate([answer.wrenches, rest])]

    def text(happens: Any, t: Any, dt: Any, q: Any, v: Any, numbers: Any, *more: Any) -> list[Any]:
        still, values = more[: len(unchanged)], more[len(unchanged) :]
        own, state = dict(zip(names, values, strict=True)), parts(events, numbers)
        found = _searched(step, events, t, dt, q, v, state, own)
        if observed:
            found += _begun(step, events, t, dt, q, v, state.active, state.places, own)[1]
        return [np.where(happens > 0.5, x, y) for x, y in zip(found, still, strict=True)]

    found = subroutine(text, [[0]])(happens, t, dt, q, v, numbers, *unchanged, *inputs.values())
    q, v, *state = found[:7]
    return q, v, answer._make(found[7:]) if observed else answer, np.concatenate(state)


def answered(step: Step, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> Answer:
    """The answer at the beginning of a step, with the constraints that are active there."""
    events, nv = step.events, step.model.nv
    assert events is not None
    now, said = parts(events, sums[step.events_from : step.events_to]), {}
    if step.hold:
        tau = step.driving(inputs)(0, sums[0] * dt, q, v)
        said = {"said": np.where(sums[-1] > 0.0, sums[-1 - nv : -1], tau)}
    return _begun(step, events, sums[0] * dt, dt, q, v, now.active, now.places, {**inputs, **said})[1]


def _begun(
    step: Step, events: Events, t: Any, dt: Any, q: Any, v: Any, active: Any, places: Any, inputs: Mapping[str, Any]
) -> tuple[Plant, Answer]:
    """The plant of a span of length dt, of which some constraints are active, and its answer at its beginning."""
    of = step.with_all
    switches = active, _placements(events, held_by(step.model, events.constraints), places)
    source = of.driving(inputs)
    if step.hold or "torque" in step.told:
        source = lambda *_: inputs["said"] if step.hold else inputs["told_torque"][0]  # noqa: E731
    load = (lambda *_: inputs["told_load"][0]) if "load" in step.told else of.load
    plant = of.plant(dt, inputs, source=source, load=load, switches=switches)
    return plant, plant.answer(t, q, v, source(0, t, q, v))


class Search(NamedTuple):
    """The state of the search for what happens in a step.

    Attributes:
        left: time from the beginning of the span to the end of the step, s; 0 when it is done.
        span: the time that is tried. low, high: between them the first event is.
        rounds: 0 if nothing was tried in this span so far; then 1, 2, 3, 1, ...
        q, v: the state at the beginning of the span.
        happened: there.
        at_low, at_high: the guards' numbers at ``low`` and ``high``.
        past: 1 if the last round found the event earlier, 0 if later.
    """

    left: Any
    span: Any
    low: Any
    high: Any
    rounds: Any
    past: Any
    q: Any
    v: Any
    active: Any
    sides: Any
    counts: Any
    last: Any
    places: Any
    at_low: Any
    at_high: Any


def _searched(
    step: Step, events: Events, t: Any, dt: Any, q: Any, v: Any, now: Happenings, inputs: Mapping[str, Any]
) -> list[Any]:
    """q, v and ``Happenings`` at the end of the step."""
    names, nothing = list(inputs), np.zeros(())
    begin = Search(dt, dt, nothing, dt, nothing, nothing + 1.0, q, v, *now, now.sides, now.sides)

    def body(*arrays: Any) -> tuple[Sequence[Any], Any]:
        state, (end, dt, *values) = Search(*arrays[: len(begin)]), arrays[len(begin) :]
        following = _round(step, events, state, end, dt, dict(zip(names, values, strict=True)))
        return following, following.left > 0.0

    state = Search(*repeat(body, begin, [t + dt, dt, *inputs.values()], most=MOST_ROUNDS, name=PROBLEM))
    return [state.q, state.v, state.active, state.sides, state.counts, state.last, state.places]


def _round(step: Step, events: Events, at: Search, end: Any, dt: Any, inputs: Mapping[str, Any]) -> Search:
    """One round of the search: try a span, and see what happens in it."""
    t, narrow = end - at.left, NARROW * dt
    q, v, wrenches = _spanned(step, events, at, t, inputs)
    guards = _guards(events, t + at.span, q, v, inputs)
    sides = np.stack(guards) if guards else at.sides
    crossed = _crossed(events, at.sides, sides, at.active) if guards else at.sides
    broken = _broken(events, wrenches, at.active, inputs) if events.breaking else np.zeros(0)

    breaks, crosses = _most(broken), (1.0 - _most(broken)) * _most(crossed)
    located = np.where(at.span - at.low > narrow, 0.0, crosses)
    whole = (1.0 - breaks) * (1.0 - crosses) * np.where(at.rounds < 0.5, 1.0, 0.0)
    moves, happens = np.maximum(whole, located) > 0.5, np.maximum(breaks, located)

    fired = np.zeros(len(events.changes)) + 0.0 * happens
    fired[events.breaking] = breaks * broken
    fired[events.crossing] = located * crossed
    here_q, here_v = np.where(moves, q, at.q), np.where(moves, v, at.v)
    here_v, active, places = _changed(step, events, fired, here_q, here_v, at, inputs)
    here_t = t + np.where(moves, at.span, 0.0)
    left = np.where(moves, at.left - at.span, at.left)
    left = np.where(whole > 0.5, 0.0, np.where(left > narrow, left, 0.0))
    last = np.where(fired > 0.5, _recorded(events, here_t, inputs), at.last)

    anew = np.maximum(happens, whole) > 0.5
    low = np.where(anew, 0.0, np.where(crosses > 0.5, at.low, at.span))
    high = np.where(anew, left, np.where(crosses > 0.5, at.span, at.high))
    at_low = np.where(moves, sides, np.where(breaks > 0.5, at.sides, np.where(crosses > 0.5, at.at_low, sides)))
    at_high = np.where(crosses > 0.5, sides, at.at_high)
    rounds = np.where(anew, 0.0, np.where(at.rounds > 2.5, 1.0, at.rounds + 1.0))
    following = at._replace(
        left=left, low=low, high=high, rounds=rounds, past=crosses, q=here_q, v=here_v,
        active=active, sides=np.where(moves, sides, at.sides), counts=at.counts + fired, last=last, places=places,
        at_low=at_low, at_high=at_high,
    )  # fmt: skip
    return following._replace(span=np.where(anew, left, _next(events, following, narrow)))


def _spanned(step: Step, events: Events, at: Search, t: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The state after the span that is tried, and the wrenches at its beginning."""
    plant, answer = _begun(step, events, t, at.span, at.q, at.v, at.active, at.places, inputs)
    return *step.with_all.integrated(plant, t, at.q, at.v, answer.a, at.span), answer.wrenches


def _recorded(events: Events, t: Any, inputs: Mapping[str, Any]) -> Any:
    """(events,): when each happens if it happens at t; those at a time do so at exactly this time."""
    own = [one.guard.function is None and one.guard.constraint is None for one in events.changes]
    return np.stack([_inputs_of(inputs, k)[0] if timed else t for k, timed in enumerate(own)])


def _next(events: Events, at: Search, narrow: Any) -> Any:
    """The next span to try between low and high: by false position for the guard that changes first, a little beyond
    it on the side that was not tried last, and every third time by bisection; high, if nothing is left between them.
    """
    middle = 0.5 * (at.low + at.high)
    if not events.crossing:
        return middle
    crossed = _crossed(events, at.sides, at.at_high, at.active)
    change = at.at_low - at.at_high
    shares = np.where(crossed > 0.5, at.at_low / np.where(crossed > 0.5, change, 1.0), 1.0)
    guess = at.low + (at.high - at.low) * np.min(shares) + narrow * np.where(at.past > 0.5, -0.4, 0.4)
    inside = np.where(guess > at.low, np.where(guess < at.high, guess, middle), middle)
    return np.where(at.high - at.low > narrow, np.where(at.rounds > 2.5, middle, inside), at.high)


def _changed(
    step: Step, events: Events, fired: Any, q: Any, v: Any, at: Search, inputs: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    """The velocities, the active constraints and their places after the events that happen here."""
    active, in_place = at.active, np.array([float(one.in_place) for one in events.changes])
    for k in range(len(events.changes)):
        attach, detach = events.attaches[k], events.detaches[k]
        active = np.where(fired[k] > 0.5, active * (1.0 - attach - detach) + attach, active)
    new = np.where(active > at.active, 1.0, 0.0)
    here = np.where((events.attaches.T * in_place) @ fired > 0.5, new, 0.0)

    def text(new: Any, here: Any, active: Any, q: Any, v: Any, places: Any, *own: Any) -> list[Any]:
        model = step.mechanism(own)
        held = held_by(model, events.constraints)
        if events.placed:
            of = [k for k in events.placed for _ in range(_place_size(events, k))]
            written = _numbers_of(events, held.placements[[held.grips[k][0] for k in events.placed]])
            places = np.where(new[of] > 0.5, np.where(here[of] > 0.5, _here(events, held, q), written), places)
        solver = OfActive(held.name, step.proximal, "impact", active[held.of_rows])
        after = jump(ConstrainedState(held, solver, _placements(events, held, places), None, q, v))[0]
        return [np.where(np.max(new) > 0.5, after, v), places]

    own = [inputs[name] for name in step.varied]
    v, places = subroutine(text, [range(len(events.constraints))])(new, here, active, q, v, at.places, *own)
    return v, active, places
