"""Damped least squares (Levenberg, Marquardt) over configurations within limits, with restarts.

With residuals e(q) and J = -∂e/∂q, one iteration steps from the best configuration so far by

    δ = Jᶠᵀ (Jᶠ Jᶠᵀ + λ)⁻¹ e  =  (Jᶠᵀ Jᶠ + λ)⁻¹ Jᶠᵀ e        by the smaller of the two matrices

where Jᶠ has the columns of free joints, and zeros for a joint at a limit that it is driven against. A coordinate that
the step would take beyond a limit stays at the limit. λ follows the ratio of the actual decrease of |e|²/2 to the one
predicted by the linear model (Nielsen, 1999). A step without a decrease is rejected, and λ grows, so that steps become
shorter and turn towards the gradient; along it there is always a decrease until a minimum within the limits
(Bertsekas' projection) is reached.

A start that takes too many iterations, or hardly decreases |e| for some iterations, is abandoned for the next one: a
point of a low-discrepancy sequence over the limits (multiples of powers of the generalised golden ratio; Roberts,
2018). The last start returns from limits: it is the nearest configuration found, with the joints that are at a limit
moved to the middle of their ranges. All decisions are made for each state by itself: a state's result is the same in
any batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.compiled.repeating import repeat
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.search_coordinates import Coordinates
from linkwork.spatial import Factor
from linkwork.spatial.small_matrices import times, transposed

MOST_ITERATIONS = 60
"""Per start."""
_SLOW, _MOST_SLOW, _MOST_SLOW_AT_LAST = 0.9, 5.0, 12.0
"""A decrease of |e|² by less than this factor is slow; after so many slow iterations in a row a start is abandoned, and
after so many the last one and the return from limits.
"""
_SETTLED, _MOST_STUCK, _WEAKER, _LAST_PULL = 0.99, 4, 0.1, 1e-4
"""While the posture has weight, the search has settled after a decrease by less than the first factor, or after so many
slow iterations in a row. The weight is then multiplied by the third number, and becomes zero below the last fraction of
its initial value.
"""
_LEAST_DAMPING, _MOST_DAMPING = 1e-10, 1e10
_MOST_SHRINKING = 0.2
"""The smallest factor of λ in one iteration."""
_NOT_YET = 1e300
"""|e|² of a start that has not been evaluated."""
_WITHOUT_END = 2**31 - 1


def _golden(dimensions: int) -> Array:
    """The increments of the sequence: powers of 1/φ with φ^(d+1) = φ + 1."""
    ratio = 2.0
    for _ in range(100):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1.0))
    return ratio ** -np.arange(1.0, dimensions + 1.0)


def sampled(number: Any, base: Any, span: Any) -> Any:
    """Point ``number`` (...) of the sequence, in a box (v)."""
    turns = 0.5 + number[..., None] * _golden(base.shape[-1])
    return base + span * (turns - np.floor(turns))


# The search


_NUMBERS = ("value", "damping", "growth", "promised", "iterations", "slow", "start", "total", "least", "pull")
"""The scalars of a search's state, besides coordinates, residuals and J: the best |e|² of this start, λ and the factor
by which it grows next, the decrease predicted by the linear model, the iterations of this start, the last ones in a row
that were slow, the index of the start, the total iterations, the least |e|² of all starts, and the weight of the
posture.
"""
SETTINGS = ("damping", "iterations", "restarts", "pull", "offset")
"""The initial λ, the most iterations of a start, the number of restarts, the initial weight of the posture, and the
offset from the index in the sequence to that of a start; point 0 of the sequence is the middle.
"""


class Search(ABC):
    """A search for configurations.

    Attributes:
        coordinates: those that the residuals depend on.
        groups: the rows of e whose norm must be within a tolerance.
        posture: whether the configuration should stay near a posture, the first of the arguments. The distance to it
            has a weight beside the residuals, which is reduced whenever the search has settled; once it is zero, the
            search goes on to the nearest solution.
    """

    coordinates: Coordinates
    groups: tuple[tuple[int, ...], ...]
    posture: bool

    @abstractmethod
    def residuals(self, q: Any, argument: Any) -> tuple[Any, Any]:
        """e (..., r) and J = -∂e/∂q (..., r, nv), for an argument."""

    def nearest(self, q0: Any, *fixed: Any, batch: int = 0) -> tuple[Any, Any]:
        """The best configuration (nq,), and the number of iterations.

        Args:
            q0: initial configuration (nq,), within the limits.
            fixed: low, high, base and span of ``Limits``, ``SETTINGS``, the weight of each residual (r,), the tolerance
                of each group, the posture if there is one, and the argument of the residuals.
            batch: leading axes of arrays that are not traced.
        """
        settings = dict(zip(SETTINGS, np.moveaxis(fixed[4], -1, 0), strict=True))
        own, rows = self.coordinates, sum(map(len, self.groups))
        first = q0[..., own.q]
        if own.followers:
            first = np.minimum(np.maximum(first, fixed[0]), fixed[1])  # followers are then within their limits, too
        zero, leading = 0.0 * first[..., 0], first.shape[:-1]
        values = {"value": _NOT_YET, "growth": 2.0, "promised": 1.0, "least": 2.0 * _NOT_YET}
        values |= {name: settings[name] for name in ("damping", "pull")}
        begin = np.stack([zero + values.get(name, 0.0) for name in _NUMBERS], axis=-1)
        n = len(own.v)
        state = [first, first, np.zeros((*leading, rows)), np.zeros((*leading, rows, n)), begin, first]
        state += [np.zeros((*leading, n))] if self.posture else []
        ends = repeat(self._iteration, state, [q0, *fixed], most=_WITHOUT_END, batch=batch)
        return own.whole(ends[5], q0), ends[4][..., _NUMBERS.index("total")]

    def _iteration(self, trial: Any, best: Any, e: Any, J: Any, numbers: Any, out: Any, *rest: Any) -> tuple[Any, Any]:
        """Evaluate a trial, accept it if it is better, and make the next one; whether to continue."""
        own = self.coordinates
        away, (q0, low, high, base, span, settings, weights, tolerances, *posture, argument) = (
            (rest[0], rest[1:]) if self.posture else (None, rest)
        )
        now = dict(zip(_NUMBERS, np.moveaxis(numbers, -1, 0), strict=True))
        setting = dict(zip(SETTINGS, np.moveaxis(settings, -1, 0), strict=True))

        # Evaluate the trial
        q = own.whole(trial, q0)
        e_new, J_new = self.residuals(q, argument)
        reached = True
        for k, group in enumerate(self.groups):
            length = (e_new[..., list(group)] ** 2).sum(axis=-1)
            reached = (length <= tolerances[..., k] ** 2) & reached
        e_new, J_new = weights * e_new, weights[..., None] * own.columns(J_new)
        task = (e_new * e_new).sum(axis=-1)
        value = task
        if self.posture:
            away_new = own.difference(trial, q, *posture)
            value = value + now["pull"] * (away_new * away_new).sum(axis=-1)
            reached = reached & (now["pull"] == 0.0)

        # Compare its decrease with the predicted one
        better, fresh = value < now["value"], now["value"] >= _NOT_YET
        ratio = np.where(fresh, 0.5, np.minimum((now["value"] - value) / now["promised"], 1.0))
        bend = 2.0 * ratio - 1.0
        factor = np.where(better, np.maximum(_MOST_SHRINKING, 1.0 - bend * bend * bend), now["growth"])
        scale = setting["damping"]
        damping = np.clip(now["damping"] * factor, _LEAST_DAMPING * scale, _MOST_DAMPING * scale)
        growth = np.where(better, 2.0, 2.0 * now["growth"])
        slow = np.where(value < _SLOW * now["value"], 0.0, now["slow"] + 1.0)
        best, e = _where(better, trial, best), _where(better, e_new, e)
        J, least_value = _where(better, J_new, J), np.where(better, value, now["value"])
        iterations, total = now["iterations"] + 1.0, now["total"] + 1.0
        nearer = (task < now["least"]) | reached
        out, least = _where(nearer, trial, out), np.where(nearer, task, now["least"])
        pull = now["pull"]
        if self.posture:
            away = _where(better, away_new, away)
            still = better & (value > _SETTLED * now["value"]) & (damping < pull)
            late = iterations >= 0.75 * setting["iterations"]
            weaker = np.where(late | (pull < _LAST_PULL * setting["pull"]), 0.0, _WEAKER * pull)
            settled = (still | late | (slow >= _MOST_STUCK)) & (pull > 0.0)
            slow, growth = np.where(settled, 0.0, slow), np.where(settled, 2.0, growth)
            damping = np.where(settled, np.minimum(damping, scale), damping)
            pull = np.where(settled, weaker, pull)
            least_value = (e * e).sum(axis=-1) + pull * (away * away).sum(axis=-1)

        # Continue from the best, restart, or end
        patience = np.where(now["start"] < setting["restarts"], _MOST_SLOW, _MOST_SLOW_AT_LAST)
        given_up = (iterations >= setting["iterations"]) | (slow >= patience)
        at_limit = (out >= high) | (out <= low)
        last = np.where(at_limit.any(axis=-1), setting["restarts"] + 1.0, setting["restarts"])
        going = ~reached & ~(given_up & (now["start"] >= last))
        start = np.where(given_up, now["start"] + 1.0, now["start"])
        step_to, promised = self._step(best, e, J, damping, pull, away, low, high, q0)
        returns = start > setting["restarts"]
        anew = own.anew(sampled(np.where(returns, 0.0, start - setting["offset"]), base, span), q0)
        anew = np.minimum(np.maximum(anew, low), high)  # rounding may exceed the limits
        anew = _where(returns, np.where(at_limit, anew, out), anew)
        following = {
            "value": np.where(given_up, _NOT_YET, least_value),
            "damping": np.where(given_up, setting["damping"], damping),
            "growth": np.where(given_up, 2.0, growth),
            "promised": promised,
            "iterations": np.where(given_up, 0.0, iterations),
            "slow": np.where(given_up, 0.0, slow),
            "start": start,
            "total": total,
            "least": least,
            "pull": np.where(given_up, setting["pull"], pull) if self.posture else pull,
        }
        values = np.stack([following[name] for name in _NUMBERS], axis=-1)
        state = [_where(given_up, anew, step_to), best, e, J, values, out]
        return [*state, *([away] if self.posture else [])], going

    def _step(
        self, best: Any, e: Any, J: Any, damping: Any, pull: Any, away: Any, low: Any, high: Any, q0: Any
    ) -> tuple[Any, Any]:
        """The coordinates after a step from the best ones, and the predicted decrease."""
        own = self.coordinates
        slope = times(transposed(J), e)
        slope = slope + pull[..., None] * away if self.posture else slope
        ones = np.ones_like(slope)
        pushed = own.rates((best >= high) * 1.0, 0.0 * ones), own.rates((best <= low) * 1.0, 0.0 * ones)
        free = 1.0 - np.where(slope > 0.0, *pushed) * ones
        Jf = J * free[..., None, :]
        rows, n = J.shape[-2:]
        if rows <= n and not self.posture:
            matrix = Jf @ transposed(Jf) + damping[..., None, None] * np.eye(rows)
            step = times(transposed(Jf), _solved(matrix, e))
        else:
            damped = damping + pull if self.posture else damping
            matrix = transposed(Jf) @ Jf + damped[..., None, None] * np.eye(n)
            step = _solved(matrix, free * slope)
        there = np.minimum(np.maximum(own.stepped(best, step, q0), low), high)
        step = own.rates(there - best, step)
        along = times(J, step)
        promised = 2.0 * (slope * step).sum(axis=-1) - (along * along).sum(axis=-1)
        if self.posture:
            promised = promised - pull * (step * step).sum(axis=-1)
        return there, np.maximum(promised, 1.0 / _NOT_YET)


def _where(condition: Any, x: Any, y: Any) -> Any:
    """x (..., numbers of a state) for states in which the condition holds, y for others."""
    return np.where(condition.reshape((*condition.shape, *(1,) * (x.ndim - condition.ndim))), x, y)


def _solved(matrix: Any, right: Any) -> Any:
    """matrix⁻¹ right, of a symmetric positive definite matrix."""
    if not is_traced(matrix):
        return np.linalg.solve(matrix, right[..., None])[..., 0]
    solution = np.empty(right.shape, dtype=object)
    solution[:] = Factor.of_matrix(numbers(matrix).tolist()).solve(numbers(right).tolist())
    return traced(solution)
