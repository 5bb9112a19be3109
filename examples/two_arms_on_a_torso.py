"""A robot assembled from others: two Pandas on a torso that a column lifts, saved as URDF and read again.

Run it: it prints the tree, and checks that the file holds the same robot, and that both hands are in their expected
poses.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw


def build() -> lw.Model:
    arm = lw.load("panda").locked(["panda_finger_joint1"])
    builder = lw.Builder("two_pandas")
    column = {"mass": 20.0, "com": (0.0, 0.0, 0.3), "inertia": (1.0, 1.0, 0.3)}
    builder.add_body("torso", joint=lw.joints.Prismatic("z"), lower=0.0, upper=0.5, effort=500.0, **column)
    for side, y, roll in (("left", 0.2, -1.2), ("right", -0.2, 1.2)):
        builder.add_frame(f"{side}_shoulder", "torso", lw.placement((0.0, y, 0.6), (roll, 0.0, 0.0)))
        builder.add_model(arm, parent=f"{side}_shoulder", prefix=f"{side}_")
    return builder.build()


def main() -> int:
    robot = build()
    robot.tree()
    with tempfile.TemporaryDirectory() as folder:
        path = lw.save(robot, Path(folder, "two_pandas.urdf"))
        size, again = path.stat().st_size, lw.load(path)
    print(f"\nsaved in {size / 1000:.0f} kB, and read back {'equal' if again == robot else 'otherwise'}")

    bent = {"panda_joint1": 0.4, "panda_joint2": 0.5, "panda_joint4": -2.0, "panda_joint6": 1.0}
    mirrored = {"panda_joint1": -0.4, "panda_joint2": 0.5, "panda_joint4": -2.0, "panda_joint6": 1.0}
    q = robot.configuration({f"left_{name}": angle for name, angle in bent.items()})
    q = robot.configuration({f"right_{name}": angle for name, angle in mirrored.items()} | {"joint_torso": 0.1}, q)
    left, right = lw.forward_kinematics(again, q, ["left_panda_hand_tcp", "right_panda_hand_tcp"])[:, :3, 3]
    print(f"hands at {left.round(3)} and {right.round(3)}")
    lift = lw.gravity_torques(again, q)[again.v_slice("joint_torso")]
    print(f"the column lifts {lift[0]:.0f} N")
    across = abs(left - right * np.array([1.0, -1.0, 1.0])).max()
    heavy = abs(lift[0] - 9.81 * robot.mass)
    if len(sys.argv) > 1:
        lw.draw(robot, q, path=sys.argv[1], view=(-20.0, 20.0))
    return 0 if again == robot and across < 1e-12 and heavy < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
