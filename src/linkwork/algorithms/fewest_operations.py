"""A rule for the method for Λ⁻¹ with the fewest operations, from the tree and the points alone.

For each pair of points ``sparse`` costs 72 operations for every degree of freedom that carries both, ``pv`` 396 for a
product of 6×6 matrices and more where paths meet repeatedly, and ``chang_khatib`` some for each body between. So the
first is cheapest where points share little, as limbs share a floating base, the last where many points are near each
other, and the second elsewhere. With one point the first two take the same operations, the second in less time. Where
the branches of the world with points have few degrees of freedom, as an arm or the legs of a robot with a fixed base,
``dense`` is cheaper than all of these. The numbers were fitted to counted and timed cases
(benchmarks/operational_methods.py, docs/operational-inertia.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from linkwork.model.model import Model
from linkwork.model.paths import paths_of

SMALL, ALL = 11, 50
"""Degrees of freedom of a branch of the world, and of all of them, up to which ``dense`` is cheapest."""
SHARED = 6.0
"""Degrees of freedom that carry both points of a pair, on average over the pairs that share any body, up to which
``sparse`` is cheapest.
"""
MANY, NEAR = 12, 2.0
"""``chang_khatib`` is the cheapest of the others for more points than this, and at most so many bodies to pass for each
pair that shares any body.
"""


@lru_cache(maxsize=1000)
def fewest_operations(model: Model, points: tuple[int, ...]) -> str:
    """The method for points on these bodies (0 is the world)."""
    bodies = model.bodies
    return fewest_operations_on(tuple(body.parent for body in bodies), tuple(body.joint.nv for body in bodies), points)


def fewest_operations_on(parents: Sequence[int], nv: Sequence[int], points: Sequence[int]) -> str:
    """The same, given the parent of each body and the degrees of freedom of its joint."""
    if sum(nv) <= ALL and 0 < _largest_branch(parents, nv, points) <= SMALL:
        return "dense"
    if len(points) == 1:
        return "pv"
    carried = [0] * (len(parents) + 1)  # number of points that each body carries
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
    if shared <= SHARED * meeting:
        return "sparse"
    return "chang_khatib" if len(points) > MANY and _near([0, *parents], points) else "pv"


def _largest_branch(parents: Sequence[int], nv: Sequence[int], points: Sequence[int]) -> int:
    """The degrees of freedom of the largest of the world's branches that has points."""
    branch, size = [0], [0] * (len(parents) + 1)
    for body, (parent, freedom) in enumerate(zip(parents, nv, strict=True), 1):
        branch.append(branch[parent] or body)
        size[branch[body]] += freedom
    return max((size[branch[point]] for point in points), default=0)


def _near(parents: Sequence[int], points: Sequence[int]) -> bool:
    """Whether there are few bodies to pass for each pair."""
    found = paths_of(parents, points)
    bodies = sum(stop - start for station in found.stations for start, stop in (station.behind, station.after))
    pairs = sum(place.after[1] - place.behind[0] for place in found.places)
    return bodies <= NEAR * pairs
