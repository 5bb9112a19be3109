"""A G1 squats, waves and rises again, on a floor that pushes and never pulls.

Each sole has a small ball at its four corners, as in its file, and these may touch the floor (``lw.Contact``). A
whole-body controller, called 125 times a second, lowers and raises the centre of mass and keeps the torso upright; with
lower priority the right hand waves, and the other joints keep their posture. Nothing holds the robot but its soles: the
controller chooses contact forces inside narrower friction cones than the floor's, and torques within the motors'
limits.

Run it, optionally with the path of an image to write. It checks that the floor's forces push, lie in their friction
cones and carry the weight, that the soles do not move, that no torque exceeds its limit, and that the centre of mass
and the hand follow their paths.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DOWN, WAVES, UP, STAY = 0.7, 1.0, 0.7, 0.2  # s
DEPTH, SWAY = 0.12, 0.08  # m
DT, HOLD = 0.002, 4
FRICTION, RELIED_ON = 0.8, 0.5
BALL = 0.005  # m
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
        places, _ = lw.contact_points(robot, q, touching)
        com, hand = lw.centre_of_mass(robot, q), lw.forward_kinematics(robot, q, [HAND])[0, :3, 3]
    middle = np.array([*places[:, :2].mean(axis=0), com[2]])
    low = middle - [0.0, 0.0, DEPTH]
    raised = hand + np.array([-0.05, -0.15, 0.35 - DEPTH])
    side = np.array([0.0, SWAY, 0.0])
    end = DOWN + WAVES + UP
    squat = lw.control.CubicSpline([0.0, DOWN, DOWN + WAVES, end], [com, low, low, middle])
    swings = [raised, raised + side, raised - side, raised + side, raised]
    times = [0.0, *np.linspace(DOWN, DOWN + WAVES, len(swings)), end]
    wave = lw.control.CubicSpline(times, [hand, *swings, hand])
    upright = lw.control.Task(lw.Point("torso_link", axes="rotation"), np.eye(3))
    controller = lw.control.WholeBodyController(
        robot,
        [[lw.control.CentreOfMass(squat), upright], lw.control.Task(HAND, wave)],
        [lw.control.Support(foot, SOLE, friction=RELIED_ON, radius=BALL) for foot in FEET],
        lw.control.Posture(q),
    )
    motion = lw.simulate(
        robot, q, np.zeros(robot.nv), end + STAY, DT, torque=controller, hold=HOLD, record=HOLD, contacts=touching,
        contact_forces=True,
    )  # fmt: skip

    forces = motion.constraint_forces[..., :3]
    along, across = forces[..., 2], np.hypot(forces[..., 0], forces[..., 1])
    weight = 9.81 * robot.mass
    with lw.interpreted():
        places = lw.forward_kinematics(robot, motion.q, [*FEET, HAND])[:, :, :3, 3]
    slip = np.linalg.norm(places[:, :2] - places[0, :2], axis=-1).max()
    off = [np.linalg.norm(lw.centre_of_mass(robot, motion.q) - [squat.at(t).value for t in motion.t], axis=-1)]
    off.append(np.linalg.norm(places[:, 2] - [wave.at(t).value for t in motion.t], axis=-1))
    share = np.abs(motion.tau[:, robot.actuated] / robot.effort_limit[robot.actuated]).max()
    print(f"{robot.name}: squats by {DEPTH:g} m and waves by {SWAY:g} m, {motion.t[-1]:.1f} s")
    given = along.sum(axis=1)
    print(f"the floor gives {given.min():.0f} to {given.max():.0f} N, the weight is {weight:.0f} N")
    print(f"soles move by {1e3 * slip:.1f} mm; motors give up to {share:.0%} of what they can")
    print(f"the centre of mass is off by {1e3 * off[0].max():.0f} mm at most, the hand by {1e3 * off[1].max():.0f} mm")
    if len(sys.argv) > 1:
        lw.draw(robot, motion.q[[0, len(motion) // 2]], path=sys.argv[1], trails=[places[:, 2]], view=(-40.0, 15.0))
    settled = motion.t > 0.1  # the floor is soft: the robot first settles on it
    holds = {
        "the floor pushes": along.min() >= 0.0,
        "forces lie in their cones": (across <= FRICTION * along + 1e-6).all(),
        "the weight is borne": abs(given[settled].mean() - weight) < 0.01 * weight,
        "soles stay": slip < 0.005,
        "torques are within limits": share <= 1.0 + 1e-9,
        "paths are kept": off[0].max() < 0.01 and off[1].max() < 0.03,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
