"""Hybrid motion/force control: an arm wipes a table with constant force while its tip follows a circle.

The tip may move only in the table's plane. ``lw.change_of_basis`` decomposes the arm's mass matrix by that constraint:
one part maps the permitted accelerations (S₁) to the forces that cause them (T₁); the other part is immobilised, and
forces in it (T₂) press on the table. The two parts are decoupled, so motion and force are commanded separately, and no
projection depends on units.

Run it: an ordinary simulation, in which the table is only a force on the hand, checks that the tip stays on the table,
that the force has the commanded value and does no work, and that the tip follows the circle.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

RADIUS, TURN, PRESS = 0.1, 3.0, 25.0  # m, rad/s, N
STEP, STEPS = 1e-3, 1500  # s
TIP = np.array([0.0, 0.0, 0.3])  # in the hand's frame


def build() -> lw.Model:
    """A rotating column, an arm of two rods, and a hand with a wrist of two axes."""
    builder = lw.Builder("wiper")
    rod = {"mass": 3.0, "com": (0.0, 0.0, 0.25), "inertia": (0.07, 0.07, 0.005)}
    up = lw.placement(xyz=(0.0, 0.0, 0.5))
    builder.add_body("column", joint=lw.joints.Revolute("z"), mass=5.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.03))
    builder.add_body("upper", "column", lw.joints.Revolute("y"), up, **rod)
    builder.add_body("lower", "upper", lw.joints.Revolute("y"), up, **rod)
    builder.add_body("wrist", "lower", lw.joints.Revolute("y"), up, mass=0.5, inertia=(0.002, 0.002, 0.002))
    builder.add_body("hand", "wrist", lw.joints.Revolute("x"), mass=0.8, com=(0, 0, 0.15), inertia=(0.01, 0.01, 0.01))
    builder.add_frame("tip", "hand", lw.placement(xyz=TIP))
    return builder.build()


class Contact:
    """The arm in one state on the table: kinematics of the tip, dynamics, and the change of basis."""

    def __init__(self, arm: lw.Model, q: np.ndarray, v: np.ndarray) -> None:
        self.pose = lw.forward_kinematics(arm, q, ["tip"])[0]
        self.J = lw.jacobian(arm, q, ["tip"], reference="local_world_aligned")[:3]
        self.velocity = self.J @ v
        self.drift = lw.jacobian_drift(arm, q, v, ["tip"], reference="local_world_aligned")[:3]
        self.M, self.bias = lw.mass_matrix(arm, q), lw.nonlinear_effects(arm, q, v)
        self.basis = lw.change_of_basis(self.M, T2=self.J[2:].T)
        # The tip's height must not accelerate: u₀ in S₂ compensates the drift, the rest is in S₁.
        self.u0 = self.basis.S2[:, 0] * -self.drift[2]

    def control(self, acceleration: np.ndarray, force: float) -> np.ndarray:
        """Joint torques for an acceleration of the tip in the plane and a force of the table on it."""
        S1 = self.basis.S1
        along = acceleration - self.drift[:2] - self.J[:2] @ self.u0
        # Of the arm's accelerations that achieve this, the smallest in the metric of the inertia.
        least = lw.change_of_basis(self.basis.inertia, T2=(self.J[:2] @ S1).T)
        alpha = least.S2 @ along
        beta = self.basis.inertia @ alpha
        return self.bias + self.M @ self.u0 + self.basis.T1 @ beta - self.basis.T2[:, 0] * force

    def force(self, torques: np.ndarray) -> float:
        """The force of the table on the tip, upward."""
        applied = torques - self.bias - self.M @ self.u0
        return float(-self.basis.S2[:, 0] @ applied)


def main() -> int:
    arm = build()
    q, v = np.array([0.0, 0.3, 1.4, 1.1, 0.05]), np.zeros(5)
    contact = Contact(arm, q, v)
    centre, height = contact.pose[:2, 3] - [RADIUS, 0.0], contact.pose[2, 3]
    v = np.linalg.pinv(contact.J) @ [0.0, RADIUS * TURN, 0.0]

    def rates(time: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float, float, np.ndarray]:
        """Acceleration by an ordinary simulation, the table's force and power, and the tip's acceleration."""
        contact = Contact(arm, q, v)
        circle = RADIUS * np.array([np.cos(TURN * time), np.sin(TURN * time)])
        speed = TURN * np.array([-circle[1], circle[0]])
        errors = centre + circle - contact.pose[:2, 3], speed - contact.velocity[:2]
        torques = contact.control(-(TURN**2) * circle + 100.0 * errors[0] + 20.0 * errors[1], PRESS)
        force = contact.force(torques)
        push = contact.pose[:3, :3].T @ [0.0, 0.0, force]
        f_ext = np.zeros((5, 6))
        f_ext[4] = np.concatenate([push, np.cross(TIP, push)])
        a = lw.forward_dynamics(arm, q, v, torques, f_ext)
        return a, force, force * contact.velocity[2], contact.J @ a + contact.drift

    poses, way = [], []
    wrong = dict.fromkeys(("height", "force", "power", "acceleration", "circle"), 0.0)
    for step in range(STEPS):
        time = step * STEP
        a1, force, power, tip = rates(time, q, v)
        a2, *_ = rates(time + STEP / 2, q + STEP / 2 * v, v + STEP / 2 * a1)
        a3, *_ = rates(time + STEP / 2, q + STEP / 2 * v + STEP**2 / 4 * a1, v + STEP / 2 * a2)
        a4, *_ = rates(time + STEP, q + STEP * v + STEP**2 / 2 * a2, v + STEP * a3)
        place = lw.forward_kinematics(arm, q, ["tip"])[0, :3, 3]
        way.append(place)
        if step % 350 == 0:
            poses.append(q)
        wanted = centre + RADIUS * np.array([np.cos(TURN * time), np.sin(TURN * time)])
        now = abs(place[2] - height), abs(force - PRESS), abs(power), abs(tip[2]), np.linalg.norm(place[:2] - wanted)
        wrong = {name: max(old, float(new)) for (name, old), new in zip(wrong.items(), now, strict=True)}
        q, v = q + STEP * v + STEP**2 / 6 * (a1 + a2 + a3), v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    print(f"{arm.name}: {STEPS * STEP:g} s, {STEPS * STEP * TURN / 2 / np.pi:.2f} turns of {RADIUS:g} m at {PRESS:g} N")
    print(f"tip off the table by {wrong['height']:.1e} m, and by {wrong['acceleration']:.1e} m/s² in its acceleration")
    print(f"force wrong by {wrong['force']:.1e} N, its power {wrong['power']:.1e} W; circle by {wrong['circle']:.1e} m")
    if len(sys.argv) > 1:
        lw.draw(arm, poses, path=sys.argv[1], trails=[np.array(way)], view=(-60.0, 25.0))
    limits = {"height": 1e-7, "force": 1e-8, "power": 1e-5, "acceleration": 1e-9, "circle": 1e-6}
    return 0 if all(wrong[name] < limit for name, limit in limits.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
