"""Contact points of two boxes, or of a ball and a box: a fixed number of candidates, some of which are masked.

Two boxes touch across a separating axis: of the six face normals and the nine cross products of edges, the one along
which they are furthest apart, or overlap least (Gottschalk, Lin, Manocha 1996).

- Across a face, the most opposed face of the other box is clipped to it. The result is a polygon of at most eight
  corners: the two ends of each of the four clipped edges, and those corners of the clipping face that lie inside;
  twelve candidates, of which coincident corners count once.
- Across two edges, they touch in one point, half-way between the two.

A face is preferred to edges that are nearly as deep and nearly parallel to its normal: otherwise a box at rest would
alternate between one point and several. These are the rules of MuJoCo 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.spatial import Mat3, Scalar, Transform, Vec3, absolute, sqrt, where_less
from linkwork.spatial.functions import within
from linkwork.spatial.matrices import dot

_SAME = 1e-14
"""Corners coincide if their squared distance is less than this, relative to that of the face's half diagonal."""
_PARALLEL = 1e-16
"""The squared sine of an angle below which edges are parallel."""
_EDGE_BIAS, _ALIKE, _NEARLY = 1e-6, 0.99, 0.05
"""The fraction by which edges must be less deep than the face they replace; the cosine between an edge axis and a face
normal above which these are nearly parallel; the fraction of the depth by which edges must then be less deep."""
_TINY = 1e-15


class Touch(NamedTuple):
    """A candidate contact point of two shapes."""

    distance: Scalar
    point: Vec3
    normal: Vec3


class Solid(NamedTuple):
    """A box placed in the world, with its half sides; ``reach`` is the radius of its bounding sphere."""

    place: Transform
    half: Vec3
    reach: float = 0.0

    @property
    def centre(self) -> Vec3:
        return self.place.translation

    def numbers(self) -> list[Scalar]:
        """Its fifteen numbers."""
        return [*self.place.numbers(), *self.half.numbers()]

    @staticmethod
    def of(numbers: Sequence[Scalar]) -> Solid:
        return Solid(Transform(Mat3(*numbers[:9]), Vec3(*numbers[9:12])), Vec3(*numbers[12:]))


# Two boxes


class _Face(NamedTuple):
    """The best separating face, and the other box relative to it; the axes begin with the face's normal."""

    separation: Scalar
    sign: Scalar  # of the normal along its axis
    half: Vec3  # of the face's box
    axes: tuple[Vec3, Vec3, Vec3]  # in the world
    origin: Vec3
    rows: tuple[Vec3, Vec3, Vec3]  # of the rotation from the other box to these axes
    position: Vec3  # of the other box
    other: Vec3  # half of its sides


class _Edges(NamedTuple):
    """The best separating pair of edges, in the first box's axes."""

    separation: Scalar
    axis: Vec3
    along: Vec3  # direction of the first edge
    across: Vec3  # direction of the second edge, in the second box's axes


