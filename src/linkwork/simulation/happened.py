"""What has happened in a motion: an event, and when."""

from __future__ import annotations

from typing import NamedTuple


class Happened(NamedTuple):
    """An event of a motion.

    Attributes:
        t: when, s; NaN if it happened again before the next recorded state.
        event: its number in the list of events.
        name: its name.
    """

    t: float
    event: int
    name: str

    def __str__(self) -> str:
        return f"{self.t:.6g} s: {self.name}"
