"""The coordinates that a search over configurations varies, and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import difference, integrate
from linkwork.engine.spaces import SPACES
from linkwork.errors import warn_caller
from linkwork.joints import Joint
from linkwork.model.constraints import Coupling
from linkwork.model.model import Model

UNBOUNDED = 1e300
"""Stands for no limit."""
_ROUNDING = 1e-6
"""How far outside its limits a coordinate may be without a warning, m or rad: the precision of float32."""


class Follower(NamedTuple):
    """A joint of one degree of freedom that follows another, q = ratio · q of the leader + offset; both are joint
    indices. A joint that is held still is its own leader, with ratio 0.
    """

    joint: int
    leader: int
    ratio: float
    offset: float

    def leads(self, lower: float, upper: float) -> tuple[float, float]:
        """The range of the leader that keeps the follower within limits, with rounding taken into account."""
        ends = sorted((end - self.offset) / self.ratio for end in (lower, upper))
        for k, inward in ((0, np.inf), (1, -np.inf)):
            while np.isfinite(ends[k]) and not lower <= self.ratio * ends[k] + self.offset <= upper:
                ends[k] = float(np.nextafter(ends[k], inward))
        return ends[0], ends[1]


def followers(model: Model) -> list[Follower]:
    """The joints that follow others by the model's couplings, each with a leader that follows none."""
    following: dict[int, Follower] = {}
    for one in model.constraints:
        if not isinstance(one, Coupling):
            continue
        joint, leader, ratio, offset = (*map(model.joint_index, (one.joint_a, one.joint_b)), one.ratio, one.offset)
        if leader in following:
            _, leader, more, shift = following[leader]
            ratio, offset = ratio * more, ratio * shift + offset
        if joint in following or (joint == leader and ratio) or model.nq <= len(following) + 1:
            continue  # follows two leaders, or the couplings form a cycle
        for key, each in following.items():
            if each.leader == joint:
                following[key] = Follower(key, leader, each.ratio * ratio, each.ratio * offset + each.offset)
        following[joint] = Follower(joint, leader, ratio, offset)
    return [following[joint] for joint in sorted(following)]