def box_touches(box: Solid, other: Solid, margin: Scalar) -> list[tuple[Scalar, Touch]]:
    """Twelve candidates, each with a flag that is 1 where they touch at a distance below the margin."""
    first, second = other, box  # the normal points from the first to the second
    between = second.centre - first.centre
    R = first.place.rotation.transpose() * second.place.rotation
    ahead = first.place.rotation.apply_transpose(between)
    behind = second.place.rotation.apply_transpose(-between)
    size = Mat3(*(absolute(x) for x in R.numbers()))
    gaps = (
        _gaps(ahead, first.half, size.apply(second.half)),
        _gaps(behind, second.half, size.apply_transpose(first.half)),
    )
    swap = max_of(gaps[0]), max_of(gaps[1])  # the second box has the face where its gap is larger
    face = _best_face(first, second, R, ahead, behind, gaps, swap)
    edges = _best_edges(first.half, second.half, R, ahead, face.separation)
    outward = face.axes[0] * (face.sign * where_less(*swap, -1.0, 1.0))

    # a face that is nearly as deep as the edges, and nearly parallel to their axis, replaces them
    across = first.place.rotation.apply(edges.axis)
    deep = face.separation + _NEARLY * absolute(face.separation) + _TINY
    alike = where_less(_ALIKE, absolute(across.dot(outward)), where_less(edges.separation, deep, 1.0, 0.0), 0.0)
    is_edge = where_less(face.separation, edges.separation, 1.0 - alike, 0.0)
    apart = where_less(edges.separation, face.separation, face.separation, edges.separation)
    near = where_less(margin, apart, 0.0, 1.0)

    normal = Vec3(*_chosen(0.5, is_edge, across.numbers(), outward.numbers()))
    spots = _clipped_face(face)
    distance, crossing = _edge_point(first, second, R, ahead, edges)
    touches = []
    for k, (flag, height, point) in enumerate(spots):
        if k == 0:
            flag, height = where_less(0.5, is_edge, 1.0, flag), where_less(0.5, is_edge, distance, height)
            point = Vec3(*_chosen(0.5, is_edge, crossing.numbers(), point.numbers()))
        else:
            flag = where_less(0.5, is_edge, 0.0, flag)
        touches.append((flag * near, Touch(height, point, normal)))
    return touches


def _gaps(position: Vec3, half: Vec3, radius: Vec3) -> list[Scalar]:
    """The gaps between the boxes along the axes of one of them."""
    each = zip(position.numbers(), half.numbers(), radius.numbers(), strict=True)
    return [absolute(x) - h - r for x, h, r in each]


def _best_face(
    first: Solid, second: Solid, R: Mat3, ahead: Vec3, behind: Vec3,
    gaps: tuple[list[Scalar], list[Scalar]], swap: tuple[Scalar, Scalar],
) -> _Face:  # fmt: skip
    """The best separating face of either box."""

    def either(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
        return _chosen(*swap, b, a)

    R = Mat3(*either(R.numbers(), R.transpose().numbers()))
    place = either(first.place.numbers(), second.place.numbers())
    axes = Mat3(*place[:9]).columns()
    keys = either(*gaps)
    position = Vec3(*_from_largest(keys, either(ahead.numbers(), behind.numbers())))
    rows = [Vec3(*R.numbers()[3 * k : 3 * k + 3]) for k in range(3)]
    x, y, z = (_from_largest(keys, each) for each in zip(*(row.numbers() for row in rows), strict=True))
    u, v, w = (_from_largest(keys, each) for each in zip(*(axis.numbers() for axis in axes), strict=True))
    return _Face(
        where_less(*swap, swap[1], swap[0]),
        where_less(position.x, 0.0, -1.0, 1.0),
        Vec3(*_from_largest(keys, either(first.half.numbers(), second.half.numbers()))),
        (Vec3(u[0], v[0], w[0]), Vec3(u[1], v[1], w[1]), Vec3(u[2], v[2], w[2])),
        Vec3(*place[9:]),
        (Vec3(x[0], y[0], z[0]), Vec3(x[1], y[1], z[1]), Vec3(x[2], y[2], z[2])),
        position,
        Vec3(*either(second.half.numbers(), first.half.numbers())),
    )


def _clipped_face(face: _Face) -> list[tuple[Scalar, Scalar, Vec3]]:
    """The corners of the most opposed face of the other box, clipped: flags, heights above the face, and points at half
    that height.
    """
    steep = [absolute(x) for x in face.rows[0].numbers()]
    rows = [_from_largest(steep, row.numbers()) for row in face.rows]
    half = _from_largest(steep, face.other.numbers())
    away = where_less(0.0, face.sign * rows[0][0], -1.0, 1.0)  # the side towards the face
    z, x, y = (
        (p + away * half[0] * row[0], half[1] * row[1], half[2] * row[2])
        for p, row in zip(face.position.numbers(), rows, strict=True)
    )
    centre = Vec3(x[0], y[0], face.sign * z[0] - face.half.x)
    u, v = Vec3(x[1], y[1], face.sign * z[1]), Vec3(x[2], y[2], face.sign * z[2])
    spots = _polygon(centre, u, v, face.half.y, face.half.z)
    same = _SAME * (face.half.y * face.half.y + face.half.z * face.half.z)
    corners: list[tuple[Scalar, Scalar, Vec3]] = []
    for k, (flag, spot) in enumerate(spots):
        for there, seen in spots[:k]:
            apart = (spot.x - seen.x) * (spot.x - seen.x) + (spot.y - seen.y) * (spot.y - seen.y)
            flag = where_less(apart, same, where_less(0.5, there, 0.0, flag), flag)
        depth = face.sign * (face.half.x + 0.5 * spot.z)
        point = face.origin + face.axes[0] * depth + face.axes[1] * spot.x + face.axes[2] * spot.y
        corners.append((flag, spot.z, point))
    return corners


def _polygon(centre: Vec3, u: Vec3, v: Vec3, width: Scalar, height: Scalar) -> list[tuple[Scalar, Vec3]]:
    """A parallelogram with half sides u and v, clipped to |x| <= width, |y| <= height; z is interpolated."""
    corners = [centre + u * s + v * t for s, t in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))]
    spots = []
    for k, corner in enumerate(corners):
        side = (u, v, u, v)[k] * (-2.0 if k < 2 else 2.0)
        begin, end = _clipped(corner, corners[(k + 1) % 4], width, height)
        inside = where_less(end, begin, 0.0, where_less(begin, 1.0, 1.0, 0.0))
        leaves = where_less(begin, end, where_less(end, 1.0, 1.0, 0.0), 0.0)
        spots += [(inside, corner + side * begin), (leaves, corner + side * end)]
    inverse = 1.0 / (u.x * v.y - u.y * v.x)  # not zero, since the two faces are opposed
    for s, t in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)):
        x, y = s * width, t * height
        dx, dy = x - centre.x, y - centre.y
        a, b = (dx * v.y - dy * v.x) * inverse, (u.x * dy - u.y * dx) * inverse
        covered = where_less(absolute(a), 1.0, where_less(absolute(b), 1.0, 1.0, 0.0), 0.0)
        spots.append((covered, Vec3(x, y, centre.z + a * u.z + b * v.z)))
    return spots


