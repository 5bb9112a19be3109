"""A Panda reaches for a target, and keeps its elbow up meanwhile.

The hand has two tasks in strict priority: first to follow a minimum-jerk path, then to point straight down. The
remaining freedom of the seven joints keeps a posture. The hand starts 5 cm off its path, so that there is an error to
observe.

Run it, with a URDF of the Panda or with the package example-robot-data installed. It checks that the error decays like
that of a critically damped spring, that the posture never accelerates the hand, that no torque exceeds the robot's
limits, and that the work of the joints equals the energy gained.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import linkwork as lw

READY = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.0, 0.0])  # seven joints, two fingers
STIFFNESS, DURATION, STEP = 100.0, 2.0, 2e-3  # 1/s², s, s


def panda() -> lw.Model:
    """The model of the file given as an argument, or of the package of example robots."""
    try:
        return lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")


def main() -> int:
    arm = panda()
    hand = lw.forward_kinematics(arm, READY, ["panda_hand"])[0]
    start, down = hand[:3, 3] + [0.0, 0.0, 0.05], np.diag([1.0, -1.0, -1.0])
    path = lw.control.MinimumJerk(start, start + np.array([0.1, 0.35, -0.3]), duration=1.5)
    reach = lw.control.Task(lw.Point("panda_hand", axes="position"), path, STIFFNESS)
    point_down = lw.control.Task(lw.Point("panda_hand", axes="rotation"), down, STIFFNESS)
    controller = lw.control.OperationalSpaceController(arm, [reach, point_down], lw.control.Posture(READY))
    with warnings.catch_warnings():  # the fingers are not controlled, and may leave their range
        warnings.filterwarnings("ignore", ".* ran out of its range")
        options = {"integrator": "runge_kutta_4", "constraints": ()}
        motion = lw.simulate(arm, READY, np.zeros(9), DURATION, STEP, torque=controller, **options)

    places = lw.forward_kinematics(arm, motion.q, ["panda_hand"])[:, 0]
    errors = np.array([reach.error(t, place) for t, place in zip(motion.t, places, strict=True)])
    rate = STIFFNESS**0.5
    expected = errors[0] * ((1.0 + rate * motion.t) * np.exp(-rate * motion.t))[:, None]
    off = abs(errors - expected).max()
    coupling = max(
        abs(lw.force_responses(arm, q, ["panda_hand"]) @ controller.command(t, q, v).posture).max()
        for t, q, v in zip(motion.t[::20], motion.q[::20], motion.v[::20], strict=True)
    )
    effort = (abs(motion.tau) / arm.effort_limit).max()
    power = ((motion.tau - arm.damping * motion.v) * motion.v).sum(axis=1)
    work, energy = STEP * 0.5 * (power[1:] + power[:-1]).sum(), np.add(*motion.energy)
    gained = energy[-1] - energy[0]
    print(f"hand went {np.linalg.norm(places[-1, :3, 3] - hand[:3, 3]):.2f} m and is {abs(errors[-1]).max():.1e} m off")
    print(f"its error obeyed its law to {off:.1e} m; the posture accelerated it by {coupling:.1e} m/s²")
    print(f"largest torque: {effort:.0%} of its limit; work {work:.4f} J, energy gained {gained:.4f} J")
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    if picture is not None:
        lw.motion_sequence(motion, 5, picture, trails=["panda_hand"])
    good = off < 1e-6 and coupling < 1e-9 and effort < 1.0 and abs(work - gained) < 1e-3
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
