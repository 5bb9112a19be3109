"""Limits and dry friction of joints as rows of the problem, for all states of a batch at once.

The texts are those of ``softness``, ``costs`` and ``line``, over arrays (n states, rows) as scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.line import plus_friction, plus_side
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
        self.limits = []
        for (softness, signs), members in groups.items():
            dofs, places = (np.array([one[k] for one in members]) for k in (0, 1))
            bounds = [(sign, np.array([one[2][k][1] for one in members])) for k, sign in enumerate(signs)]
            margins = np.array([one[4] for one in members])
            self.limits.append(_Limits(softness, dofs, places, bounds, margins, mass[dofs]))
        rubbing: dict[Any, list[Any]] = {}
        for one in rough:
            rubbing.setdefault(one[1], []).append(one)
        self.frictions = []
        for softness, members in rubbing.items():
            dofs = np.array([one[0] for one in members])
            most = np.array([one[2] for one in members])
            self.frictions.append(_Frictions(softness, dofs, mass[dofs], most))

    def at(self, q: Array, v: Array, a: Array, dt: float | None) -> JointState:
        """In states (n, ...), of which the accelerations are a."""
        n, dofs, signs, s, D, most = len(q), [], [], [], [], []
        for one in self.limits:
            sign, wanted, hard = limit_row(
                q[:, one.places], v[:, one.dofs], one.bounds, one.softness, one.margins, one.masses, dt
            )
            sign = np.broadcast_to(sign, wanted.shape)
            s.append(sign * a[:, one.dofs] - wanted)
            signs.append(sign)
            D.append(np.broadcast_to(hard, wanted.shape))
            dofs.append(one.dofs)
        limits = sum(len(one.dofs) for one in self.limits)
        for each in self.frictions:
            wanted, hard = friction_row(v[:, each.dofs], each.softness, each.masses, dt)
            s.append(a[:, each.dofs] - wanted)
            signs.append(np.ones_like(wanted))
            D.append(np.broadcast_to(hard, wanted.shape))
            dofs.append(each.dofs)
            most.append(each.most)
        none = np.zeros((n, 0))
        return JointState(
            np.concatenate([np.zeros(0, dtype=np.intp), *dofs]),
            limits,
            np.concatenate([none, *signs], axis=1),
            np.concatenate([none, *s], axis=1),
            np.concatenate([none, *D], axis=1),
            np.concatenate([np.zeros(0), *most]),
        )


class JointState:
    """Rows in states: signs, s and D (n, rows), limits first; the most that each friction pulls."""

    def __init__(
        self, dofs: NDArray[np.intp], limits: int, signs: Array, s: Array, D: Array, most: Array, w: Array | None = None
    ) -> None:
        self.dofs, self.limits, self.signs, self.s, self.D, self.most, self.w = dofs, limits, signs, s, D, most, w

    def some(self, states: NDArray[np.intp]) -> JointState:
        """A few of the states."""
        return JointState(self.dofs, self.limits, self.signs[states], self.s[states], self.D[states], self.most)

    def along(self, p: Array) -> JointState:
        """The same with the rates of s along p (n, nv)."""
        w = self.signs * p[:, self.dofs]
        return JointState(self.dofs, self.limits, self.signs, self.s, self.D, self.most, w)

    def go(self, states: NDArray[np.intp], step: Array, p: Array) -> None:
        """Have a few states go so far along p."""
        self.s[states] += step[:, None] * (self.signs[states] * p[:, self.dofs])

    def response(self, nv: int) -> tuple[Array, Array]:
        """Joint forces (n, nv), and what stands beside the rotors."""
        tau, rotor = np.zeros((len(self.s), nv)), np.zeros((len(self.s), nv))
        n, s, D = self.limits, self.s, self.D
        h = np.where(s[:, :n] < 0.0, D[:, :n], 0.0)
        pull = D[:, n:] * s[:, n:]
        forces = np.concatenate([-(self.signs[:, :n] * (h * s[:, :n])), -np.clip(pull, -self.most, self.most)], axis=1)
        resists = np.concatenate([h, np.where(self.most < abs(pull), 0.0, D[:, n:])], axis=1)
        for which in self._ranks():
            tau[:, self.dofs[which]] += forces[:, which]
            rotor[:, self.dofs[which]] += resists[:, which]
        return tau, rotor

    def _ranks(self) -> list[NDArray[np.intp]]:
        """Rows of different degrees of freedom, several times if one has several rows."""
        seen: dict[int, int] = {}
        ranks: dict[int, list[int]] = {}
        for row, dof in enumerate(self.dofs.tolist()):
            seen[dof] = seen.get(dof, -1) + 1
            ranks.setdefault(seen[dof], []).append(row)
        return [np.array(rows) for rows in ranks.values()]

    def plus(self, state: list[Array], step: Array) -> list[Array]:
        """Slope, curvature and changes along a line, with those of these rows."""
        if not len(self.dofs):
            return state
        assert self.w is not None
        n, zero, at = self.limits, [0.0, 0.0, 0.0], step[:, None]
        sides = plus_side(zero, at, self.s[:, :n], self.w[:, :n], self.D[:, :n])
        rubs = plus_friction(zero, at, self.s[:, n:], self.w[:, n:], self.D[:, n:], self.most)
        added = []
        for side, rub in zip(sides, rubs, strict=True):
            both = np.concatenate([side, rub], axis=1)
            added.append(np.add.accumulate(both, axis=1)[:, -1])
        return [x + more for x, more in zip(state, added, strict=True)]
