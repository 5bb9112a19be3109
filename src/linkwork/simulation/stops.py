"""Joints with position limits or Coulomb friction with stiction: the law of each over a step.

With v the velocity at the step's end and p the impulse over the step, for each joint one of

    free      p = 0                                 v between the velocities that just reach the limits
    slides    p = ∓ dt friction, against v          the same
    sticks    v = 0                                 |p| at most dt friction
    stopped   v just reaches a limit                p no smaller than that of friction, and it does not pull

which is the largest dissipation (Moreau's principle): a joint at rest stays at rest, friction does not chatter, and
neither adds energy. ``impulses`` finds which of them hold. (The other law, ``friction_law="smoothed"``, costs one
division per joint and lets joints creep; see ``algorithms.joint_drive``.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.model import Model

FREE = 3.0
"""The number that stands for a joint that is free or sticks."""
_LARGEST = 1e300


class Joint(NamedTuple):
    """A degree of freedom with stops or friction: its index, the index of its coordinate in q, its limits and its
    friction (infinite or 0 where there is none).
    """

    dof: int
    coordinate: int
    lower: float
    upper: float
    friction: float

    def kind(self) -> tuple[bool, bool]:
        """Whether it has limits, and whether friction."""
        return isfinite(self.lower) or isfinite(self.upper), bool(self.friction)


def resisting_joints(model: Model, friction: Sequence[float], stops: bool) -> list[Joint]:
    """The degrees of freedom with friction, and, if ``stops``, with a position limit that is a length or an angle;
    those that are alike follow each other.
    """
    found = []
    for body, v_start, q_start in zip(model.bodies, model.v_start, model.q_start, strict=True):
        plain = stops and body.joint.nq == body.joint.nv
        for k in range(body.joint.nv):
            low, high = (body.limits.lower[k], body.limits.upper[k]) if plain else (-np.inf, np.inf)
            if np.isfinite(low) or np.isfinite(high) or friction[v_start + k]:
                most = min(float(friction[v_start + k]), _LARGEST)
                found.append(Joint(v_start + k, q_start + k, float(low), float(high), most))
    return sorted(found, key=Joint.kind)


class Conditions(NamedTuple):
    """What the states of joints prescribe: for each (m,) 1 if its velocity, 0 if its impulse; the change of its
    velocity then, and the impulse otherwise.
    """

    keeps: Any
    change: Any
    push: Any


class Bounds(NamedTuple):
    """Joints in a step, arrays (k,): the velocities that reach their limits, and the impulses of their friction. All of
    them have ``limits``, or none; all of them ``rub``, or none.
    """

    limits: bool
    rub: bool
    below: Any
    above: Any
    most: Any

    @property
    def slip(self) -> Any:
        """The impulse at which a joint slips."""
        return self.most if self.rub else 0.0

    def guess(self, z: Any, inertia: Any) -> Any:
        """A number for each joint's state, which grows with z: 2 sliding up, 3 sticking or free, 4 sliding down; below
        and above these, stopped at the upper limit and at the lower.
        """
        slip, (low, high) = self.slip, (1.0, 5.0) if self.rub else (2.0, 4.0)
        found = FREE + 0.0 * z
        if self.rub:
            found = np.where(z < -slip, 2.0, np.where(slip < z, 4.0, FREE))
        if self.limits:
            found = np.where(slip - inertia * self.below < z, high, found)
            found = np.where(z < -slip - inertia * self.above, low, found)
        return found

    def pick(self, guess: Any, values: Sequence[Any]) -> Any:
        """The value for each state: stopped above, sliding up, sticking or free, sliding down, stopped below."""
        above, up, found, down, below = values
        edge = 1.5 if self.rub else 0.5
        if self.rub:
            found = np.where(guess < 2.5, up, np.where(guess > 3.5, down, found))
        if self.limits:
            found = np.where(FREE + edge < guess, below, found)
            found = np.where(guess < FREE - edge, above, found)
        return found

    def conditions(self, guess: Any, end: Any) -> Conditions:
        """Those of a guess; ``end`` are the velocities without stops and friction."""
        above, below, nothing = self.above - end, self.below - end, 0.0 * guess
        if not self.rub:
            keeps = self.pick(guess, (1.0, 0.0, 0.0, 0.0, 1.0))
            return Conditions(keeps, self.pick(guess, (above, 0.0, 0.0, 0.0, below)), nothing)
        keeps = self.pick(guess, (1.0, 0.0, 1.0, 0.0, 1.0))
        push = self.pick(guess, (0.0, -self.most, 0.0, self.most, 0.0))
        return Conditions(keeps, self.pick(guess, (above, 0.0, -end, 0.0, below)), push)

    def beyond(self, guess: Any, p: Any) -> tuple[Any, Any]:
        """The impulses at which stops or stiction that would take the impulses p end: p itself if it holds; and the
        neighbouring guesses there.
        """
        slip, stuck = self.slip, self.most if self.rub else inf
        low = self.pick(guess, (-inf, -inf, -stuck, -inf, slip))
        high = self.pick(guess, (-slip, inf, stuck, inf, inf))
        end = np.where(p < low, low, np.where(high < p, high, p))
        return end, np.where(p < low, guess - 1.0, np.where(high < p, guess + 1.0, guess))

    def violation(self, guess: Any, v: Any) -> tuple[Any, Any]:
        """How far the velocity of a joint that is free or slides is from what its law allows; and the neighbouring
        guess on that side.
        """
        least = self.pick(guess, (-inf, 0.0, -inf if self.rub else self.below, self.below, -inf))
        most = self.pick(guess, (inf, self.above, inf if self.rub else self.above, 0.0, inf))
        off = np.where(v < least, least - v, np.where(most < v, v - most, 0.0))
        return off, np.where(v < least, guess + 1.0, guess - 1.0)


class Law(NamedTuple):
    """The law of all joints in a step: those that are alike, one after the other."""

    alike: Sequence[Bounds]

    def each(self, text: Callable[..., Any], *arrays: Any) -> Any:
        """The results of a text over ``Bounds`` and arrays (m,), joined."""
        found, start = [], 0
        for bounds in self.alike:
            stop = start + len(bounds.below)
            found.append(text(bounds, *(array[start:stop] for array in arrays)))
            start = stop
        if len(found) == 1:
            return found[0]
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        return np.concatenate(found)


def law_of(joints: Sequence[Joint], at: Any, dt: Any) -> Law:
    """That of joints, of which those that are alike follow each other, at these coordinates, in a step of length dt."""
    rate = 1.0 / dt
    return Law(
        [
            Bounds(limits, rub, (lower - at[own]) * rate, (upper - at[own]) * rate, friction * dt)
            for limits, rub, own, lower, upper, friction in _alike(tuple(joints))
        ]
    )


@lru_cache(maxsize=100)
def _alike(joints: tuple[Joint, ...]) -> list[tuple[Any, ...]]:
    """Joints that are alike: whether they have limits, and friction; their places, and their numbers in arrays."""
    found, start = [], 0
    for kind, some in groupby(joints, Joint.kind):
        own = list(some)
        found.append((*kind, slice(start, start + len(own)), *(np.array([one[k] for one in own]) for k in (2, 3, 4))))
        start += len(own)
    return found


def resisted(joints: Sequence[Joint], end: Any, at: Any, dt: Any) -> Any:
    """For each joint 0 if nothing resists it: it has no friction, and with its velocity ``end`` at the step's end it
    does not exceed its limits; otherwise 1.
    """

    def text(bounds: Bounds, end: Any) -> Any:
        if bounds.rub:
            return 1.0 + 0.0 * end
        return np.where(end < bounds.below, 1.0, np.where(bounds.above < end, 1.0, 0.0))

    return law_of(joints, at, dt).each(text, end)
