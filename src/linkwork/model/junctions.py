"""Where the paths of several points to the world meet, in a tree given by its parents; the world is body 0."""

from __future__ import annotations

from collections.abc import Sequence


def common_ancestor(parents: Sequence[int], a: int, b: int) -> int:
    """The nearest common ancestor of two bodies, each of which is one of its own; 0 if that is the world."""
    while a != b:  # a parent comes before its children, so the later of the two is no ancestor of the other
        a, b = (parents[a], b) if a > b else (a, parents[b])
    return a


def junctions_of(parents: Sequence[int], points: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """The junctions of points on bodies, each as (its body, the junction its path leads to), and that of each point.

    Junction 0 is the world. Any other is a body at which at least two paths meet: of points on it, and of all points
    behind one child. There are fewer of them than points. O(bodies + points).
    """
    ways = [0] * len(parents)
    for body in points:
        ways[body] += 1
    for body in reversed(range(1, len(parents))):
        ways[parents[body]] += ways[body] > 0
    number = {0: 0} | {body: k for k, body in enumerate((b for b in range(1, len(parents)) if ways[b] > 1), 1)}

    def first_from(body: int) -> int:
        while body not in number:
            body = parents[body]
        return number[body]

    return [(body, first_from(parents[body])) for body in number], [first_from(body) for body in points]
