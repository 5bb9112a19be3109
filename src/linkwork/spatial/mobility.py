"""Mobilities: inverse inertias, which map forces to motions; 10 numbers for a rigid body, 21 in general."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.inertia import ArticulatedInertia, Inertia
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.symmetric import Factor
from linkwork.spatial.transform import Transform
from linkwork.spatial.vectors import Mat3, Numbers, Sym3, Vec3


class RigidMobility(Numbers):
    """The mobility of a free rigid body: 1/m, its centre of mass c, and the inverse J of its inertia about c.

    As a 6×6 matrix [[1/m - [c]x J [c]x, [c]x J], [-J [c]x, J]].
    """

    __slots__ = ("per_mass", "com", "turning")

    def __init__(self, per_mass: Scalar, com: Vec3, turning: Sym3) -> None:
        self.per_mass, self.com, self.turning = per_mass, com, turning

    @staticmethod
    def of_inertia(inertia: Inertia) -> RigidMobility:
        """The inverse of an inertia."""
        per_mass = 1.0 / inertia.mass
        h, i = inertia.moment, inertia.second
        c = h * per_mass
        about_com = [
            [i.xx - (h.y * c.y + h.z * c.z)],
            [i.xy + h.x * c.y, i.yy - (h.x * c.x + h.z * c.z)],
            [i.xz + h.x * c.z, i.yz + h.y * c.z, i.zz - (h.x * c.x + h.y * c.y)],
        ]
        factor = Factor.of_matrix(about_com)
        (_, (a,), (b, d)), (p, q, r) = factor.lower, factor.inverse_pivots
        e = a * d - b  # L⁻¹ has the rows 1; -a, 1; e, -d, 1
        er, dr = e * r, d * r
        return RigidMobility(per_mass, c, Sym3(p + (a * (a * q) + e * er), -(a * q + d * er), er, q + d * dr, -dr, r))

    def numbers(self) -> list[Scalar]:
        return [self.per_mass, *self.com.numbers(), *self.turning.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> RigidMobility:
        return RigidMobility(numbers[0], Vec3(*numbers[1:4]), Sym3(*numbers[4:]))

    def __mul__(self, force: Force) -> Motion:
        """The acceleration caused by a force."""
        angular = self.turning.apply(force.angular - self.com.cross(force.linear))
        return Motion(force.linear * self.per_mass + self.com.cross(angular), angular)

    @staticmethod
    def zero() -> RigidMobility:
        """The mobility of an immovable body."""
        return RigidMobility(0.0, Vec3.zero(), Sym3.zero())

    def to_child(self, x: Transform) -> RigidMobility:
        """The same body's mobility in a frame that is placed at x in its own."""
        back = x.rotation.transpose()
        return RigidMobility(self.per_mass, back.apply(self.com - x.translation), self.turning.congruence(back))

    def felt(self, x: Transform) -> Mobility:
        """``to_child`` as 21 numbers, its linear block rotated last: along a body's own axes most numbers are zero."""
        turned = self.to_child(x).full()
        there = RigidMobility(self.per_mass, self.com - x.translation, self.turning).full()
        return Mobility(there.linear.congruence(x.rotation.transpose()), turned.cross, turned.angular)

    def full(self) -> Mobility:
        """As 21 numbers."""
        c, m = self.com, self.per_mass
        x, y, z = (c.cross(column) for column in self.turning.full().columns())  # columns of [c]x J
        right = Mat3.from_columns(x, y, z)
        # -[c]x J [c]x: row i is c × (row i of [c]x J)
        i, j, k = (c.cross(row) for row in right.transpose().columns())
        return Mobility(Sym3(m + i.x, i.y, i.z, m + j.y, j.z, m + k.z), right, self.turning)


