"""Newton's method with a line search for the accelerations of a mechanism with contacts, as a text over scalars.

    a = argmin ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref)

with s a convex function of each row or cone. One iteration evaluates gradient and Hessian M + Jᵀ H J at one point: a
new direction if the slope along the last one has become small, else another point along that one. The minimum is
unique, since M is positive definite, so that it matters for the time alone where the search begins.

Costs, with D = 1/R:

    side        ½ D s²                     for s < 0, else 0              a contact without friction, a limit
    friction    ½ D s²  up to |s| = R f, then f (|s| - ½ R f)             dry friction of a joint
    cone        N = μ s₀, U = μ (s₁, s₂) √ratio, T = |U|
                0  for N >= μ T;   ½ Σ D s²  for μ N + T <= 0;   else ½ Dₘ (N - μ T)²,  Dₘ = D₀ / (μ² (1 + μ²))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.compiled.repeating import repeat
from linkwork.spatial import Scalar, absolute, sqrt, total, where_less
from linkwork.spatial.matrices import dot

MOST_ITERATIONS = 100
_CONVERGED = 1e-20
"""Of the square of the last step, relative to that of all accelerations; it is still made, which squares its error."""
_FLAT, _STEEP = 0.3, 0.1
"""How small the slope along a direction must become, relative to its beginning: before the least, and beyond it."""
_TINY = 1e-300


class Cone(NamedTuple):
    """A contact with friction: rows (3, n) of J, normal first; what they are asked for; D of the normal; μ."""

    J: Sequence[Sequence[Scalar]]
    wanted: Sequence[Scalar]
    D: Scalar
    friction: Scalar


class Side(NamedTuple):
    """A row (n,) that only pushes."""

    J: Sequence[Scalar]
    wanted: Scalar
    D: Scalar


class Limit(NamedTuple):
    """A degree of freedom that is pushed up (sign 1) or down (-1)."""

    dof: int
    sign: float
    wanted: Scalar
    D: Scalar


class Friction(NamedTuple):
    """A degree of freedom that dry friction of at most ``most`` holds back."""

    dof: int
    wanted: Scalar
    D: Scalar
    most: float


@dataclass
class Holds:
    """All that acts on the accelerations besides M and the forces.

    Attributes:
        cones: rows, of contacts with friction that touch: J (3n), what is wanted (3), D and μ. sides: of those without:
        J (n), what is wanted, D. limits, frictions: of joints. ratio: how much harder friction holds than the normal.
    """

    cones: KeptRows
    sides: KeptRows
    limits: list[Limit] = field(default_factory=list)
    frictions: list[Friction] = field(default_factory=list)
    ratio: float = 1.0

    def flat(self) -> list[Scalar]:
        """The scalars of limits and frictions, in order."""
        found: list[Scalar] = []
        for limit in self.limits:
            found += [limit.wanted, limit.D]
        for friction in self.frictions:
            found += [friction.wanted, friction.D]
        return found

    def of(self, scalars: Sequence[Scalar]) -> Holds:
        """The same with other scalars."""
        left = iter(scalars)
        limits = [one._replace(wanted=next(left), D=next(left)) for one in self.limits]
        frictions = [one._replace(wanted=next(left), D=next(left)) for one in self.frictions]
        return Holds(self.cones, self.sides, limits, frictions, self.ratio)


def as_cone(row: Sequence[Scalar], n: int) -> Cone:
    return Cone([row[:n], row[n : 2 * n], row[2 * n : 3 * n]], row[3 * n : 3 * n + 3], *row[3 * n + 3 :])


def as_side(row: Sequence[Scalar], n: int) -> Side:
    return Side(row[:n], *row[n:])


class Sparsity:
    """Which numbers of a symmetric matrix may not be zero: of row i those of columns ``before[i]`` and i itself; closed
    under elimination from the last row on.
    """

    def __init__(self, n: int, cliques: Sequence[Sequence[int]]) -> None:
        pattern: list[set[int]] = [set() for _ in range(n)]
        for clique in cliques:
            for i in clique:
                pattern[i] |= {j for j in clique if j < i}
        for i in reversed(range(n)):
            for j in pattern[i]:
                pattern[j] |= {k for k in pattern[i] if k < j}
        self.n, self.before = n, [sorted(columns) for columns in pattern]

    @property
    def places(self) -> list[tuple[int, int]]:
        """All of them, row by row."""
        return [(i, j) for i in range(self.n) for j in (*self.before[i], i)]


Matrix = dict[tuple[int, int], Scalar]
"""The lower triangle of a symmetric matrix, without what is always zero."""


def times(A: Matrix, x: Sequence[Scalar], sparsity: Sparsity) -> list[Scalar]:
    """A x."""
    terms: list[list[Scalar]] = [[] for _ in range(sparsity.n)]
    for i, j in sparsity.places:
        terms[i].append(A[i, j] * x[j])
        if j < i:
            terms[j].append(A[i, j] * x[i])
    return [total(each) for each in terms]


def solved(A: Matrix, b: Sequence[Scalar], sparsity: Sparsity) -> list[Scalar]:
    """A⁻¹ b by A = Lᵀ D L, the last rows eliminated first: branches of a mechanism stay apart."""
    A, x, before = dict(A), list(b), sparsity.before
    L: Matrix = {}
    inverse: dict[int, Scalar] = {}
    for i in reversed(range(sparsity.n)):
        inverse[i] = 1.0 / A[i, i]
        for j in before[i]:
            L[i, j] = A[i, j] * inverse[i]
        for j in before[i]:
            for k in (*before[i][: before[i].index(j)], j):
                A[j, k] = A[j, k] - L[i, j] * A[i, k]
            x[j] = x[j] - L[i, j] * x[i]
    for i in range(sparsity.n):
        value = x[i] * inverse[i]
        for j in before[i]:
            value = value - L[i, j] * x[j]
        x[i] = value
    return x


def cone_response(cone: Cone, s: Sequence[Scalar], ratio: float) -> tuple[list[Scalar], list[list[Scalar]]]:
    """The forces of a cone, and the lower triangle of the Hessian of its cost."""
    mu, D, zero = cone.friction, cone.D, 0.0
    tangential = D * ratio
    inner = mu * ratio**-0.5  # μ where friction is as hard as the normal direction
    N, U1, U2 = s[0] * inner, s[1] * mu, s[2] * mu
    squared = U1 * U1 + U2 * U2
    T = sqrt(squared)
    over = N - inner * T  # at least zero: nothing touches
    under = inner * N + T  # at most zero: it sticks
    safe = where_less(0.0, T, T, 1.0)
    inverse = 1.0 / safe
    u1, u2 = U1 * inverse, U2 * inverse
    slide = D / (inner * inner * (1.0 + inner * inner))
    push = slide * over  # negative where it slides
    normal = -push * inner
    sliding = [normal, -normal * u1 * mu, -normal * u2 * mu]
    bent = -push * inner * inverse
    e1, e2 = -inner * u1, -inner * u2
    h = [
        slide * inner * inner,
        slide * e1 * inner * mu, (slide * e1 * e1 + bent * u2 * u2) * mu * mu,
        slide * e2 * inner * mu, (slide * e1 * e2 - bent * u1 * u2) * mu * mu,
        (slide * e2 * e2 + bent * u1 * u1) * mu * mu,
    ]  # fmt: skip

    def choose(free: Scalar, stuck: Scalar, slides: Scalar) -> Scalar:
        return where_less(over, 0.0, where_less(0.0, under, slides, stuck), free)

    stuck_force = [-D * s[0], -tangential * s[1], -tangential * s[2]]
    force = [choose(zero, a, b) for a, b in zip(stuck_force, sliding, strict=True)]
    stuck = [D, 0.0, tangential, 0.0, 0.0, tangential]
    H = [choose(zero, a, b) for a, b in zip(stuck, h, strict=True)]
    return force, [H[:1], H[1:3], H[3:]]


class Evaluation(NamedTuple):
    """Gradient and Hessian at a point, and M a."""

    gradient: list[Scalar]
    hessian: Matrix
    inertial: list[Scalar]


def evaluated(M: Matrix, force: Sequence[Scalar], holds: Holds, a: Sequence[Scalar], sparsity: Sparsity) -> Evaluation:
    """Of ½ aᵀ M a - aᵀ force + Σ s(J a - a_ref)."""
    n, places = sparsity.n, sparsity.places
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

    def with_cone(state: Sequence[Scalar], row: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
        cone = as_cone(row, n)
        s = [dot(own, a) - wanted for own, wanted in zip(cone.J, cone.wanted, strict=True)]
        return _with_rows(state, cone.J, *cone_response(cone, s, holds.ratio), places)

    def with_side(state: Sequence[Scalar], row: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
        side = as_side(row, n)
        s = dot(side.J, a) - side.wanted
        h = where_less(s, 0.0, side.D, 0.0)
        return _with_rows(state, [side.J], [-(h * s)], [[h]], places)

    state = [*g, *(H[place] for place in places)]
    state = holds.sides.fold(with_side, holds.cones.fold(with_cone, state, a), a)
    return Evaluation(state[:n], dict(zip(places, state[n:], strict=True)), inertial)


def _with_rows(
    state: Sequence[Scalar],
    J: Sequence[Sequence[Scalar]],
    f: Sequence[Scalar],
    h: Sequence[Sequence[Scalar]],
    places: Sequence[tuple[int, int]],
) -> list[Scalar]:
    """A gradient, less Jᵀ f, and the numbers of a Hessian, with Jᵀ h J."""
    n, r = len(J[0]), range(len(J))
    columns = [[row[i] for row in J] for i in range(n)]
    weighted = [[dot(column, [h[max(a, b)][min(a, b)] for a in r]) for b in r] for column in columns]
    gradient = [x - dot(column, f) for x, column in zip(state[:n], columns, strict=True)]
    hessian = [x + dot(weighted[i], columns[j]) for x, (i, j) in zip(state[n:], places, strict=True)]
    return [*gradient, *hessian]


def minimised(
    M: Matrix, force: Sequence[Scalar], holds: Holds, free: Sequence[Scalar], start: Sequence[Scalar],
    sparsity: Sparsity,
) -> list[Scalar]:  # fmt: skip
    """The accelerations; ``free`` are those that nothing holds, ``start`` is where the search begins."""
    n, places = sparsity.n, sparsity.places
    energy = dot(free, force)

    def iteration(base: Any, p: Any, line: Any, matrix: Any, given: Any, scalars: Any, scale: Any) -> Any:
        base, p, line, force = (_listed(each) for each in (base, p, line, given))
        step, low, slope_low, high, slope_high, slope_first = line
        M = dict(zip(places, _listed(matrix), strict=True))
        own = holds.of(_listed(scalars))
        x = [b + step * d for b, d in zip(base, p, strict=True)]
        g, H, inertial = evaluated(M, force, own, x, sparsity)
        slope = dot(g, p)
        bound = where_less(slope, 0.0, _FLAT, _STEEP) * -slope_first
        following = [-y for y in solved(H, g, sparsity)]
        fall = -dot(g, following)
        done = where_less(fall, _CONVERGED * (_listed(scale)[0] + absolute(dot(x, inertial)) + _TINY), 1.0, 0.0)

        def accepted(yes: Scalar, no: Scalar) -> Scalar:
            return where_less(bound, absolute(slope), no, yes)

        falls = where_less(slope, 0.0, 1.0, 0.0)
        low_, slope_low_ = (where_less(0.5, falls, *pair) for pair in ((step, low), (slope, slope_low)))
        high_, slope_high_ = (where_less(0.5, falls, *pair) for pair in ((high, step), (slope_high, slope)))
        # where a straight line through the two slopes is zero, well within the interval, or beyond
        wide = high_ - low_
        between = low_ + wide * _held(-slope_low_ / (slope_high_ - slope_low_), 0.1, 0.9)
        beyond = step * _held(1.0 + (1.0 - low / step) * slope / (slope_low - slope), 2.0, 10.0)
        next_step = where_less(high_, 0.0, beyond, between)
        new_base = [accepted(b, c) for b, c in zip(x, base, strict=True)]
        new_p = [accepted(b, c) for b, c in zip(following, p, strict=True)]
        stop = accepted(done, 0.0)
        moved = [where_less(0.5, stop, b + d, b) for b, d in zip(new_base, new_p, strict=True)]
        new_line = [
            accepted(1.0, next_step), accepted(0.0, low_), accepted(-fall, slope_low_), accepted(-1.0, high_),
            accepted(0.0, slope_high_), accepted(-fall, slope_first),
        ]  # fmt: skip
        return [array_of(moved), array_of(new_p), array_of(new_line)], where_less(0.5, stop, 0.0, 1.0)

    zeros = [0.0] * n
    state = [array_of(list(start)), array_of(zeros), array_of([1.0, 0.0, 0.0, -1.0, 0.0, 0.0])]
    given = [
        array_of([M[place] for place in places]),
        array_of(list(force)),
        array_of(holds.flat()),
        array_of([energy]),
    ]
    found, _, _ = repeat(iteration, state, given, most=MOST_ITERATIONS)
    return _listed(found)


def _held(x: Scalar, low: float, high: float) -> Scalar:
    """Within bounds; what is no number becomes the lower one."""
    return where_less(low, x, where_less(x, high, x, high), low)


def _listed(array: Any) -> list[Any]:
    return numbers(array).tolist()
