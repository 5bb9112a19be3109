"""An arm on a base that slides on the floor: as the arm swings, the base moves the other way.

No horizontal force acts on the robot, so its centre of mass stays above one point. Run it: it checks this, and that
with the base locked the arm is the same as the arm alone.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

SWING = {"panda_joint1": 8.0, "panda_joint2": 4.0, "panda_joint4": -3.0}  # N m


def build(arm: lw.Model) -> lw.Model:
    builder = lw.Builder("mobile_panda")
    builder.add_body("base", joint=lw.joints.Planar(), mass=30.0, com=(0.0, 0.0, 0.1), inertia=(1.0, 1.0, 1.5))
    builder.add_model(arm, "base", lw.placement((0.1, 0.0, 0.3)))
    return builder.build()


def motion(robot: lw.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations for these torques plus gravity compensation of the arm."""
    return lw.forward_dynamics(robot, q, v, lw.gravity_torques(robot, q) + tau)


def main() -> int:
    arm = lw.load("panda").locked(["panda_finger_joint1"])
    robot = build(arm)
    q = robot.configuration({"panda_joint2": -0.4, "panda_joint4": -2.0, "panda_joint6": 1.6})
    tau = np.zeros(robot.nv)
    tau[robot.permutation(list(SWING))] = list(SWING.values())
    with lw.interpreted():  # a few steps: compiling does not pay off
        start, v, step = lw.centre_of_mass(robot, q), np.zeros(robot.nv), 2e-3
        for _ in range(50):  # the midpoint method
            middle = lw.integrate(robot, q, 0.5 * step * v), v + 0.5 * step * motion(robot, q, v, tau)
            q, v = lw.integrate(robot, q, step * middle[1]), v + step * motion(robot, *middle, tau)
        drift = abs(lw.centre_of_mass(robot, q) - start)[:2].max()
        x, y, cosine, sine = q[robot.q_slice("joint_base")]
        print(
            f"in 0.1 s the base moves by {1e3 * np.hypot(x, y):.1f} mm and turns by {np.arctan2(sine, cosine):.3f} rad"
        )
        print(f"the centre of mass stays above its place to {drift:.0e} m")

        parked = robot.locked(["joint_base"], q)
        of_arm = robot.permutation(list(arm.joint_names), "q")
        torques = [lw.gravity_torques(model, q[of_arm]) for model in (parked, arm)]
        same = abs(torques[0] - torques[1]).max()
    print(f"on a parked base the arm weighs what it weighs alone, to {same:.0e} N m")
    if len(sys.argv) > 1:
        lw.draw(robot, q, path=sys.argv[1], frames=["base"])
    return 0 if drift < 1e-5 and same < 1e-9 and np.hypot(x, y) > 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
