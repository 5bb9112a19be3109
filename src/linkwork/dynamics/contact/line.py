"""The contact problem along a direction, and the line search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.compiled.repeating import repeat
from linkwork.dynamics.contact.costs import (
    Cone,
    FrameGroup,
    Group,
    Holds,
    as_cone,
    coefficients,
    cone_response,
    joint_response,
)
from linkwork.spatial import Scalar, absolute, sqrt, where_less
from linkwork.spatial.matrices import dot

_FLAT = 0.05
"""The slope along a direction at which the search ends, relative to the initial slope."""
MOST_TRIALS, _FAR = 30, 1e6
"""The most trial steps along a direction, and the longest step."""
SMOOTH, _SLIDES = 0.5, 2.0**-20
"""The exactness of a full step along which no row changes its zone, though some slide; and the amount that a sliding
row counts, where a row that changes its zone counts 1.
"""


class Line:
    """The problem along a direction p from a point x, accelerations of joints; ``slope`` and ``curvature`` do not
    include the rows. Contacts and bonds may have other coordinates of the point and of the direction, ``at`` and
    ``along``.
    """

    def __init__(
        self,
        holds: Holds,
        x: Sequence[Scalar],
        p: Sequence[Scalar],
        slope: Scalar,
        curvature: Scalar,
        at: Sequence[Scalar] | None = None,
        along: Sequence[Scalar] | None = None,
    ) -> None:
        self.holds, self.slope, self.curvature = holds, slope, curvature
        here, way = x if at is None else at, p if along is None else along
        for bond in holds.bonds:  # quadratic everywhere
            rate = dot(bond.J, way)
            pull = bond.D * rate
            self.slope = self.slope + pull * (dot(bond.J, here) - bond.wanted)
            self.curvature = self.curvature + pull * rate
        self.rows = [_along(group, here, way) for group in holds.groups]
        self.joints = [number for row in holds.joints for number in (row.off(x), row.sign * p[row.dof], row.D)]

    def searched(self, fall: Scalar) -> tuple[Scalar, Scalar]:
        """The step length, given the initial slope of the cost; and 1 if the full step leads to the minimum because no
        row changes its zone, or SMOOTH if none does but some slide.
        """

        def trial(state: Any, joints: Any, numbers_given: Any) -> Any:
            step, low, high, _, first_trial = listed(state)
            slope, curvature, fall = listed(numbers_given)
            first, second, other = self._at(step, slope, curvature, listed(joints))
            new, go_on = following([step, low, high, first_trial], first, second, other, fall)
            return [array_of(new)], go_on

        state = [array_of([1.0, 0.0, _FAR, 0.0, 1.0])]
        fixed = [array_of(self.joints), array_of([self.slope, self.curvature, fall])]
        (end,) = repeat(trial, state, fixed, most=MOST_TRIALS, may_stop=True)
        step, _, _, exact, _ = listed(end)
        return step, exact

    def interpolated(self) -> Scalar:
        """The step from 0 to 1, along any direction, at which the slope is zero if it varies linearly; 0 or 1 if it
        does not change its sign.
        """
        first, last = (self._at(step, self.slope, self.curvature, self.joints)[0] for step in (0.0, 1.0))
        rise = where_less(0.0, last - first, last - first, 1.0)
        return where_less(first, 0.0, where_less(0.0, last, -first / rise, 1.0), 0.0)

    def _at(
        self, step: Scalar, slope: Scalar, curvature: Scalar, joints: Sequence[Scalar]
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Slope and curvature of the cost at a step, and the count of rows that have changed their zone since step 0,
        or slide.
        """
        state: list[Scalar] = [slope + step * curvature, curvature, 0.0]
        numbers = iter(joints)
        for row in self.holds.joints:
            s, w, D = next(numbers), next(numbers), next(numbers)
            _, _, before = joint_response(s, D, row.least, row.most)
            pull, h, after = joint_response(s + step * w, D, row.least, row.most)
            changed = where_less(absolute(before - after), 0.5, 0.0, 1.0)
            state = [state[0] + pull * w, state[1] + h * w * w, state[2] + changed]

        for group, rows in zip(self.holds.groups, self.rows, strict=True):
            m = group.friction + 1

            def text(
                state: Sequence[Scalar], row: Sequence[Scalar], given: Sequence[Scalar], m: int = m
            ) -> list[Scalar]:
                own = Cone((), (), *row[2 * m :])
                return plus_cone(state, given[0], row[:m], row[m : 2 * m], own, self.holds.ratio)

            state = rows.fold(text, state, [step])
        first, second, other = state
        return first, second, other


