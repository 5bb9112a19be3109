"""A cat that falls on its back turns over in the air, without anything to push against.

The cat is two halves on a spine that bends but does not twist (Kane and Scher 1969). It bends, rotates the bend once
around, and straightens: angular momentum is zero at all times, yet the cat has turned over. Run it: the momentum stays
zero to rounding, the centre of mass falls freely, and the cat lands on its feet.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

BEND, FALL = 1.45, 0.6  # rad, s


def build() -> lw.Model:
    """A floating chest, and a rump on a spine that bends about y and z; four legs, a head."""
    builder = lw.Builder("cat")
    half = {"mass": 1.5, "inertia": (2.0e-3, 6.0e-3, 6.0e-3)}
    leg = {"mass": 0.1, "com": (0.0, 0.0, -0.06), "inertia": (1.2e-4, 1.2e-4, 1e-5)}
    builder.add_body("chest", joint=lw.joints.Free(), com=(0.12, 0.0, 0.0), **half)
    builder.add_body("rump", "chest", lw.joints.Universal("y", "z"), com=(-0.12, 0.0, 0.0), joint_name="spine", **half)
    for name, parent, x in (("fore", "chest", 0.17), ("hind", "rump", -0.17)):
        for side, y in (("left", 0.04), ("right", -0.04)):
            builder.add_body(f"{side}_{name}_leg", parent, placement=lw.placement(xyz=(x, y, -0.03)), **leg)
    head = lw.placement(xyz=(0.27, 0.0, 0.04))
    builder.add_body("head", "chest", placement=head, mass=0.3, inertia=(4e-4, 4e-4, 4e-4))
    return builder.build()


def smooth(x: float) -> tuple[float, float]:
    """A smooth step from 0 to 1 and its slope, at rest at both ends."""
    x = min(max(x, 0.0), 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2


class Spine:
    """Muscles that follow a plan: bend in the first quarter of the fall, rotate the bend, straighten in the last."""

    def plan(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        (up, up_rate), (down, down_rate) = smooth(4 * t / FALL), smooth(4 * t / FALL - 3)
        (way, way_rate) = smooth((t / FALL - 0.15) / 0.7)
        bend, rate = BEND * (up - down), BEND * (up_rate - down_rate) * 4 / FALL
        turn, spin = 2 * np.pi * way, 2 * np.pi * way_rate / 0.7 / FALL
        direction, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        return bend * direction, rate * direction + bend * spin * across

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        place, speed = self.plan(t)
        tau = np.zeros(8)
        tau[6:] = 40.0 * (place - q[7:9]) + 0.5 * (speed - v[6:8])
        return tau


def main() -> int:
    cat = build()
    q = lw.neutral(cat)
    q[2], q[3:7] = 2.0, [1.0, 0.0, 0.0, 0.0]  # on its back, two metres up
    path = lw.simulate(cat, q, np.zeros(cat.nv), FALL, 1e-4, torque=Spine(), integrator="runge_kutta_4")

    momentum = lw.momentum(cat, path.q, path.v)
    spin, push = abs(momentum[:, 3:]).max(), abs(momentum[:, :3] - np.outer(path.t, [0, 0, -9.81 * cat.mass])).max()
    moments = abs(path.v[:, 3:6]).max() * 6e-3
    stone = lw.centre_of_mass(cat, q) + np.outer(path.t**2, [0, 0, -9.81 / 2])
    off = abs(lw.centre_of_mass(cat, path.q) - stone).max()
    up = lw.forward_kinematics(cat, path.q, ["chest", "rump"])[..., 2, 2]  # of each half's z axis, 1 when upright
    print(
        f"upright is 1: chest from {up[0, 0]:+.2f} to {up[-1, 0]:+.2f}, rump from {up[0, 1]:+.2f} to {up[-1, 1]:+.2f}"
    )
    print(
        f"angular momentum {spin:.1e} kg m²/s, where each half has up to {moments:.2f}; linear off by {push:.1e} kg m/s"
    )
    print(f"the centre of mass falls {stone[0, 2] - stone[-1, 2]:.2f} m, as a stone does to {off:.1e} m")
    if len(sys.argv) > 1:
        lw.motion_sequence(path, 7, sys.argv[1], view=(-70.0, 10.0))
    return 0 if spin < 1e-10 and push < 1e-9 and off < 1e-10 and up[-1].min() > 0.8 else 1


if __name__ == "__main__":
    sys.exit(main())
