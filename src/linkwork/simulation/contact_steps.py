"""A time step with contacts, as in MuJoCo's Euler integrator, written over arrays so that it can be traced.

    a     accelerations with contacts, limits and dry friction; damping as it is at the step's beginning
    v⁺    = v + dt (M + dt D)⁻¹ M a       damping as it is at the step's end, so that any is stable
    q⁺    = q ⊕ dt v⁺                     the linear velocity of a free joint in world axes, which do not rotate

In world axes a free body without contact conserves its momentum to rounding; in body axes, as elsewhere, to the order
of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.kinematics import integrate
from linkwork.joints import Free
from linkwork.model.model import Model
from linkwork.simulation.plant import Plant
from linkwork.spatial import Quaternion, Vec3


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
