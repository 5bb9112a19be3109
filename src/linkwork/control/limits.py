"""Torque limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arguments import choice
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.model import Model

LIMITING = ("none", "clip", "scale")


class TorqueLimits:
    """Keeps joint forces within a model's effort limits.

    "none" leaves them unchanged. "clip" clamps each joint by itself: the other joints apply their full torque, but the
    motion changes direction. "scale" reduces everything beyond the compensation of gravity and Coriolis forces by one
    factor: the motion is slower, in the same direction.
    """

    def __init__(self, model: Model, limiting: str) -> None:
        self.limiting = choice("limits", limiting, LIMITING)
        self.most = np.minimum(model.effort_limit, 1e300)  # a finite number, for compiled laws
        stuck = [body.joint_name for body in model.bodies if body.joint.nv and not any(body.limits.effort)]
        if stuck and limiting != "none":
            raise ArgumentError(
                f"limits={limiting!r} needs joints that can be driven, but model {model.name!r} gives "
                f"{', '.join(map(repr, stuck[:5]))} an effort limit of 0; correct it, or pass limits='none'"
            )

    def __call__(self, torque: Array, compensation: Array) -> tuple[Array, float]:
        """The limited torque (nv,), and the scale factor; 1 if it was not scaled, or clipped."""
        if not np.isfinite(torque).all():
            raise SingularError("the controller's torque is not finite: a reference, a gain or the state is too large")
        found, factor = limited(torque, compensation, self.limiting, self.most)
        return found, float(factor)


def limited(torque: Any, compensation: Any, limiting: str, most: Any) -> tuple[Any, Any]:
    """The same over arrays of floats or of traced numbers."""
    if limiting == "none":
        return torque, 1.0
    if limiting == "clip":
        return np.clip(torque, -most, most), 1.0
    held = np.clip(compensation, -most, most)
    extra = torque - held
    size = np.abs(extra)
    room = np.where(extra > 0.0, most - held, most + held)
    share = np.where(size > 0.0, room / np.where(size > 0.0, size, 1.0), 1.0)
    factor = np.minimum(1.0, np.min(share))
    within = np.all(np.abs(torque) <= most)
    return np.where(within, torque, held + factor * extra), np.where(within, 1.0, factor)
