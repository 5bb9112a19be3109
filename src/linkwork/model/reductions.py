"""Odd-even reduction of unknowns in a row, each coupled to its neighbours: which of them are eliminated in which step.

In every step every other one of the remaining unknowns is eliminated; those that remain fetch the contributions of
their neighbours in the next step. A step is a list of the unknowns that take part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Unknown(NamedTuple):
    """An unknown in a step, and others by their places, or None: those eliminated in the previous step next to it on
    either side, and its neighbours among the remaining ones.
    """

    place: Any
    before: Any
    after: Any
    lower: Any
    upper: Any
    first: bool
    """Whether this is the first step, before which none was eliminated."""
    goes: bool


def reduction(places: Sequence[Any]) -> list[list[Unknown]]:
    """The steps for unknowns at these places; in each the eliminated ones come first.

    Example:
        >>> [[one.place for one in step if one.goes] for step in reduction("abcdefg")]
        [['a', 'c', 'e', 'g'], ['b', 'f'], ['d']]
    """
    count = len(places)

    def at(k: int) -> Any:
        return places[k] if 0 <= k < count else None

    steps = []
    for span in (1 << level for level in range(count.bit_length())):
        half = span // 2
        step = []
        for k in range(span - 1, count, span):
            before, after = (at(k - half), at(k + half)) if half else (None, None)
            step.append(Unknown(places[k], before, after, at(k - span), at(k + span), not half, k // span % 2 == 0))
        steps.append([one for one in step if one.goes] + [one for one in step if not one.goes and not one.first])
    return steps
