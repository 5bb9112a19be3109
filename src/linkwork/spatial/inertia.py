"""Inertias: of a rigid body (10 numbers) and of an articulated body (21 numbers)."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.vectors import Mat3, Numbers, Sym3, Vec3


class Inertia(Numbers):
    """A rigid body's inertia about its frame's origin: mass m, first moment h = m c, second moment about the origin.

    As a 6×6 matrix [[m 1, -[h]x], [[h]x, I]].
    """

    __slots__ = ("mass", "moment", "second")

    def __init__(self, mass: Scalar, moment: Vec3, second: Sym3) -> None:
        self.mass, self.moment, self.second = mass, moment, second

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0.0, Vec3.zero(), Sym3.zero())

    @staticmethod
    def from_com(mass: Scalar, com: Vec3, about_com: Sym3) -> Inertia:
        """From the mass (kg), the centre of mass (m) and the inertia about it (kg m²), in the frame's axes."""
        return Inertia(mass, com * mass, about_com + _steiner(mass, com))

    def numbers(self) -> list[Scalar]:
        return [self.mass, *self.moment.numbers(), *self.second.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Inertia:
        return Inertia(numbers[0], Vec3(*numbers[1:4]), Sym3(*numbers[4:]))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.moment + other.moment, self.second + other.second)

    def __mul__(self, motion: Motion) -> Force:
        """The momentum of a velocity, or the force of an acceleration: I v."""
        h, v, w = self.moment, motion.linear, motion.angular
        return Force(v * self.mass - h.cross(w), self.second.apply(w) + h.cross(v))

    def rotated(self, r: Mat3) -> Inertia:
        return Inertia(self.mass, r.apply(self.moment), self.second.congruence(r))

    def moved(self, p: Vec3) -> Inertia:
        """The inertia about another point; p is the position of the old origin relative to it."""
        h = self.moment
        twice = Sym3(  # p hᵀ + h pᵀ
            2.0 * p.x * h.x,
            p.x * h.y + p.y * h.x,
            p.x * h.z + p.z * h.x,
            2.0 * p.y * h.y,
            p.y * h.z + p.z * h.y,
            2.0 * p.z * h.z,
        )
        trace = twice.xx + twice.yy + twice.zz
        shift = Sym3.diagonal(trace, trace, trace) - twice + _steiner(self.mass, p)
        return Inertia(self.mass, h + p * self.mass, self.second + shift)

    def articulated(self) -> ArticulatedInertia:
        return ArticulatedInertia(
            Sym3.diagonal(self.mass, self.mass, self.mass), -self.moment.cross_matrix(), self.second
        )


class ArticulatedInertia(Numbers):
    """A symmetric 6×6 matrix [[M, H], [Hᵀ, I]] that maps motions to forces."""

    __slots__ = ("m", "h", "i")

    def __init__(self, m: Sym3, h: Mat3, i: Sym3) -> None:
        self.m, self.h, self.i = m, h, i

    @staticmethod
    def zero() -> ArticulatedInertia:
        return ArticulatedInertia(Sym3.zero(), Mat3.zero(), Sym3.zero())

    def numbers(self) -> list[Scalar]:
        return [*self.m.numbers(), *self.h.numbers(), *self.i.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> ArticulatedInertia:
        return ArticulatedInertia(Sym3(*numbers[:6]), Mat3(*numbers[6:15]), Sym3(*numbers[15:]))

    def rows(self) -> list[list[Scalar]]:
        """The 6×6 matrix."""
        m, h, i = self.m.full(), self.h, self.i.full()
        first = [*(_rows(m)), *(_rows(h.transpose()))]
        right = [*(_rows(h)), *(_rows(i))]
        return [a + b for a, b in zip(first, right, strict=True)]

    @staticmethod
    def from_rows(rows: Sequence[Sequence[Scalar]]) -> ArticulatedInertia:
        """From the upper triangle of a 6×6 matrix."""
        a = rows
        return ArticulatedInertia(
            Sym3(a[0][0], a[0][1], a[0][2], a[1][1], a[1][2], a[2][2]),
            Mat3(a[0][3], a[0][4], a[0][5], a[1][3], a[1][4], a[1][5], a[2][3], a[2][4], a[2][5]),
            Sym3(a[3][3], a[3][4], a[3][5], a[4][4], a[4][5], a[5][5]),
        )

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.m + other.m, self.h + other.h, self.i + other.i)

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.m - other.m, self.h - other.h, self.i - other.i)

    def __mul__(self, motion: Motion) -> Force:
        v, w = motion.linear, motion.angular
        return Force(self.m.apply(v) + self.h.apply(w), self.h.apply_transpose(v) + self.i.apply(w))

    def rotated(self, r: Mat3) -> ArticulatedInertia:
        return ArticulatedInertia(self.m.congruence(r), r.congruence(self.h), self.i.congruence(r))

    def moved(self, p: Vec3) -> ArticulatedInertia:
        """The inertia about another point, from which the old origin is at p: H' = H - M P and I' = I - HᵀP + P H',
        with P = [p]x.
        """
        mx, my, mz = self.m.full().columns()
        # -M P: row i is p × (row i of M), and M is symmetric
        a, b, c = p.cross(mx), p.cross(my), p.cross(mz)
        h = self.h + Mat3(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z)
        ox, oy, oz = self.h.columns()  # -(HᵀP): row i is p × (column i of H)
        nx, ny, nz = h.columns()  # P H': column i is p × (column i of H')
        d, e = p.cross(ox), p.cross(oy)
        f, g, k = p.cross(nx), p.cross(ny), p.cross(nz)
        i = self.i
        return ArticulatedInertia(
            self.m,
            h,
            Sym3(
                i.xx + (d.x + f.x),
                i.xy + (d.y + g.x),
                i.xz + (d.z + k.x),
                i.yy + (e.y + g.y),
                i.yz + (e.z + k.y),
                i.zz + (p.cross(oz).z + k.z),
            ),
        )


def _steiner(mass: Scalar, c: Vec3) -> Sym3:
    """m (c·c 1 - c cᵀ)."""
    x, y, z = c.x, c.y, c.z
    xx, yy, zz = x * x, y * y, z * z
    return Sym3(
        mass * (yy + zz), -(mass * (x * y)), -(mass * (x * z)), mass * (xx + zz), -(mass * (y * z)), mass * (xx + yy)
    )


def _rows(m: Mat3) -> list[list[Scalar]]:
    return [[m.xx, m.xy, m.xz], [m.yx, m.yy, m.yz], [m.zx, m.zy, m.zz]]
