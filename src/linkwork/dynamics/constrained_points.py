"""Operational-space quantities at points of a mechanism with constraints: loops, supports, grasps (Sentis, Khatib).

The frames that the constraints hold are more points. With J the rows of the points, K those of the constraints over the
joint velocities, and one Λ⁻¹ for all of them, the constraints are eliminated from it:

    G = J M⁻¹ Kᵀ (K M⁻¹ Kᵀ)⁺                    the share of each constraint's motion
    Jₛ = J - G K,   Jₛ M⁻¹ Jₛᵀ = J M⁻¹ Jᵀ - G K M⁻¹ Jᵀ,   ẍ = Jₛ q̈ + (J̇v - G K̇v)

The rank decides which rows of K M⁻¹ Kᵀ count: others depend on them, or hold what nothing moves. G, and so all results,
do not depend on which of several dependent rows are taken, as long as the velocity obeys the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.inversion import inversion
from linkwork.compiled.arrays import array_of, is_traced, numbers, traced
from linkwork.dynamics.arguments import Array, PointSet
from linkwork.dynamics.at_points import AtPoints
from linkwork.dynamics.constrained_state import all_rows, rows_and_rates
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, Rows, at_grips, rows_of, wrenches_of
from linkwork.dynamics.inversion import check_mobility, inverted
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity
from linkwork.model.model import Model, Point
from linkwork.model.queries import weightless
from linkwork.spatial import Factor, where_less
from linkwork.spatial.small_matrices import times, transposed

_IDLE = 1e-13
"""Relative to the largest mobility of all constraints' rows: a row with less is one that nothing moves."""
_DEPENDENT = 1e-11
"""Relative to a row's own mobility: what is left of it by other constraints, if it depends on them."""
_INDEPENDENT = 1e-7
"""The same if it clearly does not; between the two, eigenvalues decide."""


class Elimination(NamedTuple):
    """Points without the constraints' motions: G (..., r, k); the rows (..., r, 6(e + m)) over the motions of the
    constraints' frames and the points, with which J becomes Jₛ; Jₛ M⁻¹ Jₛᵀ (..., r, r); the diagonal (..., r) of Λ⁻¹
    without constraints; K M⁻¹ Kᵀ (..., k, k), and its pseudo-inverse, of floats.
    """

    shares: Array
    rows: Array
    mobility: Array
    alone: Array
    held: Array
    inverse: Any = None


