"""Closed chains by virtual work, over arrays: constraints as conditions for ``algorithms.closed_chains``, and their
wrenches from the forces of these conditions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.algorithms import closing
from linkwork.compiled.arrays import array_of, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.held import Conditions, HeldBy, conditions
from linkwork.dynamics.kinematics import forward_kinematics, frame_velocity
from linkwork.dynamics.pair_conditions import LoopPairs, loop_pairs
from linkwork.errors import ArgumentError
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.spatial.mobility import RigidMobility
from linkwork.spatial.small_matrices import times, transposed

_ROWS = 6
"""Conditions of a loop in ``algorithms.closed_chains``."""


@np.errstate(all="ignore")
def joined_motion(state: ConstrainedState, frame: str | None, method: str) -> tuple[Array, ...]:
    """Accelerations, constraint wrenches, and reactions if a ``frame`` for them is given. The result is non-finite, or
    a ``SingularError`` is raised, where constraints are redundant.
    """
    held, solver = state.held, state.solver
    damped = not (isinstance(solver.proximal, float) and not solver.proximal)
    pairs = loop_pairs(held) if method == "virtual_work" else None
    if pairs is not None:
        return _paired_motion(state, pairs, frame, damped)
    loops = loop_rows(held, state.q, state.v, state.placements, state.settings)

    def found(bias: Array, compliance: Array) -> tuple[Array, Array, Array]:
        algorithm = closing(frame or "child", not damped, method)
        values = [state.q, state.v, state.tau, state.f_ext, loops.C, bias, compliance]
        a, reactions, forces = call(algorithm, held.model, values, held.hold_frames, (), held.quick)
        return a, reactions, forces[..., held.first_holds, :]

    if damped:
        proximal = solver.proximal
        if not isinstance(proximal, float):
            proximal = array_of([proximal], ())
        damping = (_mean_diagonal(held, loops.C, loops.used) * proximal)[..., None, None] * loops.used
        compliance, of_holds = loops.unused + damping, [number for number, _ in held.holds]
        a, reactions, forces = solver.iterated(
            found(loops.bias, compliance), lambda x: found(loops.bias - damping * x[..., of_holds, :], compliance)
        )
    else:
        a, reactions, forces = found(loops.bias, loops.unused)
    return a, loops.wrenches(forces), *([] if frame is None else [reactions])


def _paired_motion(state: ConstrainedState, pairs: LoopPairs, frame: str | None, damped: bool) -> tuple[Array, ...]:
    """The same for loops between pairs of frames, all of it one algorithm."""
    held, solver = state.held, state.solver
    algorithm = pairs.algorithm(frame, state.settings is not None, damped)
    given = [*([0.0, 0.0] if state.settings is None else numbers(state.settings)[:2].tolist()), solver.proximal]
    gains = np.array(given) if all(isinstance(gain, float) for gain in given) else array_of(given)
    values = [state.q, state.v, state.tau, state.f_ext, state.placements, gains]
    if not damped:
        return tuple(call(algorithm, held.model, values, pairs.ends, (), held.quick))

    def motion(before: Array) -> tuple[Array, ...]:
        return tuple(call(algorithm, held.model, [*values, before], pairs.ends, (), held.quick))

    return solver.iterated(motion(np.zeros((len(held.constraints), 6))), motion)[:-1]


class LoopRows(NamedTuple):
    """The constraints' conditions on the bodies they hold: six rows C (..., holds, 6, 6) for each hold and its part of
    γ (..., holds, 6); masks (holds, 6) of the conditions that are ``used`` and not used, both at the first hold of each
    constraint; and the conditions of each set of constraints.
    """

    C: Array
    bias: Array
    used: Array
    unused: Array
    sets: list[Conditions]

    def wrenches(self, forces: Array) -> Array:
        """The wrenches on each constraint's frame a, from the forces (..., constraints, 6) of the conditions."""
        found, order = [], [number for each in self.sets for number in each.numbers]
        for each in self.sets:
            rows = each.rows[0]
            found.append(times(transposed(rows), forces[..., each.numbers, : rows.shape[-2]]))
        return np.concatenate(found, axis=-2)[..., np.argsort(order).tolist(), :]


def loop_rows(held: HeldBy, q: Array, v: Array, placements: Array, settings: Array | None) -> LoopRows:
    """The conditions in a state; the first two ``settings`` are the Baumgarte gains."""
    places, V = forward_kinematics(held.model, q, held.ends), frame_velocity(held.model, q, v, held.ends)
    sets = conditions(held, q, places, V, None, placements, settings)
    C, bias, used, first = [], [], [], []
    for each in sets:
        count, rates = each.rows[0].shape[-2], each.rates
        by_body: dict[int, Array] = {}
        for k, (ends, rows) in enumerate(zip(each.ends, each.rows, strict=True)):
            on_body = rows @ transposed(held.to_bodies[list(ends)])
            grounded = np.array([[float(not held.bodies[end])] for end in ends])
            if grounded.any():  # gravity is a base acceleration: the world accelerates by -g
                rates = rates + grounded * times(on_body, np.array([*(-g for g in held.model.gravity), 0.0, 0.0, 0.0]))
            body = k if len(ends) > 1 else held.bodies[ends[0]]
            by_body[body] = by_body[body] + on_body if body in by_body else on_body
        order = sorted(by_body, key=lambda body: len(each.numbers) == 1 and not body)
        C += [_padded(by_body[body]) for body in order]
        told = _longer(rates)
        bias += [told if k == 0 else np.zeros_like(told) for k in range(len(order))]
        for k in range(len(order)):
            used += [[float(k == 0 and row < count) for row in range(_ROWS)]] * len(each.numbers)
            first += [float(k == 0)] * len(each.numbers)
    shown = np.array(used)
    return LoopRows(
        np.concatenate(C, axis=-3), np.concatenate(bias, axis=-2), shown, np.array(first)[:, None] - shown, sets
    )


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


def _mean_diagonal(held: HeldBy, C: Array, used: Array) -> Array:
    """The mean diagonal of C W Cᵀ over the used conditions, with the bodies free."""
    mobilities = _mobilities(held.model)[[body for _, body in held.holds]]
    total: Array = (C @ mobilities * C).sum(axis=-1).sum(axis=-1).sum(axis=-1) / float(used.sum())
    return total


@kept_with_model
def _mobilities(model: Model) -> Array:
    """Inverse spatial inertias (nbodies + 1, 6, 6) of the world, for which it is zero, and of each body."""
    found = [RigidMobility.of_inertia(body.inertia).full().columns() for body in model.bodies]
    rows = [[column.numbers() for column in columns] for columns in found]
    return np.array([np.zeros((6, 6)).tolist(), *rows], dtype=np.float64)
