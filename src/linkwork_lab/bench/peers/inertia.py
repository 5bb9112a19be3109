"""An inertia as other libraries take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.spatial import Inertia

Array = NDArray[np.float64]


def about_centre(inertia: Inertia) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and the rotational inertia about it."""
    mass = float(inertia.mass)
    centre = np.array(inertia.moment.numbers()) / mass if mass else np.zeros(3)
    about_origin = np.array(inertia.second.full().numbers()).reshape(3, 3)
    return mass, centre, about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
