"""How the force on a moving body varies with its velocity: 12 numbers."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.spatial.functions import Scalar
from linkwork.spatial.inertia import Inertia
from linkwork.spatial.motion import Force, Motion
from linkwork.spatial.vectors import Mat3, Numbers, Sym3, Vec3


class Coriolis(Numbers):
    """The matrix (V ×*) I - I (V ×) + (h ×̄*) of a body with inertia I, velocity V and momentum h = I V, in a frame that
    does not move: from a change of its velocity to the change of V ×* I V, and of the force that turns its inertia.

    As a 6×6 matrix [[0, -2 [h.linear]x], [0, J̇ - [h.angular]x]], J̇ the rate of the second moment about the frame's
    origin, which is symmetric. Those of several bodies add up.
    """

    __slots__ = ("momentum", "second_rate")

    def __init__(self, momentum: Force, second_rate: Sym3) -> None:
        self.momentum, self.second_rate = momentum, second_rate

    @staticmethod
    def zero() -> Coriolis:
        return Coriolis(Force.zero(), Sym3.zero())

    @staticmethod
    def of_body(inertia: Inertia, velocity: Motion) -> Coriolis:
        """Of a body with that velocity."""
        v, w, h, j = velocity.linear, velocity.angular, inertia.moment, inertia.second
        x, y, z = (w.cross(column) for column in j.full().columns())  # [w]x J, which is added to its transpose
        along = h.dot(v)
        rate = Sym3(
            2.0 * ((x.x - v.x * h.x) + along),
            (x.y + y.x) - (v.x * h.y + v.y * h.x),
            (x.z + z.x) - (v.x * h.z + v.z * h.x),
            2.0 * ((y.y - v.y * h.y) + along),
            (y.z + z.y) - (v.y * h.z + v.z * h.y),
            2.0 * ((z.z - v.z * h.z) + along),
        )
        return Coriolis(inertia * velocity, rate)

    def numbers(self) -> list[Scalar]:
        return [*self.momentum.numbers(), *self.second_rate.numbers()]

    def of(self, numbers: Sequence[Scalar]) -> Coriolis:
        return Coriolis(Force.from_numbers(numbers[:6]), Sym3(*numbers[6:]))

    def __add__(self, other: Coriolis) -> Coriolis:
        return Coriolis(self.momentum + other.momentum, self.second_rate + other.second_rate)

    def __mul__(self, motion: Motion) -> Force:
        h, w = self.momentum, motion.angular
        return Force(h.linear.cross(w) * -2.0, self.second_rate.apply(w) - h.angular.cross(w))

    def columns(self) -> list[Force]:
        """What it makes of unit angular velocities; of linear ones, nothing."""
        zero, axes = Vec3.zero(), Mat3.identity().columns()
        return [self * Motion(zero, axis) for axis in axes]

    def transposed(self, motion: Motion) -> Vec3:
        """The transpose times a motion: a moment, as there is no force."""
        h, w = self.momentum, motion.angular
        return self.second_rate.apply(w) + h.angular.cross(w) + h.linear.cross(motion.linear) * 2.0
