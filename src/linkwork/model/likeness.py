"""Branches of a tree that are alike: the legs of a humanoid, the fingers of a hand.

Two branches are alike if their joints are of the same kinds, all the way out; what differs is numbers. A body of such
a branch has a ``lane``, which tells its branch from the others: () in the trunk, (0,) and (1,) in a left and a right
leg, (1, 3) in the fourth finger of a right hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Lane = tuple[int, ...]

MOST_LANES = 4
"""Branches at most that are taken together."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body stands among its like: these have the same ``kin``, each its own ``lane``."""

    kin: int
    lane: Lane


def places(parents: Sequence[int], kinds: Sequence[Hashable]) -> list[Place]:
    """The place of each body of a tree, given by its parents and the kinds of its joints; number 0 is the world."""
    children: list[list[int]] = [[] for _ in parents]
    for body in range(1, len(parents)):
        children[parents[body]].append(body)
    known: dict[Hashable, int] = {}
    shape = [0] * len(parents)  # equal for branches that are alike
    for body in reversed(range(len(parents))):
        whole = (kinds[body], tuple(sorted(shape[child] for child in children[body])))
        shape[body] = known.setdefault(whole, len(known))

    found = [Place(0, ())] * len(parents)
    groups: list[list[int]] = [[0]]
    for kin, group in enumerate(groups):  # grows meanwhile
        for body in group:
            found[body] = Place(kin, found[body].lane)
        for wanted in dict.fromkeys(shape[child] for child in children[group[0]]):
            of_each = [[child for child in children[body] if shape[child] == wanted] for body in group]
            most = max(1, MOST_LANES // len(group))
            for start in range(0, len(of_each[0]), most):
                together = [alike[start : start + most] for alike in of_each]
                for body, alike in zip(group, together, strict=True):
                    for number, child in enumerate(alike):
                        own = (start + number,) if len(alike) > 1 else ()
                        found[child] = Place(0, found[body].lane + own)
                groups.append([child for alike in together for child in alike])
    return found
