"""Newton's method with a line search for the accelerations of a mechanism with contacts, as a text over scalars.

    a = argmin ½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - a_ref)

with s a convex function of each row or cone. One iteration solves with the Hessian M + Jᵀ H J, and goes along
that direction to where the slope is small. The minimum is unique, since M is positive definite, so that it matters for
the time alone where the search begins. Where all rows are parabolas, and stay those that they are, one step ends it.

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
_CONVERGED = 1e-15
"""Of the square of the last step, relative to that of all accelerations; it is still made, which squares its error."""
_FLAT = 0.05
"""How small the slope along a direction must become, relative to its beginning."""
_MOST_TRIALS, _FAR = 30, 1e6
"""Steps along a direction that are tried, and the longest."""
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
    places = sparsity.places
    energy = dot(free, force)

    def iteration(x: Any, matrix: Any, given: Any, scalars: Any, scale: Any) -> Any:
        x, force = _listed(x), _listed(given)
        M = dict(zip(places, _listed(matrix), strict=True))
        own = holds.of(_listed(scalars))
        g, H, inertial = evaluated(M, force, own, x, sparsity)
        p = [-y for y in solved(H, g, sparsity)]
        fall = -dot(g, p)
        line = Line(own, x, p, dot([i - f for i, f in zip(inertial, force, strict=True)], p), times(M, p, sparsity))
        step, exact = line.searched(fall)
        small = where_less(fall, _CONVERGED * (_listed(scale)[0] + absolute(dot(x, inertial)) + _TINY), 1.0, 0.0)
        last = where_less(0.5, small + exact, 1.0, 0.0)
        step = where_less(0.5, last, 1.0, step)
        return [array_of([a + step * b for a, b in zip(x, p, strict=True)])], where_less(0.5, last, 0.0, 1.0)

    given = [
        array_of([M[place] for place in places]),
        array_of(list(force)),
        array_of(holds.flat()),
        array_of([energy]),
    ]
    (found,) = repeat(iteration, [array_of(list(start))], given, most=MOST_ITERATIONS)
    return _listed(found)


class Line:
    """The problem along a direction p from a point x; ``slope`` and M p are those without what holds."""

    def __init__(
        self, holds: Holds, x: Sequence[Scalar], p: Sequence[Scalar], slope: Scalar, momentum: Sequence[Scalar]
    ) -> None:
        self.holds, self.n, self.slope, self.curvature = holds, len(x), slope, dot(p, momentum)
        n, given = self.n, [*x, *p]

        def cone(row: Sequence[Scalar], given: Sequence[Scalar]) -> list[Scalar]:
            own, x, p = as_cone(row, n), given[:n], given[n:]
            s = [dot(each, x) - wanted for each, wanted in zip(own.J, own.wanted, strict=True)]
            return [*s, *(dot(each, p) for each in own.J), own.D, own.friction]

        def side(row: Sequence[Scalar], given: Sequence[Scalar]) -> list[Scalar]:
            own = as_side(row, n)
            return [dot(own.J, given[:n]) - own.wanted, dot(own.J, given[n:]), own.D]

        self.cones = holds.cones.mapped("cones along a line", cone, 8, given)
        self.sides = holds.sides.mapped("sides along a line", side, 3, given)
        self.joints: list[Scalar] = []
        for limit in holds.limits:
            self.joints += [limit.sign * x[limit.dof] - limit.wanted, limit.sign * p[limit.dof], limit.D]
        for one in holds.frictions:
            self.joints += [x[one.dof] - one.wanted, p[one.dof], one.D]

    def searched(self, fall: Scalar) -> tuple[Scalar, Scalar]:
        """How far to go, given how the cost falls in the beginning; and 1 if one step leads to the least: if no row
        behaves otherwise there.
        """

        def trial(state: Any, joints: Any, numbers_given: Any) -> Any:
            step, low, high, _ = _listed(state)
            slope, curvature, fall = _listed(numbers_given)
            first, second, other = self._at(step, slope, curvature, _listed(joints))
            # the slope is zero where a parabola has it, or half-way between bounds
            guess = step - first / second
            below, above = (where_less(first, 0.0, *pair) for pair in ((step, low), (high, step)))
            middle = 0.5 * (below + above)
            inside = where_less(below, guess, where_less(guess, above, guess, middle), middle)
            exact = where_less(0.5, other, 0.0, 1.0)
            near = where_less(_FLAT * fall, absolute(first), 0.0, 1.0)
            stop = where_less(0.5, near + exact, 1.0, 0.0)
            new = [where_less(0.5, stop, step, inside), below, above, exact]
            return [array_of(new)], where_less(0.5, stop, 0.0, 1.0)

        state = [array_of([1.0, 0.0, _FAR, 0.0])]
        given = [array_of(self.joints), array_of([self.slope, self.curvature, fall])]
        (found,) = repeat(trial, state, given, most=_MOST_TRIALS)
        step, _, _, exact = _listed(found)
        return step, exact

    def _at(
        self, step: Scalar, slope: Scalar, curvature: Scalar, joints: Sequence[Scalar]
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Slope and curvature of the cost at a step, and how many rows are not those that they were at none, or are
        not parabolas.
        """
        state: list[Scalar] = [slope + step * curvature, curvature, 0.0]
        limits = len(self.holds.limits)
        for k, (s, w, D) in enumerate(zip(joints[0::3], joints[1::3], joints[2::3], strict=True)):
            if k < limits:
                state = _plus_side(state, step, s, w, D)
            else:
                state = _plus_friction(state, step, s, w, D, self.holds.frictions[k - limits].most)

        def cone(state: Sequence[Scalar], row: Sequence[Scalar], given: Sequence[Scalar]) -> list[Scalar]:
            s, w, own = row[:3], row[3:6], Cone((), (), row[6], row[7])
            there = [x + given[0] * y for x, y in zip(s, w, strict=True)]
            f, h = cone_response(own, there, self.holds.ratio)
            bent = dot(w, [dot([h[max(a, b)][min(a, b)] for b in range(3)], w) for a in range(3)])
            before, after = (_zone(own.friction, each, self.holds.ratio) for each in (s, there))
            other = where_less(absolute(before - after) + absolute(after * after - 1.0), 0.5, 0.0, 1.0)
            other = where_less(0.0, own.D, other, 0.0)
            return [state[0] - dot(f, w), state[1] + bent, state[2] + other]

        def side(state: Sequence[Scalar], row: Sequence[Scalar], given: Sequence[Scalar]) -> list[Scalar]:
            return _plus_side(state, given[0], *row)

        first, second, other = self.sides.fold(side, self.cones.fold(cone, state, [step]), [step])
        return first, second, other


