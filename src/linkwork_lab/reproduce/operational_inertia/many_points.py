"""The subject of the paper's title: control of many points of a branching robot at once, standing on its feet.

The robot is a person with two legs of six joints, a waist, a neck, two arms of seven and five fingers of three joints
at each hand; its pelvis has no actuator. The feet are points like the others, with zero desired acceleration. With Λ⁻¹
of all points the law is that of one task,

    u = M a₀ + h + Jᵀ Λ (a - J̇v - J a₀),      a₀ the acceleration desired by the posture,

and u is then distributed to motors and ground: at the pelvis, which has no motor, the feet's wrenches f provide all of
it, u_p = (J_feetᵀ f)_p, with the smallest such f; the motors provide the rest. Since u keeps the feet at rest, the
ground can provide f, and the robot moves as if its pelvis were actuated.
"""

from __future__ import annotations

from math import cos, exp, sin
from typing import Any

import numpy as np

from linkwork import (
    Builder,
    Model,
    Weld,
    difference,
    forward_kinematics,
    inverse_dynamics,
    jacobian,
    jacobian_drift,
    mechanisms,
    neutral,
    operational_inertia_inverse,
    placement,
    simulate,
)
from linkwork.joints import Free, Revolute
from linkwork_lab.bench.contest import Array, Contestant
from linkwork_lab.reproduce.clock import Effort, best

FEET = ["left_foot", "right_foot"]
PALMS = ["left_palm", "right_palm"]
TIPS = [f"{side}_tip{k}" for k in range(5) for side in ("left", "right")]
POINTS = {
    4: [*FEET, *PALMS],
    8: [*FEET, *PALMS, "head", "pelvis", *TIPS[:2]],
    16: [*FEET, *PALMS, "head", "pelvis", *TIPS],
}
STEP, STIFFNESS, DAMPING = 1e-3, 400.0, 40.0  # s, 1/s², 1/s


def robot() -> Model:
    """62 links: the pelvis, 12 of the legs, 3 of the waist, 2 of the neck, 14 of the arms, 30 of the fingers."""
    builder = Builder("many_points")
    builder.add_body(
        "pelvis",
        joint=Free(),
        placement=placement((0, 0, 0.9)),
        mass=10.0,
        inertia=mechanisms.box(10.0, (0.2, 0.3, 0.2)),
    )

    def segment(name: str, parent: str, place: Any, axes: str, mass: float, length: float, down: float = -1.0) -> None:
        """A part on several hinges at one point, with small balls between them."""
        for k, axis in enumerate(axes[:-1]):
            builder.add_body(
                f"{name}_{axis}", parent, Revolute(axis), placement(place) if k == 0 else placement(), mass=0.1 * mass,
                inertia=mechanisms.ball(0.1 * mass, 0.05),
            )  # fmt: skip
            parent, place = f"{name}_{axis}", (0, 0, 0)
        builder.add_body(
            name, parent, Revolute(axes[-1]), placement(place), mass=0.8 * mass, com=(0, 0, 0.5 * down * length),
            inertia=mechanisms.rod(0.8 * mass, length, 0.3 * length, "z"),
        )  # fmt: skip

    segment("chest", "pelvis", (0, 0, 0.1), "zxy", 25.0, 0.4, down=1.0)
    segment("head", "chest", (0, 0, 0.5), "zy", 5.0, 0.2, down=1.0)
    for side, y in (("left", 1.0), ("right", -1.0)):
        segment(f"{side}_thigh", "pelvis", (0, 0.1 * y, -0.05), "zxy", 8.0, 0.4)
        segment(f"{side}_shank", f"{side}_thigh", (0, 0, -0.4), "y", 4.0, 0.4)
        segment(f"{side}_foot", f"{side}_shank", (0, 0, -0.4), "yx", 1.2, 0.05)
        segment(f"{side}_upper_arm", "chest", (0, 0.2 * y, 0.4), "yxz", 2.5, 0.3)
        segment(f"{side}_forearm", f"{side}_upper_arm", (0, 0, -0.3), "yz", 1.5, 0.25)
        segment(f"{side}_palm", f"{side}_forearm", (0, 0, -0.25), "xy", 0.5, 0.1)
        for k in range(5):
            root = (0.02, (0.03 - 0.015 * k) * y, -0.1)
            segment(f"{side}_finger{k}", f"{side}_palm", root, "xy", 0.08, 0.05)
            segment(f"{side}_fingertip{k}", f"{side}_finger{k}", (0, 0, -0.05), "y", 0.03, 0.04)
            builder.add_frame(f"{side}_tip{k}", f"{side}_fingertip{k}", placement((0, 0, -0.04)))
    return builder.build()


