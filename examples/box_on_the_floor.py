"""A humanoid puts a box on the floor, which then supports it, and lets it go.

Nothing is welded: the soles stand on the floor, two balls in each palm press on the sides of the box, which is held by
friction alone, and the box may touch the floor (``lw.Contact``, here also between two bodies). The whole-body
controller has the same contacts as supports: the soles on the floor, the palms on the box (``on="box"``), and, once it
is down, the box on the floor. The task is a path of the box itself; the forces of palms and soles and the joint torques
follow from it. Finally the hands open.

Run it, optionally with the path of an image to write. It checks that all contact forces push and lie in their friction
cones, that the box follows its path and does not slip in the hands, that first the hands and finally the floor carry
its weight, and that the person still stands.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw
from linkwork.control import CentreOfMass, MinimumJerk, Posture, Support, Task, WholeBodyController

MASS, HALF = 4.0, (0.12, 0.19, 0.24)  # kg, m
LOWERING, OPENING = 1.6, 0.6  # s
DT, HOLD = 0.002, 4
FRICTION, RELIED_ON, SQUEEZE = 0.9, 0.6, 15.0  # N, on each ball at least
BALL, GRIP = 0.03, 0.14  # m: the balls, and the height of the grip above the box's centre
FORWARD, SINK = 0.45, 0.32  # m: where the box is put, and how far the centre of mass is lowered
SOLE = np.array([(0.16, 0.04, 0.0), (0.16, -0.04, 0.0), (-0.08, 0.04, 0.0), (-0.08, -0.04, 0.0)])
PALM = np.array([(0.0, 0.0, 0.04), (0.0, 0.0, -0.04)])  # the hand's z axis is along its fingers
BOTTOM = np.array([(x, y, -HALF[2]) for x in (HALF[0], -HALF[0]) for y in (HALF[1], -HALF[1])])
SIDES = {"left": 1.0, "right": -1.0}
FROZEN = ("waist_yaw", "waist_roll", "neck", "shoulder_yaw", "wrist_yaw", "wrist_roll")
BENT = {
    "waist_pitch": 0.05, "shoulder_pitch": -0.25, "elbow_pitch": -1.35, "wrist_pitch": 0.7,
    "hip_pitch": -0.3, "knee_pitch": 0.6, "ankle_pitch": -0.3,
}  # fmt: skip


def build() -> lw.Model:
    """A person and a box."""
    person = lw.mechanisms.humanoid(floating_base=True)
    builder = lw.Builder("person with a box")
    builder.add_model(person.locked([name for name in person.joint_names if any(part in name for part in FROZEN)]))
    x, y, z = (MASS / 3.0 * half**2 for half in HALF)
    builder.add_body("box", joint=lw.joints.Free(), mass=MASS, inertia=(y + z, x + z, x + y))
    return builder.build()


def main() -> int:
    model = build()
    q = model.configuration({name: x for name in model.joint_names for part, x in BENT.items() if part in name})
    soles, hands = [f"{side}_sole" for side in SIDES], [f"{side}_hand" for side in SIDES]
    with lw.interpreted():
        q[2] -= lw.forward_kinematics(model, q, soles)[0, 2, 3]
        places = lw.forward_kinematics(model, q, [*soles, *hands])[:, :3, 3]
        middle, grip = places[:2, 0].mean() + SOLE[:, 0].mean(), places[2:].mean(axis=0)
        q[model.q_slice("joint_box")] = [*(grip - [0.0, 0.0, GRIP]), 0.0, 0.0, 0.0, 1.0]
        com = lw.centre_of_mass(model, q)
    half_width = places[2, 1] - BALL + 0.001  # so that the hands press from the beginning

    touching = [lw.Contact(sole, friction=FRICTION, placement=lw.placement(at)) for sole in soles for at in SOLE]
    for side, sign in SIDES.items():
        face = lw.Plane((0.0, sign, 0.0), half_width)
        ball = {"shape": lw.Sphere(BALL), "against": face, "on": "box", "friction": FRICTION}
        touching += [lw.Contact(f"{side}_hand", placement=lw.placement(at), **ball) for at in PALM]
    touching.append(lw.Contact("box", lw.Box((HALF[0], half_width, HALF[2])), friction=FRICTION))

    standing = [Support(sole, SOLE, RELIED_ON) for sole in soles]
    holding = [
        Support(f"{side}_hand", PALM, RELIED_ON, (0.0, sign, 0.0), least=SQUEEZE, radius=BALL, on="box")
        for side, sign in SIDES.items()
    ]
    lying = Support("box", BOTTOM, RELIED_ON)
    # Finally the centre of mass of the person alone must be above the soles.
    down = [middle + MASS / model.mass * (FORWARD - middle), 0.0, com[2] - SINK]
    start, end = np.eye(4), np.eye(4)
    start[:3, 3], end[:3, 3] = q[model.q_slice("joint_box")][:3], (FORWARD, 0.0, HALF[2])
    path = MinimumJerk(start, end, LOWERING)
    sinking = CentreOfMass(MinimumJerk(com, down, LOWERING))
    upright = Task(lw.Point("pelvis", axes="rotation"), np.eye(3))
    carry = WholeBodyController(model, [[sinking, upright], Task("box", path)], [*standing, *holding], Posture(q))
    leave: WholeBodyController | None = None

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        nonlocal leave
        if t < LOWERING:
            return carry.torque(t, q, v)
        if leave is None:  # the hands open from where they are
            opening = []
            for hand, sign, place in zip(hands, SIDES.values(), lw.forward_kinematics(model, q, hands), strict=True):
                away = MinimumJerk(place[:3, 3], place[:3, 3] + [0.0, 0.06 * sign, 0.0], OPENING, begin=LOWERING)
                opening.append(Task(lw.Point(hand, axes="position"), away))
            leave = WholeBodyController(model, [[sinking, upright], opening], [*standing, lying], Posture(q))
        return leave.torque(t, q, v)

    motion = lw.simulate(
        model, q, np.zeros(model.nv), LOWERING + OPENING + 0.2, DT, torque=torque, hold=HOLD, record=HOLD,
        contacts=lw.Contacts(tuple(touching), friction_ratio=10.0), contact_forces=True,
    )  # fmt: skip
    with lw.interpreted():
        places = lw.forward_kinematics(model, motion.q, ["box", *hands, *soles])[..., :3, 3]
    forces = motion.constraint_forces[..., :3]
    feet, palms, floor = np.split(forces, [8, 12], axis=1)
    held = np.flatnonzero((motion.t > 0.1) & (motion.t < LOWERING - 0.2))  # after the soles have settled on the floor
    weights = 9.81 * MASS, 9.81 * (model.mass - MASS)
    off = np.linalg.norm(places[:, 0] - [path.at(t).value[:3, 3] for t in motion.t], axis=-1).max()
    crept = np.linalg.norm(np.diff(places[held][:, :2], axis=1)[:, 0] - (places[0, 1] - places[0, 0]), axis=-1).max()
    slip = np.linalg.norm(places[:, 3:] - places[0, 3:], axis=-1).max()
    depth, pressed = start[2, 3] - end[2, 3], np.abs(palms[held, :, 1])
    print(f"{model.name}: {MASS:g} kg go down by {depth:.2f} m in {LOWERING:g} s, off by {1e3 * off:.1f} mm at most")
    print(f"each ball of a palm presses with {pressed.min():.0f} to {pressed.max():.0f} N")
    print(f"the box creeps in the hands by {1e3 * crept:.1f} mm, the soles on the floor by {1e3 * slip:.1f} mm")
    print(f"in the end the floor bears {floor[-1, :, 2].sum():.2f} N, the box weighs {weights[0]:.2f} N")
    if len(sys.argv) > 1:
        boxes = {"box": tuple(2.0 * x for x in HALF)}
        lw.draw(model, motion.q[[0, -1]], path=sys.argv[1], boxes=boxes, view=(-60.0, 15.0))
    along = np.concatenate([feet[..., 2], np.abs(palms[..., 1]), floor[..., 2]], axis=1)
    across = np.linalg.norm(forces, axis=-1) ** 2 - along**2
    inward = palms[..., 1] * [1.0, 1.0, -1.0, -1.0]
    holds = {
        "all push": min(feet[..., 2].min(), floor[..., 2].min(), inward.min()) >= 0.0,
        "forces lie in their cones": (np.sqrt(np.maximum(across, 0.0)) <= FRICTION * along + 1e-3).all(),
        "the hands bear the box": not floor[held].any()
        and np.abs(palms[held, :, 2].sum(axis=1) + weights[0]).max() < 8.0,
        "it keeps to its path": off < 0.005 and crept < 0.005,
        "the floor bears it": not palms[-1].any() and abs(floor[-1, :, 2].sum() - weights[0]) < 1e-3 * weights[0],
        "it lies still": np.abs(motion.v[-1, -6:]).max() < 1e-3,
        "the person stands": slip < 0.005 and abs(feet[-1, :, 2].sum() - weights[1]) < 0.01 * weights[1],
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
