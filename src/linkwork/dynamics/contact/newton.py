"""Newton's method with a line search for the accelerations of a mechanism with contacts, over any scalars.

    a = argmin ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref)

with s a convex function of each row or cone (``costs``). One iteration solves with the Hessian M + Jᵀ H J, and goes
along that direction to where the slope is small. The minimum is unique, since M is positive definite, so the initial
point affects the time only. If all rows are quadratic, and none changes its zone, a single step ends the search.

What carries M is a ``Problem``: a matrix (``dense``), or articulated bodies (``articulated``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from linkwork.compiled.arrays import array_of
from linkwork.compiled.repeating import repeat
from linkwork.dynamics.contact.line import SMOOTH, Line, listed
from linkwork.spatial import Scalar, absolute, where_less

MOST_ITERATIONS = 1000
PROBLEM = "the problem of the contact forces"
CONVERGED, _LEFT, _NOTHING = 1e-14, 1e-26, 1e-22
"""The squared norm of the last step, relative to that of all accelerations, at which the search ends; the step is still
taken, which squares its error. The estimate of the error that is left, from the previous steps; and the level of
rounding.
"""
SHORT = 1e-4
"""The same for a step that ends the search because no row changes its zone: rounding in a longer step, which grows with
the condition number of the Hessian, is corrected by one more step.
"""
SAFE = 1e-8
"""The fraction of ``enough`` that the next step may gain, estimated by quadratic convergence. With it and a tolerance
of 1e-8 a step from 1,600 states of gymnasium's humanoid, and ant, is off by up to 3e-6 and 5e-5 of the largest change
of velocity, 99 % of them by less than 8e-8 and 2e-10 (MuJoCo's by 5e-5 and 3e-5, 99 % by less than 1e-5 and 7e-6).
"""
TINY = 1e-300


class Direction(NamedTuple):
    """Newton's direction from a point, in numbers of the point: the decrease of the cost that it promises, twice; the
    squared norm of accelerations, to which that of a step is compared; and the cost along it.
    """

    change: list[Scalar]
    fall: Scalar
    size: Scalar
    line: Line


class Problem(Protocol):
    """What Newton's method solves; a point is a list of numbers in which rows are linear."""

    def data(self) -> list[Any]:
        """Arrays of all traced numbers in it."""

    def of(self, data: Sequence[Any]) -> Problem:
        """The same with other numbers."""

    def direction(self, point: Sequence[Scalar]) -> Direction: ...


def minimised(problem: Problem, start: Sequence[Scalar], enough: float = 0.0) -> list[Scalar]:
    """The point of least cost. The search ends with a step that decreases the cost by less than half of ``enough``, or
    by no more than rounding.
    """

    def iteration(state: Any, *data: Any) -> Any:
        *x, before = listed(state)
        p, fall, size, line = problem.of(data).direction(x)
        step, exact = line.searched(fall)
        fast = where_less(fall * fall * fall, _LEFT * size * (before * before), 1.0, 0.0)  # quadratic convergence
        small = where_less(fall, CONVERGED * size, where_less(fall, _NOTHING * size, 1.0, fast), 0.0)
        if enough:
            left = where_less(SMOOTH - 0.25, exact, fall * fall * fall, math.inf)  # estimated by quadratic convergence
            small = where_less(left, SAFE * enough * (before * before), 1.0, where_less(fall, enough, 1.0, small))
        else:
            exact = where_less(fall, SHORT * size, exact, 0.0)
        last = where_less(0.5, small + exact, 1.0, 0.0)
        step = where_less(absolute(fall), math.inf, where_less(0.5, last, 1.0, step), math.nan)
        more = where_less(absolute(fall), math.inf, where_less(0.5, last, 0.0, 1.0), 0.0)
        return [array_of([*(a + step * b for a, b in zip(x, p, strict=True)), fall])], more

    (end,) = repeat(iteration, [array_of([*start, 0.0])], problem.data(), most=MOST_ITERATIONS, name=PROBLEM)
    return listed(end)[:-1]
