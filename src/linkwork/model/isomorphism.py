"""Isomorphic branches of a tree: the legs of a humanoid, the fingers of a hand.

Two branches are isomorphic if their joints are of the same types, all the way out; only numbers differ. A body of
such a branch has a ``lane``, which identifies its branch: () in the trunk, (0,) and (1,) in a left and a
right leg, (1, 3) in the fourth finger of a right hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Lane = tuple[int, ...]

MOST_LANES = 4
"""The most branches that are grouped."""


@dataclass(frozen=True, slots=True)
class Role:
    """A body's role in its branch: corresponding bodies have the same ``number``, each with its own ``lane``."""

    number: int
    lane: Lane


def roles(parents: Sequence[int], kinds: Sequence[Hashable]) -> list[Role]:
    """The role of each body of a tree, given by its parents and joint types; number 0 is the world."""
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
    for number, group in enumerate(groups):  # the list grows during the loop
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
