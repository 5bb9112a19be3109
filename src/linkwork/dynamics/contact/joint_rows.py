"""Limits and dry friction of joints as rows of the contact problem, for all states of a batch at once.

The functions of ``softness``, ``costs`` and ``line`` run over arrays (n states, rows) as scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.costs import friction_cost, side_cost
from linkwork.dynamics.contact.line import plus_friction, plus_side
from linkwork.dynamics.contact.points import compiled
from linkwork.dynamics.contact.softness import friction_row, limit_row


class _Limits(NamedTuple):
    """Limits of equal softness with the same sides: degrees of freedom, indices in q, the limits of each side with its
    sign, margins, inverse masses.
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
    """The state-independent part; ``limited`` and ``rough`` as in ``Touching``."""

    def __init__(self, limited: Sequence[Any], rough: Sequence[Any], masses: Sequence[float]) -> None:
        mass = np.array(masses)
        self.limited: list[_Limits] = []
        for (softness, signs), rows in _alike(limited, lambda row: (row[3], tuple(sign for sign, _ in row[2]))):
            dofs, places, margins = (np.array([row[k] for row in rows]) for k in (0, 1, 4))
            bounds = [(sign, np.array([row[2][k][1] for row in rows])) for k, sign in enumerate(signs)]
            self.limited.append(_Limits(softness, dofs, places, bounds, margins, mass[dofs]))
        self.rough: list[_Frictions] = []
        for softness, rows in _alike(rough, lambda row: row[1]):
            dofs, most = (np.array([row[k] for row in rows]) for k in (0, 2))
            self.rough.append(_Frictions(softness, dofs, mass[dofs], most))
        self.limits = sum(len(one.dofs) for one in self.limited)
        self.most = np.concatenate([np.zeros(0), *(each.most for each in self.rough)])
        both = [*(one.dofs for one in self.limited), *(each.dofs for each in self.rough)]
        self.dofs = np.concatenate([np.zeros(0, dtype=np.intp), *both])
        self.ranks = ranked(self.dofs.tolist())

    def at(self, q: Array, v: Array, a: Array, dt: float | None) -> JointState:
        """The rows in states (n, ...) with accelerations a."""
        none = np.zeros((len(q), 0))
        sides, rubs = ([none], [none], [none]), ([none], [none], [none])
        for one in self.limited:
            sign, wanted, hard = limit_row(
                q[:, one.places], v[:, one.dofs], one.bounds, one.softness, one.margins, one.masses, dt
            )
            _add(sides, np.broadcast_to(sign, wanted.shape), a[:, one.dofs], wanted, hard)
        for each in self.rough:
            wanted, hard = friction_row(v[:, each.dofs], each.softness, each.masses, dt)
            _add(rubs, np.ones_like(wanted), a[:, each.dofs], wanted, hard)
        blocks = [Block(*(np.concatenate(each, axis=1) for each in block)) for block in (sides, rubs)]
        return JointState(self, blocks[0], blocks[1])


def _add(block: tuple[list[Array], list[Array], list[Array]], sign: Array, a: Array, wanted: Array, D: Array) -> None:
    for rows, own in zip(block, (sign, sign * a - wanted, np.broadcast_to(D, wanted.shape)), strict=True):
        rows.append(own)


class Block(NamedTuple):
    """Rows (n, rows) of one kind: signs, s, D, and the derivative of s along a line."""

    signs: Array
    s: Array
    D: Array
    w: Array | None = None

    def some(self, states: NDArray[np.intp]) -> Block:
        return Block(*(None if each is None else each[states] for each in self))  # type: ignore[arg-type]


