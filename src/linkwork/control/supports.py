"""Supports of a robot: points of its frames that push against the ground, within their friction cones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, not_negative, real
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import WORLD, Point

_CROSS = np.array(
    [[0, 0, 0, 0, 0, 1, 0, -1, 0], [0, 0, -1, 0, 0, 0, 1, 0, 0], [0, 1, 0, -1, 0, 0, 0, 0, 0]], np.float64
)
"""r @ this is the matrix (3, 3), row by row, that maps ω to ω × r."""


class Support:
    """A frame that stands on the ground by its corners: they do not move, and push, with friction.

    Each corner's force is kept in a four-sided pyramid inside the friction cone, so that it never leaves the cone; the
    space between pyramid and cone, up to 1 - 1/√2 of the friction, is not used.

    Args:
        frame: a frame's name.
        corners: (k, 3), m, in the frame's axes: the sole's corners, or one point, (3,).
        friction: the coefficient of friction.
        normal: (3,), of the ground, pointing out of it, in the axes of ``on``.
        least: lower bound (N) on each corner's normal force.
        most: upper bound (N), likewise.
        radius: m, of balls about the corners, which roll on the ground; 0 if the corners themselves touch it.
        on: the frame that they stand on, which feels the opposite force: the world, or an object in the robot's hands.

    Example:
        >>> import linkwork as lw
        >>> sole = [[0.1, 0.05, 0], [0.1, -0.05, 0], [-0.1, 0.05, 0], [-0.1, -0.05, 0]]
        >>> foot = lw.control.Support("left_sole", sole, friction=0.6)
        >>> len(foot.points)
        4
    """

    def __init__(
        self,
        frame: str,
        corners: ArrayLike = (0.0, 0.0, 0.0),
        friction: float = 0.7,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        *,
        least: float = 0.0,
        most: float = 1e6,
        radius: float = 0.0,
        on: str = WORLD,
    ) -> None:
        for what, given_name in (("frame", frame), ("on", on)):
            if not isinstance(given_name, str):
                raise ArgumentError(f"{what} of a support must be a frame's name, not {shown(given_name)}")
        if frame == on:
            raise ArgumentError(f"the support of {frame!r} stands on itself; on must be another frame")
        name = f"the support of {frame!r}"
        given = np.atleast_2d(finite_array(f"corners of {name}", corners))
        if given.ndim != 2 or given.shape[1] != 3 or not len(given):
            raise ArgumentError(f"corners of {name} must have shape (k, 3), not {given.shape}")
        self.frame, self.friction = frame, real(friction)
        if not 0.0 <= self.friction < np.inf:
            raise ArgumentError(f"friction of {name} must be finite and not negative, not {shown(friction)}")
        self.least, self.most = real(least), real(most)
        if not 0.0 <= self.least <= self.most < np.inf:
            raise ArgumentError(f"{name} needs 0 <= least <= most, finite, not {shown(least)} and {shown(most)}")
        upward = finite_array(f"normal of {name}", normal)
        largest = float(np.abs(upward).max()) if upward.shape == (3,) else 0.0
        if not largest > 0.0:
            raise ArgumentError(f"normal of {name} must be a vector (3,) that is not zero, not {shown(normal)}")
        self.normal = upward / largest  # so that no square overflows
        self.normal /= np.linalg.norm(self.normal)
        self.corners, self.on = given.copy(), on
        self.radius = not_negative(f"radius of {name}", radius)

    @property
    def points(self) -> tuple[Point, ...]:
        """The corners as points of the frame."""
        return tuple(Point(self.frame, tuple(corner)) for corner in self.corners.tolist())

    def faces(self) -> tuple[Array, Array]:
        """The friction pyramid of one corner: A (6, 3) and b (6,), A f <= b for forces f (3,) in the axes of ``on``."""
        n = self.normal
        across_n = -(n @ _CROSS).reshape(3, 3)  # the matrix of n ×
        first = across_n[:, np.argmin(np.abs(n))]
        first = first / np.linalg.norm(first)
        second = across_n @ first
        inner = self.friction / np.sqrt(2.0)
        sides = [sign * across - inner * n for across in (first, second) for sign in (1.0, -1.0)]
        return np.array([*sides, -n, n]), np.array([0.0, 0.0, 0.0, 0.0, -self.least, self.most])


class Moving(NamedTuple):
    """The motion of a frame in one state: placement (4, 4), J (6, nv), J̇v (6,) and velocity (6,), in world axes."""

    place: Array
    J: Array
    drift: Array
    velocity: Array

    def at(self, points: Array, turned: Array) -> tuple[Array, Array]:
        """J (3k, nv) and J̇v (3k,) of points (k, 3) relative to its origin; ``turned`` are the components that rotate
        with it.
        """
        spin, crossed = self.velocity[3:], (points @ _CROSS).reshape(-1, 3, 3)
        drift = self.drift[:3] + crossed @ self.drift[3:] + np.outer(turned @ spin, spin) - (spin @ spin) * turned
        return (self.J[:3] + crossed @ self.J[3:]).reshape(-1, self.J.shape[1]), drift.ravel()


def corner_rows(support: Support, frame: Moving, on: Moving) -> tuple[Array, Array]:
    """The motion of the corners relative to the ground, where they touch it: J (3k, nv) and J̇v (3k,), in world axes."""
    arms = support.corners @ frame.place[:3, :3].T
    touching = arms - support.radius * (on.place[:3, :3] @ support.normal)  # the lowest point of a ball stays that
    there = touching + frame.place[:3, 3] - on.place[:3, 3]
    rows, drift = frame.at(touching, arms)
    under, rate = on.at(there, there)
    return rows - under, drift - rate
