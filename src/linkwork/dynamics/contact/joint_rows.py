"""Limits and dry friction of joints in the contact problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compiled.arrays import numbers
from linkwork.dynamics.contact.costs import Holds, JointRow
from linkwork.dynamics.contact.softness import friction_row, limit_row
from linkwork.model.all_contacts import Contacts
from linkwork.model.contacts import Softness
from linkwork.model.model import Model
from linkwork.spatial import Scalar

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching


def limit_rows(model: Model, contacts: Contacts) -> list[tuple[int, int, list[tuple[float, float]], Softness, float]]:
    """The rows of joints' limits: the degree of freedom, the index in q, the sides with their signs, and how soft; both
    sides in one row if at most one of them can be violated.
    """
    soft = {name: (softness, margin) for name, softness, margin in contacts.limits}
    rows = []
    for body, v, q in zip(model.bodies, model.v_start, model.q_start, strict=False):
        softness, margin = soft.get(body.joint_name, (Softness(), 0.0))
        for k in range(body.joint.nv if body.joint.nq == body.joint.nv else 0):
            low, high = float(body.limits.lower[k]), float(body.limits.upper[k])
            bounds = [(sign, limit) for sign, limit in ((1.0, low), (-1.0, high)) if np.isfinite(limit)]
            apart = low + margin < high - margin
            for sides in [bounds] if bounds and apart else [[bound] for bound in bounds]:
                rows.append((v + k, q + k, sides, softness, margin))
    return rows


def friction_rows(model: Model, contacts: Contacts) -> list[tuple[int, Softness, float]]:
    """The rows of joints' dry friction: the degree of freedom, how soft, and the largest friction."""
    soft = dict(contacts.friction)
    return [
        (start + k, soft.get(body.joint_name, Softness()), float(friction))
        for body, start in zip(model.bodies, model.v_start, strict=False)
        for k, friction in enumerate(body.limits.friction)
        if friction
    ]


def hold_joints(of: Touching, holds: Holds, q: Any, v: Any, free: Any, dt: Scalar | None) -> None:
    """Add the rows of limits and dry friction, over accelerations, or their change from ``free`` ones."""
    masses = of.masses.dofs
    place, speeds = numbers(q).tolist(), numbers(v).tolist()
    rates = [0.0] * len(speeds) if free is None else numbers(free).tolist()
    for dof, at, bounds, softness, margin in of.limited:
        sign, wanted, D = limit_row(place[at], speeds[dof], bounds, softness, margin, masses[dof], dt)
        holds.joints.append(JointRow(dof, sign, wanted - sign * rates[dof], D))
    for dof, softness, most in of.rough:
        wanted, D = friction_row(speeds[dof], softness, masses[dof], dt)
        holds.joints.append(JointRow(dof, 1.0, wanted - rates[dof], D, -most, most))
