"""A walker without motors, the compass gait: two legs go down a slope, and the feet alternate on the ground.

The walker is one mechanism with a free base. The foot that stands is pinned where it landed; when the legs are equally
far from upright, the other foot lands: an event that pins it where it is, and lets go of the first one. The impact at
that instant takes what the slope gives over a step, so that the walk is steady. Two events, one for each foot, take
turns, since an event that would change nothing does not happen.

Goswami, Thuilot and Espiau (1996, 1998) found the steady gait of this walker, a hip of twice the mass of a leg, whose
mass is in its middle, on a slope of 3 degrees: steps of 0.535 m in 0.734 s. Many walkers start beside it, each with
its own times of landing, and come back to it.

Run it: it checks period and length of the steps, that all walkers find the same gait, that impacts take energy and
nothing else does. With a name that ends in .html as an argument it writes some of the walkers as a page.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

SLOPE, LEG = np.radians(3.0), 1.0  # rad, m
HIP, MASS = 10.0, 5.0  # kg
DT, DURATION, WALKERS = 2e-3, 12.0, 8
STANCE, SWING_RATE = (0.218669, -1.092386), -0.377377


def build() -> lw.Model:
    """Two legs in the plane y = 0; x goes down the slope, and z is its normal."""
    builder = lw.Builder("compass", gravity=(9.81 * np.sin(SLOPE), 0.0, -9.81 * np.cos(SLOPE)))
    upright = lw.placement((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0))  # a planar joint in the plane y = 0
    com = 0.5 * LEG * MASS / (HIP + MASS)
    size = HIP * com**2 + MASS * (0.5 * LEG - com) ** 2
    builder.add_body(
        "left leg", joint=lw.joints.Planar(), placement=upright, mass=HIP + MASS, com=(0.0, -com, 0.0),
        inertia=(size, 1e-3, size),
    )  # fmt: skip
    builder.add_body(
        "right leg", "left leg", lw.joints.Revolute("z"), mass=MASS, com=(0.0, -0.5 * LEG, 0.0), inertia=(1e-6,) * 3
    )
    for side in ("left", "right"):
        builder.add_frame(f"{side} foot", f"{side} leg", lw.placement((0.0, -LEG, 0.0)))
    return builder.build()


def pin(foot: str) -> list[lw.Constraint]:
    """A foot on the ground; nothing is to be held across the plane of motion."""
    return [lw.PointOnPlane(foot, normal=normal) for normal in "xz"]


def start(model: lw.Model, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The beginning of a step on the left foot, with rates that are off by these factors."""
    stance, rate, other = STANCE[0] + SLOPE, STANCE[1], SWING_RATE
    swing = -stance - 1e-6  # the other foot has just left the ground
    q, v = np.tile(lw.neutral(model), (len(beside), 1)), np.zeros((len(beside), model.nv))
    q[:] = -LEG * np.sin(stance), LEG * np.cos(stance), np.cos(stance), np.sin(stance), swing - stance
    v[:, 0] = -LEG * rate  # in the leg's axes
    v[:, 2:] = rate, other - rate
    return q, v * (1.0 + beside[:, None])


def main() -> int:
    model = build()
    beside = np.linspace(-0.02, 0.02, WALKERS)
    apart = lw.compile(lambda t, q, v: 2.0 * np.arctan2(q[3], q[2]) + q[4], t=(), q=model.nq, v=model.nv)
    feet = ("left foot", "right foot")
    events = [
        lw.Event(apart, attach=pin(one), detach=pin(other), direction="falling", name=f"the {one} lands")
        for one, other in (feet, feet[::-1])
    ]
    walk = lw.rollout(
        model, *start(model, beside), dt=DT, steps=round(DURATION / DT), integrator="runge_kutta_4",
        constraints=pin("left foot"), events=events,
    )  # fmt: skip
    motions = [walk.trajectory(k) for k in range(WALKERS)]
    landings = [[one.t for one in motion.events] for motion in motions]
    turns = [[one.event for one in motion.events] for motion in motions]
    periods = np.array([np.diff(times)[-1] for times in landings])
    ends = [lw.forward_kinematics(model, motion.q, feet)[:, :, 0, 3] for motion in motions]
    steps = [np.abs(np.diff(x, axis=1))[int(times[-1] / DT) + 1, 0] for x, times in zip(ends, landings, strict=True)]
    print(f"{WALKERS} walkers make {min(map(len, turns))} to {max(map(len, turns))} steps in {DURATION:g} s")
    print(f"a step takes {periods.mean():.4f} s (0.734 published) and is {np.mean(steps):.4f} m long (0.535)")

    middle = motions[WALKERS // 2]
    energy = np.sum(middle.energy, axis=0)
    changes, lands = np.diff(energy), np.zeros(len(energy) - 1, dtype=bool)
    lands[[int(t / DT) for t in landings[WALKERS // 2]]] = True
    lost, each = -changes[lands].sum(), -changes[lands][-1]
    gained = (HIP + 2 * MASS) * 9.81 * np.sin(SLOPE) * np.mean(steps)
    print(f"each landing takes {each:.3f} J, and the slope gives {gained:.3f} J a step")
    checks = {
        "the feet alternate": all(turn == [(k + 1) % 2 for k in range(len(turn))] for turn in turns),
        "all find the same gait": np.ptp(periods) < 2e-3,
        "its period is the published one": abs(periods.mean() - 0.734) < 2e-3,
        "and the length of its steps": abs(np.mean(steps) - 0.535) < 2e-3,
        "landings take energy": bool((changes[lands] < 0.0).all()) and lost > 0.0,
        "nothing else does": np.abs(changes[~lands]).max() < 1e-4 * each,
        "as much as the slope gives": abs(each / gained - 1.0) < 0.01,
        "each walker has its own times": len({times[0] for times in landings}) == WALKERS,
    }
    if len(sys.argv) > 1:
        lw.save_html(motions[::2], sys.argv[1], ground=0.0, spacing=1.0)
    for what, holds in checks.items():
        if not holds:
            print(f"not so: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
