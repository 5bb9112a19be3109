"""Configurations near a given one, as tangent vectors: q = q₀ ⊕ δ, and the rate of δ.

For plain coordinates δ̇ = v. For rotations it is not: with [δ, v] the Lie bracket,

    δ̇ = v + ½ [δ, v] + c₂ [δ, [δ, v]] + c₄ [δ, [δ, [δ, [δ, v]]]]

which is exact: powers of the bracket are linearly dependent on se(3), and with g = θ/2 cot θ/2 the two coefficients
follow from 1 - c₂ θ² + c₄ θ⁴ = g, the inverse of the exponential's derivative at its double eigenvalues ± iθ.
"""

from __future__ import annotations

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.joints import Free, Planar, Spherical
from linkwork.model.model import Body, Model

_AXES = {Free: (0, 1, 2, 3, 4, 5), Spherical: (3, 4, 5), Planar: (0, 1, 5)}
"""The components of the twist that each joint's v stands for."""


class Tangent:
    """The rate of δ for a model."""

    def __init__(self, model: Model) -> None:
        self.unknown: list[Body] = []
        """Bodies with user-defined joints whose coordinates are not plain numbers; δ̇ = v is assumed for them."""
        dofs: list[int] = []
        joints: list[int] = []
        axes: list[int] = []
        for body, start in zip(model.bodies, model.v_start, strict=True):
            moves = _AXES.get(type(body.joint))
            if moves is None:
                if body.joint.nq != body.joint.nv:
                    self.unknown.append(body)
                continue
            dofs += list(range(start, start + len(moves)))
            joints += [len(set(joints))] * len(moves)
            axes += moves
        self.dofs, self.place = np.array(dofs, np.intp), (np.array(joints, np.intp), np.array(axes, np.intp))
        self._count = len(set(joints))

    def rate(self, offset: Array, v: Array) -> Array:
        """δ̇ (..., nv) at δ = ``offset`` (..., nv) for the velocity v (..., nv); rotations by less than 2π."""
        if not self._count:
            return v
        D, V = (self._motions(vector) for vector in (offset, v))
        square = (D[..., 3:] ** 2).sum(axis=-1, keepdims=True)
        c2, c4 = _coefficients(square)
        once = _bracket(D, V)
        twice = _bracket(D, once)
        grown = V + 0.5 * once + c2 * twice + c4 * _bracket(D, _bracket(D, twice))
        result = np.array(np.broadcast_to(v, np.broadcast_shapes(v.shape, offset.shape)))
        result[..., self.dofs] = grown[(..., *self.place)]
        return result

    def _motions(self, vector: Array) -> Array:
        motions = np.zeros((*vector.shape[:-1], self._count, 6))
        motions[(..., *self.place)] = vector[..., self.dofs]
        return motions


def _coefficients(square: Array) -> tuple[Array, Array]:
    """c₂ and c₄ for squared angles; by their series where the angle is small."""
    small = square < 0.25
    s = np.where(small, square, 0.0)
    # The Bernoulli numbers' series of θ/2 cot θ/2, in powers of θ².
    p = (-1 / 12, -1 / 720, -1 / 30240, -1 / 1209600, -1 / 47900160, -691 / 1307674368000)
    near4 = sum(k * p[k] * s ** (k - 1) for k in range(1, 6))
    near2 = sum((k - 1) * p[k] * s**k for k in range(6))
    angle = np.sqrt(np.where(small, 1.0, square))
    half = 0.5 * angle
    g = half / np.tan(half)
    slope = 0.5 * (1.0 / np.tan(half) - half / np.sin(half) ** 2)  # dg/dθ
    far4 = (1.0 + 0.5 * angle * slope - g) / angle**4
    far2 = 2.0 * far4 * angle**2 - slope / (2.0 * angle)
    return np.where(small, near2, far2), np.where(small, near4, far4)


def _bracket(a: Array, b: Array) -> Array:
    """The Lie bracket [a, b] of twists."""
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, np.cross(a[..., 3:], b[..., 3:])], axis=-1)
