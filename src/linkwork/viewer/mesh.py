"""Triangle meshes for the browser: simple solids, and normals with creases for meshes of files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.arguments import Array

Indices = NDArray[np.int64]

_AROUND, _ROWS = 20, 8  # vertices of a circle, rings of a sphere
_MOST_NEIGHBOURS, _FEWEST_NEIGHBOURS = 64, 8  # corners at a vertex that contribute: more are not needed to look smooth
_MOST_ROUNDS = 4  # of merging corners
_MOST_PAIRS = 30_000_000  # of such corners in a mesh
_CREASE = np.cos(np.radians(35.0))  # faces that meet at a larger angle have an edge between them


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (n, 3), m, unit normals (n, 3) there, and triangles (m, 3) of vertex indices, anticlockwise from
    outside.

    colour: red, green, blue and opacity from 0 to 1; None if unspecified.
    """

    vertices: Array
    normals: Array
    faces: Indices
    colour: tuple[float, float, float, float] | None = None

    def moved(self, placement: Array) -> Mesh:
        """The mesh moved by a placement (4, 4)."""
        turn = placement[:3, :3]
        return replace(self, vertices=self.vertices @ turn.T + placement[:3, 3], normals=self.normals @ turn.T)

    def coloured(self, colour: tuple[float, float, float, float]) -> Mesh:
        return replace(self, colour=colour)


def rgba(colour: str, opacity: float = 1.0) -> tuple[float, float, float, float]:
    """The colour of a string such as "#4878a8"."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue, opacity


def sphere(radius: float) -> Mesh:
    return ellipsoid(np.full(3, radius))


def ellipsoid(radii: Array) -> Mesh:
    """An ellipsoid about the origin, with its axes along x, y and z."""
    ball = _ball()
    normals = ball.normals / np.maximum(radii, 1e-12)
    return replace(ball, vertices=ball.vertices * radii, normals=_unit(normals))


def capsule(a: Array, b: Array, radius: float) -> Mesh:
    """A capsule: all points within a radius of the line from a to b."""
    along = b - a
    length = float(np.linalg.norm(along))
    ball = _ball()
    if not length:
        return replace(ball, vertices=a + radius * ball.vertices)
    turned = ball.vertices @ _toward(along / length).T
    upper = (ball.vertices[:, 2] > 1e-9) | ((abs(ball.vertices[:, 2]) <= 1e-9) & _second_equator())
    return replace(ball, vertices=np.where(upper[:, None], b, a) + radius * turned, normals=turned)


def rounded_hull(points: Array, radius: float) -> Mesh:
    """All points within a radius of the convex hull of points (n, 3): each direction's farthest point, moved out."""
    if len(points) == 1:
        return capsule(points[0], points[0], radius)
    if len(points) == 2:
        return capsule(points[0], points[1], radius)
    around = _directions()
    farthest = points[np.argmax(points @ around.vertices.T, axis=0)]
    return replace(around, vertices=farthest + radius * around.vertices)


def box(edges: Array) -> Mesh:
    """A box about the origin."""
    vertices: list[Array] = []
    normals, faces = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            one, other = _across(axis)
            start = len(vertices)
            for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                vertices.append(0.5 * edges * (normal + s * one + t * other))
                normals.append(normal)
            order = (0, 1, 2, 3) if sign > 0 else (0, 3, 2, 1)
            faces += [[start + order[0], start + order[1], start + order[2]]]
            faces += [[start + order[0], start + order[2], start + order[3]]]
    return Mesh(np.array(vertices), np.array(normals), np.array(faces, dtype=np.int64))


