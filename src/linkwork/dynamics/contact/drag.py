"""What resists the motion of frames, over any scalars: the drag of a medium on boxes (``Medium`` has the equations),
and rotors of free bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import pi
from typing import TYPE_CHECKING

from linkwork.model.all_contacts import Contacts
from linkwork.model.medium import Medium
from linkwork.spatial import Mat3, Scalar, Transform, Vec3, absolute

if TYPE_CHECKING:
    from linkwork.dynamics.contact.text import Twist


def resistances(
    contacts: Contacts, places: Mapping[str, Transform], twist: Callable[[str], Twist]
) -> Iterator[tuple[str, Vec3, Vec3]]:
    """Frames, and the force and the moment about the world's origin that act on each."""
    medium = contacts.medium
    for frame, placement, sides in () if medium is None else medium.boxes:
        assert medium is not None
        place, motion = places[frame] * placement, twist(frame)
        centre = place.translation
        f, moment = drag(medium, sides, place.rotation, motion.at(centre), motion.angular)
        yield frame, f, moment + centre.cross(f)
    for frame, inertia in contacts.rotors:
        centre, motion = places[frame].translation, twist(frame)
        f = motion.angular.cross(motion.at(centre)) * -inertia
        yield frame, f, centre.cross(f)


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
