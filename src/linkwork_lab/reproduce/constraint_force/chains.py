"""Chains of every kind, and one with side branches."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log2

import numpy as np

from linkwork import Builder, Model, mechanisms, placement
from linkwork.joints import Revolute
from linkwork.spatial import Transform

MIX = ["revolute", "universal", "spherical"]


def _irregular(n: int) -> Model:
    order = np.random.default_rng(0).integers(len(MIX), size=n)
    return mechanisms.serial_chain(n, [MIX[k] for k in order])


def comb(n: int) -> Model:
    """A chain of ``n`` links on hinges, its bodies 1 to n, then a branch of ⌊log₂ n⌋ links for each, the last first."""
    builder = Builder("comb")
    start, end = placement(), placement(xyz=(1.0, 0.0, 0.0))

    def add(name: str, parent: str, axis: str, place: Transform) -> str:
        solid = mechanisms.rod(1.0, 1.0, 0.05)
        return builder.add_body(name, parent, Revolute(axis), place, mass=1.0, com=(0.5, 0.0, 0.0), inertia=solid)

    last = "world"
    for k in range(1, n + 1):
        last = add(f"body{k}", last, "z", end if k > 1 else start)
    for k in range(n, 0, -1):
        last = f"body{k}"
        for level in range(floor(log2(n))):
            last = add(f"side{k}_{level}", last, "y", end)
    return builder.build()


CHAINS: dict[str, Callable[[int], Model]] = {
    "revolute": mechanisms.serial_chain,
    "spherical": lambda n: mechanisms.serial_chain(n, "spherical"),
    "mixed": lambda n: mechanisms.serial_chain(n, MIX),
    "irregular": _irregular,
    "floating": lambda n: mechanisms.serial_chain(n - 1, "spherical", floating_base=True),
    "branched": lambda n: comb(max(2, round(n / (1.0 + log2(n))))),
}
"""By name, as functions of the number of links: parallel hinges; spherical joints; hinges, universal and spherical
joints in turn; the same in random order; spherical joints on a floating base; and, with about that number, hinges with
side branches.
"""
