"""Two arms carry a beam between them, tilt it, and squeeze it with a given force.

The arms are separate trees and the beam is a free body; two welds close the chain. The controller treats arms and beam
as one augmented object: it moves like a body on a spring and a damper, and the internal forces of the chain, which do
not move it, are commanded separately.

Run it: it checks that the beam follows its path, that the squeeze transmitted by the welds has the commanded value,
that a change of the squeeze does not affect the motion, and that the chain stays closed. With a name that ends in .png
as an argument it draws the motion.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

BEAM, MASS = (0.56, 0.08, 0.08), 3.0  # m, kg
READY = np.array([0.0, 0.3, 2.0, 0.0, -0.73, 0.0])  # each arm: column, shoulder, elbow, and a wrist of three axes
SQUEEZE = 30.0  # N


def arms() -> lw.Builder:
    """Two arms of six hinges that face each other."""
    builder = lw.Builder("two arms")
    for name, x, yaw in (("left", -1.0, 0.0), ("right", 1.0, np.pi)):
        last, place = "world", lw.placement((x, 0.0, 0.0), (0.0, 0.0, yaw))
        for i, (axis, length) in enumerate(zip("zyyzyz", (0.4, 0.5, 0.4, 0.1, 0.1, 0.1), strict=True)):
            solid = {"mass": 4.0 * length, "com": (0, 0, length / 2), "inertia": (length**2 / 3 + 0.01,) * 3}
            last = builder.add_body(f"{name}{i}", last, lw.joints.Revolute(axis), place, **solid)
            place = lw.placement((0.0, 0.0, length))
        builder.add_frame(f"{name}_hand", last, place)
    return builder


def build() -> tuple[lw.Model, list[lw.Weld], np.ndarray]:
    """The arms with the beam between their hands, and the configuration in which they hold it."""
    hands = ["left_hand", "right_hand"]
    q = np.concatenate([READY, READY])
    poses = lw.forward_kinematics(arms().build(), q, hands)
    middle = poses[:, :3, 3].mean(axis=0)
    builder = arms()
    across, along = (MASS * (BEAM[0] ** 2 + BEAM[1] ** 2) / 12,) * 2, MASS * 2 * BEAM[1] ** 2 / 12
    builder.add_body("beam", joint=lw.joints.Free(), mass=MASS, inertia=(along, *across))
    for hand, pose in zip(hands, poses, strict=True):
        pose[:3, 3] -= middle
        builder.add_frame(f"{hand}_place", "beam", pose)
    return builder.build(), [lw.Weld(hand, f"{hand}_place") for hand in hands], np.array([*q, *middle, 0, 0, 0, 1])


def main() -> int:
    model, welds, q = build()
    here = lw.forward_kinematics(model, q, ["beam"])[0]
    there = here.copy()
    there[:3, 3] += [0.05, 0.25, 0.15]
    tilt = 0.3
    there[:3, :3] = [[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]]
    path = lw.control.CubicSpline([0.0, 1.0, 2.0], [here, there, here])
    inward = lw.forward_kinematics(model, q, ["left_hand", "right_hand"])[:, :3, :3]
    press = np.zeros((2, 6))
    press[0, :3], press[1, :3] = inward[0].T @ [SQUEEZE, 0, 0], inward[1].T @ [-SQUEEZE, 0, 0]  # in the hands' axes

    def carried(internal: np.ndarray) -> tuple[lw.control.HeldObject, lw.Trajectory]:
        held = lw.control.HeldObject("beam", welds, path, internal=internal)
        controller = lw.control.OperationalSpaceController(model, [held], lw.control.Posture(q))
        options = {"torque": controller, "constraints": welds, "integrator": "runge_kutta_4"}
        return held, lw.simulate(model, q, np.zeros(model.nv), 2.0, 0.01, **options)

    held, motion = carried(press)
    _, relaxed = carried(0.0 * press)
    places = lw.forward_kinematics(model, motion.q, ["beam", "left_hand", "left_hand_place"])
    wrong = {
        "path": max(abs(held.error(t, place)).max() for t, place in zip(motion.t, places[:, 0], strict=True)),
        "squeeze": 0.0,
        "motion": abs(motion.q - relaxed.q).max(),
        "chain": abs(places[:, 1] - places[:, 2]).max(),
    }
    for q_now, v_now, wrenches in zip(motion.q, motion.v, motion.constraint_forces, strict=True):
        whole = lw.control.augmented_object(model, q_now, v_now, held)
        wrong["squeeze"] = max(wrong["squeeze"], abs(whole.internal(-wrenches) - whole.internal(press)).max())
    print(f"beam went {np.ptp(places[:, 0, :3, 3], axis=0).round(3)} m, and is off its path by {wrong['path']:.1e}")
    print(f"squeeze of {SQUEEZE:g} N wrong by {wrong['squeeze']:.1e} N; it changed the motion by {wrong['motion']:.1e}")
    print(f"chain open by {wrong['chain']:.1e} m")
    if len(sys.argv) > 1:
        lw.motion_sequence(motion, [0.0, 0.4, 0.7, 1.0], sys.argv[1], boxes={"beam": BEAM}, ground=0.0, trails=["beam"])
    limits = {"path": 1e-6, "squeeze": 1e-3, "motion": 1e-6, "chain": 1e-5}
    return 0 if all(wrong[name] < limit for name, limit in limits.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