class JointState:
    """Limits and frictions in a batch of states."""

    def __init__(self, of: JointRows, sides: Block, rubs: Block) -> None:
        self.of, self.sides, self.rubs = of, sides, rubs

    @property
    def acting(self) -> NDArray[np.bool_]:
        """Whether any row can act (n,)."""
        return np.asarray((self.sides.D > 0.0).any(axis=1) | bool(self.rubs.D.shape[1]))

    def some(self, states: NDArray[np.intp]) -> JointState:
        """A subset of the states."""
        return JointState(self.of, self.sides.some(states), self.rubs.some(states))

    def along(self, p: Array) -> JointState:
        """The same with the derivatives of s along p (n, nv)."""
        n = self.of.limits
        sides = self.sides._replace(w=self.sides.signs * p[:, self.of.dofs[:n]])
        return JointState(self.of, sides, self.rubs._replace(w=p[:, self.of.dofs[n:]]))

    def go(self, states: Any, step: Array, along: JointState) -> None:
        """Advance a subset of the states by a step along the derivatives of s."""
        for own, other in ((self.sides, along.sides), (self.rubs, along.rubs)):
            assert other.w is not None
            own.s[states] += step[:, None] * other.w

    def response(self, nv: int) -> tuple[Array, Array]:
        """Joint forces (n, nv), and the diagonal that they add to the rotor inertias."""
        (signs, s, D, _), most = self.sides, self.of.most
        tau, rotor = np.zeros((len(s), nv)), np.zeros((len(s), nv))
        if not len(self.of.dofs):
            return tau, rotor
        h = np.where(s < 0.0, D, 0.0)
        pull = self.rubs.D * self.rubs.s
        forces = np.concatenate([-(signs * (h * s)), -np.clip(pull, -most, most)], axis=1)
        resists = np.concatenate([h, np.where(most < abs(pull), 0.0, self.rubs.D)], axis=1)
        for which, dofs in self.of.ranks:
            tau[:, dofs] += forces[:, which]
            rotor[:, dofs] += resists[:, which]
        return tau, rotor

    def plus(self, state: list[Array], step: Array) -> list[Array]:
        """Slope, curvature and number of changes along a line, with those of these rows added."""
        for block, text in ((self.sides, _SIDE), (self.rubs, _FRICTION)):
            assert block.w is not None
            rows = block.s.shape[1]
            if rows:
                more = () if text is _SIDE else (np.repeat(self.of.most[None], len(step), axis=0),)
                each = text(block.s, block.w, block.D, np.repeat(step[:, None], rows, axis=1), *more)
                added = np.add.accumulate(each, axis=1)[:, -1]
                state = [x + added[:, k] for k, x in enumerate(state)]
        return state

    def costs(self) -> Array:
        """The cost of these rows (n,)."""
        found = np.zeros(len(self.sides.s))
        sides = side_cost(self.sides.s, self.sides.D)
        rubs = friction_cost(self.rubs.s, self.rubs.D, self.of.most)  # type: ignore[arg-type]
        for each in (sides, rubs):
            if each.shape[1]:
                found = found + np.add.accumulate(each, axis=1)[:, -1]
        return found


def _side(s: Any, w: Any, D: Any, step: Any) -> Any:
    return array_of(plus_side([0.0, 0.0, 0.0], *(numbers(x).item() for x in (step, s, w, D))))


def _friction(s: Any, w: Any, D: Any, step: Any, most: Any) -> Any:
    return array_of(plus_friction([0.0, 0.0, 0.0], *(numbers(x).item() for x in (step, s, w, D, most))))


_SIDE = compiled("limit line", _side, dict.fromkeys(("s", "w", "D", "step"), ()), [(3,)], ())
_FRICTION = compiled("friction line", _friction, dict.fromkeys(("s", "w", "D", "step", "most"), ()), [(3,)], ())


def ranked(owners: Sequence[int]) -> list[tuple[Any, Any]]:
    """Items partitioned so that no owner occurs twice in a part: pairs of items and owners. Evenly spaced indices
    become slices, which are fast.
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


def _alike(rows: Sequence[Any], key: Callable[[Any], Any]) -> Iterable[tuple[Any, list[Any]]]:
    """Rows in groups of the same key, in the order of their first ones."""
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()
