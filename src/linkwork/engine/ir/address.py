"""Where a number lies in an array."""

from __future__ import annotations

from typing import NamedTuple

Terms = tuple[tuple[int, int | str], ...]
"""Integers (by instruction) with strides: fixed ones, or names of sizes known at run time."""

ONE = -1
"""Stands for the integer 1 in an address."""


class Address(NamedTuple):
    """array[offset + Σ stride · index]; a stride is an integer or the name of a size known at run time."""

    array: str
    offset: int
    terms: Terms = ()
    lane: int | None = None
    """The integer that selects from a group; None in a parallel loop, where it is all of them, or the first."""
    lane_stride: str | int | None = None
    """The size, or the integer, that is the stride between lanes in a parallel loop; None for adjacent numbers."""
    grouped: bool = True
    """Whether it is one of a group where numbers lie in groups; otherwise its row is by itself."""

    @property
    def integers(self) -> list[int]:
        """The instructions whose values it depends on; ``ONE`` among them."""
        lanes = [n for n in (self.lane, self.lane_stride) if isinstance(n, int)]
        return [*(index for index, _ in self.terms), *lanes]
