"""Constraints on a model: the frames they hold, and how these are placed and move relative to each other in a state.

Written over arrays with any leading axes, of floats or of traced numbers. A *grip* is a pair of frames a, b held by a
constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.arguments import not_negative, seconds
from linkwork.dynamics.arguments import Array, PointSet, as_frames, check_model
from linkwork.dynamics.coupled_joints import as_couplings
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
from linkwork.properties import cached_property
from linkwork.spatial import Transform
from linkwork.spatial.small_matrices import inverse, matrix_of, motion_cross, motion_matrix, skew, times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


PAIRS = (Weld, Ball, Hinge, PointOnPlane, Rolling)
"""Constraints between two frames, whose conditions depend on the motions of these alone."""


class AtGrips(NamedTuple):
    """All grips at once, along axis -2, or -3 of a matrix: the placement of a relative to where it is held (..., 4, 4),
    the motion transform from b to a (..., 6, 6), b's motion transformed to a, and a's motion relative to it (..., 6).
    """

    place: Array
    X: Array
    carried: Array
    relative: Array

    def of(self, grips: Sequence[Any]) -> list[Held]:
        """The view that a constraint has of its own grips; for several similar constraints, of lists of them."""
        places = [(self.place[..., g, :, :], self.relative[..., g, :]) for g in grips]
        return [Held(place[..., :3, :3], place[..., :3, 3], motion) for place, motion in places]


def at_grips(held: HeldBy, places: Array, V: Array, placements: Array) -> AtGrips:
    """The relative placements and motions of all grips, from the placements and motions of the frames."""
    b_in_a = inverse(places[..., held.a, :, :]) @ places[..., held.b, :, :]
    X = motion_matrix(b_in_a)
    carried = times(X, V[..., held.b, :])
    return AtGrips(inverse(b_in_a @ placements), X, carried, V[..., held.a, :] - carried)


class Conditions(NamedTuple):
    """The conditions of similar constraints: the constraints' numbers; for each frame that they hold, its index for
    each constraint and the rows (..., k, r, 6) over its motion; and the constrained rates (..., k, r).
    """

    numbers: Sequence[int]
    ends: list[Sequence[int]]
    rows: list[Array]
    rates: Array


def conditions(
    held: HeldBy, q: Array, places: Array, V: Array, A: Array | None, placements: Array, settings: Array | None
) -> list[Conditions]:
    """The conditions of each set of similar constraints. The rates are accelerations, with the frames' accelerations A
    or without, plus Baumgarte stabilisation with the gains in the first two ``settings``.
    """
    seen = at_grips(held, places, V, placements)
    X, carried, relative = seen.X, seen.carried, seen.relative
    rate = motion_cross(relative, carried)
    if A is not None:
        rate = A[..., held.a, :] - times(X, A[..., held.b, :]) + rate
    turning = times(skew(relative[..., 3:]), relative[..., :3])  # makes it the classical acceleration, relative to b
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
    """The rows and the constrained rates of each constraint."""
    rows: dict[int, Rows] = {}
    rates: dict[int, Array] = {}
    for each in found:
        for k, number in enumerate(each.numbers):
            rates[number] = each.rates[..., k, :]
            rows[number] = {ends[k]: block[..., k, :, :] for ends, block in zip(each.ends, each.rows, strict=True)}
    order = range(len(held.constraints))
    return [rows[number] for number in order], [rates[number] for number in order]


Rows = dict[int, Array]
"""A constraint's rows (..., r, 6) over the motion of each frame that it holds, by the frame's index."""


def rows_of(held: HeldBy, G: Sequence[Array], grips: Sequence[int], X: Array) -> Rows:
    """A constraint's rows over the motions of frames, from its rows over the relative motions of its grips."""
    blocks: Rows = {}
    for part, g in zip(G, grips, strict=True):
        for end, block in ((held.a[g], part), (held.b[g], -(part @ X[..., g, :, :]))):
            own = blocks.get(end)
            blocks[end] = block if own is None else own + block
    return blocks


def over_ends(held: HeldBy, rows: Rows) -> Array:
    """The rows of a constraint over the motions of all constrained frames."""
    shape = np.broadcast_shapes(*(block.shape for block in rows.values()))
    nothing = np.zeros(shape)
    ends = range(len(held.ends))
    return np.concatenate([np.broadcast_to(rows[end], shape) if end in rows else nothing for end in ends], axis=-1)


