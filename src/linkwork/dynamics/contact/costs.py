"""The rows of the contact problem and their cost functions.

With s = J a - a_ref, the deviation from the reference acceleration, and D = 1/R:

    side        ½ D s²                     for s < 0, else 0              a contact without friction, a limit
    bond        ½ D s²                                                     an equality
    friction    ½ D s²  up to |s| = R f, then f (|s| - ½ R f)             dry friction of a joint
    cone        N = μ s₀, U = μ (s₁, s₂) √ratio, T = |U|
                0  for N >= μ T;   ½ Σ D s²  for μ N + T <= 0;   else ½ Dₘ (N - μ T)²,  Dₘ = D₀ / (μ² (1 + μ²))
                with torsional friction U has a third component, μ₃ s₃ √ratio, and D₃ = D₁ (μ₃/μ)²; with
                rolling friction two more of that kind
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linkwork.compiled.kept_rows import KeptRows, LookUp, Table
from linkwork.spatial import Scalar, absolute, sqrt, total, where_less
from linkwork.spatial.matrices import dot


class Cone(NamedTuple):
    """A contact: rows (3, n) of J, normal first; reference accelerations; D of the normal; μ. Torsional friction adds a
    row for the rotation about the normal, and its coefficient (m); rolling friction adds two rows about the tangents,
    and their coefficient. Without friction there is one row, which only pushes, and no coefficient.
    """

    J: Sequence[Sequence[Scalar]]
    wanted: Sequence[Scalar]
    D: Scalar
    friction: Scalar | None = None
    spin: Scalar | None = None
    roll: Scalar | None = None

    @property
    def frictions(self) -> list[Scalar]:
        """The coefficient of each friction row."""
        every = [self.friction, self.friction, self.spin, self.roll, self.roll]
        return [each for each in every if each is not None]

    def off(self, x: Sequence[Scalar]) -> list[Scalar]:
        """J x less the reference accelerations."""
        return [dot(each, x) - wanted for each, wanted in zip(self.J, self.wanted, strict=True)]


class Limit(NamedTuple):
    """A limit of a degree of freedom, which pushes it up (sign 1) or down (-1)."""

    dof: int
    sign: Scalar
    wanted: Scalar
    D: Scalar


class Friction(NamedTuple):
    """Dry friction of at most ``most`` on a degree of freedom."""

    dof: int
    wanted: Scalar
    D: Scalar
    most: float


class Bond(NamedTuple):
    """A bilateral row (n,), of an equality constraint: it pulls as well as it pushes."""

    J: Sequence[Scalar]
    wanted: Scalar
    D: Scalar


class Group(NamedTuple):
    """Rows of contacts that depend on the same n degrees of freedom. A contact with friction has J (3n), reference
    accelerations (3), D and μ; with torsional friction (4n), (4), D and both μ; with rolling friction as well (6n),
    (6), D and three μ. One without friction has J (n), a reference acceleration, D. ``friction`` is the number of
    friction rows.
    """

    dofs: tuple[int, ...]
    friction: int
    rows: KeptRows

    @property
    def n(self) -> int:
        return len(self.dofs)

    def inputs(self, *points: Sequence[Scalar]) -> tuple[list[Scalar], list[Table]]:
        """What a text over rows is given, and its tables, to know points."""
        return [x[k] for x in points for k in self.dofs], []

    def coordinates(self, row: Sequence[Scalar], given: Sequence[Scalar]) -> list[Sequence[Scalar]]:
        """The coordinates of each point that a row depends on, in a text over rows."""
        return [given[k : k + self.n] for k in range(0, len(given), self.n)]


class FrameGroup(NamedTuple):
    """Rows of contacts between frames, and of frames with the world if they have one of the ``sides`` only: J is over
    the motions of these frames, each in its own axes, whose numbers are a row's last. Points are the motions of all
    frames, and last that of the world.
    """

    sides: int
    friction: int
    rows: KeptRows

    @property
    def n(self) -> int:
        return 6 * self.sides

    def inputs(self, *points: Sequence[Scalar]) -> tuple[list[Scalar], list[Table]]:
        """As in ``Group``."""
        return [], [Table(x, 6) for x in points]

    def coordinates(self, row: Sequence[Scalar], given: Sequence[Scalar], *points: LookUp) -> list[Sequence[Scalar]]:
        """As in ``Group``."""
        return [[x for which in self.frames(row) for x in point(which)] for point in points]

    def frames(self, row: Sequence[Scalar]) -> Sequence[Scalar]:
        """The numbers of a row's frames."""
        return row[-self.sides :]


def coefficients(friction: int) -> int:
    """The number of coefficients for so many friction rows: none, μ, and those of torsional and rolling friction."""
    return (friction + 1) // 2


