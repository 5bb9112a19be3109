"""Closed chains by virtual work, over arrays: what each constraint asks of the bodies that it holds, as conditions for
``algorithms.closed_chains``, and what its forces come to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms import closing
from linkwork.compiled.arrays import traced
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.dynamics.constraint_solvers import Solver
from linkwork.dynamics.held import HeldBy, Rows, conditions, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity
from linkwork.errors import ArgumentError
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.spatial.mobility import RigidMobility
from linkwork.spatial.small_matrices import times, transposed

_ROWS = 6
"""Conditions of a loop in ``algorithms.closed_chains``."""


@np.errstate(all="ignore")
def joined_motion(
    held: HeldBy,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None,
    placements: Array,
    settings: Array | None,
    solver: Solver,
    frame: str | None = None,
    method: str = "virtual_work",
) -> tuple[Array, ...]:
    """Accelerations, wrenches, and reactions if they are seen from a ``frame``; arguments as those of articulated
    bodies. No numbers, or a ``SingularError``, where constraints are redundant.
    """
    model = held.model
    loops = asked_of(held, q, v, placements, settings)
    damped = not (isinstance(solver.proximal, float) and not solver.proximal)

    def found(bias: Array, compliance: Array) -> tuple[Array, Array, Array]:
        algorithm = closing(frame or "child", not damped, method)
        values = [q, v, tau, f_ext, loops.C, bias, compliance]
        a, reactions, forces = call(algorithm, model, values, held.hold_frames, (), held.quick)
        return a, reactions, forces[..., held.first_holds, :]

    if damped:
        proximal = solver.proximal
        if not isinstance(proximal, float):
            proximal = traced(np.full((), proximal, dtype=object))
        damping = (_mean_diagonal(held, loops.C, sum(loops.counts)) * proximal)[..., None, None] * loops.used
        compliance, of_holds = loops.unused + damping, [number for number, _, _ in held.holds]
        a, reactions, forces = solver.iterated(
            found(loops.bias, compliance), lambda x: found(loops.bias - damping * x[..., of_holds, :], compliance)
        )
    else:
        a, reactions, forces = found(loops.bias, loops.unused)
    sizes = np.concatenate([forces[..., n, :count] for n, count in enumerate(loops.counts)], axis=-1)
    return a, wrenches_of(held, loops.rows, sizes), *([] if frame is None else [reactions])


class Asked(NamedTuple):
    """What constraints ask of the bodies that they hold: of each hold its six rows C (..., holds, 6, 6) and its part of
    γ (..., holds, 6), which conditions are ``used`` and which are not (holds, 6), both at the first hold of each; the
    rows of each constraint, and how many it has.
    """

    C: Array
    bias: Array
    used: Array
    unused: Array
    rows: list[Rows]
    counts: list[int]


def asked_of(held: HeldBy, q: Array, v: Array, placements: Array, settings: Array | None) -> Asked:
    """In a state; the first two of ``settings`` are the factors of Baumgarte's stabilisation."""
    model, ends, holds = held.model, held.ends, held.holds
    places, V = forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends)
    rows, rates = conditions(held, q, places, V, None, placements, settings)
    rates = [_longer(rate + _of_world(held, own)) for rate, own in zip(rates, rows, strict=True)]
    counts = [next(iter(own.values())).shape[-2] for own in rows]
    begins = [held.first_holds[number] == k for k, (number, _, _) in enumerate(holds)]
    used = np.array(
        [[float(b and r < counts[n]) for r in range(_ROWS)] for b, (n, _, _) in zip(begins, holds, strict=True)]
    )
    unused = np.array(begins, dtype=np.float64)[:, None] - used
    C = np.stack([_padded(_on_body(held, rows[number], on)) for number, _, on in holds], axis=-3)
    bias = [rates[n] if b else np.zeros_like(rates[n]) for b, (n, _, _) in zip(begins, holds, strict=True)]
    return Asked(C, np.stack(bias, axis=-2), used, unused, rows, counts)


def _on_body(held: HeldBy, rows: Rows, ends: Sequence[int]) -> Array:
    """The rows of a constraint over the motion of a body, by the frames that are on it."""
    found = [rows[end] @ transposed(held.to_bodies[end]) for end in ends]
    total = found[0]
    for more in found[1:]:
        total = total + more
    return total


def _of_world(held: HeldBy, rows: Rows) -> Any:
    """What rows see of a world that accelerates by -g."""
    ends = [end for end in rows if not held.bodies[end]]
    if not ends:
        return 0.0
    return times(_on_body(held, rows, ends), np.array([*(-g for g in held.model.gravity), 0.0, 0.0, 0.0]))


def _longer(rate: Array) -> Array:
    if rate.shape[-1] > _ROWS:
        raise ArgumentError(
            f"method 'virtual_work' takes constraints of up to {_ROWS} conditions, not {rate.shape[-1]}; split it, or "
            f"use method='articulated_body'"
        )
    return np.concatenate([rate, np.zeros_like(rate[..., :1]) * np.zeros(_ROWS - rate.shape[-1])], axis=-1)


def _padded(rows: Array) -> Array:
    nothing = np.zeros((*rows.shape[:-2], _ROWS - rows.shape[-2], 6))
    return np.concatenate([rows, nothing], axis=-2)


def _mean_diagonal(held: HeldBy, C: Array, count: int) -> Array:
    """Of the conditions on free bodies: the mean of C W Cᵀ."""
    mobilities = _mobilities(held.model)
    total: Any = 0.0
    for k, (_, body, _) in enumerate(held.holds):
        if not body:
            continue
        rows = C[..., k, :, :]
        total = total + (rows @ mobilities[body - 1] * rows).sum(axis=-1).sum(axis=-1)
    return total / float(count)


@kept_with_model
def _mobilities(model: Model) -> Array:
    """The inverse inertia of each body (nbodies, 6, 6)."""
    found = [RigidMobility.of_inertia(body.inertia).full().columns() for body in model.bodies]
    return np.array([[column.numbers() for column in columns] for columns in found], dtype=np.float64)
