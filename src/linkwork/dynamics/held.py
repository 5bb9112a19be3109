"""What is held by constraints: their frames on a model, and how these are placed and move in a state.

Texts over arrays with any leading axes, of floats or of numbers that are being traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.arguments import not_negative, seconds
from linkwork.dynamics.arguments import Array, as_frames, check_model
from linkwork.dynamics.coupled_joints import as_couplings
from linkwork.engine.plans import MOST_BODIES
from linkwork.engine.plans.task import moved
from linkwork.errors import ArgumentError
from linkwork.model.constraints import (
    Ball,
    Constraint,
    Held,
    Hinge,
    PointOnPlane,
    Rolling,
    Weld,
    as_constraints,
)
from linkwork.model.model import Frame, Model
from linkwork.spatial import Transform
from linkwork.spatial.small_matrices import inverse, matrix_of, motion_cross, motion_matrix, skew, times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_MOST_COUPLED = 20
"""Bodies up to which one kernel is made for many couplings: what a force of each does is part of it."""
_MOST_PAIRS = 8
"""Pairs of frames up to which one kernel is made; a coupling has two."""


class AtGrips(NamedTuple):
    """Of all pairs of frames at once, axis -2, or -3 of a matrix, counting them: a in the place where it is held
    (..., 4, 4), what takes motions from b to a (..., 6, 6), b's motion there, and a's relative to it (..., 6).
    """

    place: Array
    X: Array
    carried: Array
    relative: Array

    def of(self, grips: Sequence[Any]) -> list[Held]:
        """What a constraint sees of its own pairs, or several that are alike of lists of them."""
        places = [(self.place[..., g, :, :], self.relative[..., g, :]) for g in grips]
        return [Held(place[..., :3, :3], place[..., :3, 3], motion) for place, motion in places]


def at_grips(held: HeldBy, places: Array, V: Array, placements: Array) -> AtGrips:
    """From where the frames are and how they move."""
    b_in_a = inverse(places[..., held.a, :, :]) @ places[..., held.b, :, :]
    X = motion_matrix(b_in_a)
    carried = times(X, V[..., held.b, :])
    return AtGrips(inverse(b_in_a @ placements), X, carried, V[..., held.a, :] - carried)


class Conditions(NamedTuple):
    """What constraints that are alike ask for: their numbers; for each frame that one holds, whose these are and their
    rows (..., k, r, 6) over its motion; and the rate (..., k, r) of what they hold.
    """

    numbers: Sequence[int]
    ends: list[Sequence[int]]
    rows: list[Array]
    rates: Array


def conditions(
    held: HeldBy, q: Array, places: Array, V: Array, A: Array | None, placements: Array, settings: Array | None
) -> list[Conditions]:
    """For each set of constraints that are alike; rates with the frames' accelerations A, or without, and with what
    Baumgarte's stabilisation adds, by the first two of ``settings``.
    """
    seen = at_grips(held, places, V, placements)
    X, carried, relative = seen.X, seen.carried, seen.relative
    rate = motion_cross(relative, carried)
    if A is not None:
        rate = A[..., held.a, :] - times(X, A[..., held.b, :]) + rate
    turning = times(skew(relative[..., 3:]), relative[..., :3])  # of a point, as b sees it
    rate = np.concatenate([rate[..., :3] + turning, rate[..., 3:]], axis=-1)

    found = []
    for numbers in held.alike:
        constraint = held.constraints[numbers[0]]
        together = len(numbers) > 1
        pairs: Any = [[held.grips[n][0] for n in numbers]] if together else held.grips[numbers[0]]
        own = seen.of(pairs)
        G = constraint.all_rows(held.model, own)
        asked: Any = sum(times(part, rate[..., g, :]) for part, g in zip(G, pairs, strict=True))
        drift = constraint.drift(own)
        asked = asked if drift is None else asked + drift
        if settings is not None:
            slip = sum(times(part, relative[..., g, :]) for part, g in zip(G, pairs, strict=True))
            asked = asked + settings[0] * slip + settings[1] * constraint.all_errors(held.model, q, own)
        if together:
            ends: list[Sequence[int]] = [[side[g] for g in pairs[0]] for side in (held.a, held.b)]
            found.append(Conditions(numbers, ends, [G[0], -(G[0] @ X[..., pairs[0], :, :])], asked))
        else:
            rows = rows_of(held, G, pairs, X)
            blocks = [block[..., None, :, :] for block in rows.values()]
            found.append(Conditions(numbers, [[end] for end in rows], blocks, asked[..., None, :]))
    return found


def one_by_one(held: HeldBy, found: Sequence[Conditions]) -> tuple[list[Rows], list[Array]]:
    """The rows of each constraint, and the rate of what it holds."""
    rows: dict[int, Rows] = {}
    rates: dict[int, Array] = {}
    for each in found:
        for k, number in enumerate(each.numbers):
            rates[number] = each.rates[..., k, :]
            rows[number] = {ends[k]: block[..., k, :, :] for ends, block in zip(each.ends, each.rows, strict=True)}
    order = range(len(held.constraints))
    return [rows[number] for number in order], [rates[number] for number in order]


Rows = dict[int, Array]
"""Of a constraint, its rows (..., r, 6) over the motion of each frame that it holds, by the frame's number."""


