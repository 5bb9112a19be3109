"""States with the expected results, for the self-test of an export."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.arguments import Array
from linkwork.exports.unit import Unit

_MOST, _NUMBERS, _TRIES = 8, 6_000, 64
"""States, numbers of all of them, and states that are tried."""


class Samples(NamedTuple):
    """Arguments and results, a row for each state."""

    arguments: list[Array]
    results: list[Array]

    def __len__(self) -> int:
        return len(self.arguments[0]) if self.arguments else len(self.results[0])


def samples_of(unit: Unit) -> Samples:
    """States drawn from a fixed seed, those whose results are finite, computed by the definition of its program."""
    size = sum(part.size for part in (*unit.arguments, *unit.results))
    count = max(1, min(_MOST, _NUMBERS // max(1, size)))
    random = np.random.default_rng(0)
    drawn = [[part.drawn(random).ravel() for part in unit.arguments] for _ in range(min(_TRIES, 4 * count))]
    arguments = [np.array([row[k] for row in drawn]).reshape(len(drawn), -1) for k in range(len(unit.arguments))]
    with np.errstate(all="ignore"):
        results = unit.routine.evaluated(arguments)
    finite = np.all([np.isfinite(each).all(axis=1) for each in results], axis=0)
    chosen = np.flatnonzero(finite)[:count]
    return Samples([each[chosen] for each in arguments], [each[chosen] for each in results])
