"""Stops at the limits of position and Coulomb friction with stiction, as one text over scalars.

Both are impulses p over a step, no larger than they need to be. With v₀ the velocities at the step's end without them,

    M (v - v₀) = p,      and for each joint one of
    free      p = 0                                 v between the speeds that just reach the limits
    slides    p = ∓ dt friction, against v          the same
    sticks    v = 0                                 |p| at most dt friction
    stopped   v is the speed that reaches a limit   p no smaller than that of friction, and it does not pull

which is the largest loss of energy (Moreau's principle). Which of them holds is guessed from p - Mᵢᵢ v, the joints that
are held are taken out of M, and the rest is solved for, until the guess proves right: a few rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.model import Model
from linkwork.spatial import Factor, Scalar, total, where_less

ROUNDS = 4
"""Of guessing, if nothing is known."""
FEWER_ROUNDS = 3
"""If the impulses of the step before are."""
_LARGEST = 1e300


class Joint(NamedTuple):
    """A degree of freedom that may be held: which, where its coordinate is in q, and its numbers (infinite or 0 where
    there is no such thing).
    """

    dof: int
    coordinate: int
    lower: float
    upper: float
    friction: float


def held_joints(model: Model, friction: Sequence[float], stops: bool) -> list[Joint]:
    """The degrees of freedom with friction, and, if ``stops``, with a limit of position that is a length or angle."""
    found = []
    for body, v_start, q_start in zip(model.bodies, model.v_start, model.q_start, strict=True):
        plain = stops and body.joint.nq == body.joint.nv
        for k in range(body.joint.nv):
            low, high = (body.limits.lower[k], body.limits.upper[k]) if plain else (-np.inf, np.inf)
            if np.isfinite(low) or np.isfinite(high) or friction[v_start + k]:
                most = min(float(friction[v_start + k]), _LARGEST)
                found.append(Joint(v_start + k, q_start + k, float(low), float(high), most))
    return found


class _Held:
    """One of them in a step: the speeds that reach its limits and the impulse of friction; None for none."""

    def __init__(self, joint: Joint, q: Scalar, dt: Scalar, rate: Scalar) -> None:
        self.dof = joint.dof
        self.below = (joint.lower - q) * rate if np.isfinite(joint.lower) else None
        self.above = (joint.upper - q) * rate if np.isfinite(joint.upper) else None
        self.most = joint.friction * dt if joint.friction else None

    def choose(self, z: Scalar, inertia: Scalar, values: Sequence[Scalar]) -> Scalar:
        """Of five values that for: stopped above, sliding up, sticking, sliding down, stopped below. Without friction
        the middle three are one: free.
        """
        above, up, stick, down, below = values
        slip = 0.0 if self.most is None else self.most
        found = up if self.most is None else where_less(z, -slip, up, where_less(slip, z, down, stick))
        if self.below is not None:
            found = where_less(slip - inertia * self.below, z, below, found)
        return found if self.above is None else where_less(z, -slip - inertia * self.above, above, found)


def held_back(
    M: Sequence[Sequence[Scalar]],
    end: Sequence[Scalar],
    q: Sequence[Scalar],
    dt: Scalar,
    joints: Sequence[Joint],
    before: tuple[Sequence[Scalar], Sequence[Scalar]] | None = None,
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Velocities at the end of the step, the impulses, and a number that is 0 if the last guess proved right, else NaN.

    Args:
        M: mass matrix (nv, nv).
        end: velocities at the step's end without stops and friction (nv,).
        q: configuration at its beginning (nq,).
        dt: its length, s.
        joints: those that may be held.
        before: the impulses of the step before, and the velocities at its end, if they are known.
    """
    n, rate = len(end), 1.0 / dt
    held = {joint.dof: _Held(joint, q[joint.coordinate], dt, rate) for joint in joints}
    inertia = [M[i][i] for i in range(n)]
    z = {i: -(inertia[i] * end[i]) for i in held}
    if before is not None:
        for i in held:
            push, speed = before[0][i], before[1][i]
            z[i] = where_less(0.0, push * push, push - inertia[i] * speed, z[i])
    guess: dict[int, Scalar] = {}
    for _ in range(ROUNDS if before is None else FEWER_ROUNDS):
        guess = {i: held[i].choose(z[i], inertia[i], _NUMBERS) for i in held}
        p, v = _solved(M, end, z, held)
        z = {i: p[i] - inertia[i] * v[i] for i in held}
    sound: Scalar = 0.0
    for i in held:
        now = held[i].choose(z[i], inertia[i], _NUMBERS)
        sound = sound + where_less(now, guess[i], np.nan, where_less(guess[i], now, np.nan, 0.0))
    return v, p, sound


_NUMBERS = (1.0, 2.0, 3.0, 4.0, 5.0)


