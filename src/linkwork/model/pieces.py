"""A long chain cut into pieces of equal length, for processors that each take one.

How a chain is cut depends on its bodies alone, never on the machine, so that results do not either. Before the pieces
stands a head: what comes before the joint kinds repeat, and what is left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.model.model import Model

FEWEST = 16
"""Pieces of a short chain: whole vectors of any machine. A long one has more, so that threads have some each."""
SHORTEST = 3
"""Bodies of a piece."""
_LONGEST_PERIOD = 12


@dataclass(frozen=True)
class Cut:
    """The first ``head`` bodies, then ``count`` pieces of ``length`` bodies each."""

    head: int
    count: int
    length: int
    alike: bool
    """Whether bodies at the same place in all pieces are of one kind, so that pieces can be worked on side by side."""


def cut(model: Model) -> Cut | None:
    """How to cut a mechanism; None if it branches or is too short. Found once for each model."""
    if "_cut" not in model.__dict__:
        model.__dict__["_cut"] = _cut(model)
    found: Cut | None = model.__dict__["_cut"]
    return found


def _cut(model: Model) -> Cut | None:
    if any(body.parent != index for index, body in enumerate(model.bodies)):
        return None
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault((body.joint.kind(), bool(body.armature)), len(numbers)) for body in model.bodies]
    bodies = len(kinds)
    count = FEWEST
    while count * 250 <= bodies:
        count *= 2
    options = [_option(kinds, count, period) for period in range(1, _LONGEST_PERIOD + 1)]
    best = min((option for option in options if option), key=lambda option: option.head, default=None)
    if best is None or 2 * best.head > bodies:
        length = bodies // count
        return Cut(bodies - count * length, count, length, False) if length >= SHORTEST else None
    return best


def _option(kinds: Sequence[int], count: int, period: int) -> Cut | None:
    """With pieces of whole periods, as many bodies as repeat with this period."""
    start = len(kinds)
    while start and (start + period > len(kinds) or kinds[start - 1] == kinds[start - 1 + period]):
        start -= 1
    length = (len(kinds) - start) // (count * period) * period
    return Cut(len(kinds) - count * length, count, length, True) if length >= SHORTEST else None
