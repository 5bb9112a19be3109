"""Stops at the position limits and Coulomb friction with stiction, written over scalars so that it can be traced.

Both are impulses p over a step, no larger than needed. With v₀ the velocities at the step's end without them,

    M (v - v₀) = p,      and for each joint one of
    free      p = 0                                 v between the velocities that just reach the limits
    slides    p = ∓ dt friction, against v          the same
    sticks    v = 0                                 |p| at most dt friction
    stopped   v just reaches a limit                p no smaller than that of friction, and it does not pull

which is the largest dissipation (Moreau's principle). Which of them holds is guessed from p - Mᵢᵢ v, the held joints
are removed from M, and the rest is solved for, until the guess proves right: mostly at once, otherwise after a few
iterations (an active-set method). Where these go round in circles, the search descends instead: p is moved towards the
solution for a guess up to where the first joint changes its state, or, at that solution, the joint that is furthest
from its law is let go; the dissipated energy grows in each iteration, so that no guess comes twice but by rounding,
which a joint must exceed to be let go. What is not solved
after ``MOST_ROUNDS`` iterations is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.repeating import repeat
from linkwork.model.model import Model
from linkwork.spatial import Factor, Scalar, total, where_less
from linkwork.spatial.elementary import varying_as

MOST_ROUNDS = 1000
"""The largest number of iterations."""
ALL_AT_ONCE = 4.0
"""Iterations in which the guesses of all joints change; then the search descends, from p = 0."""
_EXACT = 1e-12
"""The error of a velocity that is rounding, relative to all velocities, each by the inertia that it moves."""
PROBLEM = "the problem of the joints at their stops or held by friction"
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


def resisting_joints(model: Model, friction: Sequence[float], stops: bool) -> list[Joint]:
    """The degrees of freedom with friction, and, if ``stops``, with a position limit that is a length or an angle."""
    found = []
    for body, v_start, q_start in zip(model.bodies, model.v_start, model.q_start, strict=True):
        plain = stops and body.joint.nq == body.joint.nv
        for k in range(body.joint.nv):
            low, high = (body.limits.lower[k], body.limits.upper[k]) if plain else (-np.inf, np.inf)
            if np.isfinite(low) or np.isfinite(high) or friction[v_start + k]:
                most = min(float(friction[v_start + k]), _LARGEST)
                found.append(Joint(v_start + k, q_start + k, float(low), float(high), most))
    return found


class _Bounds:
    """Such a joint in a step: the velocities that reach its limits, and the impulse of friction ``over`` a time, or its
    force; None for none.
    """

    def __init__(self, joint: Joint, q: Scalar, over: Scalar, rate: Scalar) -> None:
        self.dof = joint.dof
        self.below = (joint.lower - q) * rate if np.isfinite(joint.lower) else None
        self.above = (joint.upper - q) * rate if np.isfinite(joint.upper) else None
        self.most = joint.friction * over if joint.friction else None

    def guess(self, z: Scalar, inertia: Scalar) -> Scalar:
        """A number for the joint's state, which grows with z: 2 sliding up, 3 sticking or free, 4 sliding down; below
        and above these, stopped at the upper limit and at the lower.
        """
        slip, last = (0.0, (2.0, 4.0)) if self.most is None else (self.most, (1.0, 5.0))
        found = FREE if self.most is None else where_less(z, -slip, 2.0, where_less(slip, z, 4.0, FREE))
        if self.below is not None:
            found = where_less(slip - inertia * self.below, z, last[1], found)
        return found if self.above is None else where_less(z, -slip - inertia * self.above, last[0], found)

    def pick(self, guess: Scalar, values: Sequence[Scalar]) -> Scalar:
        """The value for the joint's state: stopped above, sliding up, sticking or free, sliding down, stopped below."""
        above, up, found, down, below = values
        edge = 0.5
        if self.most is not None:
            found, edge = where_less(guess, 2.5, up, where_less(3.5, guess, down, found)), 1.5
        if self.below is not None:
            found = where_less(FREE + edge, guess, below, found)
        return found if self.above is None else where_less(guess, FREE - edge, above, found)

    def beyond(self, guess: Scalar, p: Scalar) -> tuple[Scalar, Scalar]:
        """The impulse at which a stop or stiction that would take the impulse p ends: p itself if it holds; and the
        neighbouring guess there.
        """
        slip, stuck = (0.0, inf) if self.most is None else (self.most, self.most)
        low = self.pick(guess, (-inf, -inf, -stuck, -inf, slip))
        high = self.pick(guess, (-slip, inf, stuck, inf, inf))
        end = where_less(p, low, low, where_less(high, p, high, p))
        return end, where_less(p, low, guess - 1.0, where_less(high, p, guess + 1.0, guess))

    def violation(self, guess: Scalar, v: Scalar) -> tuple[Scalar, Scalar]:
        """How far the velocity of a joint that is free or slides is from what its law allows; and the neighbouring
        guess on that side.
        """
        below, above = (-inf if self.below is None else self.below), (inf if self.above is None else self.above)
        held = self.most is not None
        least = self.pick(guess, (-inf, 0.0, -inf if held else below, below, -inf))
        most = self.pick(guess, (inf, above, inf if held else above, 0.0, inf))
        off = where_less(v, least, least - v, where_less(most, v, v - most, 0.0))
        return off, where_less(v, least, guess + 1.0, guess - 1.0)


