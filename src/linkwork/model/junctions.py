"""Junctions of the paths of several points to the world, in a tree given by its parents; the world is body 0."""

from __future__ import annotations

from collections.abc import Sequence


def common_ancestor(parents: Sequence[int], a: int, b: int) -> int:
    """The nearest common ancestor of two bodies, where a body is its own ancestor; 0 is the world."""
    while a != b:  # parents have lower numbers, so the later of the two is not an ancestor of the other
        a, b = (parents[a], b) if a > b else (a, parents[b])
    return a


def junctions_of(parents: Sequence[int], points: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """The junctions of points on bodies, each as (its body, the next junction on its path), and that of each point.

    Junction 0 is the world. Any other is a body at which at least two paths meet: those of points on it, and one for
    each child that carries points. There are fewer of them than points. O(bodies + points).
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