def rows_of(held: HeldBy, G: Sequence[Array], grips: Sequence[int], X: Array) -> Rows:
    """From the rows over the relative motion of each of its pairs."""
    blocks: Rows = {}
    for part, g in zip(G, grips, strict=True):
        for end, block in ((held.a[g], part), (held.b[g], -(part @ X[..., g, :, :]))):
            own = blocks.get(end)
            blocks[end] = block if own is None else own + block
    return blocks


def over_ends(held: HeldBy, rows: Rows) -> Array:
    """The rows of a constraint over the motions of all frames that are held."""
    shape = np.broadcast_shapes(*(block.shape for block in rows.values()))
    nothing = np.zeros(shape)
    ends = range(len(held.ends))
    return np.concatenate([np.broadcast_to(rows[end], shape) if end in rows else nothing for end in ends], axis=-1)


def wrenches_of(held: HeldBy, rows: Sequence[Rows], sizes: Array) -> Array:
    """The wrenches (..., k, 6) on the frames a, from the rows of each constraint and the sizes of its forces."""
    wrenches, start = [], 0
    for grips, own_rows in zip(held.grips, rows, strict=True):
        on_a = own_rows[held.a[grips[0]]]
        stop = start + on_a.shape[-2]
        wrenches.append(times(transposed(on_a), sizes[..., start:stop]))
        start = stop
    shape = np.broadcast_shapes(*(wrench.shape for wrench in wrenches))
    return np.stack([np.broadcast_to(wrench, shape) for wrench in wrenches], axis=-2)


def loads_of(held: HeldBy, C: Array, sizes: Array, f_ext: Array | None) -> Array:
    """What forces of these sizes come to on each body (..., nbodies, 6), with the external ones."""
    at_ends = times(transposed(C), sizes).reshape((*sizes.shape[:-1], len(held.ends), 6))
    at_bodies = times(held.to_bodies, at_ends)
    forces = [None if f_ext is None else f_ext[..., k, :] for k in range(len(held.model.bodies))]
    for end, body in enumerate(held.bodies):
        if body:
            load, more = forces[body - 1], at_bodies[..., end, :]
            forces[body - 1] = more if load is None else load + more
    nothing = np.zeros_like(at_bodies[..., 0, :])
    return np.stack([nothing if force is None else force for force in forces], axis=-2)


# What of constraints does not depend on the state


