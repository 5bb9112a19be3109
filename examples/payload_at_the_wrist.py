"""Panda holds a weight: the torques that this takes, the motors' remaining capacity, and the load on its wrist.

The weight is modelled in two ways, as a body held by the hand and as a force at the hand; at rest both are equivalent.
Run it: it checks that they are, and that the wrist carries the weight of hand and load.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

WEIGHT = 2.0  # kg
READY = {"panda_joint2": -0.6, "panda_joint4": -2.2, "panda_joint6": 1.6, "panda_joint7": 0.8}


def main() -> int:
    robot = lw.load("panda").locked({"panda_finger_joint1": 0.02})  # the other finger is coupled to it
    q, still = robot.configuration(READY), np.zeros(robot.nv)
    loaded = robot.with_payload("panda_hand_tcp", WEIGHT, com=(0.0, 0.0, 0.05))

    tau, wrenches = lw.inverse_dynamics_and_reactions(loaded, q, still, still, frame="panda_hand")
    print("torque to hold it (N m):", tau.round(1))
    used = abs(tau) / loaded.effort_limit
    worst = int(used.argmax())
    print(f"{loaded.joint_names[worst]} uses {used[worst]:.0%} of its motor")

    wrist = loaded.joint("panda_joint7")
    force, moment = wrenches[wrist.index, :3], wrenches[wrist.index, 3:]
    print(f"the wrist bears {np.linalg.norm(force):.1f} N and {np.linalg.norm(moment):.2f} N m, as the hand feels it")

    point = lw.Point("panda_hand_tcp", offset=(0.0, 0.0, 0.05), axes="position")
    f_ext = lw.external_wrench(robot, q, {point: [0.0, 0.0, -9.81 * WEIGHT]})
    as_force = lw.inverse_dynamics(robot, q, still, still, f_ext)
    weight = 9.81 * (robot.body(wrist.child).mass + WEIGHT)
    off = abs(as_force - tau).max()
    print(f"the weight as a force at the hand gives the same torques to {off:.0e} N m")
    if len(sys.argv) > 1:
        lw.draw(loaded, q, path=sys.argv[1], frames=["panda_hand_tcp"])
    return 0 if off < 1e-10 and abs(np.linalg.norm(force) - weight) < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