def _clipped(p: Vec3, q: Vec3, width: Scalar, height: Scalar) -> tuple[Scalar, Scalar]:
    """The interval of parameters from p (0) to q (1) that is inside; its end is before its beginning if it is empty."""
    begin: Scalar = 0.0
    end: Scalar = 1.0
    for a, b, limit in ((p.x, q.x, width), (p.y, q.y, height)):
        inverse = 1.0 / _not_zero(a - b)
        for sign in (1.0, -1.0):
            out, then = sign * a - limit, sign * b - limit
            t = out * (sign * inverse)
            enters = where_less(0.0, out, where_less(0.0, then, 2.0, t), 0.0)
            leaves = where_less(0.0, then, t, 1.0)
            begin, end = where_less(begin, enters, enters, begin), where_less(leaves, end, leaves, end)
    return begin, end


def _best_edges(half: Vec3, other: Vec3, R: Mat3, position: Vec3, face: Scalar) -> _Edges:
    """The best separating pair of edges, if it separates better than a face."""
    units = [Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)]
    best = [face, *[0.0] * 9]
    most: Scalar = face
    for i, along in enumerate(units):
        for j, column in enumerate(R.columns()):
            axis = along.cross(column)
            square = axis.dot(axis)
            skew = where_less(square, _PARALLEL, 0.0, 1.0)
            axis = axis * (1.0 / sqrt(where_less(0.5, skew, square, 1.0)))
            there = R.apply_transpose(axis).numbers()
            there[j] = 0.0
            way = axis.dot(position)
            gap = absolute(way) - _radius(axis.numbers(), half) - _radius(there, other)
            sign = where_less(way, 0.0, -1.0, 1.0)
            better = where_less(most, gap - _EDGE_BIAS * absolute(gap), where_less(face, gap, skew, 0.0), 0.0)
            edges = [gap, *(axis * sign).numbers(), *units[i].numbers(), *units[j].numbers()]
            best = _chosen(0.5, better, edges, best)
            most = best[0]
    return _Edges(best[0], Vec3(*best[1:4]), Vec3(*best[4:7]), Vec3(*best[7:]))


