"""What the ready mechanisms have in common: uniform rods and boxes, joints by kind, and checks of their sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from linkwork.errors import ArgumentError, suggestion
from linkwork.joints import KINDS, Joint
from linkwork.memory import check_memory

JointChoice = str | Joint | Sequence[str | Joint]
"""A joint kind's name, a joint, or several of these to take in turn."""


_BYTES = 1000.0  # of memory that a link takes, at least


def joints(choice: JointChoice, count: int) -> list[Joint]:
    """``count`` joints of the chosen kind or kinds."""
    several = [choice] if isinstance(choice, str | Joint) else list(choice)
    if not several:
        raise ArgumentError("joint must be a kind, a joint or several of these, not an empty sequence")
    return list(islice(cycle([_joint(one) for one in several]), count))


def rod(mass: float, length: float, radius: float, along: str = "x") -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform cylinder about its centre."""
    axial, across = 0.5 * mass * radius**2, mass * (3.0 * radius**2 + length**2) / 12.0
    return tuple(axial if axis == along else across for axis in "xyz")  # type: ignore[return-value]


def box(mass: float, size: Sequence[float]) -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform box about its centre."""
    x, y, z = (edge**2 for edge in size)
    return mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0


def ball(mass: float, radius: float) -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform ball."""
    return (0.4 * mass * radius**2,) * 3


def whole(what: str, value: Any, least: int = 1) -> int:
    """A count of links, checked."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ArgumentError(f"{what} must be an integer of {least} or more, not {value!r}")
    count = min(value, 10**15)  # of which floats and messages can take any number
    check_memory(f"{what} = {count:,} links", _BYTES * count, f"choose a smaller {what}")
    return value


def positive(what: str, value: Any) -> float:
    """A length, a mass or the like, checked."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
        raise ArgumentError(f"{what} must be a finite number above zero, not {value!r}")
    return float(value)


def _joint(choice: Any) -> Joint:
    if isinstance(choice, Joint):
        return choice
    if not isinstance(choice, str) or choice not in KINDS:
        raise ArgumentError(f"joint must be a kind or a joint of lw.joints, not {choice!r}{suggestion(choice, KINDS)}")
    return KINDS[choice]()
