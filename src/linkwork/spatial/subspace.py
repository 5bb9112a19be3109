"""Motion subspaces: the motions that a joint allows, as columns in the child's frame.

A subspace class exploits its own structure, so that an algorithm is written once and costs no more than necessary:
``Selection`` consists of coordinate directions (most joints), ``Columns`` of any motions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from linkwork.spatial.functions import Scalar, sqrt, where_less
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.symmetric import Factor
from linkwork.spatial.vectors import Numbers, total
from linkwork.spatial.wrenches import AnyWrenches, SelectedWrenches, Wrenches

Coordinates = Sequence[Scalar]
"""One number for each degree of freedom of a joint."""


class Subspace(ABC):
    """The n columns S of a joint's allowed motions."""

    @abstractmethod
    def columns(self) -> list[Motion]: ...

    @abstractmethod
    def times(self, rates: Coordinates) -> Motion:
        """S q̇."""

    @abstractmethod
    def dot(self, force: Force) -> list[Scalar]:
        """Sᵀ f: the component of the force for each degree of freedom."""

    def project(self, forces: Sequence[Force]) -> list[list[Scalar]]:
        """Sᵀ F, a row for each degree of freedom and a column for each force."""
        columns = [self.dot(force) for force in forces]
        return [[column[k] for column in columns] for k in range(len(self.columns()))]

    def through(self, inertia: Inertia | ArticulatedInertia) -> list[Force]:
        """The columns of I S."""
        return [inertia * column for column in self.columns()]

    @abstractmethod
    def released(
        self, inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()
    ) -> ArticulatedInertia:
        """I - U D⁻¹ Uᵀ, the articulated inertia behind the joint; U = I S, D = Sᵀ U + rotor (given by its factor).

        An empty rotor means that there is none, so that nothing is transmitted along the joint's own motions.
        """

    def withheld(self, force: Force, forces: Sequence[Force], given: Coordinates, rotor: Coordinates = ()) -> Force:
        """f - U w, the force transmitted to the parent while the joint moves by w = D⁻¹ Sᵀ f; U, D as above."""
        return force - combination(forces, given)

    def followed(self, motion: Motion, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()) -> Motion:
        """a - S D⁻¹ Uᵀ a, the body's acceleration for an acceleration a of the parent; U, D as above."""
        return motion - self.times(factor.solve([motion.dot(force) for force in forces]))

    @abstractmethod
    def dual(self) -> Wrenches:
        """K_J with K_J S = 1: it extracts q̈ from a relative motion S q̈, and K_Jᵀ τ is a wrench of joint forces τ."""

    @abstractmethod
    def complement(self, rotor: Coordinates = ()) -> Wrenches:
        """K, 6 - n rows with K S = 0: the constraint wrenches; then √r K_J for rotors, if there are any."""


