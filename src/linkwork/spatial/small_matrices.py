"""Placements and motions as small matrices with any leading axes, of floats or of traced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arguments import Array
from linkwork.spatial import Transform

_TRACE = np.eye(3).ravel()
_CROSS = np.zeros((3, 9))
"""Maps a vector to the nine numbers of [v]×."""
_CROSS[[2, 1, 0], [3, 2, 7]], _CROSS[[2, 1, 0], [1, 6, 5]] = 1.0, -1.0
_BLOCKS = np.zeros((6, 6, 6))
_BLOCKS[:3, :3, 3:] = _BLOCKS[3:, :3, :3] = _BLOCKS[3:, 3:, 3:] = _CROSS.reshape(3, 3, 3)
_MOTION_CROSS = _BLOCKS.reshape(6, 36)
"""Maps a motion (v, w) to the numbers of [[[w]×, [v]×], [0, [w]×]]."""


def times(matrix: Array, vector: Array) -> Array:
    """Matrices (..., r, c) times vectors (..., c)."""
    return (matrix @ vector[..., None])[..., 0]


def transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def matrix_of(placement: Transform) -> Array:
    """A placement (4, 4)."""
    full = np.eye(4)
    full[:3, :3] = np.array(placement.rotation.numbers(), dtype=np.float64).reshape(3, 3)
    full[:3, 3] = placement.translation.numbers()
    return full


def inverse(placement: Array) -> Array:
    """The inverse of placements (..., 4, 4)."""
    back = transposed(placement[..., :3, :3])
    result: Any = np.zeros_like(placement)
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = back, -times(back, placement[..., :3, 3]), 1.0
    return result


def motion_matrix(placement: Array) -> Array:
    """The 6×6 matrix that maps a motion from the child to the parent of a placement: [[R, [p]x R], [0, R]]."""
    turn, place = placement[..., :3, :3], placement[..., :3, 3]
    above = np.concatenate([turn, skew(place) @ turn], axis=-1)
    return np.concatenate([above, np.concatenate([np.zeros_like(turn), turn], axis=-1)], axis=-2)


def motion_cross(a: Array, b: Array) -> Array:
    """a × b of two motions."""
    return times((a @ _MOTION_CROSS).reshape((*a.shape, 6)), b)


def skew(vector: Array) -> Array:
    """[v]×. A product with constants: ``np.cross`` takes ten times as long."""
    return (vector @ _CROSS).reshape((*vector.shape, 3))


def cross(a: Array, b: Array) -> Array:
    """a × b of two vectors."""
    return times(skew(a), b)


def rotation_vector(turn: Array) -> Array:
    """The rotation vectors, axis times angle, of rotations."""
    numbers = turn.reshape((*turn.shape[:-2], 9))
    twice = numbers @ _CROSS.T  # the axis times twice the sine
    sine = 0.5 * np.sqrt((twice * twice).sum(axis=-1))
    angle = np.arctan2(sine, 0.5 * (numbers @ _TRACE - 1.0))
    factor = np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0)
    return 0.5 * twice * factor[..., None]
