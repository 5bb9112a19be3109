"""The experiment with many points on a floor that pushes and never pulls, with friction: by the operational space of a
robot on supports, and by the whole-body controller.

The robot is that of ``many_points``; balls at the corners of its soles touch the floor of ``lw.simulate``. Both
controllers get the same tasks, beside a posture, and command motors only. ``OperationalSpaceController`` takes the feet
as constraints: equations, solved in one kernel, without cones and limits. ``WholeBodyController`` has forces in cones
and torques within limits, by quadratic programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork import Contact, Model, Point, Sphere, Weld, contact_points, forward_kinematics, placement, simulate
from linkwork.control import (
    OperationalSpaceController,
    Posture,
    Reference,
    Sample,
    Support,
    Task,
    WholeBodyController,
)
from linkwork_lab.bench.contest import Array, Contestant
from linkwork_lab.reproduce.clock import Effort, best
from linkwork_lab.reproduce.operational_inertia.many_points import (
    FEET,
    PALMS,
    STEP,
    STIFFNESS,
    TIPS,
    circle,
    robot,
    standing,
)

MOVED = ["pelvis", *PALMS, "head", *TIPS]
"""The points beside the feet, in the order in which they are added."""
SOLE = [[x, y, -0.05] for x in (-0.08, 0.14) for y in (-0.04, 0.04)]
BALL, FRICTION, RELIED_ON, HOLD = 0.01, 0.8, 0.5, 4


class Circle(Reference):
    """Of a point that moves along a circle, or stays."""

    shape = (3,)

    def __init__(self, start: Array, moves: bool) -> None:
        self._start, self._moves = start, float(moves)

    def at(self, t: float) -> Sample:
        place, speed, change = (self._moves * each for each in circle(t))
        return Sample(self._start + place, speed, change)


def on_the_floor(model: Model) -> tuple[Array, list[Contact]]:
    """The robot with its soles on the floor, and the balls that touch it."""
    balls = [
        Contact(foot, Sphere(BALL), friction=FRICTION, placement=placement(tuple(corner)))
        for foot in FEET
        for corner in SOLE
    ]
    q = standing(model)
    q[2] -= contact_points(model, q, balls)[1].min()
    return q, balls


def controllers(model: Model, q: Array, points: int) -> dict[str, Any]:
    """Both controllers of some points beside the feet."""
    names = MOVED[: points - len(FEET)]
    places = forward_kinematics(model, q, names)[:, :3, 3]
    tasks = [
        Task(Point(name, axes="position"), Circle(place, name.startswith(("left", "right"))), kp=STIFFNESS)
        for name, place in zip(names, places, strict=True)
    ]
    posture = Posture(q)
    feet = [Weld.at(model, q, foot) for foot in FEET]
    supports = [Support(foot, SOLE, friction=RELIED_ON, radius=BALL) for foot in FEET]
    return {
        "law": OperationalSpaceController(model, [tasks], posture, constraints=feet),
        "whole_body": WholeBodyController(model, [tasks], supports, posture),
    }


def experiment(points: int, seconds: float, states: int, effort: Effort) -> dict[str, Any]:
    """Control of ``points`` points, two of which are the feet: times, and what a simulation shows."""
    model = robot()
    q, balls = on_the_floor(model)
    shown, inputs = {}, []
    laws = controllers(model, q, points)
    for name, law in laws.items():
        motion = simulate(
            model, q, np.zeros(model.nv), seconds, STEP, torque=law, hold=HOLD, record=HOLD, contacts=balls,
            contact_forces=True,
        )  # fmt: skip
        shown[name] = _seen(model, motion, laws["law"].levels[0])
        rows = np.linspace(0, len(motion.t) - 1, states).astype(int)
        inputs = [(float(motion.t[k]), motion.q[k].copy(), motion.v[k].copy()) for k in rows]
    each = {name: Contestant(name, law.torque, inputs, states) for name, law in laws.items()}
    times = {name: best({name: one}, effort.rounds, effort.seconds)[name] for name, one in each.items()}
    return {
        "points": points, "rows": 12 + 3 * (points - len(FEET)), "links": len(model.bodies), "seconds": times,
        "compiled": laws["law"]._law is not None, "simulated": seconds, "shown": shown,
    }  # fmt: skip


def _seen(model: Model, motion: Any, tasks: Any) -> dict[str, float]:
    """Errors of points and feet, and the floor's forces once the robot has settled on it, in a simulation."""
    settled = motion.t > 0.2
    names = [task.point.frame for task in tasks]
    places = forward_kinematics(model, motion.q, [*FEET, *names])[..., :3, 3]
    wanted = np.array([[task.reference.at(t).value for task in tasks] for t in motion.t])
    forces = motion.constraint_forces[..., :3][settled]
    across = np.hypot(forces[..., 0], forces[..., 1])
    return {
        "off": float(np.linalg.norm(places[:, 2:] - wanted, axis=-1)[settled].max()),
        "feet": float(np.abs(places[settled, :2] - places[settled][0, :2]).max()),
        "least": float(forces[..., 2].min()),
        "friction": float((across / np.maximum(forces[..., 2], 1e-9)).max()),
    }