def wrenches_of(held: HeldBy, rows: Sequence[Rows], sizes: Array) -> Array:
    """The wrenches (..., k, 6) on the frames a, from each constraint's rows and the magnitudes of its forces."""
    wrenches, start = [], 0
    for grips, own_rows in zip(held.grips, rows, strict=True):
        on_a = own_rows[held.a[grips[0]]]
        stop = start + on_a.shape[-2]
        wrenches.append(times(transposed(on_a), sizes[..., start:stop]))
        start = stop
    shape = np.broadcast_shapes(*(wrench.shape for wrench in wrenches))
    return np.stack([np.broadcast_to(wrench, shape) for wrench in wrenches], axis=-2)


def loads_of(held: HeldBy, C: Array, sizes: Array, f_ext: Array | None) -> Array:
    """The wrenches on each body (..., nbodies, 6) from constraint forces of these magnitudes, f_ext included."""
    at_ends = times(transposed(C), sizes).reshape((*sizes.shape[:-1], len(held.ends), 6))
    at_bodies = times(held.to_bodies, at_ends)
    forces = [None if f_ext is None else f_ext[..., k, :] for k in range(len(held.model.bodies))]
    for end, body in enumerate(held.bodies):
        if body:
            load, more = forces[body - 1], at_bodies[..., end, :]
            forces[body - 1] = more if load is None else load + more
    nothing = np.zeros_like(at_bodies[..., 0, :])
    return np.stack([nothing if force is None else force for force in forces], axis=-2)


# The state-independent part of constraints


