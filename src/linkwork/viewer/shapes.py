"""Outlines in the image plane."""

from __future__ import annotations

import numpy as np

from linkwork.dynamics.arguments import Array

_CORNERS = 20
_turns = np.linspace(0.0, 2.0 * np.pi, _CORNERS, endpoint=False)
CIRCLE: Array = np.stack([np.cos(_turns), np.sin(_turns)], axis=-1)
"""A unit circle (20, 2)."""

_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def hull(points: Array) -> Array:
    """The convex outline (m, 2) of points (n, 2), anticlockwise (Andrew's monotone chain)."""
    ordered = sorted(map(tuple, points.tolist()))
    if len(ordered) < 3:
        return points

    def chain(way: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        corners: list[tuple[float, ...]] = []
        for x, y in way:
            while len(corners) > 1:
                (ax, ay), (bx, by) = corners[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                    break
                corners.pop()
            corners.append((x, y))
        return corners[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def rounded(points: Array, radius: float, round_: Array = CIRCLE) -> Array:
    """The outline of equal discs at points (n, 2): a disc, a capsule, a rounded triangle, ..."""
    if len(points) == 1:
        return points[0] + radius * round_
    return hull((points[:, None, :] + radius * round_).reshape(-1, 2))


def box_faces(placement: Array, size: Array) -> list[tuple[Array, Array]]:
    """The six faces of a box about a placement (4, 4), each with its corners (4, 3) and outward normal (3,)."""
    turn, centre = placement[:3, :3], placement[:3, 3]
    corners = centre + (_CUBE * size) @ turn.T
    faces = []
    for face in _FACES:
        middle = corners[list(face)].mean(axis=0) - centre
        k = int(np.argmax(abs(_CUBE[list(face)].mean(axis=0))))
        faces.append((corners[list(face)], turn[:, k] * np.sign(middle @ turn[:, k])))
    return faces
