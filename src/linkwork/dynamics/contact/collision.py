"""Contact geometry of shapes: points, distances and normals, over any scalars.

A distance is negative where shapes overlap; the point lies half-way between the two surfaces; the normal points from
the other surface to the contact's shape. Whether the shapes touch is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.dynamics.contact.boxes import Solid, Touch, ball_touch, box_touches
from linkwork.model.contacts import Box, Capsule, Contact, Cylinder, Ellipsoid, HeightField, Plane, Sphere
from linkwork.spatial import Scalar, Transform, Vec3, absolute, sqrt, total, where_less
from linkwork.spatial.functions import within

_TINY = 1e-15


def touches(contact: Contact, place: Transform, ground: Transform) -> list[Touch]:
    """The candidate points of a contact, given the placements of its shape and of the other side in the world."""
    shape, against = contact.shape, contact.against
    if isinstance(against, Plane):
        normal = ground.rotation.apply(Vec3(*against.normal))
        origin = ground.translation + normal * against.height
        return [_level(distance, point, normal) for distance, point in _above_plane(shape, place, normal, origin)]
    if isinstance(against, HeightField):
        return [_above_field(against, ground, centre, radius) for centre, radius in _balls(shape, place)]
    one, other = solid_of(shape, place), solid_of(against, ground)
    far = one.reach + other.reach + absolute(contact.margin)
    return [
        touch if flag is None else touch._replace(distance=where_less(0.5, flag, touch.distance, far))
        for flag, touch in between(one, other, contact.margin)
    ]


def tangents(normal: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors orthogonal to a normal and to each other."""
    steep = normal.y * normal.y
    y, z = where_less(steep, 0.25, 1.0, 0.0), where_less(steep, 0.25, 0.0, 1.0)
    along = Vec3(0.0, y, z)
    along = along - normal * along.dot(normal)
    first = along * (1.0 / sqrt(along.dot(along)))
    return first, normal.cross(first)


def _level(distance: Scalar, lowest: Vec3, normal: Vec3) -> Touch:
    """The contact point on a plane, from the lowest point of a shape."""
    return Touch(distance, lowest - normal * (0.5 * distance), normal)


def _balls(shape: object, place: Transform) -> list[tuple[Vec3, float]]:
    """The balls by which a point, a sphere or a capsule touches the ground: centres and radii."""
    if isinstance(shape, Capsule):
        half = place.rotation.apply(Vec3(0.0, 0.0, shape.half_length))
        return [(place.translation + half, shape.radius), (place.translation - half, shape.radius)]
    return [(place.translation, shape.radius if isinstance(shape, Sphere) else 0.0)]


def _above_plane(shape: object, place: Transform, normal: Vec3, origin: Vec3) -> list[tuple[Scalar, Vec3]]:
    """Distances from a plane, and the lowest points."""
    if isinstance(shape, Box):
        return _corners(shape, place, normal, origin)
    if isinstance(shape, Ellipsoid):
        down = place.rotation.apply_transpose(normal)
        scaled = Vec3(*(h * x for h, x in zip(shape.half_axes, down.numbers(), strict=True)))
        length = sqrt(scaled.dot(scaled))
        lowest = Vec3(*(-h * x / length for h, x in zip(shape.half_axes, scaled.numbers(), strict=True)))
        point = place.rotation.apply(lowest) + place.translation
        return [((point - origin).dot(normal), point)]
    if isinstance(shape, Cylinder):
        return [((point - origin).dot(normal), point) for point in _rims(shape, place, normal)]
    found = []
    for centre, radius in _balls(shape, place):
        distance = (centre - origin).dot(normal) - radius
        found.append((distance, centre - normal * radius))
    return found


def _corners(box: Box, place: Transform, normal: Vec3, origin: Vec3) -> list[tuple[Scalar, Vec3]]:
    """The lower one of each pair of opposite corners."""
    x, y, z = box.half_sides
    height, found = (place.translation - origin).dot(normal), []
    for sx, sy in ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
        corner = place.rotation.apply(Vec3(sx * x, sy * y, z))
        up = corner.dot(normal)
        sign = where_less(0.0, up, -1.0, 1.0)
        found.append((height + sign * up, corner * sign + place.translation))
    return found


