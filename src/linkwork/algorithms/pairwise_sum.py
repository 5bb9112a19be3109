"""Sums over the children of a body in parallel steps, ⌈log₂ k⌉ - 1 of them for k children.

Neighbours are added first, then neighbours of these, until two are left, which the parent adds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwork.algorithms.tree import Body, Field, Item, KnownTree


def gather_inward(
    tree: KnownTree,
    chain: Sequence[Body],
    branches: Sequence[Sequence[Body]],
    x: Field[Item],
    add: Callable[[Item, Item], Item],
    gather: Callable[[Body, list[Item]], None],
) -> None:
    """Call ``gather`` for all bodies, the side branches level by level and then the chain, each with the one or two
    partial sums of x over its children on side branches. It sets x of bodies on these.
    """
    on_chain, sums = {body.index for body in chain}, dict[int, list[Body]]()
    for level in (*reversed(branches), chain):
        for body in tree.parallel(level):
            gather(body, [x[child] for child in sums.get(body.index, ())])
        sums |= pairwise_sum(tree, level, on_chain, x, add)


def pairwise_sum(
    tree: KnownTree,
    level: Sequence[Body],
    on_chain: set[int],
    x: Field[Item],
    add: Callable[[Item, Item], Item],
) -> dict[int, list[Body]]:
    """Sum x over those bodies of a level that have the same parent and are not on the chain. The result maps the
    parent's number to the one or two bodies at which x has partial sums.
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
