"""Joints for which rounding could hide that they move no inertia.

The inertia that a joint moves, a pivot of the mass matrix's factors, is never less than that of its own body, and its
rounding error never more than that of the whole subtree's inertia. A joint whose own body is above that can never be
singular, in any state, and its pivots need no check; the others are doubtful. Real robots have hardly any, so code pays
for the check only where a body is massless or a point, or lighter than the bodies it carries by fourteen digits.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from linkwork.joints import Joint
from linkwork.joints.joint import is_built_in
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.spatial import Selection
from linkwork.spatial.symmetric import ROUNDING

Array = NDArray[np.float64]

SURELY = 8.0 * ROUNDING
"""Relative to the largest terms that can cancel: a joint that moves more is not doubtful."""
REACH = 1e3
"""The assumed displacement (m) of a body by a sliding joint."""
FAR = 1000
"""The most links of a chain that are assumed to be stretched out as one. Beyond, a second moment, which grows with the
third power of the length, is taken for that of so many links: the other joints yield."""


@kept_with_model
def doubtful_joints(model: Model) -> tuple[bool, ...]:
    """For each joint, whether its pivots must be checked."""
    return tuple(not share > SURELY for share in own_shares(model))


@kept_with_model
def own_shares(model: Model) -> tuple[float, ...]:
    """For each joint, a lower bound of the inertia that its own body makes it move, relative to the largest terms that
    can cancel there; 1 for a fixed joint, 0 where nothing is certain.
    """
    mass, turning = _largest(model)
    bounds = np.ones(len(model.bodies))
    joints = {id(body.joint): body.joint for body in model.bodies}
    motions = {key: _motions(joint) for key, joint in joints.items()}
    groups: dict[tuple[int, bool], list[int]] = {}
    for k, body in enumerate(model.bodies):
        _, constant, turns = motions[id(body.joint)]
        if not (constant or turns):
            bounds[k] = 0.0
        elif body.joint.nv:
            groups.setdefault((body.joint.nv, constant), []).append(k)
    for (nv, constant), members in groups.items():
        bodies = [model.bodies[k] for k in members]
        S = np.array([motions[id(body.joint)][0] for body in bodies])
        inertias = _matrices(np.array([body.inertia.numbers() for body in bodies], dtype=np.float64))
        if not constant:  # the motions rotate about varying axes: the least moment is the lower bound
            least = np.linalg.eigvalsh(inertias[:, 3:, 3:])[:, 0]
            inertias = least[:, None, None] * np.eye(6)
        rotors = np.array([body.armature or (0.0,) * nv for body in bodies])
        with np.errstate(all="ignore"):
            D = np.swapaxes(S, -1, -2) @ inertias @ S + rotors[:, :, None] * np.eye(nv)
            squares = S * S
            linear, angular = squares[:, :3].sum(axis=1), squares[:, 3:].sum(axis=1)
            terms = linear * mass[members, None] + angular * turning[members, None]
            units = 1.0 / np.sqrt(np.where(terms > 0.0, terms, 1.0))
            shares = D * units[:, :, None] * units[:, None, :]
        shares[~np.isfinite(shares).all(axis=(1, 2))] = 0.0  # overflow: nothing is certain
        bounds[members] = np.linalg.eigvalsh(shares)[:, 0]
    return tuple(bounds.tolist())


def _largest(model: Model) -> tuple[Array, Array]:
    """For each body, the mass of its subtree, and an upper bound of the trace of the subtree's second moment about the
    body's origin (but for ``FAR``).
    """
    reaches: dict[int, float] = {}
    mass, turning, links = [0.0], [0.0], [1] * (len(model.bodies) + 1)
    for body in model.bodies:
        second = body.inertia.second
        mass.append(float(body.inertia.mass))
        turning.append(abs(float(second.xx + second.yy + second.zz)))
    for k in range(len(model.bodies), 0, -1):
        body = model.bodies[k - 1]
        if id(body.joint) not in reaches:
            reaches[id(body.joint)] = _reach(body.joint)
        p = body.placement.translation
        distance = sqrt(p.x * p.x + p.y * p.y + p.z * p.z) + reaches[id(body.joint)]
        links[body.parent] = max(links[body.parent], links[k] + 1)
        mass[body.parent] += mass[k]
        turning[body.parent] += (sqrt(turning[k]) + sqrt(2.0 * mass[k]) * distance) ** 2
    return np.array(mass[1:]), np.array(turning[1:]) * np.minimum(1.0, FAR / np.array(links[1:])) ** 3


def _motions(joint: Joint) -> tuple[Array, bool, bool]:
    """S in the neutral configuration; whether it is constant; whether its motions are rotations at constant angles to
    each other, about axes that vary.
    """
    subspace = joint.subspace(joint.neutral())
    here = np.array([column.numbers() for column in subspace.columns()], dtype=np.float64).reshape(joint.nv, 6).T
    if isinstance(subspace, Selection):
        return here, True, False
    columns = joint.subspace(_elsewhere(joint)).columns()
    there = np.array([column.numbers() for column in columns], dtype=np.float64).reshape(joint.nv, 6).T
    turns = (
        not here[:3].any() and not there[:3].any() and np.allclose(here.T @ here, there.T @ there, rtol=0, atol=1e-12)
    )
    return here, bool((here == there).all()), bool(turns and is_built_in(joint))


def _reach(joint: Joint) -> float:
    """The distance by which a joint can displace its body's origin."""
    return REACH if any(joint.transform(_elsewhere(joint)).translation.numbers()) else 0.0


def _elsewhere(joint: Joint) -> list[float]:
    """A generic configuration."""
    return joint.integrate(joint.neutral(), [0.37 * (k + 1) for k in range(joint.nv)])


def _matrices(numbers: Array) -> Array:
    """6×6 spatial inertias of rigid bodies, from ten numbers each."""
    m, (x, y, z), o = numbers[:, 0], numbers[:, 1:4].T, np.zeros(len(numbers))
    xx, xy, xz, yy, yz, zz = numbers[:, 4:].T
    rows = [
        [m, o, o, o, z, -y],
        [o, m, o, -z, o, x],
        [o, o, m, y, -x, o],
        [o, -z, y, xx, xy, xz],
        [z, o, -x, xy, yy, yz],
        [-y, x, o, xz, yz, zz],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