def _plus_side(state: Sequence[Scalar], step: Scalar, s: Scalar, w: Scalar, D: Scalar) -> list[Scalar]:
    there = s + step * w
    h = where_less(there, 0.0, D, 0.0)
    other = where_less(s * there, 0.0, where_less(0.0, D, 1.0, 0.0), 0.0)
    return [state[0] + h * there * w, state[1] + h * w * w, state[2] + other]


def _plus_friction(state: Sequence[Scalar], step: Scalar, s: Scalar, w: Scalar, D: Scalar, most: float) -> list[Scalar]:
    before, pull = D * s, D * (s + step * w)
    held = where_less(pull, -most, -most, where_less(most, pull, most, pull))
    h = where_less(most, absolute(pull), 0.0, D)
    same = where_less(absolute(_side_of(before, most) - _side_of(pull, most)), 0.5, 0.0, 1.0)
    return [state[0] + held * w, state[1] + h * w * w, state[2] + same]


def _side_of(x: Scalar, most: float) -> Scalar:
    """-1, 0 or 1: below, within or above bounds."""
    return where_less(x, -most, -1.0, where_less(most, x, 1.0, 0.0))


def _zone(friction: Scalar, s: Sequence[Scalar], ratio: float) -> Scalar:
    """-1 for a cone that sticks, 0 for one that slides, 1 for one that is open."""
    inner = friction * ratio**-0.5
    N = s[0] * inner
    U1, U2 = s[1] * friction, s[2] * friction
    T = sqrt(U1 * U1 + U2 * U2)
    return where_less(N - inner * T, 0.0, where_less(0.0, inner * N + T, 0.0, -1.0), 1.0)


def _listed(array: Any) -> list[Any]:
    return numbers(array).tolist()
