"""Which method for Λ⁻¹ takes the fewest operations, told from the tree and the points alone.

For each pair of points ``sparse`` pays 72 operations for every degree of freedom that carries both, and ``pv`` 396 for
a product of 6×6 matrices and more where ways meet again and again. So the first is shorter where points share little,
as limbs share a floating base, and the second where they share much. With one point they are the same, and ``dense``
is shorter for an arm. The numbers were fitted to counted cases (docs/operational-inertia.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from linkwork.model.model import Model

ARM = (6, 7)
"""Degrees of freedom of a mechanism for which ``dense`` is the shortest with one point."""
SHARED = 6.5
"""Degrees of freedom that carry both points of a pair, on average over the pairs that share any body, up to which
``sparse`` is the shortest.
"""


@lru_cache(maxsize=1000)
def fewest_operations(model: Model, points: tuple[int, ...]) -> str:
    """The method for points on these bodies (0 is the world)."""
    bodies = model.bodies
    return fewest_operations_on(tuple(body.parent for body in bodies), tuple(body.joint.nv for body in bodies), points)


def fewest_operations_on(parents: Sequence[int], nv: Sequence[int], points: Sequence[int]) -> str:
    """The same, given the parent of each body and the degrees of freedom of its joint."""
    if len(points) == 1 and sum(nv) in ARM:
        return "dense"
    carried = [0] * (len(parents) + 1)  # points that move with each body
    for point in points:
        carried[point] += 1
    shared, meeting = 0, 0
    for body in reversed(range(1, len(parents) + 1)):
        parent = parents[body - 1]
        pairs = carried[body] * (carried[body] - 1) // 2
        carried[parent] += carried[body]
        shared += pairs * nv[body - 1]
        if parent == 0:
            meeting += pairs
    return "sparse" if shared <= SHARED * meeting else "pv"
