"""Motion subspaces: the motions that a joint allows, as columns in the child's frame.

A subspace knows its own structure, so that an algorithm is written once and pays only for what is there:
``Selection`` is made of coordinate directions (most joints), ``Columns`` of any motions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.symmetric import Factor
from linkwork.spatial.vectors import Numbers, total

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
        """Sᵀ f: the force seen by each degree of freedom."""

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
        """I - U D⁻¹ Uᵀ, what the parent feels of an inertia behind the joint; U = I S and D = Sᵀ U + rotor (its factor).

        An empty rotor says that there is none, so that nothing is felt along the joint's own motions.
        """


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


class Selection(Numbers, Subspace):
    """Coordinate directions of the child's frame: 0, 1, 2 linear x, y, z; 3, 4, 5 angular x, y, z."""

    __slots__ = ("directions",)

    def __init__(self, *directions: int) -> None:
        self.directions = directions

    def numbers(self) -> list[Scalar]:
        return []

    def of(self, numbers: Sequence[Scalar]) -> Selection:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selection) and self.directions == other.directions

    def __hash__(self) -> int:
        return hash(self.directions)

    def columns(self) -> list[Motion]:
        return [Motion.from_numbers([1.0 if k == d else 0.0 for k in range(6)]) for d in self.directions]

    def times(self, rates: Coordinates) -> Motion:
        numbers: list[Scalar] = [0.0] * 6
        for direction, rate in zip(self.directions, rates, strict=True):
            numbers[direction] = rate
        return Motion.from_numbers(numbers)

    def dot(self, force: Force) -> list[Scalar]:
        numbers = force.numbers()
        return [numbers[direction] for direction in self.directions]

    def through(self, inertia: Inertia | ArticulatedInertia) -> list[Force]:
        full = inertia if isinstance(inertia, ArticulatedInertia) else inertia.articulated()
        rows = full.rows()
        return [Force.from_numbers(rows[direction]) for direction in self.directions]

    def released(
        self, inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, rotor: Coordinates = ()
    ) -> ArticulatedInertia:
        held = range(6) if rotor else [d for d in range(6) if d not in self.directions]
        return _minus_outer(inertia, forces, factor, held)


def _minus_outer(
    inertia: ArticulatedInertia, forces: Sequence[Force], factor: Factor, held: Sequence[int]
) -> ArticulatedInertia:
    """I - U D⁻¹ Uᵀ in the rows and columns that are held; zero elsewhere."""
    u = [force.numbers() for force in forces]
    rows = inertia.rows()
    result: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for j in held:
        w = factor.solve([column[j] for column in u])
        for i in (i for i in held if i <= j):
            value = rows[i][j]
            for column, weight in zip(u, w, strict=True):
                value = value - column[i] * weight
            result[i][j] = value
    return ArticulatedInertia.from_rows(result)


def combination(forces: Sequence[Force], weights: Coordinates) -> Force:
    """Σ wₖ Fₖ."""
    if not forces:
        return Force.zero()
    columns = [force.numbers() for force in forces]
    return Force.from_numbers(
        [total(column[i] * weight for column, weight in zip(columns, weights, strict=True)) for i in range(6)]
    )
