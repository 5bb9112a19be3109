"""Newton's method with a line search for the accelerations of a mechanism with contacts, over any scalars.

    a = argmin ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref)

with s a convex function of each row or cone (``costs``). One iteration solves with the Hessian M + Jᵀ H J, and goes
along that direction to where the slope is small. The minimum is unique, since M is positive definite, so the initial
point affects the time only. If all rows are quadratic, and none changes its zone, a single step ends the search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.compiled.arrays import array_of
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.dynamics.contact.costs import (
    Group,
    Holds,
    as_cone,
    as_side,
    both_of,
    cone_cost,
    cone_response,
    friction_cost,
    side_cost,
)
from linkwork.dynamics.contact.line import SMOOTH, Line, listed
from linkwork.dynamics.contact.sparse import Matrix, Sparsity, solved, times
from linkwork.spatial import Scalar, absolute, where_less
from linkwork.spatial.matrices import dot

MOST_ITERATIONS = 1000
PROBLEM = "the problem of the contact forces"
CONVERGED, _LEFT, _NOTHING = 1e-14, 1e-26, 1e-22
"""The squared norm of the last step, relative to that of all accelerations, at which the search ends; the step is still
taken, which squares its error. The estimate of the error that is left, from the previous steps; and the level of
rounding.
"""
CHEAPER = 0.125
"""If the last accelerations cost more than this fraction of the free ones, the search from the free ones takes fewer
iterations, since contacts that are pressed together stick there.
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


def _cheaper(
    M: Matrix, force: Sequence[Scalar], holds: Holds, a: Sequence[Scalar], b: Sequence[Scalar], sparsity: Sparsity
) -> list[Scalar]:
    """The first of two points if it costs far less than the second, the free accelerations: after an impact, or a push,
    the last accelerations are a poor initial point.
    """
    costs = []
    for x in (a, b):
        cost = 0.5 * dot(x, times(M, x, sparsity)) - dot(x, force)
        for limit in holds.limits:
            cost = cost + side_cost(limit.sign * x[limit.dof] - limit.wanted, limit.D)
        for one in holds.frictions:
            cost = cost + friction_cost(x[one.dof] - one.wanted, one.D, one.most)
        for bond in holds.bonds:
            s = dot(bond.J, x) - bond.wanted
            cost = cost + 0.5 * (bond.D * s * s)
        costs.append(cost)
    for group in holds.groups:

        def cone(
            state: Sequence[Scalar], row: Sequence[Scalar], given: Sequence[Scalar], dofs: Sequence[int] = group.dofs
        ) -> list[Scalar]:
            own, points = as_cone(row, len(dofs)), both_of(given, dofs)
            found = [[dot(each, x) - w for each, w in zip(own.J, own.wanted, strict=True)] for x in points]
            return [cost + cone_cost(own, s, holds.ratio) for cost, s in zip(state, found, strict=True)]

        def side(
            state: Sequence[Scalar], row: Sequence[Scalar], given: Sequence[Scalar], dofs: Sequence[int] = group.dofs
        ) -> list[Scalar]:
            own, points = as_side(row, len(dofs)), both_of(given, dofs)
            return [cost + side_cost(dot(own.J, x) - own.wanted, own.D) for cost, x in zip(state, points, strict=True)]

        costs = group.rows.fold(cone if group.friction else side, costs, [*a, *b])
    least = -0.5 * dot(b, force)  # the cost of b without rows
    far_cheaper = where_less(costs[0] - least, CHEAPER * (costs[1] - least), 1.0, 0.0)
    return [where_less(0.5, far_cheaper, x, y) for x, y in zip(a, b, strict=True)]


class Evaluation(NamedTuple):
    """Gradient and Hessian at a point, and M a."""

    gradient: list[Scalar]
    hessian: Matrix
    inertial: list[Scalar]


def evaluated(M: Matrix, force: Sequence[Scalar], holds: Holds, a: Sequence[Scalar], sparsity: Sparsity) -> Evaluation:
    """Evaluate ½ aᵀ M a - aᵀ force + Σ s(J a - a_ref)."""
    inertial = times(M, a, sparsity)
    g = [x - y for x, y in zip(inertial, force, strict=True)]
    H = dict(M)
    for limit in holds.limits:
        i = limit.dof
        s = limit.sign * a[i] - limit.wanted
        h = where_less(s, 0.0, limit.D, 0.0)
        g[i] = g[i] + limit.sign * (h * s)
        H[i, i] = H[i, i] + h
    for one in holds.frictions:
        i = one.dof
        pull = one.D * (a[i] - one.wanted)
        g[i] = g[i] + where_less(one.most, pull, one.most, where_less(pull, -one.most, -one.most, pull))
        H[i, i] = H[i, i] + where_less(one.most, absolute(pull), 0.0, one.D)

    for bond in holds.bonds:
        dofs = [i for i, x in enumerate(bond.J) if not (isinstance(x, float) and x == 0.0)]
        pull = bond.D * (dot(bond.J, a) - bond.wanted)
        for i in dofs:
            g[i] = g[i] + bond.J[i] * pull
            weighted = bond.D * bond.J[i]
            for j in dofs:
                if j <= i:
                    H[i, j] = H[i, j] + weighted * bond.J[j]
    places, n = sparsity.places, sparsity.n
    state = [*g, *(H[place] for place in places)]
    for group in holds.groups:
        state = _with_group(state, group, a, holds.ratio, places)
    return Evaluation(state[:n], dict(zip(places, state[n:], strict=True)), inertial)


