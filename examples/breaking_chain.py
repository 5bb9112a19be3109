"""Chains whose links break under load: which joint gives way, and when, if no two are equally strong.

Every link is a body of its own, and every joint between two is a constraint with a breaking force, an event. The load
on the lowest link grows. Each of many chains has strengths of its own, which are data: one code computes them all, and
each breaks at its own time. By statics the joint breaks first that has the least strength left above the weights that
it bears; then everything below comes off, and the joints above recoil.

Run it: it checks which joint breaks, when, that no joint bears more than it can, and that what has come off falls.
With a name that ends in .html as an argument it writes some of the chains as a page.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

LINKS, CHAINS = 4, 64
LENGTH, MASS = 0.25, 0.5  # m, kg of a link
STRENGTH, SCATTER = 60.0, 8.0  # N, of joints: mean and standard deviation
RATE = 50.0  # N/s, at which the load grows
DT, STEPS = 1e-3, 1200


def build() -> tuple[lw.Model, list[lw.Constraint]]:
    """Links that hang below each other, and the joints between them, the first one on the ceiling."""
    builder, joints, above = lw.Builder("chain"), list[lw.Constraint](), "world"
    for k in range(LINKS):
        name, size = f"link {k + 1}", MASS * LENGTH**2 / 12
        builder.add_body(
            name, joint=lw.joints.Free(), mass=MASS, com=(0.0, 0.0, -LENGTH / 2), inertia=(size, size, 0.1 * size)
        )
        builder.add_frame(f"end {k + 1}", name, lw.placement((0.0, 0.0, -LENGTH)))
        joints.append(lw.Ball(name, above))
        above = f"end {k + 1}"
    return builder.build(), joints


def main() -> int:
    model, joints = build()
    q = lw.neutral(model).reshape(LINKS, 7)
    q[:, 2] = -LENGTH * np.arange(LINKS)
    rng = np.random.default_rng(1)
    strengths = rng.normal(STRENGTH, SCATTER, (CHAINS, LINKS))
    load = np.zeros((STEPS, LINKS, 6))
    load[:, -1, 2] = -RATE * DT * np.arange(STEPS)
    load[:, -1, 3:] = np.cross([0.0, 0.0, -LENGTH], load[:, -1, :3])  # at the end of the last link

    events = [
        lw.Event(lw.BreakingForce(joint, force=strengths[:, k]), name=f"joint {k + 1} breaks")
        for k, joint in enumerate(joints)
    ]
    chains = lw.rollout(
        model, q.reshape(-1), np.zeros(model.nv), dt=DT, steps=STEPS, record=10, f_ext=load, constraints=joints,
        events=events,
    )  # fmt: skip
    assert chains.events is not None

    # By statics: joint k bears its link and all below it, besides the load
    weights = 9.81 * MASS * np.arange(LINKS, 0, -1)
    room = strengths - weights
    weakest, when = room.argmin(axis=1), room.min(axis=1) / RATE
    times = np.where(chains.events.counts[:, -1] > 0, chains.events.times[:, -1], np.inf)
    first, broke = times.argmin(axis=1), times.min(axis=1)

    counts = np.bincount(first, minlength=LINKS)
    print(f"{CHAINS} chains of {LINKS} links; joints that broke first: " + ", ".join(map(str, counts)))
    late = np.abs(broke - when).max()
    print(f"after {broke.min():.3f} to {broke.max():.3f} s; off statics by up to {late * 1e3:.1f} ms")

    one = int(np.argmax(first < LINKS - 1))  # something falls off whose lower joints hold
    motion = chains.trajectory(one)
    forces = np.linalg.norm(motion.constraint_forces[:, :, :3], axis=2)
    loose = motion.t > broke[one] + 2 * DT
    falling = lw.forward_kinematics(model, motion.q, [lw.Point(f"link {first[one] + 1}", (0.0, 0.0, -LENGTH / 2))])
    still = chains.events.active[one, loose]
    checks = {
        "every chain breaks": bool(np.isfinite(broke).all()),
        "where statics says": bool((first == weakest).all()),
        "when it says": late < 2 * DT,
        "a broken joint bears nothing": not forces[loose][~still].any(),
        "what came off is pulled down": bool((np.diff(falling[loose, 0, 2, 3]) < 0.0).all()),
        "no joint bears more than it can": bool((forces[motion.t < broke[one]] <= strengths[one] * (1 + 1e-9)).all()),
    }
    if len(sys.argv) > 1:
        lw.save_html([chains.trajectory(k) for k in range(8)], sys.argv[1], ground=False)
    for what, holds in checks.items():
        if not holds:
            print(f"not so: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