class HeldBy:
    """A model and its constraints: the frames that they hold, each once, and their placements on bodies.

    Attributes:
        ends: the names of the frames, or points.
        a, b: for each grip, the indices of its two frames in ``ends``.
        grips: for each constraint, the indices of its grips.
        placements: (grips, 4, 4), the placement of a relative to b that is held.
        frames: ``ends`` as frames of the model.
        bodies: the body of each frame, 0 for the world.
        to_bodies: (ends, 6, 6), maps a wrench from a frame to its body.
        alike: sets of constraints that differ only in their frames and held placements, and are computed together.
        holds: pairs (constraint, body) for every body that a constraint holds; the first of each is not the world.
        hold_frames: the holds as frames; those of one constraint have the same name.
        first_holds: the index of the first hold of each constraint.
        whole: whether one kernel computes everything, if its text is short enough (``CompiledFunction.fits``).
        couplings: the constraints as rows over joint velocities, if all are couplings; else None.
        problems: cache of other problems with these constraints (``dynamics.loops``).
    """

    def __init__(self, model: Model, constraints: tuple[Constraint, ...]) -> None:
        self.model, self.constraints = model, constraints
        pairs = [constraint.grips(model) for constraint in constraints]
        flat = list(chain.from_iterable(pairs))
        counter = iter(range(len(flat)))
        self.grips = [list(islice(counter, len(each))) for each in pairs]
        self.ends = tuple(dict.fromkeys(chain.from_iterable((grip.frame_a, grip.frame_b) for grip in flat)))
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
        self.holds = list(chain.from_iterable(map(self._holds_of, self.alike)))
        self.couplings = as_couplings(model, constraints) if flat else None
        self.whole = len(flat) > 0
        self.hold_frames = tuple(Frame(str(number), body, Transform.identity()) for number, body in self.holds)
        of_holds = [number for number, _ in self.holds]
        self.first_holds = [of_holds.index(number) for number in range(len(constraints))]
        self.quick: dict[str, Any] = {}
        self.laws: dict[Any, CompiledFunction] = {}
        self.problems: dict[str, Any] = {}
        self._settings: dict[tuple[float | None, float], Array] = {}
        self._answers: dict[int, tuple[PointSet, dict[Any, Any]]] = {}

    def __reduce__(self) -> tuple[object, ...]:  # caches hold code, and know points by their places in memory
        return held_by, (self.model, self.constraints)

    def _check_idle(self) -> None:
        """Raise an error for a constraint between two frames of one body: no joint moves them relative to each other,
        so its force would be undetermined.
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
        """Sets of similar constraints between two bodies, or a body and the world; other constraints each alone."""
        found: dict[object, list[int]] = {}
        for number, (constraint, grips) in enumerate(zip(self.constraints, self.grips, strict=True)):
            a, b = self.bodies[self.a[grips[0]]], self.bodies[self.b[grips[0]]]
            own = type(constraint) in PAIRS and a not in (0, b)
            found.setdefault((type(constraint), constraint.kind()[3:]) if own else number, []).append(number)
        return list(found.values())

    def _holds_of(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """The holds of similar constraints."""
        ends = [self._ends_of(self.grips[number]) for number in numbers]
        if len(numbers) > 1:
            return [(n, self.bodies[own[side]]) for side in (0, 1) for n, own in zip(numbers, ends, strict=True)]
        bodies = dict.fromkeys(self.bodies[end] for end in ends[0])
        return [(numbers[0], body) for body in sorted(bodies, key=lambda body: not body)]

    def _ends_of(self, grips: Sequence[int]) -> list[int]:
        """The frames of a constraint, each once."""
        return list(dict.fromkeys(end for g in grips for end in (self.a[g], self.b[g])))

    @cached_property
    def of_rows(self) -> list[int]:
        """The constraint of each row of all constraints, in order."""
        still = Held(np.eye(3), np.zeros(3), np.zeros(6))
        with np.errstate(all="ignore"):
            rows = [
                one.all_rows(self.model, [still] * len(grips))[0]
                for one, grips in zip(self.constraints, self.grips, strict=True)
            ]
        return [number for number, own in enumerate(rows) for _ in range(own.shape[-2])]

    @property
    def name(self) -> str:
        return ", ".join(shown_constraint(constraint) for constraint in self.constraints)

    def settings(self, stabilisation: float | None, proximal: float) -> Array:
        """The two gains of Baumgarte stabilisation, and the proximal damping."""
        if type(proximal) is float and type(stabilisation) in (float, NoneType):  # True and 1 + 0j also equal 1.0
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
        if len(self._settings) >= 1000:  # settings that change from call to call
            self._settings.clear()
        self._settings[None if stabilisation is None else float(tau), float(damping)] = found
        return found

    def kept_law(self, key: Any, make: Callable[[], CompiledFunction]) -> CompiledFunction:
        """A kernel for all constraints of these kinds, cached."""
        found = self.laws.get(key)
        if found is None:
            found = self.laws[key] = make()
        return found

    def short_law(self, key: Any, make: Callable[[], CompiledFunction]) -> CompiledFunction | None:
        """The same, or None if it would be too long. It may be traced to tell, so not while another function is."""
        found = self.kept_law(key, make) if self.whole else None
        return found if found is not None and found.fits else None

    def answers_at(self, asked: PointSet) -> dict[Any, Any]:
        """Cached answers about points under these constraints (``dynamics.questions``)."""
        table = self._answers.get(id(asked))
        if table is None:
            if len(self._answers) >= 1000:  # points that move from call to call
                self._answers.clear()
            table = self._answers[id(asked)] = (asked, {})  # which keeps the points, so that no others have their id
        return table[1]

    @property
    def kinds(self) -> tuple[object, ...]:
        """The data that determine the compiled code, besides the model and the frames."""
        return [(type(c).__name__, c.kind()) for c in self.constraints], self.a, self.b, self.grips


def _too_short(stabilisation: float) -> ArgumentError:
    return ArgumentError(
        f"stabilisation must be several steps of the integration; with {stabilisation:g} s it overflows"
    )


def shown_constraint(constraint: Constraint) -> str:
    return f"{type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r})"


def held_by(model: Model, constraints: Sequence[Constraint] | Constraint) -> HeldBy:
    """The ``HeldBy`` of a model and its constraints, cached with the model."""
    if not isinstance(model, Model):
        check_model(model)
    if type(constraints) is list or type(constraints) is tuple:  # other iterables may be infinite
        found: HeldBy | None = model._memo.held.get(tuple(map(id, constraints)))
        if found is not None:
            return found
    listed, known = as_constraints(constraints), model._memo.held
    key = tuple(map(id, listed))
    found = known.get(key)  # a single constraint equals a list of one
    if found is not None:
        return found
    found = HeldBy(model, listed)
    for other in list(
        known.values()
    ):  # other threads may add some; constraints that differ only in held placements share compiled code
        if [c.kind() for c in other.constraints] == [c.kind() for c in listed]:
            found.laws = other.laws
    if len(known) >= 200:  # constraints that are created for each call
        known.clear()
    known[key] = found
    return found