def _along(group: Group | FrameGroup, x: Sequence[Scalar], p: Sequence[Scalar]) -> KeptRows:
    """For each contact s, its derivatives along p, D and each μ."""

    def text(row: Sequence[Scalar], *inputs: Any) -> list[Scalar]:
        own, (x, p) = as_cone(row, group.n, group.friction), group.coordinates(row, *inputs)
        return [*own.off(x), *(dot(each, p) for each in own.J), *(x for x in own[2:] if x is not None)]

    width = 2 * (group.friction + 1) + 1 + coefficients(group.friction)
    return group.rows.mapped(f"{group.rows.rows.name} along a line", text, width, *group.inputs(x, p))


def following(
    state: Sequence[Scalar], first: Scalar, second: Scalar, other: Scalar, fall: Scalar
) -> tuple[list[Scalar], Scalar]:
    """After a trial: the state for the next one, and 1 to continue. The state is the step, its bounds, and 1 in the
    first trial. Then come slope and curvature at the step, the count of rows that have changed their zone or slide, and
    the initial slope.
    """
    step, low, high, first_trial = state
    # the next step is the parabola's minimum, or the middle of the bounds
    guess = step - first / second
    below, above = (where_less(first, 0.0, *pair) for pair in ((step, low), (high, step)))
    middle = 0.5 * (below + above)
    inside = where_less(below, guess, where_less(guess, above, guess, middle), middle)
    smooth = where_less(other, 0.5, where_less(other, 0.5 * _SLIDES, 1.0, SMOOTH), 0.0)
    exact = smooth * first_trial  # only for a full step
    near = where_less(_FLAT * fall, absolute(first), 0.0, 1.0)
    stop = where_less(0.5, near + exact, 1.0, 0.0)
    return [where_less(0.5, stop, step, inside), below, above, exact, 0.0], where_less(0.5, stop, 0.0, 1.0)


def plus_cone(
    state: Sequence[Scalar], step: Scalar, s: Sequence[Scalar], w: Sequence[Scalar], own: Cone, ratio: float
) -> list[Scalar]:
    """Slope, curvature, and the count of rows that have changed or slide, with those of a cone added; w is the
    derivative of its s along the direction.
    """
    m = len(s)
    there = [x + step * y for x, y in zip(s, w, strict=True)]
    f, h = cone_response(own, there, ratio)
    bent = dot(w, [dot([h[max(a, b)][min(a, b)] for b in range(m)], w) for a in range(m)])
    before, after = (_zone(own, each, ratio) for each in (s, there))
    slides = where_less(absolute(after), 0.5, _SLIDES, 0.0)
    other = where_less(absolute(before - after), 0.5, slides, 1.0)
    other = where_less(0.0, own.D, other, 0.0)
    return [state[0] - dot(f, w), state[1] + bent, state[2] + other]


def _zone(cone: Cone, s: Sequence[Scalar], ratio: float) -> Scalar:
    """-1 for a sticking cone, 0 for a sliding one, 1 for an open one."""
    if cone.friction is None:
        return where_less(s[0], 0.0, -1.0, 1.0)
    inner = cone.friction * ratio**-0.5
    N, U = s[0] * inner, [x * own for x, own in zip(s[1:], cone.frictions, strict=True)]
    T = sqrt(dot(U, U))
    return where_less(N - inner * T, 0.0, where_less(0.0, inner * N + T, 0.0, -1.0), 1.0)


def listed(array: Any) -> list[Any]:
    return numbers(array).tolist()
