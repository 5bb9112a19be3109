"""The integrator of steps with contacts, as in MuJoCo's Euler integrator, over arrays so that it can be traced.

    a     accelerations with contacts, limits and dry friction; damping as it is at the step's beginning
    v⁺    = v + dt (M + dt D)⁻¹ M a       damping as it is at the step's end, so that any is stable
    q⁺    = q ⊕ dt v⁺                     the linear velocity of a free joint in world axes, which do not rotate

In world axes a free body without contact conserves its momentum to rounding; in body axes, as elsewhere, to the order
of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, is_traced, numbers
from linkwork.dynamics.kinematics import integrate
from linkwork.joints import Free
from linkwork.simulation.plant import Plant
from linkwork.spatial import Quaternion, Vec3


def contact_euler(plant: Plant, t: float, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
    """An integrator: the state dt later, from its acceleration."""
    model = plant.model
    free = [k for k, body in enumerate(model.bodies) if isinstance(body.joint, Free)]
    end = v + dt * a
    after = integrate(model, q, dt * end)
    if not free:
        return after, end
    array = array_of if is_traced(q) else np.array
    here, speed, rate, there, last = (numbers(each).tolist() for each in (q, v, a, after, end))
    for k in free:
        i, j = model.q_start[k], model.v_start[k]
        there[i : i + 3], last[j : j + 3] = _straight(
            here[i : i + 7], speed[j : j + 6], rate[j : j + 6], there[i + 3 : i + 7], numbers(dt).item()
        )
    return array(there), array(last)


def _straight(q: Any, v: Any, a: Any, turned: Any, dt: Any) -> tuple[list[Any], list[Any]]:
    """The position of a free joint after the step, and its linear velocity there, given its orientation then."""
    linear, angular = Vec3(*v[:3]), Vec3(*v[3:])
    now = Quaternion(*q[3:]).matrix()
    velocity = now.apply(linear + (Vec3(*a[:3]) + angular.cross(linear)) * dt)
    place = Vec3(*q[:3]) + velocity * dt
    return place.numbers(), Quaternion(*turned).matrix().apply_transpose(velocity).numbers()
