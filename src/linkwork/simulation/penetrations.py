"""Shapes that overlap when a motion begins."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from linkwork.dynamics.contact.law import touching
from linkwork.engine.mode import interpreted
from linkwork.errors import warn_caller
from linkwork.model.all_contacts import Contacts
from linkwork.model.contacts import Box, Capsule, Cylinder, Ellipsoid, Sphere
from linkwork.model.model import Model

_DEEP = 0.5
"""The fraction of a shape's size by which it may overlap initially without a warning."""
_LOOKS = 3
"""The number of motions of a model that are checked: the check takes longer than a short motion."""


def warn_of_depth(model: Model, q: Any, contacts: Contacts) -> None:
    """Warn if shapes overlap deeply in the initial states (n, nq) of a motion."""
    if not len(contacts) or not len(q):
        return
    problem = touching(model, contacts)
    if problem.begun >= _LOOKS:
        return
    problem.begun += 1
    with nullcontext() if problem.by_bodies else interpreted():  # the motion needs that code, too
        _, distances = problem.points_law(q)
    sizes = np.array([_DEEP * _size(one.shape) for one in contacts for _ in range(one.points)])
    over = -distances / sizes
    state, point = (int(i) for i in np.unravel_index(int(over.argmax()), over.shape))
    if over[state, point] > 1.0:
        which = [one for one in contacts for _ in range(one.points)][point]
        called = which.name or f"{which.frame} and {which.on}"
        warn_caller(
            f"the motion begins with a deep penetration: {called} overlap by {-distances[state, point]:.3g} m"
            f"{f' in state {state}' if len(q) > 1 else ''}, and will be thrown apart"
        )


def _size(shape: object) -> float:
    """The size of a shape (m): its smallest dimension."""
    if isinstance(shape, Sphere | Capsule):
        return shape.radius
    if isinstance(shape, Cylinder):
        return min(shape.radius, shape.half_length)
    if isinstance(shape, Box):
        return min(shape.half_sides)
    return min(shape.half_axes) if isinstance(shape, Ellipsoid) else 0.05
