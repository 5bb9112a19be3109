"""A time step with contacts, as in MuJoCo's Euler integrator, written over arrays so that it can be traced.

    a     accelerations with contacts, limits and dry friction; damping as it is at the step's beginning
    v⁺    = v + dt (M + dt D)⁻¹ M a       damping as it is at the step's end, so that any is stable
    q⁺    = q ⊕ dt v⁺                     the linear velocity of a free joint in world axes, which do not rotate

In world axes a free body without contact conserves its momentum to rounding; in body axes, as elsewhere, to the order
of the step.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.contact.law import touching
from linkwork.dynamics.contact.many_bodies import ManyBodies
from linkwork.dynamics.kinematics import integrate
from linkwork.engine.mode import interpreted
from linkwork.errors import LinkworkWarning
from linkwork.joints import Free
from linkwork.model.all_contacts import Contacts
from linkwork.model.contacts import Box, Capsule, Cylinder, Ellipsoid, Sphere
from linkwork.model.model import Model
from linkwork.simulation.plant import Plant
from linkwork.spatial import Quaternion, Vec3

_DEEP = 0.5
"""The fraction of a shape's size by which it may overlap initially without a warning."""
_LOOKS = 3
"""The number of motions of a model that are checked: the check takes longer than a short motion."""


def moved(model: Model, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
    """The state dt later, given its acceleration."""
    free = [k for k, body in enumerate(model.bodies) if isinstance(body.joint, Free)]
    end = v + dt * a
    after = integrate(model, q, dt * end)
    if not free:
        return after, end
    if isinstance(q, np.ndarray) and q.dtype != object:
        return _moved_floats(model, q, v, a, dt, free, after, end)
    here, speed, rate = (numbers(each).tolist() for each in (q, v, a))
    there, last, step = numbers(after).tolist(), numbers(end).tolist(), numbers(dt).item()
    for k in free:
        i, j = model.q_start[k], model.v_start[k]
        there[i : i + 3], last[j : j + 3] = _straight(
            here[i : i + 7], speed[j : j + 6], rate[j : j + 6], there[i + 3 : i + 7], step
        )
    return array_of(there), array_of(last)


def contact_euler(plant: Plant, t: float, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
    """``moved`` as an integrator of ``lw.simulate``."""
    return moved(plant.model, q, v, a, dt)


def warn_of_depth(model: Model, q: Any, contacts: Contacts, above: int = 3) -> None:
    """Warn if shapes overlap deeply in the initial states (n, nq) of a motion, with the line of the call ``above``
    frames up.
    """
    if not len(contacts) or not len(q):
        return
    kept = touching(model, contacts)
    if kept.begun >= _LOOKS:
        return
    kept.begun += 1
    with nullcontext() if isinstance(kept, ManyBodies) else interpreted():  # the motion needs that code, too
        _, distances = kept.points_law(q)
    sizes = np.array([_DEEP * _size(one.shape) for one in contacts for _ in range(one.points)])
    over = -distances / sizes
    state, point = (int(i) for i in np.unravel_index(int(over.argmax()), over.shape))
    if over[state, point] > 1.0:
        which = [one for one in contacts for _ in range(one.points)][point]
        called = which.name or f"{which.frame} and {which.on}"
        warnings.warn(
            f"the motion begins with a deep penetration: {called} overlap by {-distances[state, point]:.3g} m"
            f"{f' in state {state}' if len(q) > 1 else ''}, and will be thrown apart",
            LinkworkWarning,
            stacklevel=above,
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


def _straight(q: Any, v: Any, a: Any, turned: Any, dt: Any) -> tuple[list[Any], list[Any]]:
    """The position of a free joint after the step, and its linear velocity there, given its orientation then."""
    linear, angular = Vec3(*v[:3]), Vec3(*v[3:])
    now = Quaternion(*q[3:]).matrix()
    velocity = now.apply(linear + (Vec3(*a[:3]) + angular.cross(linear)) * dt)
    place = Vec3(*q[:3]) + velocity * dt
    return place.numbers(), Quaternion(*turned).matrix().apply_transpose(velocity).numbers()


def _moved_floats(
    model: Model, q: Any, v: Any, a: Any, dt: float, free: list[int], after: Any, end: Any
) -> tuple[Any, Any]:
    """``moved`` for states (..., nq) of floats."""
    after, end = after.copy(), end.copy()
    for k in free:
        i, j = model.q_start[k], model.v_start[k]
        parts = q[..., i : i + 7], v[..., j : j + 6], a[..., j : j + 6], after[..., i + 3 : i + 7]
        here, speeds, rates, turned = (list(np.moveaxis(part, -1, 0)) for part in parts)
        place, speed = _straight(here, speeds, rates, turned, float(dt))
        after[..., i : i + 3], end[..., j : j + 3] = np.stack(place, axis=-1), np.stack(speed, axis=-1)
    return after, end
