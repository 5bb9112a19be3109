"""The common parts of the built-in mechanisms: uniform rods and boxes, joints by type, and checks of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from linkwork.arguments import choice, integer, is_listed, not_negative, positive, several
from linkwork.errors import ArgumentError, shown, suggestion
from linkwork.joints import KINDS, Joint
from linkwork.memory import check_memory

JointChoice = str | Joint | Sequence[str | Joint]
"""The name of a joint type, a joint, or several of these to cycle through."""
MOST_LINKS = 10**7
"""More links than fit in memory: each takes some 2 kB."""


LARGEST = 1e100
"""A length (m) or a mass (kg) of which products are finite."""
_BYTES = 1000.0  # least memory per link


def joints(chosen: JointChoice, count: int) -> list[Joint]:
    """``count`` joints of the chosen type or types."""
    kinds = [chosen] if isinstance(chosen, str | Joint) else chosen
    if not is_listed(kinds) or isinstance(kinds, range):
        raise ArgumentError(f"joint must be a kind, a joint or several of these, not {shown(chosen)}")
    if not kinds:
        raise ArgumentError("joint must be a kind, a joint or several of these, not an empty sequence")
    return list(islice(cycle([_joint(one) for one in kinds]), count))


def rod(mass: float, length: float, radius: float, along: str = "x") -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform cylinder about its centre.

    Args:
        mass: kg.
        length: m.
        radius: m.
        along: the axis of the cylinder, "x", "y" or "z".

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.rod(12.0, 1.0, 0.0)
        (0.0, 1.0, 1.0)
    """
    mass, length, radius = _size("mass", mass), _size("length", length), _size("radius", radius)
    choice("along", along, ("x", "y", "z"))
    axial, across = 0.5 * mass * radius**2, mass * (3.0 * radius**2 + length**2) / 12.0
    return tuple(axial if axis == along else across for axis in "xyz")  # type: ignore[return-value]


def box(mass: float, size: Sequence[float]) -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform box about its centre.

    Args:
        mass: kg.
        size: its edges along x, y and z (m).

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.box(12.0, (1.0, 2.0, 3.0))
        (13.0, 10.0, 5.0)
    """
    mass = _size("mass", mass)
    x, y, z = (_size("an edge of size", edge) ** 2 for edge in several("size", size, 3))
    return mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0


def ball(mass: float, radius: float) -> tuple[float, float, float]:
    """Principal moments (kg m²) of a uniform ball about its centre.

    Args:
        mass: kg.
        radius: m.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.ball(5.0, 1.0)
        (2.0, 2.0, 2.0)
    """
    mass, radius = _size("mass", mass), _size("radius", radius)
    return (0.4 * mass * radius**2,) * 3


def _size(what: str, value: Any) -> float:
    """A length (m) or a mass (kg), which may be 0, whose products are finite."""
    number = not_negative(what, value)
    if number > LARGEST:
        raise ArgumentError(f"{what} must be at most {LARGEST:g}, not {shown(value)}")
    return number


def extent(what: str, value: Any) -> float:
    """A length (m) or a mass (kg), whose products are finite."""
    return positive(what, value, most=LARGEST)


def whole(what: str, value: Any) -> int:
    """A number of links."""
    count = integer(what, value, 1, MOST_LINKS)
    check_memory(f"{what} = {count:,} links", _BYTES * count, f"choose a smaller {what}")
    return count


def _joint(choice: Any) -> Joint:
    if isinstance(choice, Joint):
        return choice
    if not isinstance(choice, str) or choice not in KINDS:
        raise ArgumentError(
            f"joint must be a kind or a joint of lw.joints, not {shown(choice)}{suggestion(choice, KINDS)}"
        )
    return KINDS[choice]()
