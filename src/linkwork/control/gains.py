"""Gains of controllers: kp of the error, and kd of its rate.

They have these names everywhere; ``stiffness`` and ``damping`` are the mechanism's own springs and dampers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, array, old_name
from linkwork.errors import ArgumentError, shown


def _renamed(old: str, new: str) -> Any:
    """The old name of an attribute."""

    def get(self: Any) -> Any:
        old_name(old, new)
        return getattr(self, new)

    def put(self: Any, value: Any) -> None:
        old_name(old, new)
        setattr(self, new, value)

    return property(get, put, doc=f"The old name of {new}.")


class Gains:
    """Base class with gains kp and kd, and their old names."""

    kp: Any
    kd: Any
    stiffness, damping = _renamed("stiffness", "kp"), _renamed("damping", "kd")


def gains(name: str, kp: ArrayLike, kd: ArrayLike | None, count: int) -> tuple[Array, Array]:
    """kp and kd as one number for each axis; critical damping if kd is omitted."""
    K = _gain(f"kp of {name}", kp, count)
    return K, 2.0 * np.sqrt(K) if kd is None else _gain(f"kd of {name}", kd, count)


def _gain(what: str, value: ArrayLike, count: int) -> Array:
    given = array(what, value)
    if given.shape not in ((), (1,), (count,)):
        raise ArgumentError(f"{what} must be one number or {count}, not {shown(value)}")
    if not (np.isfinite(given).all() and (given >= 0.0).all()):
        raise ArgumentError(f"{what} must be finite and not negative, not {shown(value)}")
    return np.array(np.broadcast_to(given, (count,)))
