"""ANYmal stands: the load on each foot, and the torques of the motors.

Each foot is held where it is (``lw.Ball.at``), first all four of them, then three. Run it: it checks that the feet
together carry the weight, and that only motors and feet hold the robot.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

LEGS = ("LF", "RF", "LH", "RH")


def main() -> int:
    dog = lw.load("anymal_b", floating_base=True)
    bent = {f"{leg}_{joint}": angle for leg in LEGS for joint, angle in _angles(leg).items()}
    q, still = dog.configuration(bent), np.zeros(dog.nv)
    with lw.interpreted():
        for feet in (LEGS, LEGS[1:]):
            held = [lw.Ball.at(dog, q, f"{leg}_FOOT") for leg in feet]
            tau, wrenches = lw.constrained_inverse_dynamics(dog, q, still, still, held, actuated=dog.actuated)
            place = lw.forward_kinematics(dog, q, [f"{leg}_FOOT" for leg in feet])
            forces = np.einsum("fij,fj->fi", place[:, :3, :3], wrenches[:, :3])  # in world axes
            print(f"{len(feet)} feet bear {forces[:, 2].round(0)} N, the largest torque is {abs(tau).max():.0f} N m")
            off = abs(forces.sum(axis=0) - [0.0, 0.0, 9.81 * dog.mass]).max()
            if off > 1e-8 or abs(tau[~dog.actuated]).max() > 1e-8:
                return 1
    if len(sys.argv) > 1:
        lw.draw(dog, q, path=sys.argv[1], view=(-60.0, 20.0))
    return 0


def _angles(leg: str) -> dict[str, float]:
    """Knees bent, feet below the hips."""
    front = 1.0 if leg.endswith("F") else -1.0
    return {"HFE": 0.7 * front, "KFE": -1.3 * front}


if __name__ == "__main__":
    sys.exit(main())