def _edge_point(first: Solid, second: Solid, R: Mat3, ahead: Vec3, edges: _Edges) -> tuple[Scalar, Vec3]:
    """The distance of two edges, and the point half-way between them."""
    there = R.apply_transpose(edges.axis)
    corner = _corner(first.half, edges.axis, edges.along)
    other = R.apply(_corner(second.half, -there, edges.across)) + ahead
    way, apart = R.apply(edges.across), other - corner
    cosine = way.dot(edges.along)
    along, across = edges.along.dot(apart), way.dot(apart)
    long, wide = edges.along.dot(first.half), edges.across.dot(second.half)
    s = within(-long, (along - cosine * across) / _not_zero(1.0 - cosine * cosine), long)
    t = within(-wide, cosine * s - across, wide)
    s = within(-long, along + cosine * t, long)
    near, far = corner + edges.along * s, other + way * t
    middle = (near + far) * 0.5
    return (far - near).dot(edges.axis), first.place.rotation.apply(middle) + first.centre


def _corner(half: Vec3, direction: Vec3, along: Vec3) -> Vec3:
    """The midpoint of the edge that is furthest in a direction perpendicular to it."""
    each = zip(half.numbers(), direction.numbers(), along.numbers(), strict=True)
    return Vec3(*(where_less(x, 0.0, -h, h) * (1.0 - unit) for h, x, unit in each))


# A ball and a box


def ball_touch(centre: Vec3, radius: Scalar, box: Solid) -> Touch:
    """The contact of a ball with a box; the normal points to the ball."""
    local = box.place.rotation.apply_transpose(centre - box.centre)
    sides = list(zip(local.numbers(), box.half.numbers(), strict=True))
    nearest = Vec3(*(within(-h, x, h) for x, h in sides))
    apart = local - nearest
    length = sqrt(apart.dot(apart))
    out = apart * (1.0 / where_less(_TINY, length, length, 1.0))
    # a centre inside the box is pushed out through the nearest face
    gaps = [gap for x, h in sides for gap in (absolute(x + h), absolute(h - x))]
    best: list[Scalar] = [gaps[0], -1.0, 0.0, 0.0]
    for k in range(1, 6):
        face = [0.0, 0.0, 0.0]
        face[k // 2] = 1.0 if k % 2 else -1.0
        best = _chosen(gaps[k], best[0], [gaps[k], *face], best)
    normal = Vec3(*_chosen(_TINY, length, out.numbers(), best[1:]))
    distance = where_less(_TINY, length, length, -best[0]) - radius
    middle = local - normal * (radius + 0.5 * distance)
    rotation = box.place.rotation
    return Touch(distance, rotation.apply(middle) + box.centre, rotation.apply(normal))


# Small functions


def max_of(numbers: Sequence[Scalar]) -> Scalar:
    largest = numbers[0]
    for x in numbers[1:]:
        largest = where_less(largest, x, x, largest)
    return largest


def _from_largest(keys: Sequence[Scalar], three: Sequence[Scalar]) -> list[Scalar]:
    """Three numbers in cyclic order, beginning with the one whose key is largest."""
    first = where_less(keys[0], keys[1], keys[1], keys[0])
    return [
        where_less(first, keys[2], three[(k + 2) % 3], where_less(keys[0], keys[1], three[(k + 1) % 3], three[k]))
        for k in range(3)
    ]


def _chosen(a: Scalar, b: Scalar, xs: Sequence[Scalar], ys: Sequence[Scalar]) -> list[Scalar]:
    """The first numbers where a < b, otherwise the second."""
    return [where_less(a, b, x, y) for x, y in zip(xs, ys, strict=True)]


def _radius(axis: Sequence[Scalar], half: Vec3) -> Scalar:
    return dot([absolute(x) for x in axis], half.numbers())


def _not_zero(x: Scalar) -> Scalar:
    return where_less(0.0, absolute(x), x, 1.0)
