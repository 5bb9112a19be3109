"""Limits and dry friction of joints as rows of the problem, for all states of a batch at once.

The texts are those of ``softness``, ``costs`` and ``line``, over arrays (n states, rows) as scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.line import plus_friction, plus_side
from linkwork.dynamics.contact.points import compiled
from linkwork.dynamics.contact.softness import friction_row, limit_row


class _Limits(NamedTuple):
    """Those of one softness with as many sides: degrees of freedom, places in q, the limits on each side with its sign,
    margins, inverse masses.
    """

    softness: Any
    dofs: NDArray[np.intp]
    places: NDArray[np.intp]
    bounds: list[tuple[float, Array]]
    margins: Array
    masses: Array


class _Frictions(NamedTuple):
    softness: Any
    dofs: NDArray[np.intp]
    masses: Array
    most: Array


class JointRows:
    """What of them does not depend on the state; ``limited`` and ``rough`` as ``Touching`` has them."""

    def __init__(self, limited: Sequence[Any], rough: Sequence[Any], masses: Sequence[float]) -> None:
        mass = np.array(masses)
        groups: dict[Any, list[Any]] = {}
        for one in limited:
            groups.setdefault((one[3], tuple(sign for sign, _ in one[2])), []).append(one)
        self.limited: list[_Limits] = []
        for (softness, signs), members in groups.items():
            dofs, places = (np.array([one[k] for one in members]) for k in (0, 1))
            bounds = [(sign, np.array([one[2][k][1] for one in members])) for k, sign in enumerate(signs)]
            margins = np.array([one[4] for one in members])
            self.limited.append(_Limits(softness, dofs, places, bounds, margins, mass[dofs]))
        rubbing: dict[Any, list[Any]] = {}
        for one in rough:
            rubbing.setdefault(one[1], []).append(one)
        self.rough: list[_Frictions] = []
        for softness, members in rubbing.items():
            dofs = np.array([one[0] for one in members])
            most = np.array([one[2] for one in members])
            self.rough.append(_Frictions(softness, dofs, mass[dofs], most))
        self.limits = sum(len(one.dofs) for one in self.limited)
        self.most = np.concatenate([np.zeros(0), *(each.most for each in self.rough)])
        both = [*(one.dofs for one in self.limited), *(each.dofs for each in self.rough)]
        self.dofs = np.concatenate([np.zeros(0, dtype=np.intp), *both])
        self.ranks = ranked(self.dofs.tolist())

    def at(self, q: Array, v: Array, a: Array, dt: float | None) -> JointState:
        """In states (n, ...), of which the accelerations are a."""
        none = np.zeros((len(q), 0))
        signs, s, D = [none], [none], [none]
        for one in self.limited:
            sign, wanted, hard = limit_row(
                q[:, one.places], v[:, one.dofs], one.bounds, one.softness, one.margins, one.masses, dt
            )
            signs.append(np.broadcast_to(sign, wanted.shape))
            s.append(signs[-1] * a[:, one.dofs] - wanted)
            D.append(np.broadcast_to(hard, wanted.shape))
        for each in self.rough:
            wanted, hard = friction_row(v[:, each.dofs], each.softness, each.masses, dt)
            signs.append(np.ones_like(wanted))
            s.append(a[:, each.dofs] - wanted)
            D.append(np.broadcast_to(hard, wanted.shape))
        return JointState(self, *(np.concatenate(each, axis=1) for each in (signs, s, D)))


class JointState:
    """Rows in states: signs, s and D (n, rows), limits first; the most that each friction pulls; of each row, its degree
    of freedom.
    """

    def __init__(self, of: JointRows, signs: Array, s: Array, D: Array, w: Array | None = None) -> None:
        self.of, self.signs, self.s, self.D, self.w = of, signs, s, D, w

    def some(self, states: NDArray[np.intp]) -> JointState:
        """A few of the states."""
        w = None if self.w is None else self.w[states]
        return JointState(self.of, self.signs[states], self.s[states], self.D[states], w)

    def along(self, p: Array) -> JointState:
        """The same with the rates of s along p (n, nv)."""
        return JointState(self.of, self.signs, self.s, self.D, self.signs * p[:, self.of.dofs])

    def go(self, states: NDArray[np.intp], step: Array, w: Array | None) -> None:
        """Have a few states go so far along rates of s."""
        assert w is not None
        self.s[states] += step[:, None] * w

    def response(self, nv: int) -> tuple[Array, Array]:
        """Joint forces (n, nv), and what stands beside the rotors."""
        tau, rotor = np.zeros((len(self.s), nv)), np.zeros((len(self.s), nv))
        if not len(self.of.dofs):
            return tau, rotor
        n, s, D = self.of.limits, self.s, self.D
        h = np.where(s[:, :n] < 0.0, D[:, :n], 0.0)
        pull, most = D[:, n:] * s[:, n:], self.of.most
        forces = np.concatenate([-(self.signs[:, :n] * (h * s[:, :n])), -np.clip(pull, -most, most)], axis=1)
        resists = np.concatenate([h, np.where(most < abs(pull), 0.0, D[:, n:])], axis=1)
        for which, dofs in self.of.ranks:
            tau[:, dofs] += forces[:, which]
            rotor[:, dofs] += resists[:, which]
        return tau, rotor

    def plus(self, state: list[Array], step: Array) -> list[Array]:
        """Slope, curvature and changes along a line, with those of these rows."""
        if not len(self.of.dofs):
            return state
        assert self.w is not None
        n, at = self.of.limits, np.repeat(step[:, None], len(self.of.dofs), axis=1)
        sides = _SIDE(self.s[:, :n], self.w[:, :n], self.D[:, :n], at[:, :n])
        rubs = _FRICTION(self.s[:, n:], self.w[:, n:], self.D[:, n:], at[:, n:], self.of.most)
        added = np.add.accumulate(np.concatenate([sides, rubs], axis=1), axis=1)[:, -1]
        return [x + added[:, k] for k, x in enumerate(state)]


def _side(s: Any, w: Any, D: Any, step: Any) -> Any:
    return array_of(plus_side([0.0, 0.0, 0.0], *(numbers(x).item() for x in (step, s, w, D))))


def _friction(s: Any, w: Any, D: Any, step: Any, most: Any) -> Any:
    return array_of(plus_friction([0.0, 0.0, 0.0], *(numbers(x).item() for x in (step, s, w, D, most))))


_SIDE = compiled("limit line", _side, dict.fromkeys(("s", "w", "D", "step"), ()), [(3,)], ())
_FRICTION = compiled("friction line", _friction, dict.fromkeys(("s", "w", "D", "step", "most"), ()), [(3,)], ())


def ranked(owners: Sequence[int]) -> list[tuple[Any, Any]]:
    """Things of different owners, and these; several times if an owner has several. Where numbers are evenly spaced
    they are slices, which are fast.
    """
    seen: dict[int, int] = {}
    ranks: dict[int, list[int]] = {}
    for k, owner in enumerate(owners):
        seen[owner] = seen.get(owner, -1) + 1
        ranks.setdefault(seen[owner], []).append(k)
    return [(_spaced(each), _spaced([owners[k] for k in each])) for each in ranks.values()]


def _spaced(places: Sequence[int]) -> Any:
    apart = places[1] - places[0] if len(places) > 1 else 1
    if apart > 0 and list(places) == list(range(places[0], places[-1] + 1, apart)):
        return slice(places[0], places[-1] + 1, apart)
    return np.array(places)
