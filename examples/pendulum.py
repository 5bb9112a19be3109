"""A pendulum against its closed form: a quarter of its period after release it is at its lowest point.

The period of a rod that swings with amplitude θ₀ is 2π/ω / agm(1, cos θ₀/2), with ω the angular frequency of small
oscillations and agm the arithmetic-geometric mean (Gauss); at the bottom, its angular velocity is 2ω sin θ₀/2. Run it:
each integrator computes a quarter of a period with ever smaller steps, and the final error falls according to its
order.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import linkwork as lw

START = 2.5  # rad, high up


def mean(a: float, b: float) -> float:
    """The arithmetic-geometric mean."""
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def main() -> int:
    rod = lw.mechanisms.pendulum(length=1.0)
    rate = math.sqrt(lw.gravity_torques(rod, [math.pi / 2])[0] / lw.mass_matrix(rod, [0.0])[0, 0])
    period = 2.0 * math.pi / rate / mean(1.0, math.cos(START / 2))
    print(f"swings by {START:g} rad in {period:.12f} s, small ones in {2.0 * math.pi / rate:.6f} s")

    def error(path: lw.Trajectory) -> float:
        return float(np.hypot(path.q[-1, 0], path.v[-1, 0] + 2.0 * rate * math.sin(START / 2)))

    good, quarter = True, period / 4
    for integrator, order, steps in (("semi_implicit_euler", 1, 500), ("runge_kutta_4", 4, 50)):
        errors = [
            error(lw.simulate(rod, [START], [0.0], quarter, quarter / count, integrator=integrator))
            for count in (steps, 2 * steps)
        ]
        found = math.log2(errors[0] / errors[1])
        good &= abs(found - order) < 0.2
        print(f"{integrator}: off by {errors[0]:.1e}, with half the step {errors[1]:.1e}: order {found:.2f}")
    path = lw.simulate(rod, [START], [0.0], quarter, quarter / 20, integrator="adaptive", rtol=1e-12, atol=1e-12)
    print(f"adaptive, to 1e-12: off by {error(path):.1e}, energy by {np.ptp(sum(path.energy)):.1e} J")
    if len(sys.argv) > 1:
        lw.motion_sequence(path, 6, sys.argv[1], trails=["tip"])
    return 0 if good and error(path) < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
