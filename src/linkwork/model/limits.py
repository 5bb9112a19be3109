"""Limits, damping, friction and spring of a joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwork.joints import Joint


@dataclass(frozen=True)
class Limits:
    """Limits, damping, friction and spring of a joint, for each coordinate (positions) or degree of freedom (all else).

    Units are those of the joint: m, rad, their rates, N or N m; damping in force per rate, friction (Coulomb) in force,
    stiffness in force per length or angle. ``springref`` is where the spring is at rest. Both are empty without a
    spring.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    stiffness: tuple[float, ...] = ()
    springref: tuple[float, ...] = ()

    @staticmethod
    def none(joint: Joint) -> Limits:
        free = (math.inf,) * joint.nv
        zero = (0.0,) * joint.nv
        return Limits((-math.inf,) * joint.nq, (math.inf,) * joint.nq, free, free, zero, zero)
