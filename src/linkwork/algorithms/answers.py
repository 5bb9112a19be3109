"""What a part of a mechanism answers to what acts on it at its ports, z = z₀ + M x, and the elimination of an unknown.

    M -= Bᵀ Y⁻¹ B,   z₀ -= Bᵀ Y⁻¹ r,   then   n = -Y⁻¹ (r + B x)

M is symmetric, in blocks of six; blocks of zeros are not there. ``assembly`` says what ports are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwork.algorithms.closed_chains import sound
from linkwork.spatial import Factor, Scalar
from linkwork.spatial.matrices import Column, Matrix, dot, plus, transposed

Port = str | int
"""A place at which a part is open; a loop is its number."""
SIX = range(6)


class Answer:
    """M and z₀ of a part. A block stands for its transpose, too."""

    def __init__(self, z: dict[Port, Column], M: dict[tuple[Port, Port], Matrix]) -> None:
        self.z, self.M = z, M
        self.alone: dict[Port, Column] = {}
        """Of loops, the diagonal of M if nothing were joined."""

    def block(self, one: Port, other: Port) -> Matrix | None:
        """None for zeros."""
        found = self.M.get((one, other))
        if found is None and (other, one) in self.M:
            return transposed(self.M[other, one])
        return found

    def add(self, other: Answer, ports: Iterable[Port] | None = None) -> None:
        """What another part answers at these ports, or at all."""
        kept = set(other.z if ports is None else ports)
        for port in (port for port in other.z if port in kept):
            self.z[port] = plus(self.z[port], other.z[port]) if port in self.z else other.z[port]
        for loop, numbers in other.alone.items():
            self.alone[loop] = plus(self.alone[loop], numbers) if loop in self.alone else numbers
        for (one, two), block in other.M.items():
            if one in kept and two in kept:
                self.put(one, two, block)

    def put(self, one: Port, two: Port, block: Matrix) -> None:
        """Add to a block."""
        if (two, one) in self.M:
            one, two, block = two, one, transposed(block)
        own = self.M.get((one, two))
        self.M[one, two] = block if own is None else [plus(a, b) for a, b in zip(own, block, strict=True)]

    def eliminate(self, gone: Gone) -> None:
        """M -= Bᵀ Y⁻¹ B, z₀ -= Bᵀ Y⁻¹ r."""
        weights, ports = gone.D.inverse_pivots, list(gone.B)
        if not weights:
            return
        scaled = {
            port: [[x * w for x, w in zip(column, weights, strict=True)] for column in gone.B[port]] for port in ports
        }
        for k, one in enumerate(ports):
            self.z[one] = [x - dot(column, gone.r) for x, column in zip(self.z[one], scaled[one], strict=True)]
            for two in ports[k:]:
                if one == two:
                    half = [[-dot(gone.B[one][i], scaled[one][j]) for j in range(i + 1)] for i in SIX]
                    block = [[half[max(i, j)][min(i, j)] for j in SIX] for i in SIX]
                else:
                    block = [[-dot(a, b) for b in scaled[two]] for a in gone.B[one]]
                self.put(one, two, block)


class Gone:
    """An unknown that was eliminated: the factors of Y, the columns of L⁻¹ B by ports, L⁻¹ r; and the diagonal that Y
    had if nothing were joined, if it is to be judged by that.
    """

    def __init__(self, Y: Matrix, B: dict[Port, Matrix], r: Column, alone: Sequence[Scalar] = ()) -> None:
        self.alone = alone
        self.D = Factor.of_matrix(Y)
        self.B = {port: [self.D.forward(column) for column in columns] for port, columns in B.items()}
        self.r = self.D.forward(r)

    def solve(self, x: dict[Port, Column]) -> Column:
        """-Y⁻¹ (r + B x)."""
        right = self.r
        for port, columns in self.B.items():
            right = [y + dot([column[i] for column in columns], x[port]) for i, y in enumerate(right)]
        right = [-y for y in right]
        return self.D.complete(sound(right, self.D, self.alone) if self.alone else right)
