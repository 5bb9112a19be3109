"""Kept rows for the contact points that touch, of all candidates: nine numbers, friction coefficients, and the sign
with which each degree of freedom moves the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.compiled.kept_rows import KeptRows
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.collision import between, solid_from
from linkwork.dynamics.contact.softness import impedance, regularisation, spring
from linkwork.model.contacts import Box, Contact, Softness
from linkwork.spatial import Scalar, Vec3, where_less

HEAD = 9
"""Numbers of a kept row before friction coefficients and signs."""


def pushed(touch: Touch, softness: Softness, stiff: Any, margin: Scalar, mass: Scalar) -> list[Scalar]:
    """Whether a point touches, and the numbers of its row: position, normal, reference acceleration, damping, D;
    ``stiff`` is damping and stiffness, or the step.
    """
    b, k = stiff if isinstance(stiff, list) else spring(softness, stiff)
    depth = touch.distance - margin
    d = impedance(softness, depth)
    own = [*touch.point.numbers(), *touch.normal.numbers(), -(k * d * depth), b, regularisation(d, mass)]
    return [where_less(depth, 0.0, 1.0, 0.0), *own]


def like(one: Contact) -> tuple[type, type, Softness]:
    """The types and softness that determine the code for pairs of shapes."""
    return type(one.shape), type(one.against), one.softness


def keep_near(
    kept: KeptRows, rows: KeptRows, like: tuple[type, type, Softness], stiff: Sequence[Any], points: int
) -> None:
    """Keep the touching points of pairs of shapes that are near each other; ``stiff`` has damping, stiffness, and a
    traced number.
    """
    kind, other, softness = like
    first, second = (15 if each is Box else 8 for each in (kind, other))

    def met(row: Sequence[Scalar], stiff_and_more: Sequence[Scalar]) -> list[Scalar]:
        shapes = solid_from(kind, row[:first]), solid_from(other, row[first : first + second])
        margin, mass, *more = row[first + second :]
        candidates = between(*shapes, margin)
        if points == 1:
            return [*pushed(candidates[0][1], softness, stiff_and_more[:2], margin, mass), *more]
        each = [x for flag, touch in candidates for x in (flag, touch.distance, *touch.point.numbers())]
        return [*each, *candidates[0][1].normal.numbers(), *row[first + second :]]

    if points == 1:
        kept.keep_in(rows, met, stiff)
        return
    places = 5 * points
    several = kept.mapped(f"{kept.rows.name}, points", met, places + 3 + kept.rows.width - first - second, stiff)
    for k in range(points):

        def slot(row: Sequence[Scalar], stiff_and_more: Sequence[Scalar], k: int = k) -> list[Scalar]:
            flag, distance, *point = row[5 * k : 5 * k + 5]
            touch = Touch(distance, Vec3(*point), Vec3(*row[places : places + 3]))
            margin, mass, *more = row[places + 3 :]
            near, *numbers = pushed(touch, softness, stiff_and_more[:2], margin, mass)
            return [near * flag, *numbers, *more]

        several.keep_in(rows, slot, stiff)