@dataclass(frozen=True)
class ConstrainedPoints(AtPoints):
    """The same quantities as of ``AtPoints``, under constraints."""

    held: HeldBy = field(kw_only=True)
    placements: Any = field(kw_only=True)
    """Of a relative to b, that the constraints hold."""
    every: AtPoints = field(kw_only=True)
    """The constraints' frames, then the points."""
    memo: dict[str, Any] = field(default_factory=dict, kw_only=True)

    def jacobian(self, q: Array) -> Array:
        return self._elimination(q).rows @ self.every.jacobian(q)

    def drift(self, q: Array, v: Array) -> Array:
        A, held = self._drifts(q, v)
        own = super().drift(q, v) if self.reference != "local" else self.asked.rows(A[..., 6 * self._ends :], -1)
        return own - times(self._elimination(q).shares, held)

    def accelerations_under(self, model: Model, q: Array, v: Array, tau: Any = None) -> Array:
        a = forward_dynamics(model, q, v, np.zeros(model.nv) if tau is None else tau)
        A = self.every._whole("frame_accelerations/local", q, v, a)
        A = A.reshape(*A.shape[:-2], 6 * A.shape[-2])
        own = self.asked.rows(A[..., 6 * self._ends :], -1)
        if self.reference != "local":
            own = super().accelerations_under(model, q, v, tau)
        return own - times(self._elimination(q).shares, self._rates(q, v, A))

    def inertia_inverse(self, q: Array, by_rows: bool = False) -> Array:
        return self._elimination(q).mobility

    def responses(self, q: Array) -> Array:
        return self._elimination(q).rows @ self.every._whole("force_responses", q)

    def consistent_inverse(self, q: Array, inertia: Array) -> Array:
        rows = self._elimination(q).rows
        if not self._one_kernel(q) or not is_traced(inertia) or inertia.ndim > 2:
            return transposed(self.responses(q)) @ inertia
        return transposed(self.every.weighted_responses(q, inertia @ rows))

    def inertia(self, inverse: Array, damping: Any) -> Array:
        alone = self.memo["here"].alone
        if not is_traced(inverse):
            if not damping and not self.pseudo_inverse:
                check_mobility(self.asked, inverse, alone, f" under the constraints {self.held.name}")
            return inverted(self.asked, inverse, float(damping), self.pseudo_inverse)
        size = inverse.shape[-1]
        return _each_state(_inverse, inverse + damping * np.eye(size), alone + damping)[0]

    def allowed_accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """q̈ (..., nv) due to joint forces beyond the bias, which cancel it, and to the constraints: what they do not
        allow of M⁻¹ τ is taken out, in the metric of M.
        """
        model = weightless(self.held.model)
        still = np.zeros(model.nv)
        a = forward_dynamics(model, q, still, tau)
        state, (_, K) = self._elimination(q), self.constraint_rows(q)
        rates = times(K, a) + self._drifts(q, v)[1]
        if is_traced(rates):
            sizes = _each_state(_solved, state.held, rates[..., None])[0][..., 0]
        else:
            sizes = times(state.inverse, rates)
        return a - forward_dynamics(model, q, still, times(transposed(K), sizes))

    def constraint_rows(self, q: Array) -> tuple[list[Rows], Array]:
        """Each constraint's rows over the motions of its frames, and K (..., k, nv) of all over joint velocities."""
        if "held" not in self.memo:
            self.memo["held"] = self._rows(q)
        rows, C = self.memo["held"]
        return rows, C @ self.every.jacobian(q)[..., : 6 * self._ends, :]

    def constraint_wrenches(self, q: Array, sizes: Array) -> Array:
        """The wrenches (..., k, 6) on frame a of each constraint, from the magnitudes (..., r) of their forces."""
        return wrenches_of(self.held, self.memo["held"][0], sizes)

    @property
    def _ends(self) -> int:
        """The number of the constraints' frames that move."""
        return len(moving_ends(self.held))

    def _rates(self, q: Array, v: Array, A: Array) -> Array:
        """K q̈ + K̇v, of accelerations A (..., 6(e + m)) of all frames."""
        held, ends = self.held, self.held.ends
        at_ends = A[..., : 6 * self._ends].reshape(*A.shape[:-1], self._ends, 6)
        still = np.zeros_like(at_ends[..., 0, :])
        moving = {end: k for k, end in enumerate(moving_ends(held))}
        A = np.stack([at_ends[..., moving[k], :] if k in moving else still for k in range(len(ends))], axis=-2)
        places, V = forward_kinematics(held.model, q, ends), frame_velocity(held.model, q, v, ends)
        return rows_and_rates(held, q, places, V, A, self.placements, None)[1]

    def _drifts(self, q: Array, v: Array) -> tuple[Array, Array]:
        """J̇v (..., 6(e + m)) of all frames, and K̇v (..., k) of the constraints."""
        if "drifts" not in self.memo:
            A = self.every.drift(q, v)
            self.memo["drifts"] = A, self._rates(q, v, A)
        found: tuple[Array, Array] = self.memo["drifts"]
        return found

    def _elimination(self, q: Array) -> Elimination:
        if "here" not in self.memo:
            self.memo["here"] = self._eliminated(q)
        found: Elimination = self.memo["here"]
        return found

    def _rows(self, q: Array) -> tuple[list[Rows], Array]:
        """The rows of each constraint over the motions of its frames, and of all together over those that move."""
        held = self.held
        places = forward_kinematics(held.model, q, held.ends)
        seen = at_grips(held, places, np.zeros((*q.shape[:-1], len(held.ends), 6)), self.placements)
        rows = [
            rows_of(held, constraint.all_rows(held.model, seen.of(grips)), grips, seen.X)
            for constraint, grips in zip(held.constraints, held.grips, strict=True)
        ]
        columns = [6 * end + k for end in moving_ends(held) for k in range(6)]
        return rows, all_rows(held, rows)[..., columns]

    def _eliminated(self, q: Array) -> Elimination:
        count = 6 * self._ends
        self.memo["held"] = self._rows(q)
        C = self.memo["held"][1]
        whole = self.every.inertia_inverse(q, by_rows=True)
        own = self.asked.rows(np.eye(6 * len(self.asked.frames)) if self.reference == "local" else self._turn(q), -2)
        to_ends, between = whole[..., :count, :count], whole[..., count:, :count]
        held_mobility = C @ to_ends @ transposed(C)
        coupling = own @ between @ transposed(C)
        alone = own @ whole[..., count:, count:] @ transposed(own)
        inverse = None if is_traced(whole) else _pseudo_inverse(held_mobility)
        if inverse is None:
            shares, mobility = _each_state(_by_factors, held_mobility, coupling, alone)
        else:
            shares, mobility = _by_eigenvalues(inverse, coupling, alone)
        points = np.broadcast_to(own, (*shares.shape[:-1], own.shape[-1]))
        across = np.concatenate([-(shares @ C), points], axis=-1)
        if not is_traced(across):  # a row that the constraints hold is zero, not its rounding errors
            across = across * (np.einsum("...ii->...i", mobility) > 0.0)[..., None]
        return Elimination(shares, across, mobility, np.einsum("...ii->...i", alone), held_mobility, inverse)


def constrained_points(
    held: HeldBy, placements: Any, asked: PointSet, every: PointSet, method: str, reference: str,
    offsets: Sequence[Any], pseudo_inverse: bool,
) -> ConstrainedPoints:  # fmt: skip
    """The points with constraints; ``every`` are the constraints' frames and the points."""
    shifts = [0.0] * (3 * len(moving_ends(held))) + list(offsets) if len(offsets) else ()
    together = AtPoints(every, method, "local", shifts)
    return ConstrainedPoints(
        asked, method, reference, offsets, pseudo_inverse, held=held, placements=placements, every=together
    )


