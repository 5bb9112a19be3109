"""A warning of a motion that begins off its constraints, which would pull it there with any force."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from linkwork.arguments import Array
from linkwork.dynamics.held import at_grips, held_by
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.engine.mode import interpreted
from linkwork.errors import LinkworkWarning
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model

_FAR = 1e-3
"""Metres or radians from which on it is said."""


def warn_of_errors(
    model: Model, q: Array, constraints: Sequence[Constraint], stabilisation: float, above: int = 3
) -> None:
    """Of states (n, nq) that do not fulfil constraints, at the call that is so many frames above."""
    if not constraints or not len(q):
        return
    held = held_by(model, constraints)
    with interpreted():
        places = forward_kinematics(model, q, held.ends)
    seen = at_grips(held, places, np.zeros((*places.shape[:-2], 6)), held.placements)
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        errors = abs(constraint.all_errors(model, q, seen.of(grips))).max(axis=-1)
        worst = int(errors.argmax())
        if errors[worst] > _FAR:
            warnings.warn(
                f"the motion begins off {type(constraint).__name__}({constraint.frame_a!r}, {constraint.frame_b!r}), "
                f"by {errors[worst]:.3g} m or rad{f' in state {worst}' if len(q) > 1 else ''}: constraints pull as "
                f"well as they push, and will bring it there within {stabilisation:.3g} s by whatever force that "
                f"takes. lw.close_loops finds a configuration that fulfils them; contacts that only push are contacts=",
                LinkworkWarning,
                stacklevel=above,
            )
            return