def going_on(joints: Sequence[Joint], end: Sequence[Scalar], q: Sequence[Scalar], dt: Scalar) -> list[Scalar]:
    """For each joint 0 if nothing holds it: it has no friction, and with its velocity at the step's end it does not
    exceed its limits; otherwise 1.
    """
    found: list[Scalar] = []
    for joint, held in zip(joints, _held(joints, [q[joint.coordinate] for joint in joints], dt), strict=True):
        beyond: Scalar = 1.0 if joint.friction else 0.0
        if held.below is not None:
            beyond = where_less(end[joint.dof], held.below, 1.0, beyond)
        if held.above is not None:
            beyond = where_less(held.above, end[joint.dof], 1.0, beyond)
        found.append(beyond)
    return found


def held_back(
    M: Sequence[Sequence[Scalar]],
    end: Sequence[Scalar],
    q: Sequence[Scalar],
    dt: Scalar,
    joints: Sequence[Joint],
    before: tuple[Sequence[Scalar], Sequence[Scalar]] | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Velocities at the end of the step, and the impulses.

    Args:
        M: mass matrix (nv, nv).
        end: velocities at the step's end without stops and friction (nv,).
        q: configuration at the step's beginning (nq,).
        dt: time step, s.
        joints: those with stops or friction.
        before: the impulses of the previous step, and the velocities at its end, if they are known.
    """
    at = [q[joint.coordinate] for joint in joints]
    z = [-(M[joint.dof][joint.dof] * end[joint.dof]) for joint in joints]
    if before is not None:
        for k, joint in enumerate(joints):
            push, speed = before[0][joint.dof], before[1][joint.dof]
            z[k] = where_less(0.0, push * push, push - M[joint.dof][joint.dof] * speed, z[k])

    dofs, inertias = [joint.dof for joint in joints], [M[joint.dof][joint.dof] for joint in joints]
    first = [joint.guess(*each) for joint, *each in zip(_held(joints, at, dt), z, inertias, strict=True)]
    p, v = _searched(M, end, at, dt, joints, dofs, first, _solved)
    return v, p


def _searched(
    A: Sequence[Sequence[Scalar]],
    end: Sequence[Scalar],
    at: Sequence[Scalar],
    dt: Scalar,
    joints: Sequence[Joint],
    places: Sequence[int],
    first: Sequence[Scalar],
    solved: Callable[..., tuple[list[Scalar], list[Scalar]]],
) -> tuple[list[Scalar], list[Scalar]]:
    """Repeat guesses until one proves right: its impulses and velocities, with the derivatives that they have while it
    stays right.

    Args:
        A: the mass matrix, or the response to forces, by which ``solved`` finds impulses and velocities for a guess.
        end: velocities at the step's end without stops and friction.
        at: the coordinates of the joints.
        dt: time step, s.
        joints: those with stops or friction.
        places: where they are in A.
        first: the first guess.
        solved: ``_solved`` or ``_answered``.
    """
    n, forces = len(end), solved is _answered

    def guessed(*arrays: Any) -> tuple[list[Any], Any]:
        """The next guess, the impulses and velocities of the last one, and whether the guesses differ."""
        guess, before, _, (count, _), below, end, at, (dt,) = map(_listed, arrays)
        A, held = _symmetric(below, n), _held(joints, at, dt, forces)
        p, v = solved(A, end, guess, held)
        inertias = [1.0 / A[k][k] if forces else A[k][k] for k in places]
        following, differ = [], 0.0
        for joint, place, was, inertia in zip(held, places, guess, inertias, strict=True):
            now = joint.guess(p[place] - inertia * v[place], inertia)
            differ = where_less(now, was, 1.0, where_less(was, now, 1.0, differ))
            following.append(now)
        last = where_less(count, ALL_AT_ONCE - 1.5, 0.0, differ)  # the descent begins with free joints
        following = [where_less(0.5, last, FREE, now) for now in following]
        moving = total((1.0 / A[k][k] if forces else A[k][k]) * (v[k] * v[k] + end[k] * end[k]) for k in range(n))
        ends, down, lower = _descended(held, places, inertias, guess, before, p, v, _EXACT * _EXACT * moving)
        begun = where_less(count, ALL_AT_ONCE, 0.0, 1.0)
        guess = [where_less(0.5, begun, x, y) for x, y in zip(down, following, strict=True)]
        differ = where_less(0.5, begun, lower, differ)
        # the impulses that the descent has reached, which begins without any
        reached = [where_less(0.5, begun, x, where_less(0.5, differ, 0.0, y)) for x, y in zip(ends, p, strict=True)]
        return [array_of(each) for each in (guess, reached, v, [count + 1.0, differ])], differ

    given = [[A[i][j] for i in range(n) for j in range(i + 1)], list(end), list(at), [dt]]
    state = [list(first), [0.0] * n, [0.0] * n, [0.0, 0.0]]
    ends = repeat(guessed, [*map(array_of, state)], [*map(array_of, given)], most=MOST_ROUNDS, name=PROBLEM)
    guess, *values = map(_listed, ends[:3])
    varying = solved(A, end, guess, _held(joints, at, dt, forces))
    p, v = (list(map(varying_as, each, other)) for each, other in zip(values, varying, strict=True))
    return p, v


def _descended(
    held: Sequence[_Bounds], places: Sequence[int], inertias: Sequence[Scalar], guess: Sequence[Scalar],
    before: Sequence[Scalar], p: Sequence[Scalar], v: Sequence[Scalar], rounding: Scalar,
) -> tuple[list[Scalar], list[Scalar], Scalar]:  # fmt: skip
    """From the impulses ``before`` towards those for a guess: where the first joint changes its state, the guess there,
    and 1; or p, the guess with the joint that is furthest from its law let go, and 1; or 0 if there is none.
    """
    share, blocked, furthest, loose = 1.0, -1.0, 0.0, -1.0
    beside: list[tuple[Scalar, Scalar]] = []
    for k, (joint, place, was, inertia) in enumerate(zip(held, places, guess, inertias, strict=True)):
        stop, blocked_guess = joint.beyond(was, p[place])
        way = p[place] - before[place]
        part = where_less(0.0, (p[place] - stop) * (p[place] - stop), (stop - before[place]) / way, 1.0)
        part = where_less(part, 0.0, 0.0, part)
        blocked = where_less(part, share, float(k), blocked)
        share = where_less(part, share, part, share)
        off, loose_guess = joint.violation(was, v[place])
        size = where_less(rounding, off * off * inertia, off * off * inertia, 0.0)
        loose = where_less(furthest, size, float(k), loose)
        furthest = where_less(furthest, size, size, furthest)
        beside.append((blocked_guess, loose_guess))
    whole = where_less(blocked, 0.0, 1.0, 0.0)
    chosen = where_less(0.5, whole, loose, blocked)
    following = []
    for k, (was, (at_block, let_go)) in enumerate(zip(guess, beside, strict=True)):
        own = where_less(chosen, k - 0.5, 0.0, where_less(k + 0.5, chosen, 0.0, 1.0))
        following.append(where_less(0.5, own, where_less(0.5, whole, let_go, at_block), was))
    reached = [where_less(0.5, whole, y, x + share * (y - x)) for x, y in zip(before, p, strict=True)]
    return reached, following, where_less(chosen, -0.5, 0.0, 1.0)


def _held(joints: Sequence[Joint], q: Sequence[Scalar], dt: Scalar, forces: bool = False) -> list[_Bounds]:
    """The joints in this step; ``q`` are their coordinates. Friction is an impulse, or a force if it is by
    ``forces``.
    """
    rate, over = 1.0 / dt, 1.0 if forces else dt
    return [_Bounds(joint, here, over, rate) for joint, here in zip(joints, q, strict=True)]


def _listed(array: Any) -> list[Any]:
    found: list[Any] = numbers(array).tolist()
    return found


def _symmetric(below: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    """A symmetric matrix from the numbers on and below its diagonal."""
    return [[below[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]


def _solved(
    M: Sequence[Sequence[Scalar]], end: Sequence[Scalar], guess: Sequence[Scalar], held: Sequence[_Bounds]
) -> tuple[list[Scalar], list[Scalar]]:
    """Impulses and velocities for a guess. The factors L D Lᵀ of M without the rows and columns of held joints are
    those with 1/D = 0 there; the last joints are eliminated first, which keeps the sparsity of branches.
    """
    n, dofs = len(end), [joint.dof for joint in held]
    free: list[Scalar] = [1.0] * n
    x: list[Scalar] = [0.0] * n  # the velocity change of held joints
    push: list[Scalar] = [0.0] * n  # the impulse on the others
    for joint, here in zip(held, guess, strict=True):
        i, slides = joint.dof, joint.most is not None
        choices = (0.0, 1.0, 0.0, 1.0, 0.0) if slides else (0.0, 1.0, 1.0, 1.0, 0.0)
        free[i] = joint.pick(here, choices)
        above, below = (0.0 if speed is None else speed - end[i] for speed in (joint.above, joint.below))
        x[i] = joint.pick(here, (above, 0.0, -end[i] if slides else 0.0, 0.0, below))
        if joint.most is not None:
            push[i] = joint.pick(here, (0.0, -joint.most, 0.0, joint.most, 0.0))
    order = range(n - 1, -1, -1)
    factor = _without([[M[i][j] for j in order] for i in order], [free[i] for i in order])
    right = [push[i] - total(M[i][j] * x[j] for j in dofs) for i in order]
    found = [y + w for y, w in zip(x, reversed(factor.solve(right)), strict=True)]
    impulse = list(push)
    for i in dofs:
        whole = total(M[i][j] * found[j] for j in range(n))
        impulse[i] = where_less(free[i], 0.5, whole, push[i])
    return impulse, [y + w for y, w in zip(end, found, strict=True)]


def resisting_forces(
    response: Sequence[Sequence[Scalar]],
    end: Sequence[Scalar],
    q: Sequence[Scalar],
    dt: Scalar,
    joints: Sequence[Joint],
    before: tuple[Sequence[Scalar], Sequence[Scalar]] | None = None,
) -> list[Scalar]:
    """Forces over a step of friction and stops, by the same iterations, for mechanisms with loop constraints, where the
    mass matrix alone does not give the response of the joints.

    Args:
        response: for each joint, the change of all joint velocities by a unit force on it over the step.
        end: velocities of the joints at the step's end without stops and friction.
        q: configuration at the step's beginning (nq,).
        dt: time step, s.
        joints: those with stops or friction.
        before: the forces of the previous step, and the velocities at its end, if they are known.
    """
    at, G = [q[joint.coordinate] for joint in joints], _compliance(response)
    held = _held(joints, at, dt, forces=True)
    first = _guessed(G, [0.0] * len(joints), end, held)
    if before is not None:
        again = _guessed(G, *before, held)
        first = [where_less(0.0, push * push, x, y) for push, x, y in zip(before[0], again, first, strict=True)]
    force, _ = _searched(G, end, at, dt, joints, range(len(joints)), first, _answered)
    return force


def _compliance(response: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """The response as a symmetric matrix, with a little on its diagonal: redundant constraints share."""
    n = len(response)
    G = [[0.5 * (response[i][j] + response[j][i]) for j in range(n)] for i in range(n)]
    for i in range(n):
        G[i][i] = G[i][i] + (1e-12 * G[i][i] + 1e-300)
    return G


def _guessed(
    G: Sequence[Sequence[Scalar]], force: Sequence[Scalar], speed: Sequence[Scalar], held: Sequence[_Bounds]
) -> list[Scalar]:
    """The states of joints by their forces and velocities."""
    inertia = [1.0 / G[i][i] for i in range(len(G))]
    return [joint.guess(force[i] - inertia[i] * speed[i], inertia[i]) for i, joint in enumerate(held)]


def _answered(
    G: Sequence[Sequence[Scalar]], end: Sequence[Scalar], guess: Sequence[Scalar], held: Sequence[_Bounds]
) -> tuple[list[Scalar], list[Scalar]]:
    """Forces and velocities of joints for a guess, given the response G of their velocities to these forces."""
    n, fixed, change, push = len(end), list[Scalar](), list[Scalar](), list[Scalar]()
    for i, joint in enumerate(held):
        slides = joint.most is not None
        fixed.append(joint.pick(guess[i], (1.0, 0.0, 1.0 if slides else 0.0, 0.0, 1.0)))
        above, below = (0.0 if reached is None else reached - end[i] for reached in (joint.above, joint.below))
        change.append(joint.pick(guess[i], (above, 0.0, -end[i] if slides else 0.0, 0.0, below)))
        push.append(0.0 if joint.most is None else joint.pick(guess[i], (0.0, -joint.most, 0.0, joint.most, 0.0)))
    if any(joint.most is not None for joint in held):
        change = [x - total(G[i][j] * push[j] for j in range(n)) for i, x in enumerate(change)]
    force = [x + y for x, y in zip(push, _without(G, fixed).solve(change), strict=True)]
    return force, [end[i] + total(G[i][j] * force[j] for j in range(n)) for i in range(n)]


def _without(A: Sequence[Sequence[Scalar]], kept: Sequence[Scalar]) -> Factor:
    """L D Lᵀ of a matrix without the rows and columns whose ``kept`` is 0 rather than 1: those have 1/D = 0."""
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
    """A configuration, with joints that rounding carried beyond a limit put back to it."""
    found = list(q)
    for joint in joints:
        k = joint.coordinate
        if np.isfinite(joint.lower):
            found[k] = where_less(found[k], joint.lower, joint.lower, found[k])
        if np.isfinite(joint.upper):
            found[k] = where_less(joint.upper, found[k], joint.upper, found[k])
    return found
