"""A rope of 1,000 links, 2,000 degrees of freedom, swings in the mode found by Bernoulli and Bessel.

The slowest mode of a hanging rope of length L is x = A J₀(j √(1 - s/L)) cos ωt, at the distance s from its top, with j
= 2.4048 the first zero of J₀ and ω = j/2 √(g/L). Run it: the rope begins in that shape, and half a period later it must
be its own mirror image.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import linkwork as lw

LINKS, LENGTH, SWING = 1000, 5.0, 0.4  # m
ZERO = 2.404825557695773


def bessel(x: np.ndarray) -> np.ndarray:
    """J₀ for small x, by its series."""
    return sum((-(x**2) / 4) ** k / float(math.factorial(k) ** 2) for k in range(20))


def main() -> int:
    rope = lw.mechanisms.rope(LINKS, length=LENGTH)
    along = np.linspace(0.0, 1.0, LINKS + 1)
    sideways = SWING * (bessel(ZERO * np.sqrt(1.0 - along)) - bessel(np.array(ZERO)))
    tilt = -np.arcsin(np.diff(sideways) * LINKS / LENGTH)  # angle of each link about y, with respect to the world
    q = np.zeros(rope.nq)
    q[1::2] = np.diff(tilt, prepend=0.0)

    half = math.pi / (ZERO / 2 * math.sqrt(9.81 / LENGTH))
    steps = 4000
    path = lw.simulate(rope, q, np.zeros(rope.nv), half, half / steps, record=steps // 8)
    tips = lw.forward_kinematics(rope, path.q, ["tip"])[:, 0, :3, 3]
    middles = lw.forward_kinematics(rope, path.q, [f"body{LINKS // 2}"])[:, 0, :3, 3]
    print(f"{rope.nv} degrees of freedom, {steps} steps, half a period of {half:.4f} s")
    errors = [float(abs(way[-1, 0] + way[0, 0]) / abs(way[0, 0])) for way in (tips, middles)]
    for name, way in (("tip", tips), ("middle", middles)):
        print(f"the {name} goes from {way[0, 0]:+.5f} to {way[-1, 0]:+.5f} m")
    kinetic, potential = path.energy
    swing = potential[0] - lw.energy(rope, lw.neutral(rope), np.zeros(rope.nv))[1]  # the energy of the swing
    drift = float(np.ptp(kinetic + potential) / swing)
    print(f"mirrored to {max(errors):.1e}; energy kept to {drift:.1e} of the {swing * 1e3:.2f} mJ of the swing")
    if len(sys.argv) > 1:
        lw.motion_sequence(path, 5, sys.argv[1], view=(-75.0, 10.0))
    return 0 if max(errors) < 0.01 and drift < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
