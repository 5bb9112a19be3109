"""A warning if the initial state of a motion violates its constraints, which would pull it back with large forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arguments import Array
from linkwork.compiled.law import law
from linkwork.dynamics.held import HeldBy, at_grips, held_by
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.engine.mode import current_form, interpreted
from linkwork.errors import warn_caller
from linkwork.model.constraints import Constraint, Coupling
from linkwork.model.model import Model

_FAR = 1e-3
"""Metres or radians from which on there is a warning."""
_MANY = 5000
"""States from which on the errors are computed by compiled code."""
_TOGETHER = 1000
"""States that NumPy handles at a time."""


def warn_of_errors(model: Model, q: Array, constraints: Sequence[Constraint], stabilisation: float | None) -> None:
    """Warn of states (n, nq) that violate constraints; ``stabilisation`` is the time constant (s) with which the errors
    decay, None where constraints are soft.
    """
    if not constraints or not len(q):
        return
    held = held_by(model, constraints)
    found = _errors(held, q)
    for constraint, errors in zip(held.constraints, found.T, strict=True):
        worst = int(errors.argmax())
        if errors[worst] > _FAR:
            how = (
                f" within {stabilisation:.3g} s by whatever force that takes. lw.close_loops finds a configuration "
                f"that fulfils them; contacts that only push are contacts="
                if stabilisation is not None
                else ", softly as they are beside contacts. lw.close_loops finds a configuration that fulfils them"
            )
            warn_caller(
                f"the motion begins off {type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r}), "
                f"by {errors[worst]:.3g} m or rad{f' in state {worst}' if len(q) > 1 else ''}: constraints pull as "
                f"well as they push, and will bring it there{how}",
            )
            return


def _errors(held: HeldBy, q: Array) -> Array:
    """The errors (n, constraints) of the states: by compiled code for many states, if there are loops."""
    loops = not all(isinstance(constraint, Coupling) for constraint in held.constraints)
    if loops and len(q) >= _MANY and current_form() != "interpreted":
        make = lambda: law(  # noqa: E731
            "errors_of_constraints", lambda **given: _text(held, given["q"], given["placements"]),
            {"q": (held.model.nq,), "placements": held.placements.shape}, [(len(held.constraints),)], held.model,
            held.frames, held.kinds, optional=True,
        )  # fmt: skip
        kernel = held.short_law("errors", make)
        if kernel is not None:
            (found,), _, _ = kernel.attempt([q, held.placements])
            return found
    if not loops:
        return np.asarray(_text(held, q, held.placements), dtype=np.float64)
    with interpreted():
        parts = [_text(held, q[first : first + _TOGETHER], held.placements) for first in range(0, len(q), _TOGETHER)]
    return np.concatenate(parts)


def _text(held: HeldBy, q: Any, placements: Any) -> Any:
    """The largest error (..., constraints) of each constraint."""
    seen = None
    if not all(isinstance(constraint, Coupling) for constraint in held.constraints):
        places = forward_kinematics(held.model, q, held.ends)
        seen = at_grips(held, places, np.zeros((*places.shape[:-2], 6)), placements)
    found = []
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        errors = constraint.all_errors(held.model, q, () if seen is None else seen.of(grips))
        found.append(np.max(np.abs(errors), axis=-1))
    return np.stack(found, axis=-1)
