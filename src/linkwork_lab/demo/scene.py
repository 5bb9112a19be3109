"""The scene: the humanoid of 24 links, a box between its hands, and its controller.

The left foot is fixed to the floor, so that the 24 moving links are the rest of the legs, pelvis, trunk, head and arms.
The box is a body of its own on a free joint, and a weld at each hand closes the chain. The first priority is that the
right foot stays where it is; the second that the box moves to the floor along a cubic spline; the posture comes last.
The paper says that the robot "was commanded to put the box on the floor while being advised to keep its posture";
sizes, gains and the box are ours. The floor exerts no force: the box is lowered to it and held there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork import Builder, Model, Weld, forward_kinematics, mechanisms
from linkwork.control import CubicSpline, HeldObject, OperationalSpaceController, Posture, Task
from linkwork.joints import Free

Array = NDArray[np.float64]
SIZE = (0.26, 0.36, 0.26)
"""Edge lengths of the box (m): forward, from hand to hand, upward."""
MASS = 6.0
"""Mass of the box, kg."""
FORWARD = 0.36
"""Target position of the box's centre on the floor, forward (m)."""
LOWERING, HOLDING = 3.0, 0.5
"""Durations (s) of lowering the box, and of holding it then."""
SQUEEZE = 40.0
"""Internal force of the hands (N) half-way; it rises from zero and returns to zero."""

STANDING = {
    "waist_pitch": 0.05,
    "shoulder_pitch": -0.25,
    "elbow_pitch": -1.35,
    "wrist_pitch": 0.8,
    "hip_pitch": -0.3,
    "knee_pitch": 0.6,
    "ankle_pitch": -0.3,
}
"""Joints that are bent initially (rad), on both sides; all others are straight."""
SPRINGS = {
    "waist": 90.0,
    "neck": 30.0,
    "shoulder": 50.0,
    "elbow": 100.0,
    "wrist": 50.0,
    "hip": 25.0,
    "knee": 15.0,
    "ankle": 80.0,
}
"""Stiffness of the posture (N m/rad): the back is stiffer than the legs, so that these bend first."""
DAMPING = 8.0
"""Damping of the posture (1/s)."""


@dataclass(frozen=True)
class Scene:
    """The mechanism, its initial state, the welds that close the chain, and its controller."""

    model: Model
    q: Array
    welds: tuple[Weld, Weld]
    task: HeldObject
    controller: OperationalSpaceController


def scene() -> Scene:
    """The humanoid with the box in its hands, and its controller.

    Example:
        >>> from linkwork_lab.demo import scene
        >>> scene().model
        <Model 'humanoid with a box': 26 bodies, nq 31, nv 30>
    """
    person = mechanisms.humanoid(standing=True)
    hinges = [body.joint_name for body in person.bodies if body.joint.nv]
    posture = np.array([_of(STANDING, name) for name in hinges])
    hands = forward_kinematics(person, posture, ["left_hand", "right_hand"])
    middle = hands[:, :3, 3].mean(axis=0)
    model = _with_box(person, hands, middle)
    q = np.concatenate([posture, middle, [0.0, 0.0, 0.0, 1.0]])

    start, end = np.eye(4), np.eye(4)
    start[:3, 3], end[:3, 3] = middle, (FORWARD, 0.0, 0.5 * SIZE[2])
    welds = Weld("left_hand", "left_grip"), Weld("right_hand", "right_grip")
    press = np.zeros((2, 6))
    press[:, 1] = -SQUEEZE, SQUEEZE  # the hands' y axes point to the left
    off, on = np.zeros(12), press.ravel()
    squeeze = CubicSpline([0.0, 0.5 * (LOWERING + HOLDING), LOWERING + HOLDING], [off, on, off])
    task = HeldObject("box", welds, CubicSpline([0.0, LOWERING], [start, end]), kp=100.0, internal=squeeze)
    foot = Task("right_sole", forward_kinematics(model, q, ["right_sole"])[0], kp=400.0)
    springs = [*(_of(SPRINGS, name) for name in hinges), *[0.0] * 6]
    controller = OperationalSpaceController(model, [foot, task], Posture(q, springs, kd=DAMPING))
    return Scene(model, q, welds, task, controller)


def _of(numbers: dict[str, float], joint: str) -> float:
    """The number for a joint by the part of the body in its name; 0 if there is none."""
    return next((number for part, number in numbers.items() if part in joint), 0.0)


def _with_box(person: Model, hands: Array, middle: Array) -> Model:
    """The model with a box on a free joint, and on it a frame at each hand."""
    builder = Builder("box")
    builder.add_body("box", joint=Free(), mass=MASS, inertia=mechanisms.box(MASS, SIZE))
    for side, hand in zip(("left", "right"), hands, strict=True):
        place = hand.copy()
        place[:3, 3] -= middle
        builder.add_frame(f"{side}_grip", "box", place)
    alone = builder.build()
    frames = [replace(frame, body=len(person.bodies) + 1) for frame in alone.frames if frame.body]
    return Model("humanoid with a box", person.bodies + alone.bodies, (*person.frames, *frames), person.gravity)
