"""A G1 takes a step: it shifts its weight to the left foot, swings the right one forward, and stands on both again.

Each sole has a small ball at its four corners, which may touch the floor (``lw.Contact``). The supports of a whole-body
controller are both soles, then the left one alone while the right foot follows a path through the air, then both.

Run it, optionally with the path of an image to write. It checks that the right foot carries no load in the air and
lands at its target, that the left one does not move, that all contact forces push and lie in their friction cones, and
that the robot ends standing between its feet.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw
from linkwork.control import CentreOfMass, CubicSpline, MinimumJerk, Posture, Support, Task, WholeBodyController

SHIFT, SWING, RETURN, STAY = 1.2, 0.7, 1.0, 0.2  # s
LENGTH, LIFT, SINK = 0.2, 0.06, 0.06  # m
DT, HOLD = 0.002, 4
FRICTION, RELIED_ON = 0.8, 0.5
BALL = 0.005  # m
SOLE = np.array([(-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03)])
LEFT, RIGHT = "left_ankle_roll_link", "right_ankle_roll_link"
BENT = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
LEGS = ("hip", "knee", "ankle")


def main() -> int:
    whole = lw.load("g1_29dof_rev_1_0", floating_base=True)
    robot = whole.locked([name for name in whole.joint_names[1:] if not any(part in name for part in LEGS)])
    q = robot.configuration({f"{side}_{name}_joint": x for side in ("left", "right") for name, x in BENT.items()})
    touching = [
        lw.Contact(foot, lw.Sphere(BALL), friction=FRICTION, placement=lw.placement(corner))
        for foot in (LEFT, RIGHT)
        for corner in SOLE
    ]
    with lw.interpreted():
        _, gaps = lw.contact_points(robot, q, touching)
        q[2] -= gaps.min()
        soles, _ = lw.contact_points(robot, q, touching)
        com, foot = lw.centre_of_mass(robot, q), lw.forward_kinematics(robot, q, [RIGHT])[0]

    # the centre of mass moves over the left sole, stays there while the other foot swings, and then between both
    left, right = soles[:4].mean(axis=0), soles[4:].mean(axis=0) + np.array([LENGTH, 0.0, 0.0])
    over = np.array([*left[:2], com[2] - SINK])
    between = np.array([*(0.5 * (left + right))[:2], com[2] - SINK])
    lifted, landed = SHIFT, SHIFT + SWING
    air, ground = foot.copy(), foot.copy()
    air[:3, 3] += [0.5 * LENGTH, 0.0, LIFT]
    ground[0, 3] += LENGTH
    swing = CubicSpline([lifted, lifted + 0.5 * SWING, landed], [foot, air, ground])

    both = [Support(name, SOLE, RELIED_ON, radius=BALL) for name in (LEFT, RIGHT)]
    upright = Task(lw.Point("pelvis", axes="rotation"), np.eye(3))
    there, back = MinimumJerk(com, over, SHIFT), MinimumJerk(over, between, RETURN, begin=landed)
    shifting = WholeBodyController(robot, [[CentreOfMass(there), upright]], both, Posture())
    goals = [CentreOfMass(there), upright, Task(RIGHT, swing)]
    stepping = WholeBodyController(robot, [goals], both[:1], Posture())
    returning = WholeBodyController(robot, [[CentreOfMass(back), upright]], both, Posture())

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (shifting if t < lifted else stepping if t < landed else returning).torque(t, q, v)

    motion = lw.simulate(
        robot, q, np.zeros(robot.nv), landed + RETURN + STAY, DT, torque=torque, hold=HOLD, record=HOLD,
        contacts=touching, contact_forces=True,
    )  # fmt: skip
    forces = motion.constraint_forces[..., :3]
    along, across = forces[..., 2], np.hypot(forces[..., 0], forces[..., 1])
    on_left, on_right = along[:, :4].sum(axis=1), along[:, 4:].sum(axis=1)
    swinging = (motion.t > lifted + 0.05) & (motion.t < landed - 0.05)
    with lw.interpreted():
        places = lw.forward_kinematics(robot, motion.q, [LEFT, RIGHT])[..., :3, 3]
    weight, slip = 9.81 * robot.mass, np.linalg.norm(places[:, 0] - places[0, 0], axis=-1).max()
    missed = np.linalg.norm(places[-1, 1] - ground[:3, 3])
    off = np.linalg.norm(lw.centre_of_mass(robot, motion.q)[-1] - between)
    share = np.abs(motion.tau[:, robot.actuated] / robot.effort_limit[robot.actuated]).max()
    print(f"{robot.name}: a step of {LENGTH:g} m in {SWING:g} s, {LIFT:g} m high")
    print(f"the left foot bears up to {on_left.max():.0f} N of {weight:.0f} N, and moves by {1e3 * slip:.1f} mm")
    print(f"the right one bears {on_right[swinging].max():.0f} N in the air and lands {1e3 * missed:.1f} mm off")
    print(
        f"in the end they bear {on_left[-1]:.0f} and {on_right[-1]:.0f} N; the centre of mass is {1e3 * off:.1f} mm off"
    )
    print(f"motors give up to {share:.0%} of what they can")
    if len(sys.argv) > 1:
        shown = motion.q[[0, int((lifted + 0.5 * SWING) / DT / HOLD), -1]]
        lw.draw(robot, shown, path=sys.argv[1], trails=[places[:, 1]], view=(-50.0, 12.0))
    holds = {
        "the floor pushes": along.min() >= 0.0,
        "forces lie in their cones": (across <= FRICTION * along + 1e-6).all(),
        "the left foot stands": slip < 0.008 and on_left[swinging].min() > 0.7 * weight,
        "the right one swings": on_right[swinging].max() == 0.0 and places[:, 1, 2].max() > foot[2, 3] + 0.9 * LIFT,
        "and lands": missed < 0.01,
        "both bear the robot": abs(on_left[-1] + on_right[-1] - weight) < 0.01 * weight and off < 0.01,
        "evenly": abs(on_left[-1] - on_right[-1]) < 0.2 * weight,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