class Columns(Numbers, Subspace):
    """Any columns."""

    __slots__ = ("motions",)

    def __init__(self, motions: Sequence[Motion]) -> None:
        self.motions = tuple(motions)

    def numbers(self) -> list[Scalar]:
        return [number for motion in self.motions for number in motion.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Columns:
        return Columns([Motion.from_numbers(numbers[6 * k : 6 * k + 6]) for k in range(len(self.motions))])

    def columns(self) -> list[Motion]:
        return list(self.motions)

    def times(self, rates: Coordinates) -> Motion:
        result = Motion.zero()
        for motion, rate in zip(self.motions, rates, strict=True):
            result = result + motion * rate
        return result

    def dot(self, force: Force) -> list[Scalar]:
        return [motion.dot(force) for motion in self.motions]

    def released(
        self, inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()
    ) -> ArticulatedInertia:
        return _minus_outer(inertia, forces, factor, range(6))

    def dual(self) -> AnyWrenches:
        q, r = _orthogonal(self.motions)
        n = len(self.motions)
        rows = [Force.from_numbers(column) for column in q[:n]]
        for i in reversed(range(n)):  # R K_J = Q_nᵀ
            for k in range(i + 1, n):
                rows[i] = rows[i] - rows[k] * r[i][k]
            rows[i] = rows[i] * (1.0 / r[i][i])
        return AnyWrenches(rows)

    def complement(self, rotor: Coordinates = ()) -> Wrenches:
        q, _ = _orthogonal(self.motions)
        wrenches = [Force.from_numbers(column) for column in reversed(q[len(self.motions) :])]
        rotors = [row * sqrt(r) for row, r in zip(self.dual().columns, rotor, strict=True)] if rotor else []
        return AnyWrenches([*wrenches, *rotors], len(rotors))


class Selection(Numbers, Subspace):
    """Coordinate directions of the child's frame: 0, 1, 2 linear x, y, z; 3, 4, 5 angular x, y, z; or their
    opposites.
    """

    __slots__ = ("directions", "signs")

    def __init__(self, *directions: int, signs: Sequence[Scalar] = ()) -> None:
        self.directions = directions
        self.signs = tuple(signs) or (1.0,) * len(directions)

    def numbers(self) -> list[Scalar]:
        return []

    def of(self, numbers: Sequence[Scalar]) -> Selection:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selection) and (self.directions, self.signs) == (other.directions, other.signs)

    def __hash__(self) -> int:
        return hash((self.directions, self.signs))

    def columns(self) -> list[Motion]:
        chosen = zip(self.directions, self.signs, strict=True)
        return [Motion.from_numbers([s if k == d else 0.0 for k in range(6)]) for d, s in chosen]

    def times(self, rates: Coordinates) -> Motion:
        numbers: list[Scalar] = [0.0] * 6
        for direction, sign, rate in zip(self.directions, self.signs, rates, strict=True):
            numbers[direction] = rate * sign
        return Motion.from_numbers(numbers)

    def dot(self, force: Force) -> list[Scalar]:
        numbers = force.numbers()
        return [numbers[direction] * sign for direction, sign in zip(self.directions, self.signs, strict=True)]

    def through(self, inertia: Inertia | ArticulatedInertia) -> list[Force]:
        full = inertia if isinstance(inertia, ArticulatedInertia) else inertia.articulated()
        rows = full.rows()
        chosen = zip(self.directions, self.signs, strict=True)
        return [Force.from_numbers(rows[direction]) * sign for direction, sign in chosen]

    def released(
        self, inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()
    ) -> ArticulatedInertia:
        free = range(6) if rotor else [d for d in range(6) if d not in self.directions]
        return _minus_outer(inertia, forces, factor, free)

    def withheld(self, force: Force, forces: Sequence[Force], given: Coordinates, rotor: Coordinates = ()) -> Force:
        numbers = super().withheld(force, forces, given).numbers()
        if not rotor:  # nothing is transmitted along the joint's own motions
            numbers = [0.0 if k in self.directions else number for k, number in enumerate(numbers)]
        return Force.from_numbers(numbers)

    def followed(self, motion: Motion, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()) -> Motion:
        if not rotor and len(self.directions) == 6:  # the joint takes up all of it
            return Motion.zero()
        return super().followed(motion, forces, factor)

    def dual(self) -> Wrenches:
        if any(hasattr(sign, "elementary") or sign != 1.0 for sign in self.signs):
            return AnyWrenches([Force(column.linear, column.angular) for column in self.columns()])
        return SelectedWrenches(self.directions)

    def complement(self, rotor: Coordinates = ()) -> Wrenches:
        directions = [d for d in range(6) if d not in self.directions]
        return SelectedWrenches([*directions, *(self.directions if rotor else ())], [sqrt(r) for r in rotor])


def _minus_outer(
    inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, entries: Sequence[int]
) -> ArticulatedInertia:
    """I - U D⁻¹ Uᵀ in the rows and columns ``entries``; zero elsewhere."""
    u = [force.numbers() for force in forces]
    rows = inertia.rows()
    result: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for j in entries:
        w = factor.solve([column[j] for column in u])
        for i in (i for i in entries if i <= j):
            value = rows[i][j]
            for column, weight in zip(u, w, strict=True):
                value = value - column[i] * weight
            result[i][j] = value
    return ArticulatedInertia.from_rows(result)


_PIVOTS = (5, 4, 3, 2, 1, 0)
"""Angular components first: pure rotations then leave the linear unit forces unchanged."""


def _orthogonal(motions: Sequence[Motion]) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """S = Q R by Householder reflections: the columns of Q, those that span S first, and the rows of R.

    A fixed sequence of operations: the pivots are given, and only a sign depends on a value.
    """
    columns = [motion.numbers() for motion in motions]
    n = len(columns)
    r: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    reflections = []
    for k in range(n):
        rest, x = _PIVOTS[k:], columns[k]
        length = sqrt(total(x[i] * x[i] for i in rest))
        head = x[rest[0]]
        signed = where_less(head, 0.0, -length, length)
        normal = {i: x[i] for i in rest[1:]} | {rest[0]: head + signed}
        reflections.append((normal, 1.0 / (signed * normal[rest[0]])))
        for j in range(k + 1, n):
            columns[j] = _reflected(columns[j], *reflections[-1])
            r[k][j] = columns[j][rest[0]]
        r[k][k] = -signed
    q: list[list[Scalar]] = []
    for pivot in _PIVOTS:
        column: list[Scalar] = [1.0 if i == pivot else 0.0 for i in range(6)]
        for normal, scale in reversed(reflections):
            column = _reflected(column, normal, scale)
        q.append(column)
    return q, r


def _reflected(x: list[Scalar], normal: dict[int, Scalar], scale: Scalar) -> list[Scalar]:
    """(1 - scale · n nᵀ) x."""
    along = total(normal[i] * x[i] for i in normal) * scale
    return [x[i] - normal[i] * along if i in normal else x[i] for i in range(6)]


def combination(forces: Sequence[Force], weights: Coordinates) -> Force:
    """Σ wₖ Fₖ."""
    if not forces:
        return Force.zero()
    columns = [force.numbers() for force in forces]
    return Force.from_numbers(
        [total(column[i] * weight for column, weight in zip(columns, weights, strict=True)) for i in range(6)]
    )