def standing(model: Model) -> Array:
    """Waist, knees, elbows and fingers bent, so that every point can move in every direction."""
    bent = {"chest": 0.3, "thigh": -0.4, "shank": 0.8, "foot_y": -0.4, "upper_arm_y": -0.3, "forearm_y": -1.2}
    bent |= {f"{part}{k}": -0.5 for part in ("finger", "fingertip") for k in range(5)}
    q = neutral(model).copy()
    for body, start in zip(model.bodies, model.q_start, strict=True):
        name = body.name.removeprefix("left_").removeprefix("right_")
        q[start] = bent.get(name, q[start])
    return q


def circle(t: float) -> tuple[Array, Array, Array]:
    """The way along a circle of 5 cm in the y-z plane, with velocity and acceleration; from rest within a second."""
    radius, rate, fading = 0.05, 3.0, exp(-t)
    angle = rate * (t - fading * sin(t))
    speed = rate * (1.0 - fading * (cos(t) - sin(t)))
    change = rate * fading * 2.0 * cos(t)
    across, up = radius * sin(angle), radius * cos(angle)
    place, along, inward = np.array([[0.0, across, radius - up], [0.0, up, across], [0.0, -across, up]])
    return place, speed * along, change * along + speed**2 * inward


class ManyPoints:
    """The law for the feet first, then positions of other points; with ``torque(t, q, v)`` for ``lw.simulate``.

    Palms and the points on them move in circles, head and pelvis keep their positions.
    """

    def __init__(self, model: Model, points: list[str]) -> None:
        self.model, self.points, self.q0 = model, points, standing(model)
        rows = np.arange(6 * len(points)).reshape(-1, 6)
        self._rows = np.concatenate([rows[:2].ravel(), rows[2:, :3].ravel()])
        self._block = np.ix_(self._rows, self._rows)
        self._damping = np.where(np.arange(len(self._rows)) < 12, 20.0, DAMPING)
        self._start = forward_kinematics(model, self.q0, points)[2:, :3, 3]
        self._goes = np.array([name.startswith(("left", "right")) for name in points[2:]], dtype=float)[:, None]

    def reference(self, t: float) -> tuple[Array, Array, Array]:
        """Positions, velocities, accelerations (m - 2, 3) of the points other than feet; from rest within a second."""
        place, speed, change = circle(t)
        return self._start + self._goes * place, self._goes * speed, self._goes * change

    def torque(self, t: float, q: Array, v: Array) -> Array:
        model, rows = self.model, self._rows
        places = forward_kinematics(model, q, self.points)
        J = jacobian(model, q, self.points)[rows]
        mobility = operational_inertia_inverse(model, q, self.points)[self._block]
        drift = jacobian_drift(model, q, v, self.points, "local_world_aligned").reshape(-1, 2, 3)
        at, speed, change = self.reference(t)
        acceleration = -drift  # and then in the points' axes, like Λ⁻¹
        acceleration[2:, 0] += change + DAMPING * speed + STIFFNESS * (at - places[2:, :3, 3])
        task = (acceleration @ places[:, :3, :3]).reshape(-1)[rows] - self._damping * (J @ v)
        posture = 25.0 * difference(model, q, self.q0) - 10.0 * v
        posture[:6] = 0.0
        forces = np.linalg.solve(mobility, task - J @ posture)
        u = inverse_dynamics(model, q, v, posture) + forces @ J
        feet = J[:12]
        ground = feet[:, :6] @ np.linalg.solve(feet[:, :6].T @ feet[:, :6], u[:6])
        torque = u - ground @ feet
        torque[:6] = 0.0
        return torque


def experiment(points: int, seconds: float, states: int, effort: Effort) -> dict[str, Any]:
    """Control of ``points`` points: its time and that of Λ⁻¹, and the errors of the points in a simulation."""
    model = robot()
    law = ManyPoints(model, POINTS[points])
    q, v = law.q0, np.zeros(model.nv)
    welds = [Weld(foot, placement=place) for foot, place in zip(FEET, forward_kinematics(model, q, FEET), strict=True)]
    motion = simulate(model, q, v, seconds, STEP, torque=law, constraints=welds)
    off = []
    for t, here in zip(motion.t, motion.q, strict=True):
        off.append(
            np.linalg.norm(forward_kinematics(model, here, law.points)[2:, :3, 3] - law.reference(t)[0], axis=1).max()
        )
    places = forward_kinematics(model, motion.q, FEET)
    slip = np.abs(places - places[0]).max()
    rows = np.linspace(0, len(motion.t) - 1, states).astype(int)
    inputs = [(motion.t[k], motion.q[k].copy(), motion.v[k].copy()) for k in rows]
    contestants = {
        "control": Contestant("control", law.torque, inputs, states),
        "inverse": Contestant(
            "inverse", lambda t, q, v: operational_inertia_inverse(model, q, law.points), inputs, states
        ),
    }
    times = {name: best({name: one}, effort.rounds, effort.seconds)[name] for name, one in contestants.items()}
    return {
        "points": points, "rows": len(law._rows), "links": len(model.bodies), "nv": model.nv, "seconds": times,
        "simulated": seconds, "off": float(max(off)), "feet": float(slip),
    }  # fmt: skip
