"""Joint stops and friction in a traced step: code that is skipped where no joint is held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.subroutine import subroutine
from linkwork.simulation.coupled import Together, coupling_impulses, held_back_together
from linkwork.simulation.stops import Joint, going_on
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
) -> tuple[Any, Any, Any, Any]:
    """``coupled.held_back_together`` over traced arrays: velocities at the end of the step (nv,), impulses (nv,), those
    that couplings add (k,), and a number that is 0 if they are valid. The mass matrix and all that depends on it is a
    subroutine, which is skipped for a tile of states in which no joint has friction or would exceed its limits.

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

        speeds, impulses, sound = found
        added = []
        if together is not None:
            added = coupling_impulses(M, [x - y for x, y in zip(speeds, free, strict=True)], impulses, together)
        return [held(speeds, free), *(held(each, [0.0] * len(each)) for each in (impulses, added, [sound]))]

    leads, ends = joints, numbers(end).tolist()
    if together is not None:
        leads, ends = together.joints(joints), [ends[k] for k in together.leading]
    beyond = going_on(leads, ends, numbers(q).tolist(), numbers(dt).item())
    spared = [] if any(joint.friction for joint in joints) else [range(len(beyond))]
    speeds, impulses, added, sound = subroutine(text, spared)(array_of(beyond), end, q, dt, *given, *known)
    return speeds, impulses, added, sound[0]
