"""Where a number lies in an array."""

from __future__ import annotations

from typing import NamedTuple

Terms = tuple[tuple[int, int | str], ...]
"""Integers (by instruction) with strides: fixed ones, or names of sizes known when the code runs."""

ONE = -1
"""Stands for the integer 1 in an address."""


class Address(NamedTuple):
    """array[offset + Σ stride · index]; a stride is an integer or the name of a size known when the code runs."""

    array: str
    offset: int
    terms: Terms = ()
    lane: int | None = None
    """The integer that tells which of a group; None in a parallel loop, where it is all of them, or the first."""
    lane_stride: str | int | None = None
    """The size, or the integer, that tells how far apart lanes are in a parallel loop; None for what lies side by
    side.
    """
    grouped: bool = True
    """Whether it is one of a group where numbers lie in groups; else its row is by itself."""

    @property
    def integers(self) -> list[int]:
        """The instructions whose values it is made of; ``ONE`` among them."""
        lanes = [n for n in (self.lane, self.lane_stride) if isinstance(n, int)]
        return [*(index for index, _ in self.terms), *lanes]
