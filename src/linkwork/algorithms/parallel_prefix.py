"""Parallel prefix along a chain, in 2 log₂ N parallel steps: each body gets x₁ ∘ x₂ ∘ … ∘ xᵢ.

    pairs, then pairs of pairs   x₂ₖ = xₖ ∘ x₂ₖ over spans of 1, 2, 4, …
    back to the bodies between   x₃ₖ = x₂ₖ ∘ x₃ₖ over spans of …, 4, 2, 1

∘ must be associative, and need not commute. Brent, Kung 1982: fewer than 2 N combinations, so that the work grows as
N; half as many steps would take N log₂ N of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwork.algorithms.tree import Body, Field, Item, KnownTree


def parallel_prefix(
    tree: KnownTree, chain: Sequence[Body], x: Field[Item], combine: Callable[[Item, Item], Item]
) -> None:
    """Replace x at each body by the combination of its value and all before it on the chain."""
    count = len(chain)
    spans = [1 << level for level in range(count.bit_length() - 1)]
    for span in spans:
        for k in tree.parallel(range(2 * span - 1, count, 2 * span)):
            x[chain[k]] = combine(x[chain[k - span]], x[chain[k]])
    for span in reversed(spans):
        for k in tree.parallel(range(3 * span - 1, count, 2 * span)):
            x[chain[k]] = combine(x[chain[k - span]], x[chain[k]])


def accumulate(
    tree: KnownTree,
    chain: Sequence[Body],
    branches: Sequence[Sequence[Body]],
    x: Field[Item],
    combine: Callable[[Item, Item], Item],
) -> None:
    """The same for all bodies, outward: along the chain by parallel prefix, then level by level."""
    parallel_prefix(tree, chain, x, combine)
    for level in branches:
        for body in tree.parallel(level):
            if body.parent.index:
                x[body] = combine(x[body.parent], x[body])
