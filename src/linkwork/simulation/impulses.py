"""The impulses of stops and friction over a step: one search, whatever carries the inertia.

With v₀ the velocities at the step's end without them, M (v - v₀) = p, and each joint obeys its law (``stops``). The
state of each is guessed from p - c v, c being about the inertia that it moves; what these states prescribe is solved
for, until the guess proves right: mostly at once, otherwise after a few iterations (an active-set method). Where these
go round in circles, the search descends instead: p is moved towards the solution for a guess up to where the first
joint changes its state, or, at that solution, the joint that is furthest from its law is let go; the dissipated energy
grows in each iteration, so that no guess comes twice but by rounding, which a joint must exceed to be let go. What is
not solved after ``MOST_ROUNDS`` iterations is NaN.

For the guess, joints whose velocities are prescribed are locked by an inertia of their own, beside which all others are
rounding; its momentum is the impulse that it takes:

    (M + diag r) z = τ - M y,      v = v₀ + y + z,      p = - r z where locked (r = ``LOCK``, y the prescribed change),
                                                        p = τ elsewhere (r = y = 0)

What carries M is a matrix, articulated bodies, or the response of joints to forces on them, which for joints in loops
is all that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.algorithms import SUPPORTED
from linkwork.compiled.arrays import array_of, is_traced, numbers
from linkwork.compiled.repeating import repeat
from linkwork.dynamics.call import call
from linkwork.model.model import Model
from linkwork.simulation.stops import FREE, Bounds, Conditions, Joint, Law, law_of
from linkwork.spatial import Factor
from linkwork.spatial.elementary import varying_as

MOST_ROUNDS = 1000
"""The largest number of iterations."""
ALL_AT_ONCE = 4.0
"""Iterations in which the guesses of all joints change; then the search descends, from p = 0."""
LOCK = 1e100
"""The inertia that locks a joint: its velocity changes by nothing, and the product of both is exact. Products of two
such changes are no subnormal numbers, which are slow.
"""
_EXACT = 1e-12
"""The error of a velocity that is rounding, relative to all velocities, each by the inertia that it moves."""
_SHARE = 1e-12
"""What is added to the diagonal of the response, relative to it, and to what it would be without constraints."""
PROBLEM = "the problem of the joints at their stops or held by friction"

State = tuple[Any, Any]
"""Impulses (m,) and velocities (m,) of joints."""


class Inertia(Protocol):
    """What carries the inertia of a step, over velocities (n,) among which are those of all joints with stops or
    friction.
    """

    @property
    def places(self) -> Sequence[int]:
        """Where those of the joints are."""

    def data(self) -> list[Any]:
        """Arrays of all traced numbers in it."""

    def of(self, data: Sequence[Any]) -> Inertia:
        """The same with other numbers."""

    def scales(self) -> Any:
        """About the inertia (n,) that each velocity moves."""

    def solution(self, conditions: Conditions) -> tuple[Any, Any]:
        """The impulses of the joints (m,), and the changes of all velocities (n,), that meet these conditions."""


class Matrix(NamedTuple):
    """The mass matrix; the last joints are eliminated first, which keeps the sparsity of branches."""

    M: Any
    places: Sequence[int]

    def data(self) -> list[Any]:
        """As in ``Inertia``."""
        return [self.M[np.tril_indices(len(self.M))]]

    def of(self, data: Sequence[Any]) -> Matrix:
        """As in ``Inertia``."""
        n = np.arange(len(self.M))
        low, high = np.maximum.outer(n, n), np.minimum.outer(n, n)
        return Matrix(data[0][low * (low + 1) // 2 + high], self.places)

    def scales(self) -> Any:
        """As in ``Inertia``."""
        return np.diagonal(self.M)

    def solution(self, conditions: Conditions) -> tuple[Any, Any]:
        """As in ``Inertia``."""
        r, y, tau = spread(self.places, conditions, len(self.M))
        right = tau - self.M[:, self.places] @ conditions.change
        z = solved((self.M + np.diag(r))[::-1, ::-1], right[::-1])[::-1]
        return impulses_of(self.places, conditions, z), y + z


class Bodies(NamedTuple):
    """Articulated bodies (``algorithms.supported``), with all rotor inertias (nv,); ``reference`` is the diagonal of M
    in some configuration without these.
    """

    model: Model
    q: Any
    rotors: Any
    reference: Any
    places: Sequence[int]

    def data(self) -> list[Any]:
        """As in ``Inertia``."""
        return [self.q, self.rotors]

    def of(self, data: Sequence[Any]) -> Bodies:
        """As in ``Inertia``."""
        return self._replace(q=data[0], rotors=data[1])

    def scales(self) -> Any:
        """As in ``Inertia``."""
        return self.reference + self.rotors

    def solution(self, conditions: Conditions) -> tuple[Any, Any]:
        """As in ``Inertia``."""
        r, y, tau = spread(self.places, conditions, self.model.nv)
        tau = tau - (self.rotors - self.model.armature) * y  # those beyond the model's own count for locked joints, too
        nothing = [np.zeros((0, size)) for size in (6, 21)]
        z = call(SUPPORTED, self.model, [self.q, y, tau, self.rotors + r, *nothing])[0]
        return impulses_of(self.places, conditions, z), y + z


class Response(NamedTuple):
    """The changes G of the joints' velocities by unit impulses on them: (G + diag s) p = y - G τ, where s locks what is
    prescribed, here impulses.
    """

    G: Any

    @property
    def places(self) -> Sequence[int]:
        """As in ``Inertia``."""
        return range(len(self.G))

    def data(self) -> list[Any]:
        """As in ``Inertia``."""
        return [self.G]

    def of(self, data: Sequence[Any]) -> Response:
        """As in ``Inertia``."""
        return Response(data[0])

    def scales(self) -> Any:
        """As in ``Inertia``."""
        return 1.0 / np.diagonal(self.G)

    def solution(self, conditions: Conditions) -> tuple[Any, Any]:
        """As in ``Inertia``."""
        keeps, change, push = conditions
        x = solved(self.G + np.diag(LOCK * (1.0 - keeps)), change - self.G @ push)
        p = np.where(keeps > 0.5, x, push)
        return p, self.G @ p


def response_of(rows: Any, inertias: Any) -> Response:
    """That of measured rows, with a little on the diagonal: redundant joints share, and what constraints hold, or all
    but, does not move by rounding. ``inertias`` are about those that the joints move.
    """
    G = 0.5 * (rows + rows.T)
    return Response(G + np.diag(_SHARE * (np.diagonal(G) + 1.0 / inertias)))


def solved(A: Any, right: Any) -> Any:
    """x with A x = right, A symmetric and positive definite."""
    if not is_traced([A, right]):
        return np.linalg.solve(A, right)
    return array_of(Factor.of_matrix(numbers(A).tolist()).solve(numbers(right).tolist()))


def spread(places: Sequence[int], conditions: Conditions, n: int) -> list[Any]:
    """The locks, the prescribed changes of velocity and the other impulses, of all n velocities."""
    return [among(n, places, each) for each in (LOCK * conditions.keeps, conditions.change, conditions.push)]


def among(n: int, places: Sequence[int], numbers: Any) -> Any:
    """Numbers at these places of n, zero elsewhere."""
    found = np.zeros(n, like=numbers)
    found[places] = numbers
    return found


def impulses_of(places: Sequence[int], conditions: Conditions, z: Any) -> Any:
    """The impulses of the joints, from the changes of velocity by which locks give way."""
    return np.where(conditions.keeps > 0.5, -(LOCK * z[places]), conditions.push)


def searched(inertia: Inertia, joints: Sequence[Joint], q: Any, end: Any, dt: Any) -> tuple[Any, Any]:
    """The impulses of the joints (m,), and all velocities (n,), with the derivatives that they have while each joint
    stays in its state.

    Args:
        inertia: what carries M.
        joints: those with stops or friction, of which those that are alike follow each other.
        q: configuration at the step's beginning (nq,).
        end: velocities at the step's end without stops and friction (n,).
        dt: time step, s.
    """
    places, at = list(inertia.places), q[[joint.coordinate for joint in joints]]

    def solution(inertia: Inertia, law: Law, guess: Any, end: Any) -> State:
        conditions = Conditions(*law.each(Bounds.conditions, guess, end[places]))
        p, change = inertia.solution(conditions)
        return p, end + change

    def round_of(*arrays: Any) -> tuple[list[Any], Any]:
        """The next guess, the impulses and velocities of the last one, and whether the guesses differ."""
        guess, reached, _, flags, end, at, dt = arrays[:7]
        own, law, count = inertia.of(arrays[7:]), law_of(joints, at, dt), flags[0]
        scales = own.scales()
        p, v = solution(own, law, guess, end)
        c = scales[places]
        following = law.each(Bounds.guess, p - c * v[places], c)
        differ = np.max(np.where(following < guess, 1.0, np.where(guess < following, 1.0, 0.0)))
        last = np.where(count < ALL_AT_ONCE - 1.5, 0.0, differ)  # the descent begins with free joints
        following = np.where(last > 0.5, FREE, following)
        rounding = _EXACT * _EXACT * np.sum(scales * (v * v + end * end))
        ends, down, lower = _descended(law, c, guess, reached, p, v[places], rounding)
        begun = np.where(count < ALL_AT_ONCE, 0.0, 1.0)
        guess = np.where(begun > 0.5, down, following)
        differ = np.where(begun > 0.5, lower, differ)
        # the impulses that the descent has reached, which begins without any
        reached = np.where(begun > 0.5, ends, np.where(differ > 0.5, 0.0, p))
        return [guess, reached, v, np.stack([count + 1.0, differ])], differ

    law, c = law_of(joints, at, dt), inertia.scales()[places]
    first = law.each(Bounds.guess, -(c * end[places]), c)
    state = [first, np.zeros(len(places)), np.zeros(len(end)), np.zeros(2)]
    ends = repeat(round_of, state, [end, at, dt, *inertia.data()], most=MOST_ROUNDS, name=PROBLEM)
    if not is_traced(ends):
        return ends[1], ends[2]
    p, v = (
        array_of(list(map(varying_as, numbers(each).tolist(), numbers(other).tolist())))
        for each, other in zip(ends[1:3], solution(inertia, law, ends[0], end), strict=True)
    )
    return p, v


def _descended(
    law: Law, c: Any, guess: Any, before: Any, p: Any, v: Any, rounding: Any
) -> tuple[Any, Any, Any]:  # fmt: skip
    """From the impulses ``before`` towards those for a guess: where the first joint changes its state, the guess there,
    and 1; or p, the guess with the joint that is furthest from its law let go, and 1; or 0 if there is none.
    """
    stop, at_block = law.each(Bounds.beyond, guess, p)
    way = np.where((p - before) * (p - before) > 0.0, p - before, 1.0)
    part = np.where((p - stop) * (p - stop) > 0.0, (stop - before) / way, 1.0)
    part = np.where(part < 0.0, 0.0, part)
    share = np.min(part)
    off, let_go = law.each(Bounds.violation, guess, v)
    size = off * off * c
    size = np.where(rounding < size, size, 0.0)
    furthest, number = np.max(size), np.arange(float(len(c)))
    whole = np.where(share < 1.0, 0.0, 1.0)
    blocked, loose = (np.min(np.where(best, number, len(c))) for best in (part <= share, furthest <= size))
    chosen = np.where(whole > 0.5, np.where(furthest > 0.0, loose, -1.0), blocked)
    following = np.where(number == chosen, np.where(whole > 0.5, let_go, at_block), guess)
    reached = np.where(whole > 0.5, p, before + share * (p - before))
    return reached, following, np.where(chosen < -0.5, 0.0, 1.0)