def _rims(cylinder: Cylinder, place: Transform, normal: Vec3) -> list[Vec3]:
    """The lowest point of either rim, the lower one first, and two more on that rim, a third of a turn away."""
    right, _, axis = place.rotation.columns()
    axis = axis * where_less(0.0, axis.dot(normal), -1.0, 1.0)
    down = axis * axis.dot(normal) - normal
    down = _normalised(down, right, sqrt(down.dot(down)))  # for a level rim any direction will do
    out, end = down * cylinder.radius, axis * cylinder.half_length
    side = down.cross(axis) * (cylinder.radius * sqrt(0.75))
    lower, upper = place.translation + end, place.translation - end
    return [lower + out, upper + out, lower - out * 0.5 + side, lower - out * 0.5 - side]


# Pairs of shapes


class Axis(NamedTuple):
    """A sphere or capsule as the balls about the points of an axis: centre, half axis (None for a sphere), its squared
    length, and the radius; ``reach`` is the radius of the bounding sphere.
    """

    centre: Vec3
    half: Vec3 | None
    squared: Scalar
    radius: Scalar
    reach: float = 0.0

    def numbers(self) -> list[Scalar]:
        """Its eight numbers."""
        return [*self.centre.numbers(), *(self.half or Vec3.zero()).numbers(), self.squared, self.radius]

    @staticmethod
    def of(numbers: Sequence[Scalar], is_long: bool) -> Axis:
        return Axis(Vec3(*numbers[:3]), Vec3(*numbers[3:6]) if is_long else None, *numbers[6:])


def solid_of(shape: object, place: Transform) -> Axis | Solid:
    """A sphere, a capsule or a box, placed."""
    if isinstance(shape, Box):
        half = Vec3(*shape.half_sides)
        return Solid(place, half, sqrt(half.dot(half)))
    if isinstance(shape, Capsule):
        half = place.rotation.apply(Vec3(0.0, 0.0, shape.half_length))
        squared = shape.half_length * shape.half_length
        return Axis(place.translation, half, squared, shape.radius, shape.radius + shape.half_length)
    assert isinstance(shape, Sphere)
    return Axis(place.translation, None, 0.0, shape.radius, shape.radius)


def solid_from(kind: type, numbers: Sequence[Scalar]) -> Axis | Solid:
    """The same from its numbers, given the type of the shape."""
    return Solid.of(numbers) if kind is Box else Axis.of(numbers, kind is Capsule)


def between(one: Axis | Solid, other: Axis | Solid, margin: Scalar) -> list[tuple[Scalar | None, Touch]]:
    """The candidate points of two of them, each with a flag that is 1 where it counts, or None if it always does."""
    if isinstance(one, Solid):
        if isinstance(other, Solid):
            return [*box_touches(one, other, margin)]
        touch = ball_touch(other.centre, other.radius, one)
        return [(None, touch._replace(normal=-touch.normal))]
    if isinstance(other, Solid):
        return [(None, ball_touch(one.centre, one.radius, other))]
    return [(None, _between_axes(one, other))]


def _between_axes(axis: Axis, other: Axis) -> Touch:
    """The contact at the closest points of their axes."""
    near, far = _nearest(axis, other)
    apart = near - far
    length = sqrt(apart.dot(apart))
    usual = _normalised(apart, Vec3(1.0, 0.0, 0.0), length)
    # axes that intersect have no direction between them; their common normal is used
    crossing = Vec3(1.0, 0.0, 0.0)
    if axis.half is not None and other.half is not None:
        across = other.half.cross(axis.half)
        crossing = _normalised(across, crossing, sqrt(across.dot(across)))
    normal = Vec3(*(where_less(_TINY, length, *pair) for pair in zip(usual.numbers(), crossing.numbers(), strict=True)))
    distance = length - (axis.radius + other.radius)
    return Touch(distance, far + normal * (other.radius + 0.5 * distance), normal)