def with_ends(held: HeldBy, asked: PointSet) -> PointSet:
    """The frames that constraints hold, if they move, then the points, as poses."""
    ends = [held.frames[k] for k in moving_ends(held)]
    names = (*(Point(frame.name) for frame in ends), *(Point(p.frame, p.offset) for p in asked.points))
    offsets = (*([0.0] * (3 * len(ends))), *asked.offsets) if asked.offsets else ()
    return PointSet(asked.model, (*ends, *asked.frames), offsets, names)


def moving_ends(held: HeldBy) -> list[int]:
    """The frames of constraints that are on bodies, not on the world, by their index in ``held.ends``."""
    return [k for k, body in enumerate(held.bodies) if body]


# Linear algebra


def _each_state(function: Callable[..., tuple[Any, ...]], *arrays: Array) -> tuple[Array, ...]:
    """The results of a function of nested lists, for each state of traced arrays."""
    size = arrays[0].ndim - 2
    leading = arrays[0].shape[:size]
    flat = [numbers(each).reshape(-1, *each.shape[size:]) for each in arrays]
    results = [function(*(each[k].tolist() for each in flat)) for k in range(len(flat[0]))]
    found = []
    for parts in zip(*results, strict=True):
        own = [numbers(array_of([x for row in part for x in row], (len(part), len(part[0])))) for part in parts]
        found.append(traced(np.stack(own).reshape((*leading, *own[0].shape))))
    return tuple(found)


Lists = list[list[Any]]


def _factor(W: Lists) -> tuple[Factor, Any]:
    """L D Lᵀ of K M⁻¹ Kᵀ without rows that depend on those before; and 0, or NaN where that is unclear."""
    diagonal = [W[k][k] for k in range(len(W))]
    largest = diagonal[0]
    for one in diagonal[1:]:
        largest = where_less(largest, one, one, largest)
    least = [where_less(_IDLE * largest, one, _DEPENDENT * one, inf) for one in diagonal]
    factor = Factor.of_matrix(W, least=least)
    sound: Any = 0.0
    for inverse_pivot, one in zip(factor.inverse_pivots, diagonal, strict=True):
        sound = where_less(inverse_pivot * (_INDEPENDENT * one), 1.0, sound, nan)
    return factor, sound


def _by_factors(W: Lists, B: Lists, T: Lists) -> tuple[Lists, Lists]:
    """B W⁺ and T - B W⁺ Bᵀ."""
    factor, sound = _factor(W)
    pivots = factor.inverse_pivots
    halves = [factor.forward(row) for row in B]
    scaled = [[x * pivot for x, pivot in zip(half, pivots, strict=True)] for half in halves]
    shares = [factor.backward(row) for row in scaled]
    mobility: Lists = [[0.0] * len(T) for _ in T]
    for r, row in enumerate(scaled):
        for c in range(r + 1):
            left = T[r][c]
            for x, y in zip(row, halves[c], strict=True):
                left = left - x * y
            mobility[r][c] = mobility[c][r] = left
    moves = [where_less(_DEPENDENT * T[k][k], mobility[k][k], 1.0, 0.0) for k in range(len(T))]
    mobility = [[x * (a * b) for x, b in zip(row, moves, strict=True)] for row, a in zip(mobility, moves, strict=True)]
    mobility[0][0] = mobility[0][0] + sound
    return shares, mobility


def _by_eigenvalues(inverse: Array, B: Array, T: Array) -> tuple[Array, Array]:
    """The same over floats, with the pseudo-inverse W⁺."""
    shares = B @ inverse
    mobility = T - shares @ transposed(B)
    own = np.einsum("...ii->...i", mobility) > _DEPENDENT * np.einsum("...ii->...i", T)
    mobility = 0.5 * (mobility + transposed(mobility)) * (own[..., :, None] & own[..., None, :])
    return shares, mobility


def _solved(W: Lists, right: Lists) -> tuple[Lists]:
    """W⁺ times a column."""
    factor, sound = _factor(W)
    found = factor.solve([row[0] for row in right])
    return ([[found[0] + sound], *([x] for x in found[1:])],)


def _pseudo_inverse(W: Array) -> Array:
    """W⁺, in units in which the diagonal is 1."""
    diagonal = np.einsum("...ii->...i", W)
    with np.errstate(all="ignore"):
        moves = diagonal > _IDLE * diagonal.max(axis=-1, keepdims=True)
        units = np.where(moves, 1.0 / np.sqrt(diagonal), 0.0)
    both = units[..., :, None] * units[..., None, :]
    return np.asarray(np.linalg.pinv(W * both, rcond=_DEPENDENT, hermitian=True) * both, dtype=np.float64)


def _inverse(A: Lists, scales: Any) -> tuple[Lists]:
    return inversion(None, A, scales)
