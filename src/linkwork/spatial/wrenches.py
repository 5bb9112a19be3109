"""Sets of wrenches: those that a joint can transmit, as columns in the child's frame; the dual of a motion subspace.

``SelectedWrenches`` are along coordinate directions, ``AnyWrenches`` are arbitrary. The last ones of a set may
represent rotors: the wrench of a rotor of inertia r when the joint accelerates, scaled by √r so that its compliance is
1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.matrices import units
from linkwork.spatial.mobility import Mobility
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.vectors import Numbers


class Wrenches(ABC):
    """The rows K of a condition on motions; the columns of Kᵀ are the wrenches that enforce it."""

    @property
    @abstractmethod
    def compliance(self) -> list[float]:
        """The compliance of each wrench: 0 for a rigid constraint, 1 for a rotor."""

    @abstractmethod
    def times(self, sizes: Sequence[Scalar]) -> Force:
        """Kᵀ n."""

    def units(self) -> list[Force]:
        """The unit wrenches: the columns of Kᵀ."""
        return [self.times(sizes) for sizes in units(len(self.compliance))]

    @abstractmethod
    def dot(self, motion: Motion) -> list[Scalar]:
        """K a: the component of a motion on which each wrench does work."""

    @abstractmethod
    def square(self, mobility: Mobility) -> list[list[Scalar]]:
        """The lower triangle of K W Kᵀ."""

    def project(self, mobility: Mobility) -> list[list[Scalar]]:
        """The same plus the compliance."""
        rows = self.square(mobility)
        for row, number in zip(rows, self.compliance, strict=True):
            row[-1] = row[-1] + number
        return rows


class SelectedWrenches(Numbers, Wrenches):
    """Along coordinate directions: 0, 1, 2 forces along x, y, z; 3, 4, 5 moments. Rotors come last, with weights."""

    __slots__ = ("directions", "weights")

    def __init__(self, directions: Sequence[int], weights: Sequence[Scalar] = ()) -> None:
        self.directions, self.weights = tuple(directions), list(weights)

    def numbers(self) -> list[Scalar]:
        return self.weights

    def of(self, numbers: Sequence[Scalar]) -> SelectedWrenches:
        return SelectedWrenches(self.directions, numbers)

    @property
    def compliance(self) -> list[float]:
        return [0.0] * (len(self.directions) - len(self.weights)) + [1.0] * len(self.weights)

    def times(self, sizes: Sequence[Scalar]) -> Force:
        numbers: list[Scalar] = [0.0] * 6
        for direction, size in zip(self.directions, self._weighted(sizes), strict=True):
            numbers[direction] = size
        return Force.from_numbers(numbers)

    def dot(self, motion: Motion) -> list[Scalar]:
        numbers = motion.numbers()
        return self._weighted([numbers[direction] for direction in self.directions])

    def square(self, mobility: Mobility) -> list[list[Scalar]]:
        columns = [self.dot(column) for column in mobility.columns()]
        return [self._weighted([columns[e][i] for e in self.directions[: i + 1]]) for i in range(len(self.directions))]

    def _weighted(self, numbers: Sequence[Scalar]) -> list[Scalar]:
        """A row with its last entries, those of rotors, multiplied by the weights; a row may be shorter."""
        plain = len(self.directions) - len(self.weights)
        return [*numbers[:plain], *(n * w for n, w in zip(numbers[plain:], self.weights, strict=False))]


class AnyWrenches(Numbers, Wrenches):
    """Arbitrary columns; the last ``rotors`` of them represent rotors."""

    __slots__ = ("columns", "rotors")

    def __init__(self, columns: Sequence[Force], rotors: int = 0) -> None:
        self.columns, self.rotors = tuple(columns), rotors

    def numbers(self) -> list[Scalar]:
        return [number for column in self.columns for number in column.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> AnyWrenches:
        starts = range(0, len(numbers), 6)
        return AnyWrenches([Force.from_numbers(numbers[k : k + 6]) for k in starts], self.rotors)

    @property
    def compliance(self) -> list[float]:
        return [0.0] * (len(self.columns) - self.rotors) + [1.0] * self.rotors

    def times(self, sizes: Sequence[Scalar]) -> Force:
        result = Force.zero()
        for column, size in zip(self.columns, sizes, strict=True):
            result = result + column * size
        return result

    def dot(self, motion: Motion) -> list[Scalar]:
        return [motion.dot(column) for column in self.columns]

    def square(self, mobility: Mobility) -> list[list[Scalar]]:
        answers = [mobility * column for column in self.columns]
        return [[answer.dot(column) for answer in answers[: i + 1]] for i, column in enumerate(self.columns)]
