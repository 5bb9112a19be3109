"""Four arms hold a box, turn it, and squeeze it as told: each pair of hands with its own force, and one twists it.

The box is a free body, welded to the hands. The controller moves box and arms as one augmented object. What strains the
box and does not move it is commanded as the forces of a virtual linkage: six links between the four grasps, each with a
tension, and a moment at each grasp. The grasps are at two heights, since links in one plane resist no force out of it.

Run it: it checks that the box follows its path, that the forces in the welds, measured as those of the linkage, are the
commanded ones, and that a change of them does not move the box. With a name that ends in .png it draws the motion.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

SIDE, MASS = 0.3, 4.0  # m, kg
READY = np.array([0.0, 0.5, 1.6, 0.0, -0.53, 0.0])  # each arm: column, shoulder, elbow, and a wrist of three axes
SQUEEZE, TWIST = 25.0, 1.5  # N, N m
MOVE, STAY, DT = 1.0, 0.4, 0.01  # s
HANDS = ["east", "north", "west", "south"]


def arms() -> lw.Builder:
    """Four arms of six hinges around the origin; two stand higher than the others."""
    builder = lw.Builder("four arms")
    for k, name in enumerate(HANDS):
        angle = k * np.pi / 2
        place = lw.placement((np.cos(angle), np.sin(angle), 0.1 * (k % 2)), (0.0, 0.0, angle + np.pi))
        last = "world"
        for i, (axis, length) in enumerate(zip("zyyzyz", (0.4, 0.5, 0.4, 0.1, 0.1, 0.1), strict=True)):
            solid = {"mass": 4.0 * length, "com": (0, 0, length / 2), "inertia": (length**2 / 3 + 0.01,) * 3}
            last = builder.add_body(f"{name}{i}", last, lw.joints.Revolute(axis), place, **solid)
            place = lw.placement((0.0, 0.0, length))
        builder.add_frame(name, last, place)
    return builder


def build() -> tuple[lw.Model, list[lw.Weld], np.ndarray]:
    """The arms with the box between their hands, and the configuration in which they hold it."""
    q = np.tile(READY, len(HANDS))
    poses = lw.forward_kinematics(arms().build(), q, HANDS)
    middle = poses[:, :3, 3].mean(axis=0)
    builder = arms()
    builder.add_body("box", joint=lw.joints.Free(), mass=MASS, inertia=lw.mechanisms.box(MASS, (SIDE,) * 3))
    for hand, pose in zip(HANDS, poses, strict=True):
        pose[:3, 3] -= middle
        builder.add_frame(f"{hand}_grasp", "box", pose)
    return builder.build(), [lw.Weld(hand, f"{hand}_grasp") for hand in HANDS], np.array([*q, *middle, 0, 0, 0, 1])


def main() -> int:
    model, welds, q = build()
    here = lw.forward_kinematics(model, q, ["box"])[0]
    there = here.copy()
    there[:3, 3] += [0.05, -0.04, 0.1]
    turn = 0.25
    there[:3, :3] = [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    path = lw.control.MinimumJerk(here, there, MOVE)

    relaxed = lw.control.HeldObject("box", welds, path, kp=400.0, links="auto")
    linkage = relaxed.linkage(model)
    told = np.zeros(6 * len(HANDS) - 6)
    told[linkage.links.index((0, 2))] = -SQUEEZE  # east and west push towards each other
    told[linkage.links.index((1, 3))] = -2.0 * SQUEEZE
    told[linkage.links.index((0, 1))] = 0.5 * SQUEEZE
    told[len(linkage.links) + 2] = TWIST  # about the axis of the first hand
    strained = lw.control.HeldObject("box", welds, path, kp=400.0, internal=told, links="auto")

    motions = {}
    for name, held in (("relaxed", relaxed), ("squeezed", strained)):
        controller = lw.control.OperationalSpaceController(model, [held], lw.control.Posture(q))
        motions[name] = lw.simulate(
            model, q, np.zeros(model.nv), MOVE + STAY, DT, torque=controller, constraints=welds,
            integrator="runge_kutta_4",
        )  # fmt: skip
    motion = motions["squeezed"]
    boxes = {name: lw.forward_kinematics(model, each.q, ["box"])[:, 0] for name, each in motions.items()}
    off = np.linalg.norm(boxes["squeezed"][:, :3, 3] - [path.at(t).value[:3, 3] for t in motion.t], axis=1).max()
    inside = linkage.measured(-motion.constraint_forces)  # the weld's force is on the hand, its opposite on the box
    tensions = abs(inside.tensions - told[:6]).max()
    moments = abs(inside.moments.reshape(len(motion.t), -1) - told[6:]).max()
    apart = abs(boxes["squeezed"] - boxes["relaxed"]).max()
    carried = inside.resultant[-1, 2]
    print(f"four hands move a box of {MASS:g} kg by {1e3 * np.linalg.norm((there - here)[:3, 3]):.0f} mm, {turn:g} rad")
    print(f"it is off its path by {1e6 * off:.1f} µm at most")
    names = [f"{HANDS[a]}-{HANDS[b]} {tension:.1f} N" for (a, b), tension in zip(linkage.links, told, strict=False)]
    print(f"tensions: {', '.join(names)}; off by {tensions:.1e} N at most, moments by {moments:.1e} N m")
    print(f"the squeeze changes the box's motion by {apart:.1e} m at most; at rest the hands carry {carried:.2f} N")
    if len(sys.argv) > 1:
        lw.draw(model, motion.q[[0, len(motion) - 1]], path=sys.argv[1], trails=[boxes["squeezed"][:, :3, 3]])
    holds = {
        "the box follows its path": off < 1e-6,
        "the hands squeeze as told": tensions < 1e-3 and moments < 1e-3,
        "what is inside moves nothing": apart < 1e-6,
        "the weight is carried": abs(carried - 9.81 * MASS) < 1e-3,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
