"""Coulomb friction with stiction, and stops at the position limits, in ``lw.simulate``.

(The other law, ``friction_law="smoothed"``, costs one division per joint and lets joints creep; see
``algorithms.step``.)

Both are forces λ, constant over a step, that are no larger than needed. With v₀ the velocities at the end of the step
without them and G their response, v = v₀ + G λ, and

    friction   -f <= λ <= f     λ opposes v, and is at its bound where the joint still moves
    stop            0 <= λ      the joint does not move beyond its limit, and the stop does not pull

are together the optimality conditions of minimising ½ λᵀ G λ + λᵀ b within bounds: the largest dissipation (Moreau's
principle). So a joint at rest stays at rest, to rounding; friction does not chatter; and neither ever adds energy. Most
steps are done by machine code, which solves the same problem in another way (``stops``); this module does the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import SingularError
from linkwork.simulation.coupled import check_within_limits, with_leaders
from linkwork.simulation.plant import Answer, Plant
from linkwork.simulation.step import Step
from linkwork.simulation.stops import PROBLEM, Joint

_MOST_ROUNDS = 20
_EXACT = 1e-13
"""The error of a velocity, relative to the numbers that it is summed from, that is rounding."""


class StictionAndStops:
    """Coulomb friction with stiction, and stops at the position limits, of the joints of a step."""

    def __init__(self, step: Step, q: Array) -> None:
        self.joints = step.joints
        self.frictional = np.array([joint.dof for joint in step.joints if joint.friction], np.intp)
        self.most = np.array([joint.friction for joint in step.joints if joint.friction])
        stopped = [joint for joint in step.joints if np.isfinite(joint.lower) or np.isfinite(joint.upper)]
        self.stopped = np.array([joint.dof for joint in stopped], np.intp)
        self.at = np.array([joint.coordinate for joint in stopped], np.intp)
        self.lower, self.upper = _limits(stopped)
        self.any = bool(self.joints)
        if step.stops:
            check_within_limits(step.model, q[None], step.constraints)
        kept = with_leaders(stopped, step.together)
        self._kept = np.array([joint.coordinate for joint in kept], np.intp)
        self._lowest, self._highest = _limits(kept)

    def forces(self, plant: Plant, t: float, q: Array, v: Array, free: Answer, dt: float) -> Array | None:
        """The joint forces (nv,) of friction and stops over a step, or None; ``free`` is the answer without them."""
        forces, end = plant.acting, v + dt * free.a
        below, above = (self.lower - q[self.at]) / dt, (self.upper - q[self.at]) / dt  # velocities that reach a limit
        low, high = end[self.stopped] < below, end[self.stopped] > above
        while True:
            dofs = np.concatenate([self.frictional, self.stopped[low], self.stopped[high]])
            if not dofs.size:
                return None
            units = np.zeros((dofs.size, v.size))
            units[np.arange(dofs.size), dofs] = 1.0
            response = dt * (plant.accelerations(t, q, v, forces.joints + units, forces.rotors)[0] - free.a)
            wanted = np.concatenate([np.zeros(self.frictional.size), below[low], above[high]])
            least = np.concatenate([-self.most, np.zeros(low.sum()), np.full(high.sum(), -np.inf)])
            most = np.concatenate([self.most, np.full(low.sum(), np.inf), np.zeros(high.sum())])
            found = least_within(response[:, dofs], end[dofs] - wanted, least, most)
            # Stopping one joint may drive another into its stop.
            reached = (end + found @ response)[self.stopped]
            slack = 1e-9 * (1.0 + abs(reached))
            thrown_low, thrown_high = ~low & (reached < below - slack), ~high & (reached > above + slack)
            if not (thrown_low | thrown_high).any():
                return found @ units
            low, high = low | thrown_low, high | thrown_high

    def clip(self, q: Array) -> Array:
        """The configuration, with joints that exceeded a limit in the last step put back to it."""
        if not self._kept.size:
            return q
        here = q[self._kept]
        if (here >= self._lowest).all() and (here <= self._highest).all():
            return q
        q = q.copy()
        for k, low, high in zip(self._kept, self._lowest, self._highest, strict=True):
            q[k] = min(max(q[k], low), high)
        return q


def _limits(joints: Sequence[Joint]) -> tuple[Array, Array]:
    return np.array([joint.lower for joint in joints]), np.array([joint.upper for joint in joints])


def least_within(G: Array, b: Array, least: Array, most: Array) -> Array:
    """The λ within bounds that minimises ½ λᵀ G λ + λᵀ b; G is symmetric and positive semidefinite.

    An active-set method: guess which bounds are active and solve for the rest, until the guess proves right, which
    takes a few iterations; where the guesses cycle, ``_descended``.
    """
    diagonal = np.einsum("ii->i", G)
    G = 0.5 * (G + G.T) + np.diag(1e-12 * diagonal + 1e-300)  # redundant constraints share
    scale, force, guess = 1.0 / np.einsum("ii->i", G), np.zeros(b.size), None
    for _ in range(_MOST_ROUNDS):
        tried = force - scale * (G @ force + b)
        at_least, at_most = tried <= least, tried >= most
        now = (at_least.tobytes(), at_most.tobytes())
        if now == guess:
            return force
        guess = now
        inside = ~(at_least | at_most)
        force = np.where(at_least, least, np.where(at_most, most, 0.0))
        if inside.any():
            force[inside] = np.linalg.solve(G[np.ix_(inside, inside)], -(b + G @ force)[inside])
    return _descended(G, b, least, most)


def most_rounds(size: int) -> int:
    """The most iterations for so many forces; each changes the state of one."""
    return max(1000, 4 * size)


def _descended(G: Array, b: Array, least: Array, most: Array) -> Array:
    """The same where guesses go round in circles: from zero, the force moves towards the solution for those inside
    their bounds, up to where the first one reaches a bound; at that solution, the one whose bound holds it back most is
    let go. The cost falls in each iteration, so that no guess comes twice.
    """
    force, scale = np.zeros(b.size), 1.0 / np.einsum("ii->i", G)
    held = np.where(least == 0.0, -1, np.where(most == 0.0, 1, 0))
    for _ in range(most_rounds(b.size)):
        inside = np.flatnonzero(held == 0)
        goal = force.copy()
        goal[inside] = 0.0
        goal[inside] = np.linalg.solve(G[np.ix_(inside, inside)], -(b + G @ goal)[inside])
        way = (goal - force)[inside]
        ends = np.where(way > 0.0, most[inside], least[inside])
        with np.errstate(all="ignore"):
            shares = np.where(way == 0.0, np.inf, (ends - force[inside]) / way)
        if inside.size and shares.min() < 1.0:
            first = int(shares.argmin())
            force[inside] += max(shares[first], 0.0) * way
            force[inside[first]] = ends[first]
            held[inside[first]] = 1 if way[first] > 0.0 else -1
            continue
        force, slope = goal, G @ goal + b
        pull = held * slope - _EXACT * (abs(G) @ abs(force) + abs(b))
        worst = int((pull * np.sqrt(scale)).argmax())
        if pull[worst] <= 0.0:
            return force
        held[worst] = 0
    raise SingularError(f"{PROBLEM} is not solved after {most_rounds(b.size)} iterations; try a smaller dt")
