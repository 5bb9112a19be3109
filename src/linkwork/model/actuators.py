"""Actuators: the forces of motors for given control signals, as a model file describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from linkwork.arguments import finite, is_integer, is_listed, one_or_each, several, text
from linkwork.errors import ModelError, excuse, shown

Gears = tuple[tuple[str, tuple[float, ...]], ...]
"""Joints by name, each with the gears of its degrees of freedom."""


@dataclass(frozen=True)
class Actuator:
    """A motor that converts a control signal u to a force, and applies it to joints or to a frame.

    With the length l = Σ gear · q over its joints, its force is gain u + bias₀ + bias₁ l + bias₂ l̇, with u clamped to
    ``control_range`` and the force to ``force_range``; each joint gets gear times the force. So a motor has a gain
    of 1 and no bias, and a position servo of gain k and damping d the bias (0, -k, -d). ``lw.actuator_torques``
    computes the joint forces.

    Args:
        name: unique among actuators.
        joints: names of joints and their gears: one number for a joint of one degree of freedom, else one for each.
        frame: the frame on which it acts, instead of joints.
        wrench: for a ``frame``, the wrench (6 numbers, [force; moment] in that frame's axes) of a unit force.
        control_range: smallest and largest control signal.
        force_range: smallest and largest force.
        gain: force per unit of the control signal.
        bias: constant force, force per length, force per rate of length.
        left_out: features of the file that are not represented, such as internal states; empty if there are none.

    Example:
        >>> import linkwork as lw
        >>> servo = lw.Actuator("servo", joints={"elbow": 2.0}, gain=50.0, bias=(0.0, -50.0, -3.0))
        >>> servo.joints, servo.control_range
        ((('elbow', (2.0,)),), (-inf, inf))
    """

    name: str
    joints: Mapping[str, float | Sequence[float]] | Gears = ()
    frame: str | None = None
    wrench: tuple[float, ...] = ()
    control_range: tuple[float, float] = (-inf, inf)
    force_range: tuple[float, float] = (-inf, inf)
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    left_out: str = ""

    def __post_init__(self) -> None:
        where = f"actuator {text('the name of an actuator', self.name, ModelError)!r}"
        try:
            if not isinstance(self.joints, Mapping) and not is_listed(self.joints):
                raise TypeError
            pairs: Any = self.joints.items() if isinstance(self.joints, Mapping) else self.joints
            geared = [(joint, gear) for joint, gear in pairs]
        except Exception as error:  # anything that an object's own iterator raises
            excuse(error)
            raise ModelError(f"joints of {where} must be a dict of gears by joints, not {shown(self.joints)}") from None
        joints = []
        for joint, gear in geared:
            text(f"a joint of {where}", joint, ModelError)
            gears = [gear] if isinstance(gear, float) or is_integer(gear) else gear
            if not is_listed(gears):
                raise ModelError(f"gear of {where} at {joint!r} must be numbers, not {shown(gear)}")
            joints.append((joint, tuple(several(f"gear of {where} at {joint!r}", gears, len(gears), ModelError))))
        put = object.__setattr__
        put(self, "joints", tuple(joints))
        if self.frame is not None:
            text(f"the frame of {where}", self.frame, ModelError)
            put(self, "wrench", tuple(several(f"wrench of {where}", self.wrench, 6, ModelError)))
        for field in ("control_range", "force_range"):
            least, most = one_or_each(f"{field} of {where}", getattr(self, field), 2, ModelError)
            if not least <= most:
                raise ModelError(f"{field} of {where} must begin below its end, not {shown(getattr(self, field))}")
            put(self, field, (least, most))
        put(self, "gain", finite(f"gain of {where}", self.gain, ModelError))
        put(self, "bias", tuple(several(f"bias of {where}", self.bias, 3, ModelError)))

    @property
    def gears(self) -> Gears:
        """``joints`` in their stored form."""
        return cast(Gears, self.joints)
