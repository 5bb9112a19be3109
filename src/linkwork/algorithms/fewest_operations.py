"""Which method for Λ⁻¹ takes the fewest operations, told from the tree and the points alone.

``pv`` pays for each passage of a point from one junction to the next, and for nothing else that grows with the points.
So it is the shortest way unless ways meet again and again, that is, at least one passage for each point. Then the
factors of M are shorter if no point is deep, and propagators that span many joints if there are many points for the
depth. The numbers were found by counting (docs/operational-inertia.md).
"""

from __future__ import annotations

from functools import lru_cache

from linkwork.model.junctions import junctions_of
from linkwork.model.model import Model

SHORT = 6
"""Degrees of freedom of a mechanism for which ``dense`` is the shortest with any points."""
SHALLOW, FEW = 8, 64
"""Degrees of freedom up to a point, and bodies in all, up to which ``dense`` is the shortest where ways meet often."""
MANY, CROWDED = 8, 3
"""Points from which on ``extended_propagator`` may be, and degrees of freedom up to a point for each of them."""


@lru_cache(maxsize=1000)
def fewest_operations(model: Model, points: tuple[int, ...]) -> str:
    """The method for points on these bodies (0 is the world)."""
    if model.nv <= SHORT:
        return "dense"
    parents, depth = [0], [0]
    for body in model.bodies:
        parents.append(body.parent)
        depth.append(depth[body.parent] + body.joint.nv)
    if _passages(parents, points) < max(1, len(points)):
        return "pv"
    deepest = max(depth[body] for body in points)
    if deepest <= SHALLOW and len(model.bodies) <= FEW:
        return "dense"
    return "extended_propagator" if len(points) >= MANY and deepest <= CROWDED * len(points) else "pv"


def _passages(parents: list[int], points: tuple[int, ...]) -> int:
    """How often points pass from a junction to another on their ways to the world."""
    junctions, of_points = junctions_of(parents, points)
    to_go = [0] * len(junctions)
    for number, (_, onward) in enumerate(junctions[1:], 1):  # the way leads to an earlier one
        to_go[number] = to_go[onward] + (onward > 0)
    return sum(to_go[junction] for junction in of_points)