def cylinder(radius: float, length: float) -> Mesh:
    """A cylinder about the origin, along z."""
    turns = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns), np.zeros(_AROUND)], axis=-1)
    up = np.array([0.0, 0.0, 0.5 * length])
    ends = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    vertices = np.concatenate([radius * circle - up, radius * circle + up] * 2)
    normals = np.concatenate([circle, circle, *(np.tile(end, (_AROUND, 1)) for end in ends)])
    i, j = np.arange(_AROUND), np.roll(np.arange(_AROUND), -1)
    side = np.concatenate([np.stack([i, j, j + _AROUND], -1), np.stack([i, j + _AROUND, i + _AROUND], -1)])
    fan = np.stack([np.zeros(_AROUND - 2, dtype=int), i[1:-1], i[2:]], -1)
    faces = np.concatenate([side, fan[:, ::-1] + 2 * _AROUND, fan + 3 * _AROUND])
    return Mesh(vertices, normals, faces.astype(np.int64))


def rod(start: Array, end: Array, radius: float) -> Mesh:
    """A cylinder from one point to another."""
    length = float(np.linalg.norm(end - start))
    return cylinder(radius, length).moved(_along(0.5 * (start + end), (end - start) / (length or 1.0)))


def arrow(start: Array, end: Array, radius: float) -> Mesh:
    """A shaft with a head, from one point to another."""
    along = end - start
    length = float(np.linalg.norm(along)) or 1e-9
    head = min(6.0 * radius, 0.5 * length)
    shaft = cylinder(radius, length - head)
    tip = cylinder(2.4 * radius, head)
    top = tip.vertices[:, 2] > 0.0
    cone = tip.vertices * np.where(top, 1e-3, 1.0)[:, None] * [1.0, 1.0, 0.0] + tip.vertices * [0.0, 0.0, 1.0]
    parts = [
        replace(shaft, vertices=shaft.vertices + np.array([0.0, 0.0, 0.5 * (length - head)])),
        replace(tip, vertices=cone + np.array([0.0, 0.0, length - 0.5 * head])),
    ]
    return together(parts).moved(_along(start, along / length))


def together(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one, in the colour of the first."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]),
        meshes[0].colour,
    )


