"""From the world to the image: parallel projection, so that lengths remain comparable everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin

import numpy as np

from linkwork.dynamics.arguments import Array

VIEW = (-60.0, 15.0)
"""Default azimuth and elevation (degrees) of the camera: x points right, y away."""


@dataclass(frozen=True)
class Camera:
    """Looks at the mechanism from an azimuth about z and an elevation above the ground (degrees)."""

    azimuth: float = VIEW[0]
    elevation: float = VIEW[1]

    @property
    def axes(self) -> Array:
        """Right, up and towards the camera, as rows (3, 3) in the world."""
        a, e = radians(self.azimuth), radians(self.elevation)
        return np.array(
            [
                [-sin(a), cos(a), 0.0],
                [-sin(e) * cos(a), -sin(e) * sin(a), cos(e)],
                [cos(e) * cos(a), cos(e) * sin(a), sin(e)],
            ]
        )

    def see(self, points: Array) -> Array:
        """Points (..., 3) of the world as right, up and nearness (..., 3), m."""
        return points @ self.axes.T
