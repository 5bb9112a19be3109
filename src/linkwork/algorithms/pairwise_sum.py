"""What several bodies have for the one they stand on, summed in parallel steps, ⌈log₂ k⌉ - 1 of them for k bodies.

Neighbours are added first, then neighbours of these, until two are left, which the one that they stand on takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwork.algorithms.tree import Body, Field, Item, KnownTree


def pairwise_sum(
    tree: KnownTree,
    level: Sequence[Body],
    on_chain: set[int],
    x: Field[Item],
    add: Callable[[Item, Item], Item],
) -> dict[int, list[Body]]:
    """Sum x of those bodies of a level that stand on the same one and are not on the chain; by the number of this one,
    the one or two bodies where x has what they come to.
    """
    families: dict[int, list[Body]] = {}
    for body in level:
        if body.index not in on_chain and body.parent.index:
            families.setdefault(body.parent.index, []).append(body)
    span = 1
    while True:
        many = [family for family in families.values() if len(family) > 2 * span]
        if not many:
            break
        pairs = [(family[k], family[k + span]) for family in many for k in range(0, len(family) - span, 2 * span)]
        for one, other in tree.parallel(pairs):
            x[one] = add(x[one], x[other])
        span *= 2
    return {parent: family[:: _last_span(len(family))] for parent, family in families.items()}


def _last_span(count: int) -> int:
    span = 1
    while 2 * span < count:
        span *= 2
    return span
