"""The drag of a medium on a moving box (``Medium`` has the equations), over any scalars."""

from __future__ import annotations

from math import pi

from linkwork.model.medium import Medium
from linkwork.spatial import Mat3, Scalar, Vec3, absolute


def drag(
    medium: Medium, sides: tuple[float, float, float], rotation: Mat3, linear: Vec3, angular: Vec3
) -> tuple[Vec3, Vec3]:
    """Force and moment about the centre of a box, in world axes, given its rotation and its velocity there."""
    v = rotation.apply_transpose(linear - Vec3(*medium.wind)).numbers()
    w = rotation.apply_transpose(angular).numbers()
    force, moment = [], []
    d = sum(sides) / 3.0
    for k in range(3):
        own, b, c = sides[k], sides[(k + 1) % 3], sides[(k + 2) % 3]
        pushes = 0.5 * medium.density * b * c, 3.0 * pi * d * medium.viscosity
        turns = medium.density * own * (b * b * b * b + c * c * c * c) / 64.0, pi * d * d * d * medium.viscosity
        force.append(_resisted(v[k], *pushes))
        moment.append(_resisted(w[k], *turns))
    return rotation.apply(Vec3(*force)), rotation.apply(Vec3(*moment))


def _resisted(x: Scalar, quadratic: float, linear: float) -> Scalar:
    return -(quadratic * absolute(x) + linear) * x