class Coordinates:
    """The coordinates on which some bodies' placements depend; the others are kept fixed.

    Joints that follow others (``followers``) are not coordinates: they are computed from their leaders.

    Attributes:
        q, v: the indices in the configuration and in the velocity of these coordinates.
        plain: pairs (index in v, index in q) of coordinates with their own limits, for which a step is an addition;
            ``turning`` are the indices in v of all others, which belong to quaternions and the like, and ``sliding``
            those of them that translate without rotation.
    """

    def __init__(self, model: Model, bodies: Sequence[int], followers: Sequence[Follower] = ()) -> None:
        self.model, self.followers = model, tuple(followers)
        self.q: list[int] = []
        self.v: list[int] = []
        self.plain: list[tuple[int, int]] = []
        self.turning: list[int] = []
        self.sliding: list[int] = []
        self.angles: set[int] = set()
        for index in _moving_joints(model, bodies, followers):
            joint, q, v = model.bodies[index].joint, model.q_start[index], model.v_start[index]
            if joint.nq == joint.nv:
                self.plain += [(len(self.v) + k, len(self.q) + k) for k in range(joint.nv)]
                self.angles |= {len(self.q) + k for k in joint.angles}
            else:
                self.turning += range(len(self.v), len(self.v) + joint.nv)
                self.sliding += [len(self.v) + k for k in _sliding(joint)]
            self.q += range(q, q + joint.nq)
            self.v += range(v, v + joint.nv)
        self._follow(followers)

    def _follow(self, followers: Sequence[Follower]) -> None:
        """How the configuration, and its rates, depend on the coordinates."""
        model, following = self.model, [self.model.q_start[each.joint] for each in followers]
        self._resting = [k for k in range(model.nq) if k not in {*self.q, *following}]
        self._order = _order([*self.q, *self._resting, *following], model.nq)
        self._rates = _order(self.v, model.nv)
        place = {k: i for i, k in enumerate([*self.q, *self._resting])}
        self._leaders = [place.get(model.q_start[each.leader], 0) for each in followers]  # any, if the ratio is 0
        self._ratios = np.array([each.ratio for each in followers])
        self._offsets = np.array([each.offset for each in followers])
        led = [each for each in followers if model.v_start[each.leader] in self.v]
        self._moved = [model.v_start[each.joint] for each in led]
        self._shares = np.zeros((len(led), len(self.v)))
        for row, each in zip(self._shares, led, strict=True):
            row[self.v.index(model.v_start[each.leader])] = each.ratio

    def whole(self, own: Any, q0: Any) -> Any:
        """The full configuration: the coordinates ``own``, with the others from q0."""
        q = own
        if self._resting:
            rest = np.broadcast_to(q0[..., self._resting], (*own.shape[:-1], len(self._resting)))
            q = np.concatenate([own, rest], axis=-1)
        if self.followers:
            q = np.concatenate([q, self._ratios * q[..., self._leaders] + self._offsets], axis=-1)
        return q[..., self._order]

    def columns(self, J: Any) -> Any:
        """The columns of J (..., r, nv) for the coordinates (..., r, v), with those of their followers added."""
        columns = J[..., self.v]
        return columns + J[..., self._moved] @ self._shares if self._moved else columns

    def limits(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Limits (q) that also keep followers within theirs, if such limits exist."""
        low, high, place = lower[self.q], upper[self.q], {k: i for i, k in enumerate(self.q)}
        for each in self.followers:
            k, start = place.get(self.model.q_start[each.leader]), self.model.q_start[each.joint]
            if k is not None and each.ratio and lower[start] <= upper[start]:
                first, last = each.leads(lower[start], upper[start])
                if max(low[k], first) <= min(high[k], last):
                    low[k], high[k] = max(low[k], first), min(high[k], last)
        return low, high

    def largest(self, change: Array) -> Array:
        """The largest changes of the coordinates (q) by those of all degrees of freedom (nv,), followers included;
        coordinates that are not plain change freely.
        """
        largest, place = np.full(len(self.q), np.inf), {k: i for i, k in enumerate(self.q)}
        for v, q in self.plain:
            largest[q] = change[self.v[v]]
        for each in self.followers:
            k = place.get(self.model.q_start[each.leader])
            if k is not None and each.ratio:
                largest[k] = min(largest[k], change[self.model.v_start[each.joint]] / abs(each.ratio))
        return largest

    def stepped(self, own: Any, step: Any, q0: Any) -> Any:
        """The coordinates after a step (..., v)."""
        if not self.turning:
            return own + step
        still = np.zeros((*step.shape[:-1], self.model.nv - len(self.v)))
        rates = np.concatenate([step, still], axis=-1)[..., self._rates]
        return integrate(self.model, self.whole(own, q0), rates)[..., self.q]

    def anew(self, drawn: Any, q0: Any) -> Any:
        """Initial coordinates: the sampled ones (..., v), or q0 rotated by them."""
        if not self.turning:
            return drawn
        place = dict(self.plain)
        sliding = set(self.sliding)
        turns = [0.0 if k in place or k in sliding else 1.0 for k in range(len(self.v))]
        turned = self.stepped(q0[..., self.q], drawn * np.array(turns), q0)
        back = {j: k for k, j in self.plain}
        joined = np.concatenate([drawn, turned], axis=-1)
        return joined[..., [back[j] if j in back else len(self.v) + j for j in range(len(self.q))]]

    def difference(self, own: Any, q: Any, other: Any) -> Any:
        """The displacement (..., v) from coordinates, those of configuration q, to another configuration."""
        if not self.turning:
            return other[..., self.q] - own
        return difference(self.model, q, other)[..., self.v]

    def rates(self, plain: Any, others: Any) -> Any:
        """Values per degree of freedom (..., v): ``plain`` (..., q) for plain coordinates, ``others`` for the rest."""
        if not self.turning:
            return plain
        place = dict(self.plain)
        joined = np.concatenate([np.broadcast_to(plain, (*others.shape[:-1], len(self.q))), others], axis=-1)
        return joined[..., [place[k] if k in place else len(self.q) + k for k in range(len(self.v))]]


def _moving_joints(model: Model, bodies: Sequence[int], followers: Sequence[Follower]) -> list[int]:
    """The joints that move some of the bodies, followers replaced by their leaders."""
    carriers = set()
    for body in bodies:
        while body and body not in carriers:
            carriers.add(body)
            body = model.bodies[body - 1].parent
    leaders = {each.joint: each.leader for each in followers}
    return sorted({leaders.get(body - 1, body - 1) for body in carriers} - leaders.keys())


def _sliding(joint: Joint) -> list[int]:
    """The degrees of freedom that translate a body without rotating it."""
    columns = joint.subspace(joint.neutral()).columns()
    return [k for k, column in enumerate(columns) if not any(column.angular.numbers())]


def _order(first: Sequence[int], count: int) -> list[int]:
    """The index of each number in the list of those in ``first`` followed by all others."""
    listed = [*first, *(k for k in range(count) if k not in set(first))]
    return [listed.index(k) for k in range(count)]


@dataclass(frozen=True)
class Limits:
    """The limits of a search over its coordinates: ``low`` and ``high`` (q), ``UNBOUNDED`` where there is no limit, and
    the ranges from which starts are sampled, ``base`` and ``span`` (v).
    """

    low: Array
    high: Array
    base: Array
    span: Array

    @staticmethod
    def of(coordinates: Coordinates, lower: Array, upper: Array, kept: bool, length: float) -> Limits:
        """The model's limits, if they are ``kept``; ``length`` (m) is the range of starts for unlimited sliders."""
        low, high = coordinates.limits(lower, upper)
        inside = (low <= high) & kept
        low, high = np.where(inside, low, -UNBOUNDED), np.where(inside, high, UNBOUNDED)
        low, high = np.maximum(low, -UNBOUNDED), np.minimum(high, UNBOUNDED)
        base, span = np.full(len(coordinates.v), -np.pi), np.full(len(coordinates.v), 2.0 * np.pi)
        for k, j in coordinates.plain:
            wide = np.pi if j in coordinates.angles else length
            first, last = max(low[j], -UNBOUNDED), min(high[j], UNBOUNDED)
            first = first if first > -UNBOUNDED else min(last, wide) - 2.0 * wide
            last = last if last < UNBOUNDED else first + 2.0 * wide
            base[k], span[k] = first, last - first
        return Limits(low, high, base, span)


def begun_within(model: Model, name: str, q: Array, followers: Sequence[Follower] = ()) -> Array:
    """Initial configurations (..., nq) of a search, clamped to the limits. A warning names the first coordinate outside
    by more than rounding, mostly because of a wrong unit. Followers are not checked: their leaders place them.
    """
    inside, checked = within_limits(model, q), np.ones(model.nq, dtype=bool)
    checked[[model.q_start[each.joint] for each in followers]] = False
    with np.errstate(all="ignore"):
        out = np.argwhere((np.abs(inside - q) > _ROUNDING) & checked)
    if len(out):
        where = tuple(map(int, out[0]))
        k, owner = where[-1], SPACES["configuration"].coordinate(model, where[-1:])
        warn_caller(
            f"{name}[{', '.join(map(str, where))}] ({owner}) is {q[where]:g}, outside of its range, "
            f"{model.lower_limit[k]:g} to {model.upper_limit[k]:g}; the search begins within it, unless limits=False"
        )
    return inside


def within_limits(model: Model, q: Array) -> Array:
    """Configurations with all limited coordinates clamped to their limits."""
    lower, upper = model.lower_limit, model.upper_limit
    plain = [body.joint.nq == body.joint.nv for body in model.bodies for _ in range(body.joint.nq)]
    limited = np.array(plain, dtype=bool) & (lower <= upper)
    return np.where(limited, np.clip(q, np.minimum(lower, upper), upper), q)
