"""An arm catches a flying ball, swings it around and throws it: a chain whose structure varies.

Arm and ball are one mechanism from beginning to end. Catching adds a constraint, wherever on the ball the hand then is;
releasing removes it. The model does not change. The closed chain is solved by the virtual-work method, whose unknowns
are the forces in the grip and in every joint.

Run it: it checks that the catch loses energy, that the ball stays in the hand and only the grip drives it, that after
the release it flies like a free body, and that both methods agree. With a name that ends in .png as an argument it
draws the swing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import linkwork as lw

DT = 1e-3  # s
GAINS = np.array([60.0, 30.0, 3.0])  # N m/rad
READY = np.array([0.3, -1.2, 0.9])  # configuration of the arm's three hinges, rad
SWING = np.array([-2.2, -0.4, -0.3])  # target of the swing with the ball


def build() -> lw.Model:
    """An arm of three links in the plane y = 0, and a free ball."""
    builder = lw.Builder("catcher")
    last, place = "world", lw.placement((0.0, 0.0, 1.0))
    for name, length, mass in (("upper", 0.5, 3.0), ("lower", 0.4, 2.0), ("hand", 0.15, 0.5)):
        solid = {
            "mass": mass,
            "com": (length / 2, 0, 0),
            "inertia": (1e-3, mass * length**2 / 12, mass * length**2 / 12),
        }
        last = builder.add_body(name, last, lw.joints.Revolute("y"), place, **solid)
        place = lw.placement((length, 0.0, 0.0))
    builder.add_frame("palm", last, place)
    builder.add_body("ball", joint=lw.joints.Free(), mass=0.4, inertia=(4e-4, 4e-4, 4e-4))
    return builder.build()


def springs(model: lw.Model, goal: np.ndarray) -> Callable[..., np.ndarray]:
    """A control law that pulls the arm towards a posture and compensates gravity; the ball is not actuated."""

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(model.nv)
        tau[:3] = GAINS * (goal - q[:3]) - 0.12 * GAINS * v[:3] + lw.gravity_torques(model, q)[:3]
        return tau

    return torque


def ball_and_palm(model: lw.Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ball, palm = lw.forward_kinematics(model, q, ["ball", "palm"])
    return ball, palm


def main() -> int:
    model = build()
    palm = lw.forward_kinematics(model, [*READY, 0, 0, 0, 0, 0, 0, 1], ["palm"])[0][:3, 3]
    flight, speed = 0.4, np.array([4.0, 0.0, 1.0])
    start = palm - flight * speed + 0.5 * flight**2 * np.array([0.0, 0.0, 9.81])
    q = np.array([*READY, *start, 0.0, 0.0, 0.0, 1.0])
    v = np.array([0.0, 0.0, 0.0, *speed, 0.0, 5.0, 0.0])
    options = {"integrator": "runge_kutta_4", "progress": False}

    # The ball flies until it is near the palm
    coming = lw.simulate(model, q, v, 0.5, DT, torque=springs(model, READY), **options)
    gaps = [np.linalg.norm(a[:3, 3] - b[:3, 3]) for a, b in (ball_and_palm(model, each) for each in coming.q)]
    caught = int(np.argmin(gaps))
    q, v = coming.q[caught], coming.v[caught]

    # It is caught where it is: from now on a weld holds it, and an impact equalises their velocities
    ball, hand = ball_and_palm(model, q)
    in_hand = np.linalg.inv(hand) @ ball
    grip = [lw.Weld("ball", "palm", in_hand)]
    before = lw.energy(model, q, v)[0]  # kinetic
    v, impulses = lw.impact(model, q, v, grip)
    lost = before - lw.energy(model, q, v)[0]
    off = model.body_index("ball")

    # Forward dynamics of the closed chain by virtual work, with the wrenches that the joints transmit
    _, wrenches, reactions = lw.constrained_dynamics_and_reactions(
        model, q, v, springs(model, SWING)(0.0, q, v), grip, method="virtual_work"
    )
    swung = lw.simulate(
        model, q, v, 0.6, DT, torque=springs(model, SWING), constraints=grip, method="virtual_work", **options
    )
    held = [np.linalg.inv(b) @ a for a, b in (ball_and_palm(model, each) for each in swung.q)]
    slip = max(np.abs(each - in_hand).max() for each in held)

    # It is released when it moves fastest, and flies on
    rates = [
        lw.frame_velocity(model, q, v, ["ball"], "local_world_aligned")[0]
        for q, v in zip(swung.q, swung.v, strict=True)
    ]
    thrown = int(np.argmax([np.linalg.norm(rate[:3]) for rate in rates]))
    q, v = swung.q[thrown], swung.v[thrown]
    gone = lw.simulate(model, q, v, 0.3, DT, torque=springs(model, SWING), **options)
    place = ball_and_palm(model, q)[0][:3, 3]
    free = place + 0.3 * rates[thrown][:3] - 0.5 * 0.3**2 * np.array([0.0, 0.0, 9.81])
    astray = np.abs(ball_and_palm(model, gone.q[-1])[0][:3, 3] - free).max()

    print(
        f"caught after {coming.t[caught]:.3f} s, {gaps[caught] * 1e3:.1f} mm off the palm, with an impulse of "
        f"{np.linalg.norm(impulses[0, :3]):.2f} N s; {lost:.2f} J are lost"
    )
    print(
        f"in the hand it slips by {slip:.1e} m; the grip then carries {np.linalg.norm(wrenches[0, :3]):.1f} N, "
        f"the shoulder {np.linalg.norm(reactions[0, :3]):.1f} N"
    )
    print(
        f"thrown after {swung.t[thrown]:.3f} s at {np.linalg.norm(rates[thrown][:3]):.2f} m/s; it lands {astray:.1e} m "
        f"from where a free body would"
    )
    if len(sys.argv) > 1:
        lw.motion_sequence(swung, [0.0, swung.t[thrown] / 2, swung.t[thrown]], sys.argv[1], ground=0.0, trails=["ball"])
    together = lw.constrained_dynamics(model, q, v, np.zeros(model.nv), grip)[0]
    by_work = lw.constrained_dynamics(model, q, v, np.zeros(model.nv), grip, method="virtual_work")[0]
    checks = {
        "the catch loses energy": lost > 0.0,
        "the ball stays in the hand": slip < 1e-5,
        "the grip is all that drives the ball": np.abs(reactions[off]).max() < 1e-9,
        "it flies on freely": astray < 1e-8,
        "both methods agree": np.abs(together - by_work).max() < 1e-8 * np.abs(together).max(),
    }
    for what, holds in checks.items():
        if not holds:
            print(f"not so: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