def _with_group(
    state: Sequence[Scalar], group: Group, a: Sequence[Scalar], ratio: float, places: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Gradient and entries of the Hessian, with the rows of a group added."""
    dofs, n = group.dofs, len(group.dofs)

    def cone(state: Sequence[Scalar], row: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
        own, a = as_cone(row, n), [a[i] for i in dofs]
        s = [dot(each, a) - wanted for each, wanted in zip(own.J, own.wanted, strict=True)]
        return _with_rows(state, dofs, own.J, *cone_response(own, s, ratio), places)

    def side(state: Sequence[Scalar], row: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
        own = as_side(row, n)
        s = dot(own.J, [a[i] for i in dofs]) - own.wanted
        h = where_less(s, 0.0, own.D, 0.0)
        return _with_rows(state, dofs, [own.J], [-(h * s)], [[h]], places)

    return group.rows.fold(cone if group.friction else side, state, a)


def _with_rows(
    state: Sequence[Scalar],
    dofs: Sequence[int],
    J: Sequence[Sequence[Scalar]],
    f: Sequence[Scalar],
    h: Sequence[Sequence[Scalar]],
    places: Sequence[tuple[int, int]],
) -> list[Scalar]:
    """A gradient minus Jᵀ f, and the entries of a Hessian plus Jᵀ h J; J has some degrees of freedom only."""
    size, r, found = len(state) - len(places), range(len(J)), list(state)
    columns = {dof: [row[k] for row in J] for k, dof in enumerate(dofs)}
    for i, column in columns.items():
        found[i] = state[i] - dot(column, f)
    weighted = {i: [dot(x, [h[max(a, b)][min(a, b)] for a in r]) for b in r] for i, x in columns.items()}
    for at, (i, j) in enumerate(places, size):
        if i in columns and j in columns:
            found[at] = state[at] + dot(weighted[i], columns[j])
    return found


def minimised(
    M: Matrix, force: Sequence[Scalar], holds: Holds, free: Sequence[Scalar], start: Sequence[Scalar],
    sparsity: Sparsity, enough: float = 0.0,
) -> list[Scalar]:  # fmt: skip
    """The accelerations. ``free`` are those without rows, ``start`` is the initial point. The search ends with a step
    that decreases the cost by less than half of ``enough``, or by no more than rounding.
    """
    places = sparsity.places
    energy = dot(free, force)

    def iteration(state: Any, matrix: Any, given: Any, scalars: Any, scale: Any) -> Any:
        (*x, before), force = listed(state), listed(given)
        M = dict(zip(places, listed(matrix), strict=True))
        own = holds.of(listed(scalars))
        g, H, inertial = evaluated(M, force, own, x, sparsity)
        (found,) = direction(array_of([*g, *(H[place] for place in places)]))
        p = listed(found)
        fall = -dot(g, p)
        line = Line(own, x, p, dot([i - f for i, f in zip(inertial, force, strict=True)], p), times(M, p, sparsity))
        step, exact = line.searched(fall)
        size = listed(scale)[0] + absolute(dot(x, inertial)) + TINY
        fast = where_less(fall * fall * fall, _LEFT * size * (before * before), 1.0, 0.0)  # quadratic convergence
        small = where_less(fall, CONVERGED * size, where_less(fall, _NOTHING * size, 1.0, fast), 0.0)
        if enough:
            left = where_less(SMOOTH - 0.25, exact, fall * fall * fall, math.inf)  # estimated by quadratic convergence
            small = where_less(left, SAFE * enough * (before * before), 1.0, where_less(fall, enough, 1.0, small))
        else:
            exact = where_less(fall, SHORT * size, exact, 0.0)
        last = where_less(0.5, small + exact, 1.0, 0.0)
        step = where_less(0.5, last, 1.0, step)
        return [array_of([*(a + step * b for a, b in zip(x, p, strict=True)), fall])], where_less(0.5, last, 0.0, 1.0)

    def newton_step(numbers: Any) -> list[Any]:
        g, H = listed(numbers)[: sparsity.n], dict(zip(places, listed(numbers)[sparsity.n :], strict=True))
        return [array_of([-y for y in solved(H, g, sparsity)])]

    often = [set(each.places) for each in sparsity.often]
    absent = [[sparsity.n + k for k, place in enumerate(places) if place not in each] for each in often]
    direction = subroutine(newton_step, [each for each in absent if each]) if any(absent) else newton_step
    if start is not free:
        start = _cheaper(M, force, holds, start, free, sparsity)
    given = [
        array_of([M[place] for place in places]),
        array_of(list(force)),
        array_of(holds.flat()),
        array_of([energy]),
    ]
    (found,) = repeat(iteration, [array_of([*start, 0.0])], given, most=MOST_ITERATIONS, name=PROBLEM)
    return listed(found)[:-1]
