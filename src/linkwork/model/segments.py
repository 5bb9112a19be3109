"""A long chain cut into segments of equal length, for processors that each take one.

How a chain is cut depends on its bodies alone, never on the machine, so that results do not either. Before the
segments stands a head: what comes before the joint kinds repeat, and what is left over. Side branches come after them,
in a mechanism whose bodies are lined up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model

FEWEST = 16
"""Segments of a short chain: a multiple of any machine's SIMD lanes. A long one has more, for threads."""
SHORTEST = 3
"""Bodies of a segment."""
_LONGEST_PERIOD = 12


@dataclass(frozen=True)
class Cut:
    """The first ``head`` bodies, then ``count`` segments of ``length`` bodies each; what follows are side branches."""

    head: int
    count: int
    length: int
    uniform: bool
    """Whether bodies at the same place in all segments are of one kind, so that segments can be SIMD lanes."""

    @property
    def chain(self) -> int:
        """How many bodies the chain has."""
        return self.head + self.count * self.length


@dataclass(frozen=True)
class LinedUp:
    """A mechanism with the bodies of its longest path first, and where its bodies and their q and v were before."""

    model: Model
    bodies: NDArray[np.int64]
    q: NDArray[np.int64]
    v: NDArray[np.int64]


@kept_with_model
def lined_up(model: Model) -> LinedUp | None:
    """A mechanism lined up; None if it is so already."""
    depths = [0]
    for body in model.bodies:
        depths.append(depths[body.parent] + 1)
    path, last = [], depths.index(max(depths))
    while last:
        path.append(last - 1)
        last = model.bodies[last - 1].parent
    order = path[::-1] + sorted(set(range(len(model.bodies))) - set(path))
    if order == list(range(len(model.bodies))):
        return None
    number = {-1: 0} | {old: new for new, old in enumerate(order, 1)}
    bodies = tuple(replace(model.bodies[old], parent=number[model.bodies[old].parent - 1]) for old in order)
    q = [model.q_start[old] + k for old in order for k in range(model.bodies[old].joint.nq)]
    v = [model.v_start[old] + k for old in order for k in range(model.bodies[old].joint.nv)]
    places = (np.array(numbers, dtype=np.int64) for numbers in (order, q, v))
    return LinedUp(Model(model.name, bodies, (), model.gravity), *places)


@kept_with_model
def cut(model: Model) -> Cut | None:
    """How to cut a mechanism whose bodies are lined up; None if its chain is too short."""
    beside = (index for index, body in enumerate(model.bodies) if body.parent != index)
    chain = model.bodies[: next(beside, len(model.bodies))]
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault((body.joint.kind(), bool(body.armature)), len(numbers)) for body in chain]
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
    """With segments of whole periods, as many bodies as repeat with this period."""
    start = len(kinds)
    while start and (start + period > len(kinds) or kinds[start - 1] == kinds[start - 1 + period]):
        start -= 1
    length = (len(kinds) - start) // (count * period) * period
    return Cut(len(kinds) - count * length, count, length, True) if length >= SHORTEST else None