class HeldBy:
    """A model and its constraints: the frames that they hold, each once, and where these are on bodies.

    Attributes:
        ends: the frames.
        a, b: for each pair of frames that a constraint looks at, which of them these are.
        grips: for each constraint, its pairs.
        placements: (pairs, 4, 4), where a is held as seen from b.
        frames: the same as frames of the model.
        bodies: on which body each frame is, 0 for the world.
        to_bodies: (ends, 6, 6), takes a force from a frame to its body.
        alike: constraints that differ by their frames and where these are held alone, computed together.
        holds: constraint and body, for every body that a constraint holds, its first no world.
        hold_frames: the same as frames, those of a constraint with one name.
        first_holds: the first hold of each constraint.
        whole: whether one kernel computes all that frames take; compiled: or all that couplings take.
        couplings: the constraints as rows over velocities, if all are couplings; else None.
        problems: what else is asked about them (``dynamics.loops``).
    """

    def __init__(self, model: Model, constraints: tuple[Constraint, ...]) -> None:
        self.model, self.constraints = model, constraints
        pairs = [constraint.grips(model) for constraint in constraints]
        flat = [grip for each in pairs for grip in each]
        counter = iter(range(len(flat)))
        self.grips = [[next(counter) for _ in each] for each in pairs]
        self.ends = tuple(dict.fromkeys(end for grip in flat for end in (grip.frame_a, grip.frame_b)))
        self.a = [self.ends.index(grip.frame_a) for grip in flat]
        self.b = [self.ends.index(grip.frame_b) for grip in flat]
        self.placements = np.array([matrix_of(grip.placement) for grip in flat]).reshape(-1, 4, 4)
        asked = as_frames(model, self.ends)
        self.frames = frames = moved(asked.frames, asked.offsets)
        self.bodies = [frame.body for frame in frames]
        self._check_idle()
        self.to_bodies = np.array([motion_matrix(inverse(matrix_of(frame.placement))).T for frame in frames])
        self.rows = 6 * len(flat)
        self.alike = self._alike()
        self.holds: list[tuple[int, int]] = []
        for numbers in self.alike:
            ends = [self._ends_of(self.grips[number]) for number in numbers]
            if len(numbers) > 1:
                self.holds += [
                    (n, self.bodies[own[side]]) for side in (0, 1) for n, own in zip(numbers, ends, strict=True)
                ]
            else:
                bodies = dict.fromkeys(self.bodies[end] for end in ends[0])
                self.holds += [(numbers[0], body) for body in sorted(bodies, key=lambda body: not body)]
        few = len(flat) <= _MOST_PAIRS
        self.couplings = as_couplings(model, constraints) if flat else None
        self.whole = len(flat) > 0 and few and len(model.bodies) <= MOST_BODIES
        self.compiled = self.whole or (self.couplings is not None and len(model.bodies) <= _MOST_COUPLED)
        self.hold_frames = tuple(Frame(str(number), body, Transform.identity()) for number, body in self.holds)
        of_holds = [number for number, _ in self.holds]
        self.first_holds = [of_holds.index(number) for number in range(len(constraints))]
        self.quick: dict[str, Any] = {}
        self.laws: dict[Any, CompiledFunction] = {}
        self.problems: dict[str, Any] = {}
        self._settings: dict[tuple[float | None, float], Array] = {}

    def _check_idle(self) -> None:
        """An error for a constraint between two places of one body: what it holds no joint moves, so that its force
        would be any.
        """
        for constraint, grips in zip(self.constraints, self.grips, strict=True):
            if all(self.bodies[self.a[g]] == self.bodies[self.b[g]] for g in grips):
                body = self.bodies[self.a[grips[0]]]
                place = f"body {self.model.body_names[body - 1]!r}" if body else "the world"
                raise ArgumentError(
                    f"{shown_constraint(constraint)} holds two places of {place} to each other, which no joint moves; "
                    "leave it out"
                )

    def _alike(self) -> list[list[int]]:
        """Sets of constraints that hold one frame of a body to one of another, or of the world; others each alone."""
        found: dict[object, list[int]] = {}
        for number, (constraint, grips) in enumerate(zip(self.constraints, self.grips, strict=True)):
            a, b = self.bodies[self.a[grips[0]]], self.bodies[self.b[grips[0]]]
            own = type(constraint) in (Weld, Ball, Hinge, PointOnPlane, Rolling) and a not in (0, b)
            found.setdefault((type(constraint), constraint.kind()[3:]) if own else number, []).append(number)
        return list(found.values())

    def _ends_of(self, grips: Sequence[int]) -> list[int]:
        """The frames of a constraint, each once."""
        return list(dict.fromkeys(end for g in grips for end in (self.a[g], self.b[g])))

    @property
    def name(self) -> str:
        return ", ".join(shown_constraint(constraint) for constraint in self.constraints)

    def settings(self, stabilisation: float | None, proximal: float) -> Array:
        """Two factors of stabilisation, and the proximal damping."""
        if type(proximal) is float and type(stabilisation) in (float, NoneType):  # True and 1 + 0j equal 1.0, too
            found = self._settings.get((stabilisation, proximal))
            if found is not None:
                return found
        damping, tau = not_negative("proximal", proximal), np.inf
        if stabilisation is not None:
            tau = seconds("stabilisation", stabilisation)
        with np.errstate(all="ignore"):
            found = np.array([2.0 / np.float64(tau), 1.0 / np.float64(tau) ** 2, damping])
        if not np.isfinite(found).all():
            raise _too_short(tau) from None
        if len(self._settings) >= 1000:  # numbers that change from call to call
            self._settings.clear()
        self._settings[None if stabilisation is None else float(tau), float(damping)] = found
        return found

    def kept_law(self, key: Any, make: Callable[[], CompiledFunction]) -> CompiledFunction:
        """A kernel that serves all constraints of these kinds, made once."""
        found = self.laws.get(key)
        if found is None:
            found = self.laws[key] = make()
        return found

    @property
    def kinds(self) -> tuple[object, ...]:
        """What code follows from besides the model and the frames."""
        return [(type(c).__name__, c.kind()) for c in self.constraints], self.a, self.b, self.grips


def _too_short(stabilisation: float) -> ArgumentError:
    return ArgumentError(
        f"stabilisation must be several steps of the integration; with {stabilisation:g} s it overflows"
    )


def shown_constraint(constraint: Constraint) -> str:
    return f"{type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r})"


def held_by(model: Model, constraints: Sequence[Constraint] | Constraint) -> HeldBy:
    """What is kept with a model for constraints that it was asked about before."""
    if type(constraints) in (list, tuple):  # of what else there is, some has no end
        try:
            found: HeldBy = model._memo.held[tuple(map(id, constraints))]  # type: ignore[arg-type]
            return found
        except Exception:  # new, or no model
            pass
    check_model(model)
    listed, known = as_constraints(constraints), model._memo.held
    key = tuple(map(id, listed))
    if key in known:  # one alone is a list of one
        found = known[key]
        return found
    found = HeldBy(model, listed)
    for other in known.values():  # the same but for where frames are held: the same code
        if [c.kind() for c in other.constraints] == [c.kind() for c in listed]:
            found.laws = other.laws
    if len(known) >= 200:  # constraints that are made anew for each call
        known.clear()
    known[key] = found
    return found
