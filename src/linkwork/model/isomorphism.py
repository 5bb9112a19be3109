"""Isomorphic branches of a tree: the legs of a humanoid, the fingers of a hand.

Two branches are isomorphic if their joints are of the same types, all the way out; only numbers differ. A body of
such a branch has a ``lane``, which identifies its branch: () in the trunk, (0,) and (1,) in a left and a
right leg, (1, 3) in the fourth finger of a right hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from linkwork.model.tree import children_of

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
    children = children_of(parents)
    shape = _shapes(children, kinds)
    lanes: list[Lane] = [()] * len(parents)
    result = [Role(0, ())] * len(parents)
    groups: list[list[int]] = [[0]]
    for number, group in enumerate(groups):  # the list grows during the loop
        for body in group:
            result[body] = Role(number, lanes[body])
        for alike in dict.fromkeys(shape[child] for child in children[group[0]]):
            of_each = [[child for child in children[body] if shape[child] == alike] for body in group]
            most = max(1, MOST_LANES // len(group))
            for start in range(0, len(of_each[0]), most):
                together = [branches[start : start + most] for branches in of_each]
                for body, branches in zip(group, together, strict=True):
                    for branch, child in enumerate(branches, start):
                        lanes[child] = (*lanes[body], branch) if len(branches) > 1 else lanes[body]
                groups.append([child for branches in together for child in branches])
    return result


def _shapes(children: Sequence[Sequence[int]], kinds: Sequence[Hashable]) -> list[int]:
    """A number for the branch that begins with each body, equal for isomorphic ones."""
    numbers: dict[Hashable, int] = {}
    shape = [0] * len(children)
    for body in reversed(range(len(children))):
        whole = kinds[body], tuple(sorted(shape[child] for child in children[body]))
        shape[body] = numbers.setdefault(whole, len(numbers))
    return shape
