"""Section 4 of the paper: Λ of the 24-link humanoid at both hands, and a controller that uses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linkwork import (
    Builder,
    Model,
    forward_dynamics,
    forward_kinematics,
    integrate,
    neutral,
    operational_inertia,
    placement,
)
from linkwork.algorithms import ALGORITHMS, OPERATIONAL, Algorithm
from linkwork.control import OperationalSpaceController, Posture, Task
from linkwork.joints import Revolute, Spherical
from linkwork_lab.bench.cases import States
from linkwork_lab.bench.contest import Array, Contestant
from linkwork_lab.reproduce.clock import Effort, Runner, best, race
from linkwork_lab.reproduce.counting import as_written, folded

HANDS = ["left_hand", "right_hand"]
PAPER = {"seconds": 1e-3, "hertz": 300.0}
"""Less than a millisecond for Λ, and a servo rate of 300 Hz, on a 266 MHz Pentium II."""
STEP = 1e-3


def two_arms() -> Model:
    """A replacement of the humanoid for quick runs: two arms of three links on a torso."""
    builder = Builder("two_arms")
    solid: dict[str, Any] = {"mass": 2.0, "com": (0.0, 0.0, -0.1), "inertia": (0.02, 0.03, 0.01)}
    builder.add_body("torso", joint=Revolute("z"), **solid)
    for side, y in (("left", 0.2), ("right", -0.2)):
        builder.add_body(f"{side}_upper_arm", "torso", Spherical(), placement((0.0, y, 0.3)), **solid)
        builder.add_body(f"{side}_forearm", f"{side}_upper_arm", Revolute("y"), placement((0.0, 0.0, -0.3)), **solid)
        builder.add_body(f"{side}_hand", f"{side}_forearm", Spherical(), placement((0.1, 0.0, -0.2)), **solid)
    return builder.build()


def operations(robot: Callable[[], Model]) -> dict[str, Any]:
    """Operations of Λ⁻¹ and of Λ by each method."""
    model = robot()
    frames = [model.frame(name) for name in HANDS]

    def of(algorithm: Algorithm) -> dict[str, Any]:
        return {"written": as_written(algorithm, model, frames), "folded": folded(algorithm, model, frames)}

    return {
        "links": len(model.bodies), "points": HANDS, "paper": PAPER,
        "operations": {
            name: {
                "inverse": of(ALGORITHMS[f"operational/{name}"]),
                "inertia": of(ALGORITHMS[f"operational_inertia/{name}"]),
            }
            for name in OPERATIONAL
        },
    }  # fmt: skip


def one_matrix(robot: Callable[[], Model], states: int, batch: int, effort: Effort) -> dict[str, Any]:
    """Seconds of one Λ: as a call from Python, as machine code on one lane, and as a share of a batch on one thread."""
    model = robot()
    frames = [model.frame(name) for name in HANDS]
    few, many = States.random(model, states).fields["q"], States.random(model, batch).fields["q"]
    functions = {name: partial(operational_inertia, method=name) for name in OPERATIONAL}
    one_by_one = [(model, q.copy(), HANDS) for q in few]
    calls = {name: Contestant(name, function, one_by_one, states) for name, function in functions.items()}
    batches = {name: Contestant(name, function, [(model, many, HANDS)], batch) for name, function in functions.items()}
    runners = {name: Runner(ALGORITHMS[f"operational_inertia/{name}"], "specialised") for name in OPERATIONAL}
    everything = {"kept": np.ones(6 * len(HANDS)), "damping": np.zeros(6 * len(HANDS))}
    return {
        "call": best(calls, effort.rounds, effort.seconds),
        "code": race(model, runners, effort.rounds, effort.seconds, frames, everything),
        "batch": best(batches, effort.rounds, effort.seconds),
    }


def servo(robot: Callable[[], Model], states: int, effort: Effort) -> dict[str, float | None]:
    """Seconds of one step of the controller of both hands, alone and with the simulation of the robot that it moves."""
    model = robot()
    controller = holding_hands(model)
    fields = States.random(model, states).fields
    inputs = [(fields["q"][k].copy(), fields["v"][k].copy()) for k in range(states)]

    def control(q: Array, v: Array) -> Array:
        return controller.torque(0.0, q, v)

    def simulated(q: Array, v: Array) -> tuple[Array, Array]:
        """The state after a simulated step with the controller."""
        v = v + STEP * forward_dynamics(model, q, v, control(q, v))
        return integrate(model, q, STEP * v), v

    return {
        what: best({what: Contestant(what, function, inputs, states)}, effort.rounds, effort.seconds)[what]
        for what, function in (("control", control), ("simulated", simulated))
    }


def holding_hands(model: Model) -> OperationalSpaceController:
    """Keeps the poses of both hands, with Coriolis, centrifugal and gravity compensation, and a posture beneath."""
    q = neutral(model)
    tasks = [Task(hand, place) for hand, place in zip(HANDS, forward_kinematics(model, q, HANDS), strict=True)]
    return OperationalSpaceController(model, [tasks], Posture(q))
