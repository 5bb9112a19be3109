"""Isomorphic branches of a tree: the legs of a humanoid, the fingers of a hand.

Two branches are isomorphic if their joints are of the same kinds, all the way out; what differs is numbers. A body of
such a branch has a ``lane``, which tells its branch from the others: () in the trunk, (0,) and (1,) in a left and a
right leg, (1, 3) in the fourth finger of a right hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Lane = tuple[int, ...]

MOST_LANES = 4
"""Branches at most that are taken together."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a body is in its branch: bodies that correspond have the same ``number``, each its own ``lane``."""

    number: int
    lane: Lane


def roles(parents: Sequence[int], kinds: Sequence[Hashable]) -> list[Role]:
    """The role of each body of a tree, given by its parents and the kinds of its joints; number 0 is the world."""
    children: list[list[int]] = [[] for _ in parents]
    for body in range(1, len(parents)):
        children[parents[body]].append(body)
    known: dict[Hashable, int] = {}
    shape = [0] * len(parents)  # equal for isomorphic branches
    for body in reversed(range(len(parents))):
        whole = (kinds[body], tuple(sorted(shape[child] for child in children[body])))
        shape[body] = known.setdefault(whole, len(known))

    found = [Role(0, ())] * len(parents)
    groups: list[list[int]] = [[0]]
    for number, group in enumerate(groups):  # grows meanwhile
        for body in group:
            found[body] = Role(number, found[body].lane)
        for wanted in dict.fromkeys(shape[child] for child in children[group[0]]):
            of_each = [[child for child in children[body] if shape[child] == wanted] for body in group]
            most = max(1, MOST_LANES // len(group))
            for start in range(0, len(of_each[0]), most):
                together = [alike[start : start + most] for alike in of_each]
                for body, alike in zip(group, together, strict=True):
                    for branch, child in enumerate(alike):
                        own = (start + branch,) if len(alike) > 1 else ()
                        found[child] = Role(0, found[body].lane + own)
                groups.append([child for alike in together for child in alike])
    return found