class Mobility(Numbers):
    """A symmetric 6×6 matrix [[L, C], [Cᵀ, N]] that maps forces to motions."""

    __slots__ = ("linear", "cross", "angular")

    def __init__(self, linear: Sym3, cross: Mat3, angular: Sym3) -> None:
        self.linear, self.cross, self.angular = linear, cross, angular

    @staticmethod
    def zero() -> Mobility:
        return Mobility(Sym3.zero(), Mat3.zero(), Sym3.zero())

    @staticmethod
    def of_inertia(inertia: ArticulatedInertia) -> Mobility:
        """The inverse of an inertia."""
        factor = Factor.of_matrix(inertia.rows())
        units = ([float(i == k) for i in range(6)] for k in range(6))
        return Mobility.from_columns([Motion.from_numbers(factor.solve(unit)) for unit in units])

    def numbers(self) -> list[Scalar]:
        return [*self.linear.numbers(), *self.cross.numbers(), *self.angular.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Mobility:
        return Mobility(Sym3(*numbers[:6]), Mat3(*numbers[6:15]), Sym3(*numbers[15:]))

    def columns(self) -> list[Motion]:
        """The motions for the six unit forces."""
        a, b, d = self.linear.full().columns(), self.cross, self.angular.full().columns()
        pairs = [Motion(x, y) for x, y in zip(a, b.transpose().columns(), strict=True)]
        return [*pairs, *(Motion(x, y) for x, y in zip(b.columns(), d, strict=True))]

    @staticmethod
    def from_columns(columns: Sequence[Motion]) -> Mobility:
        """From the upper triangle of a matrix's columns."""
        a, b, c, d, e, f = (column.numbers() for column in columns)
        return Mobility(
            Sym3(a[0], b[0], c[0], b[1], c[1], c[2]),
            Mat3(d[0], e[0], f[0], d[1], e[1], f[1], d[2], e[2], f[2]),
            Sym3(d[3], e[3], f[3], e[4], f[4], f[5]),
        )

    def __add__(self, other: Mobility) -> Mobility:
        return Mobility(self.linear + other.linear, self.cross + other.cross, self.angular + other.angular)

    def __mul__(self, force: Force) -> Motion:
        f, n = force.linear, force.angular
        return Motion(self.linear.apply(f) + self.cross.apply(n), self.cross.apply_transpose(f) + self.angular.apply(n))

    def full(self) -> Mobility:
        """Itself, as it has 21 numbers already."""
        return self

    def to_child(self, x: Transform) -> Mobility:
        """The mobility in a frame that is placed at x in its own."""
        return self.across(x)[1]

    def felt(self, x: Transform) -> Mobility:
        """The same as ``to_child``, as it has 21 numbers already."""
        return self.to_child(x)

    def across(self, x: Transform) -> tuple[list[Motion], Mobility]:
        """The columns of X W, and X W Xᵀ: the mobility at a child frame."""
        half = [x.to_child(column) for column in self.columns()]
        return half, Mobility.from_columns([x.to_child(row) for row in transposed(half)])

    def across_joint(self, x: Transform) -> tuple[list[Motion], Mobility]:
        """The same as ``across``, rotated last: the part before depends on no angle, and folds if W is constant."""
        p, back = x.translation, x.rotation.transpose()
        columns = [Motion(column.linear - p.cross(column.angular), column.angular) for column in self.columns()]
        moved = [Motion(row.linear - p.cross(row.angular), row.angular) for row in transposed(columns)]
        there = Mobility.from_columns(moved)
        half = [Motion(back.apply(column.linear), back.apply(column.angular)) for column in columns]
        turned = back * there.cross * x.rotation
        return half, Mobility(there.linear.congruence(back), turned, there.angular.congruence(back))

    def minus(self, rows: Sequence[Motion], weights: Sequence[Scalar]) -> Mobility:
        """W - Gᵀ diag(w) G, given the rows of G."""
        g = [row.numbers() for row in rows]
        result = self.numbers()
        for slot, (i, j) in enumerate(_PLACES):
            value = result[slot]
            for row, weight in zip(g, weights, strict=True):
                value = value - row[i] * (row[j] * weight)
            result[slot] = value
        return self.of(result)


_PLACES = (
    *((i, j) for i in range(3) for j in range(i, 3)),
    *((i, j) for i in range(3) for j in range(3, 6)),
    *((i, j) for i in range(3, 6) for j in range(i, 6)),
)
"""Row and column of each number of a mobility."""


def transposed(columns: Sequence[Motion]) -> list[Motion]:
    """The rows of a 6×6 matrix given by columns."""
    return [Motion.from_numbers(row) for row in zip(*(column.numbers() for column in columns), strict=True)]
