"""The response of a part of a mechanism to forces at its ports, z = z₀ + M x, and the elimination of an unknown.

    M -= Bᵀ Y⁻¹ B,   z₀ -= Bᵀ Y⁻¹ r,   then   n = -Y⁻¹ (r + B x)

M is symmetric, in blocks of six. ``assembly`` defines ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from linkwork.algorithms.closed_chains import sound
from linkwork.spatial import Factor, Scalar
from linkwork.spatial.matrices import Column, Matrix, dot, plus, transposed

Port = str | int | tuple[str, int]
"""A place at which a part is open: a loop by its number, a joint by a side and its number."""
SIX = range(6)


class Kept(NamedTuple):
    """The response of a part as stored in a field, for known ports: z₀, the blocks of M on and below the diagonal
    (lower triangles on the diagonal), and for loops the diagonal of M before anything is joined.
    """

    z: list[Column]
    M: list[Matrix]
    alone: list[Column]


class Answer:
    """M and z₀ of a part. A block also stands for its transpose; an absent block is zero."""

    def __init__(self, z: dict[Port, Column], M: dict[tuple[Port, Port], Matrix]) -> None:
        self.z, self.M = z, M
        self.alone: dict[Port, Column] = {}
        """For loops, the diagonal of M before anything is joined."""

    @staticmethod
    def of(kept: Kept, ports: Sequence[Port]) -> Answer:
        """The response at these ports, from its stored form."""
        pairs = [(i, j) for i in range(len(ports)) for j in range(i + 1)]
        found = Answer(dict(zip(ports, kept.z, strict=True)), {})
        for (i, j), block in zip(pairs, kept.M, strict=True):
            found.M[ports[i], ports[j]] = mirrored(block) if i == j else block
        found.alone = dict(zip([port for port in ports if isinstance(port, int)], kept.alone, strict=True))
        return found

    def kept(self, ports: Sequence[Port]) -> Kept:
        """The stored form, at these ports."""
        M: list[Matrix] = []
        for i, one in enumerate(ports):
            for two in ports[:i]:
                M.append(self.block(one, two) or [[0.0] * 6 for _ in SIX])
            own = self.block(one, one) or [[0.0] * 6 for _ in SIX]
            M.append([row[: k + 1] for k, row in enumerate(own)])
        return Kept([self.z[port] for port in ports], M, [self.alone[port] for port in ports if isinstance(port, int)])

    def block(self, one: Port, other: Port) -> Matrix | None:
        """The block, or None if it is zero."""
        found = self.M.get((one, other))
        if found is None and (other, one) in self.M:
            return transposed(self.M[other, one])
        return found

    def add(self, other: Answer, ports: Iterable[Port] | None = None) -> None:
        """Add the response of another part at these ports, or at all of its ports."""
        chosen = set(other.z if ports is None else ports)
        for port in (port for port in other.z if port in chosen):
            self.z[port] = plus(self.z[port], other.z[port]) if port in self.z else other.z[port]
        for loop, numbers in other.alone.items():
            self.alone[loop] = plus(self.alone[loop], numbers) if loop in self.alone else numbers
        for (one, two), block in other.M.items():
            if one in chosen and two in chosen:
                self.put(one, two, block)

    def put(self, one: Port, two: Port, block: Matrix) -> None:
        """Add to a block."""
        if (two, one) in self.M:
            one, two, block = two, one, transposed(block)
        own = self.M.get((one, two))
        self.M[one, two] = block if own is None else [plus(a, b) for a, b in zip(own, block, strict=True)]

    def eliminate(self, gone: Gone, ports: Sequence[Port]) -> None:
        """M -= Bᵀ Y⁻¹ B, z₀ -= Bᵀ Y⁻¹ r."""
        weights = gone.D.inverse_pivots
        if not weights:
            return
        scaled = [[[x * w for x, w in zip(column, weights, strict=True)] for column in columns] for columns in gone.B]
        for k, one in enumerate(ports):
            if not gone.B[k]:
                continue
            self.z[one] = [x - dot(column, gone.r) for x, column in zip(self.z[one], scaled[k], strict=True)]
            half = [[-dot(column, scaled[k][j]) for j in range(i + 1)] for i, column in enumerate(gone.B[k])]
            self.put(one, one, mirrored(half))
            for other in range(k + 1, len(ports)):
                if gone.B[other]:
                    self.put(one, ports[other], [[-dot(a, b) for b in scaled[other]] for a in gone.B[k]])

    def drop(self, port: Port | None) -> None:
        """Remove a port."""
        self.z.pop(port, None)  # type: ignore[arg-type]
        self.M = {pair: block for pair, block in self.M.items() if port not in pair}


class Gone(NamedTuple):
    """An eliminated unknown: the factors of Y, the columns of L⁻¹ B for each port, L⁻¹ r; and the diagonal of Y before
    anything is joined, if pivots are judged by it.
    """

    D: Factor
    B: list[Matrix]
    r: Column
    alone: list[Scalar]

    @staticmethod
    def of_system(Y: Matrix, B: Sequence[Matrix], r: Column, alone: Sequence[Scalar] = ()) -> Gone:
        """From Y n + B x + r = 0, B by columns for each port."""
        D = Factor.of_matrix(Y)
        return Gone(D, [[D.forward(column) for column in columns] for columns in B], D.forward(r), list(alone))

    def solve(self, ports: Sequence[Port], x: Mapping[Port, Column]) -> Column:
        """-Y⁻¹ (r + B x)."""
        right = self.r
        for port, columns in zip(ports, self.B, strict=True):
            if columns:
                right = [y + dot([column[i] for column in columns], x[port]) for i, y in enumerate(right)]
        right = [-y for y in right]
        return self.D.complete(sound(right, self.D, self.alone) if self.alone else right)


def mirrored(half: Matrix) -> Matrix:
    """A symmetric block, from its lower triangle."""
    size = range(len(half))
    return [[half[max(i, j)][min(i, j)] for j in size] for i in size]
