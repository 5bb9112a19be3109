"""A G1 stands on its feet on a floor and reaches with a hand, by the operational space of a robot on supports.

The controller takes the feet as constraints: it moves pelvis and hand in the motions that they allow, and commands
motors alone; the floor drives the floating base. That law is one kernel: it has no friction cones and no limits, where
``lw.control.WholeBodyController`` solves quadratic programs. In the simulation nothing is welded: balls at the corners
of the soles touch a floor that pushes and never pulls, with friction.

Run it, optionally with the path of an image to write. It checks that hand and pelvis follow their paths, that only
motors are commanded, that soles do not move, and that the floor's forces are those that the controller relies on.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

REACH = np.array([0.1, -0.05, 0.2])  # m
SHIFT = np.array([0.01, 0.0, -0.05])  # m, of the pelvis
MOVE, STAY, DT, HOLD = 0.8, 0.3, 0.002, 2  # s
FRICTION, BALL = 0.8, 0.005  # m
SOLE = np.array([(-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03)])
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
HAND = lw.Point("right_rubber_hand", axes="position")
BENT = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4, "shoulder_pitch": 0.2, "elbow": 0.6}
FROZEN = ("wrist", "waist", "left_shoulder", "left_elbow")
"""Joints that are locked: a mechanism of 21 bodies needs less code."""


def main() -> int:
    whole = lw.load("g1_29dof_rev_1_0", floating_base=True)
    bent = {f"{side}_{name}_joint": x for side in ("left", "right") for name, x in BENT.items()}
    frozen = {name: bent.pop(name, 0.0) for name in whole.joint_names if any(part in name for part in FROZEN)}
    robot = whole.locked(frozen)
    q = robot.configuration(bent)
    touching = [
        lw.Contact(foot, lw.Sphere(BALL), friction=FRICTION, placement=lw.placement(corner))
        for foot in FEET
        for corner in SOLE
    ]
    with lw.interpreted():
        _, gaps = lw.contact_points(robot, q, touching)
        q[2] -= gaps.min()
        pelvis, hand = lw.forward_kinematics(robot, q, ["pelvis", HAND])
    lower = pelvis.copy()
    lower[:3, 3] += SHIFT
    sinks = lw.control.MinimumJerk(pelvis, lower, MOVE)
    reaches = lw.control.MinimumJerk(hand[:3, 3], hand[:3, 3] + REACH, MOVE)
    controller = lw.control.OperationalSpaceController(
        robot,
        [lw.control.Task("pelvis", sinks, kp=200.0), lw.control.Task(HAND, reaches, kp=200.0)],
        lw.control.Posture(q),
        constraints=[lw.Weld.at(robot, q, foot) for foot in FEET],
    )
    motion = lw.simulate(
        robot, q, np.zeros(robot.nv), MOVE + STAY, DT, torque=controller, hold=HOLD, record=HOLD, contacts=touching,
        contact_forces=True,
    )  # fmt: skip

    with lw.interpreted():
        places = lw.forward_kinematics(robot, motion.q, [*FEET, "pelvis", HAND])[:, :, :3, 3]
        feet = lw.forward_kinematics(robot, motion.q, FEET)
    slip = np.linalg.norm(places[:, :2] - places[0, :2], axis=-1).max()
    off = {
        "pelvis": np.linalg.norm(places[:, 2] - [sinks.at(t).value[:3, 3] for t in motion.t], axis=-1).max(),
        "hand": np.linalg.norm(places[:, 3] - [reaches.at(t).value for t in motion.t], axis=-1).max(),
    }
    floor = motion.constraint_forces[..., :3].reshape(len(motion.t), 2, len(SOLE), 3).sum(axis=2)
    told = np.array([controller.command(*state).reactions for state in zip(motion.t, motion.q, motion.v, strict=True)])
    relied = np.einsum("kfij,kfj->kfi", feet[..., :3, :3], told[..., :3])  # in world axes, like the floor's
    settled = motion.t > 0.2  # the floor is soft: the robot first settles on it
    wrong = abs(floor - relied)[settled].max()
    along, across = (motion.constraint_forces[..., 2], np.hypot(*np.moveaxis(motion.constraint_forces[..., :2], -1, 0)))
    print(f"{robot.name} reaches by {np.linalg.norm(REACH):.2f} m on a floor, {robot.nv} degrees of freedom")
    print(f"pelvis off its path by {1e3 * off['pelvis']:.1f} mm, hand by {1e3 * off['hand']:.1f} mm at most")
    print(f"soles move by {1e3 * slip:.2f} mm; forces of feet differ from those relied on by {wrong:.1f} N at most")
    if len(sys.argv) > 1:
        lw.draw(robot, motion.q[[0, len(motion) - 1]], path=sys.argv[1], trails=[places[:, 3]], view=(-40.0, 15.0))
    holds = {
        "paths are kept": off["pelvis"] < 0.003 and off["hand"] < 0.003,
        "only motors are commanded": not motion.tau[:, ~robot.actuated].any(),
        "soles stay": slip < 0.002,
        "the floor pushes, within its friction": bool(
            (along >= 0.0).all() and (across <= FRICTION * along + 1e-6).all()
        ),
        "the floor does what the controller relies on": wrong < 0.05 * 9.81 * robot.mass,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
