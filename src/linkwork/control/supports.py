"""What a robot stands on: points of its frames that push against the world, within their cones of friction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, not_negative, real
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Point


class Support:
    """A frame that stands on something by its corners: they stay where they are, and push, with friction.

    Each corner's force is kept in a pyramid of four sides inside the cone of friction, so that it never leaves the
    cone; what lies between pyramid and cone, up to 1 - 1/√2 of the friction, is not used.

    Args:
        frame: a frame's name.
        corners: (k, 3), m, in the frame's axes: the sole's corners, or one point, (3,).
        friction: the coefficient of friction.
        normal: (3,), of the ground, pointing out of it, in world axes.
        least: N, of each corner's force along the normal.
        most: N, likewise.
        radius: m, of balls about the corners, which roll on the ground; 0 for corners that stand on it themselves.

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
    ) -> None:
        if not isinstance(frame, str):
            raise ArgumentError(f"frame of a support must be a frame's name, not {shown(frame)}")
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
        length = float(np.linalg.norm(upward)) if upward.shape == (3,) else 0.0
        if not length > 0.0:
            raise ArgumentError(f"normal of {name} must be a vector (3,) that is not zero, not {shown(normal)}")
        self.normal = upward / length
        self.corners = given
        self.radius = not_negative(f"radius of {name}", radius)

    @property
    def points(self) -> tuple[Point, ...]:
        """The corners as points of the frame."""
        return tuple(Point(self.frame, tuple(corner)) for corner in self.corners.tolist())

    def rows(self, place: Array, J: Array, drift: Array, turning: Array) -> tuple[Array, Array]:
        """What the corners that touch the ground do: J (3k, nv) and J̇v (3k,), in world axes.

        Args: of the frame, its placement (4, 4), J (6, nv) and J̇v (6,) in world axes, and angular velocity (3,).
        """
        arms = self.corners @ place[:3, :3].T
        centripetal = np.cross(turning, np.cross(turning, arms))
        arms = arms - self.radius * self.normal  # the lowest point of a ball stays the lowest: it adds nothing to that
        rows = J[None, :3] + np.cross(J[3:].T[None], arms[:, None, :]).transpose(0, 2, 1)
        return rows.reshape(-1, J.shape[1]), (drift[:3] + np.cross(drift[3:], arms) + centripetal).ravel()

    def faces(self) -> tuple[Array, Array]:
        """The pyramid of one corner: A (6, 3) and b (6,) such that A f <= b for forces f (3,) in world axes."""
        n = self.normal
        first = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        first /= np.linalg.norm(first)
        second = np.cross(n, first)
        inner = self.friction / np.sqrt(2.0)
        sides = [sign * across - inner * n for across in (first, second) for sign in (1.0, -1.0)]
        return np.array([*sides, -n, n]), np.array([0.0, 0.0, 0.0, 0.0, -self.least, self.most])
