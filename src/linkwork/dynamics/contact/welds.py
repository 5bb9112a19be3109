"""The angular rows of a soft weld, as in MuJoCo: its error is the vector part of the quaternion between two frames.

With p = (s, e) the rotation of a from where b holds it, in a's axes, and u = Rᵀ (ω_a - ω_b) with a's rotation R,

    ė = ½ (s u + e × u) = E (ω_a - ω_b),        E = ½ (s + [e]×) Rᵀ
    Ė (ω_a - ω_b) = ½ (ṡ u + ė × u) - E (ω_a × (ω_a - ω_b)),        ṡ = -½ e·u
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.held import HeldBy
from linkwork.spatial import Mat3, quaternion_of
from linkwork.spatial.small_matrices import cross, skew


class Turn(NamedTuple):
    """The angular rows E over ω_a - ω_b in world axes, the error e, and the rate of ė without accelerations of joints;
    all of three rows.
    """

    rows: Any
    error: Any
    drift: Any


def turn_of(held: HeldBy, grip: int, places: Any, drift: Any, V: Any) -> Turn:
    """The rows of a grip, from placements, J̇v and velocities of the frames, the latter two in world axes."""
    a, b = held.a[grip], held.b[grip]
    R, there = places[a][:3, :3], places[b][:3, :3] @ held.placements[grip][:3, :3]
    p = quaternion_of(Mat3(*numbers(there.T @ R).ravel().tolist())).normalized()
    e, s = array_of([p.x, p.y, p.z]), array_of([p.w])
    E = 0.5 * (s * np.eye(3) + skew(e)) @ R.T
    relative = V[a][3:] - V[b][3:]
    u, rate = R.T @ relative, E @ relative
    own = 0.5 * (cross(rate, u) - 0.5 * (e @ u) * u)
    return Turn(E, e, own + E @ (drift[a][3:] - drift[b][3:] - cross(V[a][3:], relative)))