@dataclass
class Holds:
    """All rows that act on the accelerations, besides M and the forces.

    Attributes:
        groups: of contacts that touch. limits, frictions: of joints. bonds: of constraints. ratio: the impedance of
        friction relative to the normal's.
    """

    groups: Sequence[Group | FrameGroup]
    limits: list[Limit] = field(default_factory=list)
    frictions: list[Friction] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)
    ratio: float = 1.0

    def of_joints(self, x: Sequence[Scalar]) -> Iterator[tuple[int, Scalar, Scalar]]:
        """The slope and the curvature of the cost of each limit and dry friction, by the degree of freedom."""
        for limit in self.limits:
            s = limit.sign * x[limit.dof] - limit.wanted
            h = where_less(s, 0.0, limit.D, 0.0)
            yield limit.dof, limit.sign * (h * s), h
        for one in self.frictions:
            pull = one.D * (x[one.dof] - one.wanted)
            slope = where_less(one.most, pull, one.most, where_less(pull, -one.most, -one.most, pull))
            yield one.dof, slope, where_less(one.most, absolute(pull), 0.0, one.D)

    def plus_cost(self, cost: Scalar, x: Sequence[Scalar], X: Sequence[Scalar]) -> Scalar:
        """A cost with that of all rows but contacts' added; bonds are over X."""
        for limit in self.limits:
            cost = cost + side_cost(limit.sign * x[limit.dof] - limit.wanted, limit.D)
        for one in self.frictions:
            cost = cost + friction_cost(x[one.dof] - one.wanted, one.D, one.most)
        for bond in self.bonds:
            s = dot(bond.J, X) - bond.wanted
            cost = cost + 0.5 * (bond.D * s * s)
        return cost

    def flat(self) -> list[Scalar]:
        """The scalars of limits, frictions and bonds, in order."""
        found: list[Scalar] = []
        for limit in self.limits:
            found += [limit.sign, limit.wanted, limit.D]
        for friction in self.frictions:
            found += [friction.wanted, friction.D]
        for bond in self.bonds:
            found += [*bond.J, bond.wanted, bond.D]
        return found

    def of(self, scalars: Sequence[Scalar]) -> Holds:
        """The same with other scalars."""
        left = iter(scalars)
        limits = [Limit(one.dof, next(left), next(left), next(left)) for one in self.limits]
        frictions = [one._replace(wanted=next(left), D=next(left)) for one in self.frictions]
        bonds = [Bond([next(left) for _ in one.J], next(left), next(left)) for one in self.bonds]
        return Holds(self.groups, limits, frictions, bonds, self.ratio)


def as_cone(row: Sequence[Scalar], n: int, friction: int) -> Cone:
    m = friction + 1
    end = m * n + m
    several = row[end : end + 1 + coefficients(friction)]
    return Cone([row[k * n : k * n + n] for k in range(m)], row[m * n : end], *several)


def cone_response(cone: Cone, s: Sequence[Scalar], ratio: float) -> tuple[list[Scalar], list[list[Scalar]]]:
    """The forces of a cone, and the lower triangle of the Hessian of its cost."""
    mu, D, zero, each = cone.friction, cone.D, 0.0, cone.frictions
    if mu is None:
        stiff = where_less(s[0], 0.0, D, 0.0)
        return [-(stiff * s[0])], [[stiff]]
    inner = mu * ratio**-0.5  # μ where friction has the same impedance as the normal direction
    N, U = s[0] * inner, [x * own for x, own in zip(s[1:], each, strict=True)]
    T = sqrt(dot(U, U))
    over = N - inner * T  # at least zero: open
    under = inner * N + T  # at most zero: sticking
    safe = where_less(0.0, T, T, 1.0)
    inverse = 1.0 / safe
    u = [x * inverse for x in U]
    slide = D / (inner * inner * (1.0 + inner * inner))
    push = slide * over  # negative while sliding
    normal = -push * inner
    sliding = [normal, *(-normal * x * own for x, own in zip(u, each, strict=True))]
    bent = -push * inner * inverse
    e = [-inner * x for x in u]
    h = [[slide * inner * inner]]
    for i, own in enumerate(each):
        across = [(slide * e[j] * e[i] - bent * u[j] * u[i]) * each[j] * own for j in range(i)]
        others = total(bent * x * x for k, x in enumerate(u) if k != i)
        h.append([slide * e[i] * inner * own, *across, (slide * e[i] * e[i] + others) * own * own])

    def choose(free: Scalar, stuck: Scalar, slides: Scalar) -> Scalar:
        return where_less(over, 0.0, where_less(0.0, under, slides, stuck), free)

    hard = cone_hardness(cone, ratio)
    force = [choose(zero, -a * x, b) for a, x, b in zip(hard, s, sliding, strict=True)]
    H = [[choose(zero, hard[i] if i == j else 0.0, x) for j, x in enumerate(row)] for i, row in enumerate(h)]
    return force, H


def cone_hardness(cone: Cone, ratio: float) -> list[Scalar]:
    """D of each row."""
    tangential = cone.D * ratio
    parts = [each / cone.frictions[0] for each in cone.frictions[2:]]
    return [cone.D, tangential, tangential, *(tangential * (part * part) for part in parts)]


def cone_cost(cone: Cone, s: Sequence[Scalar], ratio: float) -> Scalar:
    """The cost of a cone."""
    if cone.friction is None:
        return side_cost(s[0], cone.D)
    inner = cone.friction * ratio**-0.5
    N, U = s[0] * inner, [x * own for x, own in zip(s[1:], cone.frictions, strict=True)]
    T = sqrt(dot(U, U))
    over, under = N - inner * T, inner * N + T
    stuck = total(D * x * x for D, x in zip(cone_hardness(cone, ratio), s, strict=True))
    slides = cone.D / (inner * inner * (1.0 + inner * inner)) * (over * over)
    return where_less(over, 0.0, 0.5 * where_less(0.0, under, slides, stuck), 0.0)


def side_cost(s: Scalar, D: Scalar) -> Scalar:
    """The cost of a unilateral row."""
    return where_less(s, 0.0, 0.5 * (D * s * s), 0.0)


def friction_cost(s: Scalar, D: Scalar, most: float) -> Scalar:
    """The cost of dry friction."""
    pull = absolute(D * s)
    return where_less(most, pull, most * absolute(s) - 0.5 * most * most / D, 0.5 * (D * s * s))