def creased(corners: Array) -> Mesh:
    """A mesh of triangles (m, 3, 3): smooth where they meet at a small angle, with edges elsewhere."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    corners, across, area = corners[area > 0.0], across[area > 0.0], area[area > 0.0]
    if not len(corners):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))
    flat = corners.reshape(-1, 3)
    size = float(np.ptp(flat, axis=0).max()) or 1.0
    _, vertex = np.unique(_cells(flat, 2e-6 * size), return_inverse=True)
    order = np.argsort(vertex, kind="stable")
    firsts = np.flatnonzero(np.diff(vertex[order], prepend=-1))
    counts = np.diff(np.append(firsts, len(order)))
    most = _MOST_NEIGHBOURS
    while most > _FEWEST_NEIGHBOURS and (np.minimum(counts, most) * counts).sum() > _MOST_PAIRS:
        most //= 2
    start, many = firsts[vertex], np.minimum(counts, most)[vertex]
    unit, face = across / area[:, None], np.arange(len(flat)) // 3
    normals = 1e-9 * across[face]  # its own face contributes even where a vertex has very many
    mine = np.arange(len(flat))
    for k in range(int(many.max())):  # each corner with the k-th at its vertex, whose face contributes to its normal
        mine = mine[many[mine] > k]
        other = face[order[start[mine] + k]]
        smooth = np.einsum("ij,ij->i", unit[face[mine]], unit[other]) > _CREASE
        normals[mine[smooth]] += across[other[smooth]]
    normals = _unit(normals)
    key = vertex * 101**3 + np.round(normals * 50.0 + 50.0).astype(np.int64) @ [101**2, 101, 1]
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return Mesh(flat[first], normals[first], index.reshape(-1, 3).astype(np.int64))


def simplified(corners: Array, most: int) -> Array:
    """At most ``most`` triangles (m, 3, 3) like the given ones: corners in one grid cell are merged. A surface crosses
    as many cells as the square of those along an edge; triangles that form no surface are thinned out in the end.
    """
    cells, fewer = int(1.2 * most**0.5) + 3, corners
    for _ in range(_MOST_ROUNDS):
        if len(fewer) <= most or cells < 3:
            break
        flat = corners.reshape(-1, 3)
        size = float(np.ptp(flat, axis=0).max()) or 1.0
        _, cell = np.unique(_cells(flat, size / cells), return_inverse=True)
        count = np.bincount(cell)
        middle = np.stack([np.bincount(cell, flat[:, k]) / count for k in range(3)], axis=-1)
        of = cell.reshape(-1, 3)
        of = of[(of[:, 0] != of[:, 1]) & (of[:, 1] != of[:, 2]) & (of[:, 2] != of[:, 0])]
        ordered, many = np.sort(of, axis=1), len(count)
        _, once = np.unique((ordered[:, 0] * many + ordered[:, 1]) * many + ordered[:, 2], return_index=True)
        fewer = middle[of[np.sort(once)]]
        cells = int(cells * min(0.9, (most / max(len(fewer), 1)) ** 0.5))
    return fewer[:: -(-len(fewer) // most)] if len(fewer) > most else fewer


def _cells(points: Array, edge: float) -> Indices:
    """The index of the grid cell that each point (n, 3) is in; at most two million cells a side."""
    grid = points - points.min(axis=0)
    grid /= edge
    x, y, z = grid.astype(np.int64).T  # all are positive: truncated, they are rounded down
    return (x * 2_000_003 + y) * 2_000_003 + z


@cache
def _ball() -> Mesh:
    """The unit sphere by latitude and longitude, with a duplicate equator."""
    heights = np.concatenate([np.linspace(-0.5, 0.0, _ROWS // 2 + 1), np.linspace(0.0, 0.5, _ROWS // 2 + 1)]) * np.pi
    turns = np.linspace(0.0, 2.0 * np.pi, _AROUND + 1)
    up, around = np.meshgrid(heights, turns, indexing="ij")
    vertices = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(len(heights) - 1), np.arange(_AROUND), indexing="ij")
    a = (i * (_AROUND + 1) + j).ravel()
    b, c, d = a + 1, a + _AROUND + 2, a + _AROUND + 1
    faces = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    seam = (faces[:, 0] // (_AROUND + 1)) == _ROWS // 2  # between the two equators: flat here, a tube in a capsule
    return Mesh(vertices, vertices, faces[(area > 1e-9) | seam].astype(np.int64))


@cache
def _second_equator() -> NDArray[np.bool_]:
    return np.arange(len(_ball().vertices)) >= (_ROWS // 2 + 1) * (_AROUND + 1)


@cache
def _directions() -> Mesh:
    """The unit sphere, evenly: an icosahedron, each of whose triangles is divided into four, three times."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    one = [(s, t * golden, 0.0) for s in (-1, 1) for t in (-1, 1)]
    corners = np.array([np.roll(point, k) for k in range(3) for point in one])
    gap = np.linalg.norm(corners[:, None] - corners, axis=-1)
    near = (gap > 0.1) & (gap < 2.1)
    faces = [
        (i, j, k) if np.linalg.det(corners[[i, j, k]]) > 0 else (i, k, j)
        for i in range(12)
        for j in range(i + 1, 12)
        for k in range(j + 1, 12)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    triangles = _unit(corners)[np.array(faces)]
    for _ in range(3):
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        ab, bc, ca = _unit(a + b), _unit(b + c), _unit(c + a)
        triangles = np.concatenate([np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    flat = triangles.reshape(-1, 3)
    _, first, index = np.unique(np.round(flat, 9), axis=0, return_index=True, return_inverse=True)
    return Mesh(flat[first], flat[first], index.reshape(-1, 3).astype(np.int64))


def _along(place: Array, z: Array) -> Array:
    """A placement (4, 4) with its z axis along a unit vector."""
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = _toward(z), place
    return placement


def _toward(z: Array) -> Array:
    """A rotation (3, 3) that maps the z axis to a unit vector."""
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _across(axis: int) -> tuple[Array, Array]:
    """The two axes after an axis, in right-handed order."""
    return np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)