def _solved(
    M: Sequence[Sequence[Scalar]], end: Sequence[Scalar], z: dict[int, Scalar], held: dict[int, _Held]
) -> tuple[list[Scalar], list[Scalar]]:
    """Impulses and velocities for a guess. The factors L D Lᵀ of M without the rows and columns of joints that are held
    are those with 1/D = 0 there; the last joints are eliminated first, so that branches stay apart.
    """
    n = len(end)
    free: list[Scalar] = [1.0] * n
    x: list[Scalar] = [0.0] * n  # the change of speed of those that are held
    push: list[Scalar] = [0.0] * n  # the impulse on the others
    for i, joint in held.items():
        slides = joint.most is not None
        choices = (0.0, 1.0, 0.0, 1.0, 0.0) if slides else (0.0, 1.0, 1.0, 1.0, 0.0)
        free[i] = joint.choose(z[i], M[i][i], choices)
        above, below = (0.0 if speed is None else speed - end[i] for speed in (joint.above, joint.below))
        x[i] = joint.choose(z[i], M[i][i], (above, 0.0, -end[i] if slides else 0.0, 0.0, below))
        if joint.most is not None:
            push[i] = joint.choose(z[i], M[i][i], (0.0, -joint.most, 0.0, joint.most, 0.0))
    order = range(n - 1, -1, -1)
    factor = _without([[M[i][j] for j in order] for i in order], [free[i] for i in order])
    right = [push[i] - total(M[i][j] * x[j] for j in held) for i in order]
    found = [y + w for y, w in zip(x, reversed(factor.solve(right)), strict=True)]
    impulse = list(push)
    for i in held:
        whole = total(M[i][j] * found[j] for j in range(n))
        impulse[i] = where_less(free[i], 0.5, whole, push[i])
    return impulse, [y + w for y, w in zip(end, found, strict=True)]


def stopping_forces(
    response: Sequence[Sequence[Scalar]],
    end: Sequence[Scalar],
    q: Sequence[Scalar],
    dt: Scalar,
    joints: Sequence[Joint],
) -> list[Scalar]:
    """Forces over a step that stop joints at their limits, by the same rounds, where a mass matrix does not say how
    joints answer, since loops hold them.

    Args:
        response: for each joint, what a unit force on it over the step adds to the velocities of all joints.
        end: velocities of the joints at the step's end without stops.
        q: configuration at its beginning (nq,).
        dt: its length, s.
        joints: those that may be held, all without friction.
    """
    n, rate = len(joints), 1.0 / dt
    held = [_Held(joint, q[joint.coordinate], dt, rate) for joint in joints]
    G = [[0.5 * (response[i][j] + response[j][i]) for j in range(n)] for i in range(n)]
    most: Scalar = 0.0
    for i in range(n):
        most = where_less(most, G[i][i], G[i][i], most)
    for i in range(n):
        G[i][i] = G[i][i] + (1e-12 * most + 1e-300)  # redundant ones share
    inertia = [1.0 / G[i][i] for i in range(n)]
    force: list[Scalar] = [0.0] * n
    speed = list(end)
    for _ in range(ROUNDS):
        z = [force[i] - inertia[i] * speed[i] for i in range(n)]
        stopped = [held[i].choose(z[i], inertia[i], (1.0, 0.0, 0.0, 0.0, 1.0)) for i in range(n)]
        change = []
        for i, joint in enumerate(held):
            above, below = (0.0 if reached is None else reached - end[i] for reached in (joint.above, joint.below))
            change.append(joint.choose(z[i], inertia[i], (above, 0.0, 0.0, 0.0, below)))
        force = _without(G, stopped).solve(change)
        speed = [end[i] + total(G[i][j] * force[j] for j in range(n)) for i in range(n)]
    return force


def _without(A: Sequence[Sequence[Scalar]], kept: Sequence[Scalar]) -> Factor:
    """L D Lᵀ of a matrix without the rows and columns that are not ``kept``, 0 rather than 1: those have 1/D = 0."""
    lower: list[list[Scalar]] = []
    inverse_pivots: list[Scalar] = []
    for i, row_of in enumerate(A):
        scaled: list[Scalar] = []  # row i of L D
        row: list[Scalar] = []
        for j, other in enumerate(lower):
            value = row_of[j]
            for k, number in enumerate(other):
                value = value - scaled[k] * number
            scaled.append(value)
            row.append(value * inverse_pivots[j])
        pivot = row_of[i]
        for k, number in enumerate(row):
            pivot = pivot - scaled[k] * number
        lower.append(row)
        inverse_pivots.append(kept[i] / pivot)
    return Factor(lower, inverse_pivots)


def within_limits(q: Sequence[Any], joints: Sequence[Joint]) -> list[Any]:
    """A configuration with joints put back to limits that rounding carried them beyond."""
    found = list(q)
    for joint in joints:
        k = joint.coordinate
        if np.isfinite(joint.lower):
            found[k] = where_less(found[k], joint.lower, joint.lower, found[k])
        if np.isfinite(joint.upper):
            found[k] = where_less(joint.upper, found[k], joint.upper, found[k])
    return found
