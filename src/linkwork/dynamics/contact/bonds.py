"""Constraints in the contact problem: soft rows over the motions of the frames that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.compiled.arrays import numbers
from linkwork.dynamics.contact.softness import impedance, regularisation, spring
from linkwork.dynamics.contact.welds import turn_of
from linkwork.dynamics.held import HeldBy, Rows, at_grips, rows_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity, jacobian_drift
from linkwork.model.constraints import Ball, Weld
from linkwork.model.model import Model
from linkwork.spatial import Scalar, sqrt
from linkwork.spatial.matrices import dot
from linkwork.spatial.small_matrices import skew

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching


class BondRows(NamedTuple):
    """Rows of a constraint over the motions of frames, by the index of each; their drift, unless it is that of the
    frames; damping, the pull of the errors, and D of each row.
    """

    blocks: Rows
    drift: Any
    b: Scalar
    pulls: Sequence[Scalar]
    D: Sequence[Scalar]


def bond_rows(of: Touching, model: Model, q: Any, v: Any, dt: Scalar | None) -> Iterator[BondRows]:
    """The rows of each constraint over the motions of its frames."""
    held = of.held
    if held is None:
        return
    ends = held.ends
    places, V = forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends)
    seen = at_grips(held, places, V, held.placements)
    rates: Any = ()
    if any(isinstance(each, Ball | Weld) for each in held.constraints):
        aligned = "local_world_aligned"
        drift = jacobian_drift(model, q, v, ends, reference=aligned).reshape(-1, 6)
        rates = drift, frame_velocity(model, q, v, ends, reference=aligned)
    several = zip(held.constraints, held.grips, of.bonds, of.bond_masses, strict=True)
    for constraint, grips, softness, masses in several:
        own, missing = seen.of(grips), None
        if isinstance(constraint, Ball | Weld):
            blocks, apart, missing = _together(held, grips[0], places, rates, isinstance(constraint, Weld))
        else:
            blocks = rows_of(held, constraint.all_rows(model, own), grips, seen.X)
            apart = constraint.all_errors(model, q, own)
        errors = numbers(apart).tolist()
        b, k = spring(softness, dt)
        d = impedance(softness, errors[0] if len(errors) == 1 else sqrt(dot(errors, errors)))
        D = [regularisation(d, mass) for mass in masses[: len(errors)]]
        yield BondRows(blocks, missing, b, [k * d * error for error in errors], D)


def _together(held: HeldBy, grip: int, places: Any, rates: Any, whole: bool) -> tuple[dict[int, Any], Any, Any]:
    """Rows, errors and J̇v, in world axes, of two points that are held together; while they are apart, each moves
    with its own body. For ``whole`` frames, those of their rotation follow.
    """
    a, b, (drift, V) = held.a[grip], held.b[grip], rates
    point = places[b] @ held.placements[grip][:, 3]
    arm, nothing = point[:3] - places[b][:3, 3], np.zeros((3, 3))
    turning = skew(V[b][3:])
    there = drift[b][:3] + skew(drift[b][3:]) @ arm + turning @ (turning @ arm)
    R, Rb = places[a][:3, :3], places[b][:3, :3]
    blocks = {a: np.concatenate([R, nothing], axis=1), b: np.concatenate([-Rb, skew(arm) @ Rb], axis=1)}
    apart, rate = places[a][:3, 3] - point[:3], drift[a][:3] - there
    if not whole:
        return blocks, apart, rate
    turn = turn_of(held, grip, places, drift, V)
    for end, rows in ((a, turn.rows @ R), (b, -turn.rows @ Rb)):
        blocks[end] = np.concatenate([blocks[end], np.concatenate([nothing, rows], axis=1)])
    return blocks, np.concatenate([apart, turn.error]), np.concatenate([rate, turn.drift])
