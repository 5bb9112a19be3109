"""Algorithms for comparison: as published, where another form is better to use.

Those that ``lw.forward_dynamics`` offers for study are in ``linkwork.algorithms.ALGORITHMS``, too; the others are here.

    explicit_inverse                                    J A⁻¹ Jᵀ with A⁻¹ formed
    link_splitting                                      virtual work as printed, with links split, and without
    constraint_force_original, constraint_force_world   before the paper's correction; as published
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork_lab.studies.constraint_force_original import constraint_force_original
from linkwork_lab.studies.constraint_force_world import constraint_force_world
from linkwork_lab.studies.explicit_inverse import explicit_inverse

__all__ = ["EXPLICIT_INVERSE", "ORIGINAL", "ORIGINAL_WORLD", "without_bias"]

EXPLICIT_INVERSE = Algorithm("explicit_inverse", explicit_inverse, (("q", "configuration"),), ("operational",))
"""The inverse operational inertia in O(n³) on any mechanism."""
ORIGINAL = replace(
    ALGORITHMS["constraint_force"],
    name="constraint_force_original",
    text=constraint_force_original,
    forms=(),
    segmented=None,
)
"""The algorithm that the constraint force algorithm corrects, in coordinates at each joint."""
ORIGINAL_WORLD = replace(
    ALGORITHMS["constraint_force_world"],
    name="constraint_force_original_world",
    text=partial(constraint_force_world, original=True),
    forms=(),
)
"""The same in the world's coordinates."""


def without_bias(tip: int) -> Algorithm:
    """``constraint_force_world`` along a main chain that ends with body number ``tip``, without the bias forces of its
    side branches.
    """
    return replace(
        ALGORITHMS["constraint_force_world"],
        name=f"constraint_force_unbiased/{tip}",
        text=partial(constraint_force_world, tip=tip, bias=False),
        forms=(),
    )
