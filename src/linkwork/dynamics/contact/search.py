"""Newton's method for contacts of mechanisms of many bodies, for all states of a batch that have not converged.

Rows, costs, the line search and the convergence test are those of ``costs``, ``line`` and ``newton``. Sums over rows
go from the first to the last, so that a state has the same bits in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.contact.joint_rows import JointState
from linkwork.dynamics.contact.line import BEGIN, MOST_TRIALS, following
from linkwork.dynamics.contact.newton import CHEAPER, CONVERGED, MOST_ITERATIONS, PROBLEM, TINY
from linkwork.dynamics.contact.points import Held, compiled
from linkwork.unsolved import note_unsolved

if TYPE_CHECKING:
    from linkwork.dynamics.contact.many_bodies import ManyBodies

_NOISE = 1e-26
"""The rounding error of the cost's decrease in the last iteration, relative to that in the first."""


class Search:
    """Newton's method for states (n, ...): y is the change of accelerations by contacts; s of the rows is updated."""

    def __init__(
        self, of: ManyBodies, q: Array, points: list[Array], s: list[Array], joints: JointState, y: Array
    ) -> None:
        self.of, self.q, self.points, self.s, self.joints, self.y = of, q, points, s, joints, y

    def begin(self, y: Array, moved: Array, energy: Array) -> None:
        """Begin with y instead of zero where it costs far less; ``moved`` are the frames' motions by y, ``energy`` is
        ½ yᵀ M y.
        """
        rates = [one.rows.along(p, moved[:, one.frames]) for one, p in zip(self.of.kinds, self.points, strict=True)]
        along = self.joints.along(y)
        there = self.joints.some(np.arange(len(y)))
        there.go(slice(None), np.ones(len(y)), along)
        new = [s + rate for s, rate in zip(self.s, rates, strict=True)]
        cheaper = energy + self._cost(new, there) < CHEAPER * self._cost(self.s, self.joints)
        self.y = np.where(cheaper[:, None], y, self.y)
        self.s = [np.where(cheaper[:, None, None], *pair) for pair in zip(new, self.s, strict=True)]
        self.joints.go(slice(None), cheaper.astype(np.float64), along)

    def _cost(self, s: Sequence[Array], joints: JointState) -> Array:
        found = joints.costs()
        for one, points, own in zip(self.of.kinds, self.points, s, strict=True):
            found = found + _sum(one.rows.cost(points, own))
        return found

    @np.errstate(all="ignore")  # a zero direction divides by zero
    def run(self) -> None:
        """Iterate until each state has converged."""
        of, y, going = self.of, self.y, np.flatnonzero(self._acting())
        first = np.zeros(len(y))
        for iteration in range(MOST_ITERATIONS):
            if not len(going):
                break
            some = [each[going] for each in self.points], [each[going] for each in self.s]
            line = _Line(of.kinds, *some, len(going))
            joints = self.joints.some(going)
            f, K = self._held(line)
            tau, rotor = joints.response(of.model.nv)
            p, P, yy, yp, pp = of.supported(self.q[going], y[going], tau, of.model.armature + rotor, f, K)
            fall = _sum(f * P) + _sum(tau * p) - yp
            line.go_along(P, joints.along(p), yp, pp)
            if not iteration:
                first[going] = fall
            step, exact = line.searched(fall)
            last = (fall < CONVERGED * yy + _NOISE * first[going] + TINY) | (fall < of.enough) | (exact > 0.5)
            step = np.where(last, 1.0, step)
            y[going] += step[:, None] * p
            for each, rate in zip(self.s, line.w, strict=True):
                each[going] += step[:, None, None] * rate
            self.joints.go(going, step, line.joints)
            going = going[~last]
        if len(going):
            if np.isfinite(y[going]).all(axis=1).any():  # what is not finite is no fault of the solver
                note_unsolved(PROBLEM, MOST_ITERATIONS)
            y[going] = np.nan

    def _acting(self) -> NDArray[np.bool_]:
        """Whether any row can act (n,)."""
        found = self.joints.acting
        for points in self.points:
            found = found | (points[..., 8] > 0.0).any(axis=1)
        return found

    def _held(self, line: _Line) -> tuple[Array, Array]:
        """The force of the points on each frame, and its stiffness."""
        shape = line.states, len(self.of.frames)
        f, K = np.zeros((*shape, 6)), np.zeros((*shape, 21))
        for one, points, s in zip(self.of.kinds, line.points, line.s, strict=True):
            force, resists = one.rows.response(points, s)
            for which, frames in one.ranks:
                f[:, frames] += force[:, which]
                K[:, frames] += resists[:, which]
        return f, K


class _Line:
    """``line.Line`` for states (n, ...), given the points and s of each."""

    joints: JointState
    slope: Array
    curvature: Array

    def __init__(self, kinds: Sequence[Held], points: list[Array], s: list[Array], states: int) -> None:
        self.kinds, self.points, self.s, self.states = kinds, points, s, states
        self.w: list[Array] = []

    def go_along(self, P: Array, joints: JointState, slope: Array, curvature: Array) -> None:
        """Set the line: motions P of the frames, derivatives of the joint rows, slope and curvature of the inertia."""
        self.w = [one.rows.along(each, P[:, one.frames]) for one, each in zip(self.kinds, self.points, strict=True)]
        self.joints, self.slope, self.curvature = joints, slope, curvature

    def some(self, states: NDArray[np.intp]) -> _Line:
        """A subset of the states."""
        few = _Line(self.kinds, [each[states] for each in self.points], [each[states] for each in self.s], len(states))
        few.w, few.joints = [each[states] for each in self.w], self.joints.some(states)
        few.slope, few.curvature = self.slope[states], self.curvature[states]
        return few

    def at(self, step: Array) -> list[Array]:
        """Slope, curvature, and the count of rows that have changed their zone since step 0, or are not quadratic."""
        state = [self.slope + step * self.curvature, self.curvature, np.zeros_like(step)]
        state = self.joints.plus(state, step)
        for one, points, s, w in zip(self.kinds, self.points, self.s, self.w, strict=True):
            each = one.rows.line(points, s, w, np.repeat(step[:, None], len(one.frames), axis=1))
            added = np.add.accumulate(each, axis=1)[:, -1]
            state = [x + added[:, k] for k, x in enumerate(state)]
        return state

    def searched(self, fall: Array) -> tuple[Array, Array]:
        """As ``line.Line.searched``."""
        state = np.repeat(np.array(BEGIN)[None], len(fall), axis=0)
        going, line = np.arange(len(fall)), self
        for _ in range(MOST_TRIALS):
            here = state[going]
            found = _FOLLOWING(np.stack([*here[:, [0, 1, 2, 4]].T, *line.at(here[:, 0]), fall[going]], axis=1))
            state[going] = found[:, :5]
            still = np.flatnonzero(found[:, 5] > 0.5)
            if not len(still):
                break
            if len(still) < len(going):
                going, line = going[still], line.some(still)
        return state[:, 0], state[:, 3]


def _following(x: Any) -> Any:
    given = numbers(x).tolist()
    state, more = following(given[:4], *given[4:])
    return array_of([*state, more])


_FOLLOWING = compiled("contact trial", _following, {"x": (8,)}, [(6,)], ())


def _sum(terms: Array) -> Array:
    """The sum over all axes but the first, term after term."""
    flat = terms.reshape(len(terms), -1)
    return np.add.accumulate(flat, axis=1)[:, -1] if flat.shape[1] else np.zeros(len(terms))
