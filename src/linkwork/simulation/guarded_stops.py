"""Joint stops and friction in a traced step: code that is skipped where no joint is held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.subroutine import subroutine
from linkwork.simulation.coupled import Together, coupling_impulses, held_back_together
from linkwork.simulation.stops import Joint, going_on, resisting_forces
from linkwork.spatial import total, where_less


def stopped(
    mass: Callable[..., Any],
    given: Sequence[Any],
    end: Any,
    q: Any,
    dt: Any,
    joints: Sequence[Joint],
    together: Together | None,
    before: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any]:
    """``coupled.held_back_together`` over traced arrays: velocities at the end of the step (nv,), impulses (nv,), and
    those that couplings add (k,). The mass matrix and all that depends on it is a subroutine, which is skipped for a
    tile of states in which no joint has friction or would exceed its limits.

    Args:
        mass: (q, *given) -> mass matrix (nv, nv).
        given: the traced arrays that ``mass`` uses besides q.
        end: velocities at the step's end without stops and friction (nv,).
        q: configuration at the step's beginning (nq,).
        dt: time step, s.
        joints: those with stops or friction.
        together: their couplings.
        before: the impulses of the previous step, and the velocities at its end, if they are known.
    """
    known = before or ()

    def text(beyond: Any, end: Any, q: Any, dt: Any, *more: Any) -> list[Any]:
        last, step = more[len(given) :], numbers(dt).item()
        M = numbers(mass(q, *more[: len(given)])).tolist()
        free = numbers(end).tolist()
        found = held_back_together(
            M, free, numbers(q).tolist(), step, joints, together, tuple(numbers(each).tolist() for each in last) or None
        )
        some = total(numbers(beyond).tolist())

        def held(those: Sequence[Any], others: Sequence[Any]) -> Any:
            return array_of([where_less(0.0, some, x, y) for x, y in zip(those, others, strict=True)])

        speeds, impulses = found
        added = []
        if together is not None:
            added = coupling_impulses(M, [x - y for x, y in zip(speeds, free, strict=True)], impulses, together)
        return [held(speeds, free), *(held(each, [0.0] * len(each)) for each in (impulses, added))]

    leads, ends = joints, numbers(end).tolist()
    if together is not None:
        leads, ends = together.joints(joints), [ends[k] for k in together.leading]
    beyond = going_on(leads, ends, numbers(q).tolist(), numbers(dt).item())
    spared = [] if any(joint.friction for joint in joints) else [range(len(beyond))]
    speeds, impulses, added = subroutine(text, spared)(array_of(beyond), end, q, dt, *given, *known)
    return speeds, impulses, added


def with_stops_in_loops(
    moving: Callable[..., tuple[Any, Any]],
    given: Sequence[Any],
    free: tuple[Any, Any],
    q: Any,
    v: Any,
    dt: Any,
    joints: Sequence[Joint],
    before: Any = None,
) -> tuple[Any, Any, Any]:
    """Accelerations, constraint wrenches, and the forces of stops and friction (nv,), of joints in loops, from the
    response of all joints to forces on those that may be held. Without friction it is a subroutine, which is skipped
    for a tile of states in which no joint would exceed its limits.

    Args:
        moving: (extra joint forces, q, v, dt, *given) -> accelerations and wrenches.
        given: the traced arrays that ``moving`` uses besides these.
        free: accelerations and wrenches without stops and friction.
        q: configuration at the step's beginning (nq,).
        v: velocity there (nv,).
        dt: time step, s.
        joints: those with stops or friction.
        before: the forces of the previous step (nv,), if they are known.
    """
    dofs, units = [joint.dof for joint in joints], np.eye(np.shape(v)[0])[[joint.dof for joint in joints]]

    def text(beyond: Any, a: Any, wrenches: Any, q: Any, v: Any, dt: Any, *rest: Any) -> list[Any]:
        last, those = rest[len(given) :], rest[: len(given)]
        response = [numbers(dt * (moving(unit, q, v, dt, *those)[0] - a)[dofs]).tolist() for unit in units]
        known = tuple(numbers(each[dofs]).tolist() for each in (*last, v)) if last else None
        end = numbers((v + dt * a)[dofs]).tolist()
        found = resisting_forces(response, end, numbers(q).tolist(), numbers(dt).item(), joints, known)
        extra = array_of(found) @ units
        some = total(numbers(beyond).tolist())
        both = zip((*moving(extra, q, v, dt, *those), extra), (a, wrenches, 0.0 * v), strict=True)
        return [np.where(some > 0.0, held, other) for held, other in both]

    end, last = numbers(v + dt * free[0]).tolist(), [] if before is None else [before]
    beyond = array_of(going_on(joints, end, numbers(q).tolist(), numbers(dt).item()))
    rubs = any(joint.friction for joint in joints)
    once = text if rubs else subroutine(text, [range(len(joints))])
    a, wrenches, extra = once(beyond, *free, q, v, dt, *given, *last)
    return a, wrenches, extra