def _normalised(x: Vec3, otherwise: Vec3, length: Scalar) -> Vec3:
    """x normalised, or another direction where x has no length."""
    inverse = 1.0 / where_less(_TINY, length, length, 1.0)
    pairs = zip((x * inverse).numbers(), otherwise.numbers(), strict=True)
    return Vec3(*(where_less(_TINY, length, *pair) for pair in pairs))


def _nearest(axis: Axis, other: Axis) -> tuple[Vec3, Vec3]:
    """The closest points of two axes."""
    p, q, a, b = axis.centre, other.centre, axis.half, other.half
    if a is None and b is None:
        return p, q
    if b is None:
        assert a is not None
        return p + a * within(-1.0, a.dot(q - p) / axis.squared, 1.0), q
    if a is None:
        return p, q + b * within(-1.0, b.dot(p - q) / other.squared, 1.0)
    apart, aa, ab, bb = p - q, axis.squared, -a.dot(b), other.squared
    u, v = -a.dot(apart), b.dot(apart)
    determinant = aa * bb - ab * ab
    parallel = where_less(determinant, _TINY, 1.0, determinant)
    x = within(-1.0, where_less(determinant, _TINY, 0.0, (bb * u - ab * v) / parallel), 1.0)
    y = within(-1.0, (v - ab * x) / bb, 1.0)
    x = within(-1.0, (u - ab * y) / aa, 1.0)
    return p + a * x, q + b * y


# Uneven ground


def _above_field(field: HeightField, ground: Transform, centre: Vec3, radius: float) -> Touch:
    """A ball over a height field: along the normal of the ground vertically below its centre."""
    local = ground.rotation.apply_transpose(centre - ground.translation)
    height, slope_x, slope_y = _bilinear(field, local.x, local.y)
    up = Vec3(-slope_x, -slope_y, 1.0)
    normal = up * (1.0 / sqrt(up.dot(up)))
    distance = (local.z - height) * normal.z - radius
    turned = ground.rotation.apply(normal)
    return Touch(distance, centre - turned * (radius + 0.5 * distance), turned)


def _bilinear(field: HeightField, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Height and slopes by bilinear weights of the grid lines: a sum over the whole grid, with few non-zero terms."""
    heights = np.asarray(field.heights)
    rows, columns = heights.shape
    across, rates_x = _weights(x, columns, field.half_size[0])
    along, rates_y = _weights(y, rows, field.half_size[1])
    by_row = [_sum(across, heights[k]) for k in range(rows)]
    slope_by_row = [_sum(rates_x, heights[k]) for k in range(rows)]
    return _sum(along, by_row), _sum(along, slope_by_row), _sum(rates_y, by_row)


def _weights(x: Scalar, count: int, half: float) -> tuple[list[Scalar], list[Scalar]]:
    """The weight of each grid line at x, and its derivative with respect to x; constant beyond the edge."""
    scale = (count - 1) / (2.0 * half)
    s = within(0.0, (x + half) * scale, float(count - 1))
    inside = where_less(-half, x, where_less(x, half, scale, 0.0), 0.0)
    cells: list[Scalar] = [0.0]  # the derivative in the cell that contains x, 0 in others
    for k in range(count - 1):
        below = inside if k == count - 2 else where_less(s, float(k + 1), inside, 0.0)
        cells.append(below if k == 0 else where_less(s, float(k), 0.0, below))
    cells.append(0.0)
    weights = []
    for k in range(count):
        nearer = 1.0 - absolute(s - float(k))
        weights.append(where_less(nearer, 0.0, 0.0, nearer))
    return weights, [cells[k] - cells[k + 1] for k in range(count)]


def _sum(weights: Sequence[Scalar], numbers: Sequence[Scalar]) -> Scalar:
    return total(weight * number for weight, number in zip(weights, numbers, strict=True))
