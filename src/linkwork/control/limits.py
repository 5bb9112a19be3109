"""Torque limits."""

from __future__ import annotations

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
        self._most = model.effort_limit
        self.most = np.minimum(self._most, 1e300)  # a finite number, for compiled laws
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
        if self.limiting == "none" or (np.abs(torque) <= self._most).all():
            return torque, 1.0
        if self.limiting == "clip":
            return np.clip(torque, -self._most, self._most), 1.0
        held = np.clip(compensation, -self._most, self._most)
        extra = torque - held
        room = np.where(extra > 0.0, self._most - held, self._most + held)
        moved = extra != 0.0
        factor = float(min(1.0, (room[moved] / np.abs(extra[moved])).min()))
        return held + factor * extra, factor
