"""Panda's hand follows a circle that leaves its workspace, and comes back to it.

The hand points down on an upright circle of 200 poses; the farthest are out of reach. The joints keep near a posture
and below their largest velocities.

Run it, with a URDF of the Panda or with the package example-robot-data installed. It checks that only poses fail that
no search reaches, and those right after, until the arm has caught up; that all limits are kept; and that the closed
path of the hand is one of the joints.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

READY = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.0, 0.0])  # seven joints, two fingers
POSES, RADIUS, STEP = 200, 0.15, 0.05  # -, m, s


def panda() -> lw.Model:
    """The model of the file given as an argument, or of the package of example robots."""
    try:
        return lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")


def main() -> int:
    arm, hand = panda(), "panda_hand_tcp"
    angles = np.pi + np.linspace(0.0, 2.0 * np.pi, POSES + 1)
    places = [(0.63 + RADIUS * np.cos(angle), 0.0, 0.3 + RADIUS * np.sin(angle)) for angle in angles]
    circle = np.array([lw.placement(place, (np.pi, 0.0, 0.0)) for place in places])

    motion = lw.follow_path(arm, circle, hand, READY, dt=STEP, posture=READY)
    reachable = lw.inverse_kinematics(arm, circle[:, None], hand).converged
    speeds = abs(np.diff(motion.q, axis=0)).max(axis=0) / STEP
    off, back = motion.error[:, 0, 0].max(), abs(motion.q[-1] - motion.q[0]).max()
    late = np.flatnonzero(reachable & ~motion.converged)
    print(f"{(~reachable).sum()} of {POSES} poses are out of reach, by up to {1e3 * off:.1f} mm; {late.size} were late")
    print(f"fastest joint: {(speeds / arm.velocity_limit).max():.0%} of its limit; the circle ends {back:.1e} rad off")
    inside = ((motion.q >= arm.lower_limit) & (motion.q <= arm.upper_limit)).all()
    good = not motion.converged[~reachable].any() and late.size <= 10 and off < 2e-3 and back < 1e-3
    return 0 if good and inside and (speeds <= arm.velocity_limit * (1.0 + 1e-12)).all() else 1


if __name__ == "__main__":
    sys.exit(main())
