"""Rotations as unit quaternions, for browsers."""

from __future__ import annotations

import numpy as np

from linkwork.dynamics.arguments import Array


def quaternions(rotations: Array) -> Array:
    """Unit quaternions (K, 4), x, y, z, w, of rotations (K, 3, 3) over time, without jumps of sign."""
    r = rotations
    xx, yy, zz = r[:, 0, 0], r[:, 1, 1], r[:, 2, 2]
    squares = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz], axis=-1)
    a, b, c = r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]
    d, e, f = r[:, 0, 1] + r[:, 1, 0], r[:, 0, 2] + r[:, 2, 0], r[:, 1, 2] + r[:, 2, 1]
    products = np.stack(
        [
            np.stack([squares[:, 0], d, e, a], -1),
            np.stack([d, squares[:, 1], f, b], -1),
            np.stack([e, f, squares[:, 2], c], -1),
            np.stack([a, b, c, squares[:, 3]], -1),
        ],
        axis=1,
    )  # 4 q qᵀ: each row is the quaternion times four times one of its components; the largest is exact
    result = products[np.arange(len(r)), squares.argmax(axis=1)]
    result /= np.linalg.norm(result, axis=1, keepdims=True)
    signs = np.where(np.einsum("ij,ij->i", result[1:], result[:-1]) < 0.0, -1.0, 1.0)
    result[1:] *= np.cumprod(signs)[:, None]
    return result
