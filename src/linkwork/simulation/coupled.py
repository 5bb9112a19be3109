"""Joint stops and friction of joints that are coupled.

Couplings leave independent velocities w: v = S w up to a constant, where each row of S has one entry, the ratio of a
joint to the joint that it follows. An impulse p on the joints changes w by (Sᵀ M S)⁻¹ Sᵀ p. So a joint and all its
followers act as one joint, with the closest limits and the sum of the frictions: ``impulses`` over w finds which of
them hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, isfinite
from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.arguments import Array
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError
from linkwork.model.constraints import Constraint, Coupling
from linkwork.model.model import Model
from linkwork.simulation.impulses import Matrix, among, searched
from linkwork.simulation.stops import Joint, resisting_joints
from linkwork.spatial import Scalar, where_less


@dataclass(frozen=True)
class Follower:
    """The leader of a degree of freedom, q = ratio · q of the leader + offset: another, itself, or none (ratio 0)."""

    dof: int
    ratio: float
    offset: float

    def after(self, own: int, leader: Follower) -> Follower:
        """The leader of degree of freedom ``own``, which follows one that follows this leader."""
        offset = self.ratio * leader.offset + self.offset
        return Follower(leader.dof if self.ratio else own, self.ratio * leader.ratio, offset)


@dataclass(frozen=True)
class Together:
    """Coupled joints: for each degree of freedom its leader, its joint, and its index in q; and for each coupling the
    degrees of freedom of joint_a and joint_b, and the ratio.
    """

    followed: tuple[Follower, ...]
    names: tuple[str, ...]
    coordinates: tuple[int, ...]
    couplings: tuple[tuple[int, int, float], ...]

    @property
    def leading(self) -> list[int]:
        """The independent degrees of freedom w, which all others follow."""
        return [i for i, each in enumerate(self.followed) if each.dof == i and each.ratio == 1.0]

    @property
    def ratios(self) -> Array:
        """S (nv, nw)."""
        found = np.zeros((len(self.followed), len(self.leading)))
        for i, one in enumerate(self.followed):
            if one.ratio:
                found[i, self.leading.index(one.dof)] = one.ratio
        return found

    def shares(self, joints: Sequence[Joint], leads: Sequence[Joint], pushes: Any, dt: Any) -> Any:
        """The impulses (nv,) on all joints, of those on leaders."""
        found: list[Scalar] = [0.0] * len(self.followed)
        friction, stops = {joint.dof: joint.friction for joint in joints}, self.stops(joints)
        for lead, push in zip(leads, numbers(pushes).tolist(), strict=True):
            column = self.ratios[:, lead.dof]
            members = [(int(i), float(column[i])) for i in np.flatnonzero(column)]
            ends: Sequence[Sequence[tuple[int, float]]] = stops.get(self.leading[lead.dof], ([], []))
            for i, share in _shares(members, friction, ends, push, numbers(dt).item()):
                found[i] = found[i] + share
        return array_of(found)

    def joints(self, joints: Sequence[Joint]) -> list[Joint]:
        """Of the joints with stops or friction, the leaders, with the limits and the friction of all their followers;
        their degrees of freedom are indices into w, and those that are alike follow each other.
        """
        leading = self.leading
        found: dict[int, Joint] = {}
        for joint in joints:
            here = self.followed[joint.dof]
            if not here.ratio:
                continue
            one = found.get(here.dof)
            low, high = self._limits(joint)
            friction = abs(here.ratio) * joint.friction
            if one is not None:
                low, high, friction = max(low, one.lower), min(high, one.upper), friction + one.friction
            if low > high:
                raise ArgumentError(
                    f"joint {self.names[joint.dof]!r} and joints coupled to it cannot all be within their limits; pass "
                    f"joint_limits=False or constraints=()"
                )
            found[here.dof] = Joint(leading.index(here.dof), self.coordinates[here.dof], low, high, friction)
        return sorted(found.values(), key=Joint.kind)

    def _leads(self, leader: int, dof: int) -> bool:
        return self.followed[dof].dof == leader and bool(self.followed[dof].ratio)

    def _limits(self, joint: Joint) -> list[float]:
        """Those of a joint, as limits of its leader."""
        here = self.followed[joint.dof]
        return sorted((limit - here.offset) / here.ratio for limit in (joint.lower, joint.upper))

    def stops(self, joints: Sequence[Joint]) -> dict[int, list[list[tuple[int, float]]]]:
        """For each leader the joints whose stops are reached at its lower limit, and those at its upper one, each with
        its share of an impulse on the leader: joints that reach theirs at the same time share as little as they can.
        """
        found: dict[int, list[list[tuple[int, float]]]] = {}
        for leader in self.leading:
            own = [joint for joint in joints if self._leads(leader, joint.dof)]
            for side, tightest in ((0, max), (1, min)) if own else ():
                limit = tightest(self._limits(joint)[side] for joint in own)
                held = [joint.dof for joint in own if self._limits(joint)[side] == limit and isfinite(limit)]
                ratios = [self.followed[dof].ratio for dof in held]
                whole = sum(ratio * ratio for ratio in ratios)
                found.setdefault(leader, []).append([(dof, r / whole) for dof, r in zip(held, ratios, strict=True)])
        return found


def moving_together(model: Model, constraints: Sequence[Constraint]) -> Together | None:
    """The couplings of a model; None if there are none, if there are other constraints, or if couplings form a loop."""
    if not constraints or not all(isinstance(each, Coupling) for each in constraints):
        return None
    found = {i: Follower(i, 1.0, 0.0) for i in range(model.nv)}
    couplings = []
    for each in constraints:
        assert isinstance(each, Coupling)
        a, b = (model.v_start[model.joint_index(name)] for name in (each.joint_a, each.joint_b))
        couplings.append((a, b, each.ratio))
        here, there = found[a], found[b]
        ratio, offset = each.ratio * there.ratio, each.ratio * there.offset + each.offset
        new = Follower(there.dof if ratio else a, ratio, offset)
        if here.dof != a or here.ratio != 1.0 or (ratio and there.dof == a):
            return None
        found |= {i: one.after(i, new) for i, one in found.items() if one.dof == a}
    names, coordinates = zip(*_joints_of(model), strict=True)
    return Together(tuple(found[i] for i in range(model.nv)), names, coordinates, tuple(couplings))


def _joints_of(model: Model) -> Iterator[tuple[str, int]]:
    """For each degree of freedom the name of its joint, and the index of a coordinate of it."""
    for body, q in zip(model.bodies, model.q_start, strict=True):
        for k in range(body.joint.nv):
            yield body.joint_name, q + min(k, body.joint.nq - 1)


def searched_together(
    M: Any, joints: Sequence[Joint], together: Together | None, q: Any, end: Any, dt: Any
) -> tuple[Any, Any]:
    """``impulses.searched`` by a mass matrix (nv, nv) for joints that may be coupled: impulses (nv,) and velocities
    (nv,). Each coupled joint takes its share of friction; the rest of the impulse acts on the joint whose stop is
    reached.
    """
    if together is None:
        dofs = [joint.dof for joint in joints]
        pushes, speeds = searched(Matrix(M, dofs), joints, q, end, dt)
        return among(len(end), dofs, pushes), speeds
    leads, S = together.joints(joints), together.ratios
    own = [one.dof for one in leads]
    w = end[together.leading]
    pushes, speeds = searched(Matrix(S.T @ M @ S, own), leads, q, w, dt)
    return together.shares(joints, leads, pushes, dt), S @ speeds + (end - S @ w)


def _shares(
    members: Sequence[tuple[int, float]],
    friction: Mapping[int, float],
    stops: Sequence[Sequence[tuple[int, float]]],
    push: Scalar,
    dt: Scalar,
) -> Iterator[tuple[int, Scalar]]:
    """The impulse on each joint that follows a leader, of the impulse ``push`` on it: friction first, in proportion to
    the joints' own; the rest acts on the joints whose stops are reached.
    """
    most = sum(abs(ratio) * friction.get(i, 0.0) for i, ratio in members)
    rubbing = dt * most
    slid = where_less(rubbing, push, rubbing, where_less(push, -rubbing, -rubbing, push)) if most else 0.0
    rest, (low, high) = push - slid, stops
    for i, share in low:
        yield i, share * (rest if low == high else where_less(0.0, rest, rest, 0.0))
    for i, share in high if low != high else ():
        yield i, share * where_less(rest, 0.0, rest, 0.0)
    for i, ratio in members:
        if friction.get(i):
            yield i, (copysign(friction[i], ratio) / most) * slid


def coupling_impulses(M: Any, change: Any, impulses: Any, together: Together) -> Any:
    """The impulses μ (k,) of the couplings, each on its joint_a, that a change of velocities by impulses p of friction
    and stops takes: M Δv = p + Jᵀ μ, where the row of J of a coupling is v_a - ratio v_b. No joint is joint_a of two
    couplings, so row a determines μ once the couplings that follow joint a are known.
    """
    found: dict[int, Any] = {}

    def impulse(a: int) -> Any:
        if a not in found:
            passed_on = [ratio * impulse(k) for k, b, ratio in together.couplings if b == a and ratio]
            found[a] = sum(passed_on, M[a] @ change - impulses[a])
        return found[a]

    return np.stack([impulse(a) for a, _, _ in together.couplings])


def limits_of(joints: Sequence[Joint], together: Together | None) -> tuple[list[int], Array, Array]:
    """The coordinates of joints with limits, and these; those of a leader are those of all its followers: what is put
    back to a limit by itself would leave those coupled to it behind.
    """
    found: dict[int, tuple[float, float]] = {}
    for joint in (*joints, *(() if together is None else together.joints(joints))):
        if joint.kind()[0]:
            low, high = found.get(joint.coordinate, (-np.inf, np.inf))
            found[joint.coordinate] = max(low, joint.lower), min(high, joint.upper)
    lower, upper = (np.array([limits[k] for limits in found.values()]) for k in range(2))
    return list(found), lower, upper


def check_within_limits(model: Model, q: Array, constraints: Sequence[Constraint] = ()) -> None:
    """An error if a configuration (n, nq) violates a position limit of a joint or of a joint coupled to it."""
    joints = resisting_joints(model, [0.0] * model.nv, True)
    for joint, here in _outside(joints, q, 0.0):
        raise ArgumentError(
            f"q of {SPACES['velocity'].coordinate(model, (joint.dof,))} is {here:.6g}, outside its limits "
            f"{joint.lower:.6g} to {joint.upper:.6g}; begin within them, or pass joint_limits=False"
        )
    together = moving_together(model, constraints)
    for joint, here in [] if together is None else _outside(together.joints(joints), q, 1e-9):
        assert together is not None
        raise ArgumentError(
            f"q of joint {together.names[together.leading[joint.dof]]!r} is {here:.6g}, outside the limits "
            f"{joint.lower:.6g} to {joint.upper:.6g} that it has with the joints coupled to it; begin within them, or "
            f"pass joint_limits=False"
        )


def _outside(joints: Sequence[Joint], q: Array, tolerance: float) -> list[tuple[Joint, float]]:
    """The joints that are outside their limits in some state (n, nq), and their coordinates in the first such state."""
    here = q[:, [joint.coordinate for joint in joints]]
    lower, upper = (np.array(limits) for limits in ([j.lower for j in joints], [j.upper for j in joints]))
    slack = tolerance * (1.0 + abs(here))
    outside = (here < lower - slack) | (here > upper + slack)
    found = np.flatnonzero(outside.any(axis=0)).tolist()
    return [(joints[k], float(here[outside[:, k].argmax(), k])) for k in found]
