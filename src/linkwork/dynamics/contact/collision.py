"""Where shapes touch: points, distances and normals, as a text over scalars.

A distance is negative where shapes overlap; the point lies half-way between the two surfaces; the normal points from
what is touched to the shape. Nothing here asks whether they do touch.
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
    """Where a contact's shape, and what it touches, are nearest, given where both are in the world."""
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
    """Two directions across a normal, and each other."""
    steep = normal.y * normal.y
    y, z = where_less(steep, 0.25, 1.0, 0.0), where_less(steep, 0.25, 0.0, 1.0)
    along = Vec3(0.0, y, z)
    along = along - normal * along.dot(normal)
    first = along * (1.0 / sqrt(along.dot(along)))
    return first, normal.cross(first)


def _level(distance: Scalar, lowest: Vec3, normal: Vec3) -> Touch:
    """From the lowest point of a shape above a plane."""
    return Touch(distance, lowest - normal * (0.5 * distance), normal)


def _balls(shape: object, place: Transform) -> list[tuple[Vec3, float]]:
    """The balls that a point, a sphere or a capsule touches the ground with: centres and radii."""
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
    """Of each pair of opposite corners the lower one."""
    x, y, z = box.half_sides
    height, found = (place.translation - origin).dot(normal), []
    for sx, sy in ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
        corner = place.rotation.apply(Vec3(sx * x, sy * y, z))
        up = corner.dot(normal)
        sign = where_less(0.0, up, -1.0, 1.0)
        found.append((height + sign * up, corner * sign + place.translation))
    return found


def _rims(cylinder: Cylinder, place: Transform, normal: Vec3) -> list[Vec3]:
    """The lowest point of either rim, the lower one first, and two more of that, a third of a turn from it."""
    right, _, axis = place.rotation.columns()
    axis = axis * where_less(0.0, axis.dot(normal), -1.0, 1.0)
    down = axis * axis.dot(normal) - normal
    down = _normalised(down, right, sqrt(down.dot(down)))  # a rim that is level begins anywhere
    out, end = down * cylinder.radius, axis * cylinder.half_length
    side = down.cross(axis) * (cylinder.radius * sqrt(0.75))
    lower, upper = place.translation + end, place.translation - end
    return [lower + out, upper + out, lower - out * 0.5 + side, lower - out * 0.5 - side]


# Two shapes


class Axis(NamedTuple):
    """A sphere, or a capsule, as a ball about each point of an axis: centre and half of the axis (None for a sphere),
    its length squared, and the radius; ``reach`` is the radius of a ball around all of it.
    """

    centre: Vec3
    half: Vec3 | None
    squared: Scalar
    radius: Scalar
    reach: float = 0.0

    def numbers(self) -> list[Scalar]:
        """Eight of them."""
        return [*self.centre.numbers(), *(self.half or Vec3.zero()).numbers(), self.squared, self.radius]

    @staticmethod
    def of(numbers: Sequence[Scalar], is_long: bool) -> Axis:
        return Axis(Vec3(*numbers[:3]), Vec3(*numbers[3:6]) if is_long else None, *numbers[6:])


def solid_of(shape: object, place: Transform) -> Axis | Solid:
    """A sphere, a capsule or a box that is placed so."""
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
    """The same of its numbers, given which shape it is."""
    return Solid.of(numbers) if kind is Box else Axis.of(numbers, kind is Capsule)


def between(one: Axis | Solid, other: Axis | Solid, margin: Scalar) -> list[tuple[Scalar | None, Touch]]:
    """Where two of them touch: places, each with a flag that is 1 where it counts, or None if it always does."""
    if isinstance(one, Solid):
        if isinstance(other, Solid):
            return [*box_touches(one, other, margin)]
        touch = ball_touch(other.centre, other.radius, one)
        return [(None, touch._replace(normal=-touch.normal))]
    if isinstance(other, Solid):
        return [(None, ball_touch(one.centre, one.radius, other))]
    return [(None, _between_axes(one, other))]


def _between_axes(axis: Axis, other: Axis) -> Touch:
    """At the points of their axes that are nearest to each other."""
    near, far = _nearest(axis, other)
    apart = near - far
    length = sqrt(apart.dot(apart))
    usual = _normalised(apart, Vec3(1.0, 0.0, 0.0), length)
    # axes that cross have no direction between them, but one across both
    crossing = Vec3(1.0, 0.0, 0.0)
    if axis.half is not None and other.half is not None:
        across = other.half.cross(axis.half)
        crossing = _normalised(across, crossing, sqrt(across.dot(across)))
    normal = Vec3(*(where_less(_TINY, length, *pair) for pair in zip(usual.numbers(), crossing.numbers(), strict=True)))
    distance = length - (axis.radius + other.radius)
    return Touch(distance, far + normal * (other.radius + 0.5 * distance), normal)


def _normalised(x: Vec3, otherwise: Vec3, length: Scalar) -> Vec3:
    """A direction; another where it has no length."""
    inverse = 1.0 / where_less(_TINY, length, length, 1.0)
    pairs = zip((x * inverse).numbers(), otherwise.numbers(), strict=True)
    return Vec3(*(where_less(_TINY, length, *pair) for pair in pairs))


def _nearest(axis: Axis, other: Axis) -> tuple[Vec3, Vec3]:
    """The points of two axes that are nearest."""
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
    """A ball over a height field: along the normal of the ground straight below its centre."""
    local = ground.rotation.apply_transpose(centre - ground.translation)
    height, slope_x, slope_y = _bilinear(field, local.x, local.y)
    up = Vec3(-slope_x, -slope_y, 1.0)
    normal = up * (1.0 / sqrt(up.dot(up)))
    distance = (local.z - height) * normal.z - radius
    turned = ground.rotation.apply(normal)
    return Touch(distance, centre - turned * (radius + 0.5 * distance), turned)


def _bilinear(field: HeightField, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Height and slopes, by the weights of the grid's lines: a sum over all of it, in which few terms are not zero."""
    heights = np.asarray(field.heights)
    rows, columns = heights.shape
    across, rates_x = _weights(x, columns, field.half_size[0])
    along, rates_y = _weights(y, rows, field.half_size[1])
    by_row = [_sum(across, heights[k]) for k in range(rows)]
    slope_by_row = [_sum(rates_x, heights[k]) for k in range(rows)]
    return _sum(along, by_row), _sum(along, slope_by_row), _sum(rates_y, by_row)


def _weights(x: Scalar, count: int, half: float) -> tuple[list[Scalar], list[Scalar]]:
    """Of each line of a grid: how much it counts at x, and how that varies with x; constant beyond the edge."""
    scale = (count - 1) / (2.0 * half)
    s = within(0.0, (x + half) * scale, float(count - 1))
    inside = where_less(-half, x, where_less(x, half, scale, 0.0), 0.0)
    cells: list[Scalar] = [0.0]  # the rate in the cell between two lines where x is, else 0
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
