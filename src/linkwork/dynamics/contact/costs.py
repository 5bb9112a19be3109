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

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linkwork.compiled.kept_rows import KeptRows, LookUp, Table
from linkwork.spatial import Scalar, sqrt, total, where_less
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


class JointRow(NamedTuple):
    """A row of one degree of freedom whose pull is bounded: a limit, which pushes it up (sign 1) or down (-1), has a
    pull of at most zero; dry friction pulls by at most ``most`` either way.
    """

    dof: int
    sign: Scalar
    wanted: Scalar
    D: Scalar
    least: float = -math.inf
    most: float = 0.0

    def off(self, x: Sequence[Scalar]) -> Scalar:
        """The deviation from the reference acceleration."""
        return self.sign * x[self.dof] - self.wanted


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

    def coordinates(self, row: Sequence[Scalar], inputs: Sequence[Scalar]) -> list[Sequence[Scalar]]:
        """The coordinates of each point that a row depends on, in a text over rows."""
        return [inputs[k : k + self.n] for k in range(0, len(inputs), self.n)]


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

    def coordinates(self, row: Sequence[Scalar], inputs: Sequence[Scalar], *points: LookUp) -> list[Sequence[Scalar]]:
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
        groups: of contacts that touch. joints: limits and dry friction. bonds: of constraints. ratio: the impedance of
        friction relative to the normal's.
    """

    groups: Sequence[Group | FrameGroup]
    joints: list[JointRow] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)
    ratio: float = 1.0

    def of_joints(self, x: Sequence[Scalar]) -> Iterator[tuple[int, Scalar, Scalar]]:
        """The slope and the curvature of the cost of each limit and dry friction, by the degree of freedom."""
        for row in self.joints:
            pull, h, _ = joint_response(row.off(x), row.D, row.least, row.most)
            yield row.dof, row.sign * pull, h

    def flat(self) -> list[Scalar]:
        """The scalars of joints and bonds, in order."""
        joints = [x for row in self.joints for x in (row.sign, row.wanted, row.D)]
        return [*joints, *(x for bond in self.bonds for x in (*bond.J, bond.wanted, bond.D))]

    def of(self, scalars: Sequence[Scalar]) -> Holds:
        """The same with other scalars."""
        left = iter(scalars)
        joints = [row._replace(sign=next(left), wanted=next(left), D=next(left)) for row in self.joints]
        bonds = [Bond([next(left) for _ in one.J], next(left), next(left)) for one in self.bonds]
        return Holds(self.groups, joints, bonds, self.ratio)


def joint_response(s: Scalar, D: Scalar, least: float, most: float) -> tuple[Scalar, Scalar, Scalar]:
    """The bounded pull of a joint's row, its derivative by s, and -1, 0 or 1 below, within or above the bounds."""
    pull = D * s
    zone = where_less(most, pull, 1.0, 0.0)
    h, bounded = where_less(most, pull, 0.0, D), where_less(most, pull, most, pull)
    if least == -math.inf:
        return bounded, h, zone
    return tuple(where_less(pull, least, *pair) for pair in ((least, bounded), (0.0, h), (-1.0, zone)))


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
