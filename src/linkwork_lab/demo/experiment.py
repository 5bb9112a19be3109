"""The experiment: a simulation of the closed chain, and its measurements."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import (
    Trajectory,
    centre_of_mass,
    constrained_dynamics,
    difference,
    forward_kinematics,
    frame_acceleration,
    get_threads,
    interpreted,
    mass_matrix,
    set_threads,
    simulate,
)
from linkwork.control import augmented_object
from linkwork_lab.demo.scene import HOLDING, LOWERING, Scene

Array = NDArray[np.float64]
PAPER_RATE = 300.0
"""The servo rate (Hz) that Chang and Khatib report."""
HANDS = ("left_hand", "right_hand")


@dataclass(frozen=True)
class Settings:
    """The resolution: the time step (s), the interval between evaluated states (in steps), the number of timed calls of
    the controller, whether it is also run at the paper's rate, and whether states are evaluated by the interpreter: for
    a few of them compiling takes longer.
    """

    step: float = 0.002
    every: int = 5
    calls: int = 2000
    sampled: bool = True
    interpreted: bool = False

    @staticmethod
    def quick() -> Settings:
        return Settings(step=0.01, every=25, calls=20, sampled=False, interpreted=True)


def measure(scene: Scene, settings: Settings | None = None) -> tuple[Trajectory, dict[str, Any]]:
    """The motion, and plain data: curves over time, and numbers that summarise them."""
    settings = settings or Settings()
    duration = LOWERING + HOLDING

    _motion(scene, 2.0 * settings.step, settings.step)  # so that all code is compiled before the clock starts
    start = perf_counter()
    motion = _motion(scene, duration, settings.step)
    seconds = perf_counter() - start
    with interpreted() if settings.interpreted else nullcontext():
        curves = _curves(scene, motion[:: settings.every])
    return motion, {
        "curves": {name: np.asarray(curve).tolist() for name, curve in curves.items()},
        "numbers": {
            "position_error": float(np.abs(curves["position_error"]).max()),
            "rotation_error": float(np.abs(curves["rotation_error"]).max()),
            "sampled_position_error": _at_the_paper_s_rate(scene, duration) if settings.sampled else None,
            "coupling": float(np.max(curves["coupling"])),
            "coupling_of_rotation": float(np.max(curves["coupling_of_rotation"])),
            "coupling_unprojected": float(np.max(curves["coupling_unprojected"])),
            "internal_error": float(np.abs(np.subtract(curves["internal"], curves["internal_command"])).max()),
            "weld_gap": float(np.max(curves["weld_gap"])),
            "foot_gap": float(np.max(curves["foot_gap"])),
            "posture_change": float(np.abs(curves["posture"]).max()),
            "effort": float((np.abs(motion.tau) / scene.model.effort_limit).max()),
            "joint_margin": _margin(scene, motion),
            **_energy(motion),
            "rate": _rate(scene, motion, settings.calls),
            "batch_rate": _batch_rate(scene, motion),
            "simulation_seconds": seconds,
            "simulated_seconds": duration,
        },
    }


def checks(numbers: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    """The conditions that must hold, each with its result and its description."""
    work = abs(numbers["work"] - numbers["energy_change"]) / numbers["work_size"]
    return {
        "the box follows its spline": (numbers["position_error"] < 1e-4, f"{numbers['position_error']:.1e} m < 1e-4 m"),
        "posture motion does not accelerate the hands": (
            max(numbers["coupling"], numbers["coupling_of_rotation"]) < 1e-9,
            f"{numbers['coupling']:.1e} m/s² and {numbers['coupling_of_rotation']:.1e} rad/s² < 1e-9",
        ),
        "the hands squeeze as commanded": (
            numbers["internal_error"] < 0.1,
            f"{numbers['internal_error']:.1e} N < 0.1 N",
        ),
        "the chain stays closed": (numbers["weld_gap"] < 1e-4, f"{numbers['weld_gap']:.1e} m < 1e-4 m"),
        "work is energy": (work < 1e-3, f"{work:.1e} of the work < 1e-3"),
        "joints and torques stay within their limits": (
            numbers["effort"] <= 1.0 and numbers["joint_margin"] >= 0.0,
            f"{numbers['effort']:.0%} of the largest torque, {numbers['joint_margin']:.2f} rad from a stop",
        ),
    }


def _curves(scene: Scene, motion: Trajectory) -> dict[str, Any]:
    """The quantities plotted over time."""
    model, box = scene.model, scene.task
    ends = [*HANDS, "left_grip", "right_grip", "right_sole", "box"]
    places = forward_kinematics(model, motion.q, ends)
    curves: dict[str, Any] = {"t": motion.t, "position": places[:, 5, :3, 3]}
    references = [box.reference.at(t) for t in motion.t]
    curves["reference"] = np.array([sample.value[:3, 3] for sample in references])
    errors = np.array([box.error(t, place) for t, place in zip(motion.t, places[:, 5], strict=True)])
    curves["position_error"], curves["rotation_error"] = errors[:, :3], errors[:, 3:]
    curves["posture"] = difference(model, scene.q, motion.q)[:, :-6]
    curves["weld_gap"] = np.abs(places[:, :2] - places[:, 2:4]).max(axis=(1, 2, 3))
    curves["foot_gap"] = np.linalg.norm(places[:, 4, :3, 3] - places[0, 4, :3, 3], axis=1)
    curves["centre_of_mass"] = centre_of_mass(model, motion.q)
    inside, command, projected, unprojected = [], [], [], []
    for t, q, v, wrenches in zip(motion.t, motion.q, motion.v, motion.constraint_forces, strict=True):
        whole = augmented_object(model, q, v, box)
        inside.append(whole.internal(-wrenches)[:, :3])
        command.append(whole.internal(box.internal.at(t).value.reshape(2, 6))[:, :3])
        projected.append(scene.controller.command(t, q, v).posture)
        unprojected.append(_advice(scene, q, v))
    curves |= {"internal": inside, "internal_command": command}
    caused, raw = (_hands_accelerated(scene, motion, np.array(push)) for push in (projected, unprojected))
    return curves | {
        "coupling": caused[..., :3].max(axis=-1), "coupling_of_rotation": caused[..., 3:].max(axis=-1),
        "coupling_unprojected": raw[..., :3].max(axis=-1),
    }  # fmt: skip


def _hands_accelerated(scene: Scene, motion: Trajectory, push: Array) -> Array:
    """The change of the accelerations (m/s², rad/s²) of both hands by joint torques (states, nv): the accelerations of
    the closed chain as simulated, with all driving torques, minus those of the same chain without ``push``.
    """
    model, states = scene.model, (motion.q, motion.v)
    accelerations = [
        frame_acceleration(model, *states, constrained_dynamics(model, *states, tau, scene.welds)[0], HANDS)
        for tau in (motion.tau, motion.tau - push)
    ]
    return np.abs(accelerations[0] - accelerations[1])


def _advice(scene: Scene, q: Array, v: Array) -> Array:
    """The posture's torques before their projection into the null space."""
    posture = scene.controller.posture
    assert posture is not None
    rest = mass_matrix(scene.model, q)[: scene.model.nv - 6] @ (-np.asarray(posture.kd) * v)
    pull = np.asarray(posture.kp) * difference(scene.model, q, scene.q)
    return np.concatenate([pull[:-6] + rest, np.zeros(6)])


def _at_the_paper_s_rate(scene: Scene, duration: float) -> float:
    """The error of the box to its spline (m) if the controller runs at 300 Hz with its torque constant in between."""
    motion = _motion(scene, duration, 1.0 / PAPER_RATE, hold=1)
    places = forward_kinematics(scene.model, motion.q, ["box"])[:, 0]
    return max(float(np.abs(scene.task.error(t, place)[:3]).max()) for t, place in zip(motion.t, places, strict=True))


def _motion(scene: Scene, duration: float, step: float, **options: Any) -> Trajectory:
    """The simulated motion from rest; an error if it was interrupted: half a motion proves nothing."""
    start = scene.model, scene.q, np.zeros(scene.model.nv)
    options |= {"torque": scene.controller, "constraints": scene.welds, "integrator": "runge_kutta_4"}
    motion: Trajectory = simulate(*start, duration, step, **options)
    if motion.interrupted:
        raise KeyboardInterrupt
    return motion


def _energy(motion: Trajectory) -> dict[str, float]:
    """The work of the joints, by Simpson's rule, and the energies that it went into."""
    power = np.einsum("ki,ki->k", motion.tau, motion.v)
    step = motion.t[1] - motion.t[0]
    weights = np.full(len(power), 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    total = np.add(*motion.energy)
    return {
        "work": float(weights @ power * step / 3.0),
        "work_size": float(weights @ np.abs(power) * step / 3.0),
        "energy_change": float(total[-1] - total[0]),
    }


def _margin(scene: Scene, motion: Trajectory) -> float:
    """The smallest distance of a joint to its limit (rad); negative beyond it."""
    below, above = motion.q - scene.model.lower_limit, scene.model.upper_limit - motion.q
    return float(min(below.min(), above.min()))


def _rate(scene: Scene, motion: Trajectory, calls: int) -> float:
    """The rate of the controller (Hz), over states of the motion: the median."""
    times = []
    for k in np.linspace(0, len(motion) - 1, calls).astype(int).tolist():
        start = perf_counter()
        scene.controller.torque(float(motion.t[k]), motion.q[k], motion.v[k])
        times.append(perf_counter() - start)
    return 1.0 / float(np.median(times))


def _batch_rate(scene: Scene, motion: Trajectory) -> float:
    """States per second of the controller in a batch, on one thread: the best of a few."""
    before, times = get_threads(), []
    set_threads(1)
    try:
        for _ in range(20):  # code is compiled in the first
            start = perf_counter()
            scene.controller.torques(motion.t, motion.q, motion.v)
            times.append(perf_counter() - start)
    finally:
        set_threads(before)
    return len(motion) / min(times)
