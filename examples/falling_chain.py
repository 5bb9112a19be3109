"""A chain of 100 links is released, falls on a floor and comes to rest.

It has 105 degrees of freedom, and a ball at each hinge and end that may touch the floor. Beyond 50 bodies contacts are
solved with the articulated-body algorithm, whose cost is linear in the number of links (docs/contact.md). Links do not
touch each other.

Run it, optionally with the path of an image to write. It checks that the contact forces plus the weight are the rate of
the momentum, that no force pulls or leaves its friction cone, that no energy is gained, and that the chain comes to
rest and the floor carries its weight. It also prints the difference between the momentum and the time integral of these
forces: the integration error, which is smaller with shorter steps.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

LINKS, LENGTH, MASS = 100, 2.0, 2.0  # m, kg
BALL, FRICTION, DAMPING = 0.01, 0.6, 0.05  # m, N m s
DT, DURATION, LEAN, HEIGHT = 0.002, 0.7, 75.0, 0.65  # s, degrees from the vertical, m of its upper end


def chain() -> lw.Model:
    """Thin rods in series, with hinges about two alternating axes; the first rod is free."""
    builder, each, mass = lw.Builder("chain"), LENGTH / LINKS, MASS / LINKS
    across, along = mass * (each**2 / 12.0 + BALL**2 / 4.0), mass * BALL**2 / 2.0
    own = {"mass": mass, "com": (0.0, 0.0, -0.5 * each), "inertia": (across, across, along)}
    builder.add_body("link0", joint=lw.joints.Free(), **own)
    for k in range(1, LINKS):
        hinge, below = lw.joints.Revolute("xy"[k % 2]), lw.placement((0.0, 0.0, -each))
        builder.add_body(f"link{k}", f"link{k - 1}", hinge, below, damping=DAMPING, **own)
    builder.add_frame("end", f"link{LINKS - 1}", lw.placement((0.0, 0.0, -each)))
    return builder.build()


def main() -> int:
    model = chain()
    floor = [lw.Contact(name, lw.Sphere(BALL), friction=FRICTION) for name in (*model.body_names, "end")]
    q, angle = lw.neutral(model), 0.5 * np.radians(LEAN)
    q[2:7] = [HEIGHT, 0.0, np.sin(angle), 0.0, np.cos(angle)]
    q[7:] = 0.05 * np.random.default_rng(0).normal(size=LINKS - 1)
    motion = lw.simulate(model, q, np.zeros(model.nv), DURATION, DT, contacts=floor, contact_forces=True)

    forces, weight = motion.constraint_forces[..., :3], MASS * np.array(model.gravity)
    upward, across = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    acting = forces.sum(axis=1) + weight
    some = slice(0, None, 40)  # forces are those at the beginning of the following step
    q, v, a = motion.q[some], motion.v[some], motion.a[some]
    with lw.interpreted():
        dh_dq, dh_dv = lw.momentum_derivatives(model, q, v)
    h, rate = (dh_dv @ v[..., None])[:, :3, 0], (dh_dq @ v[..., None] + dh_dv @ a[..., None])[:, :3, 0]
    error = np.abs(rate - acting[some]).max() / np.abs(acting).max()
    print(f"weight and floor are the rate of the momentum, to {error:.0e} of the largest")
    gained = DT * (np.cumsum(acting, axis=0) - acting)[some]
    apart = np.abs(h - gained).max() / np.abs(h).max()
    print(f"summed up over time they are off by {100.0 * apart:.1f} % of the largest momentum: the error of the steps")
    kinetic, total = motion.energy[0], np.add(*motion.energy)
    borne = upward[-1].sum() / -weight[2]
    print(f"at the end the floor bears {borne:.5f} of the weight, and {kinetic[-1]:.0e} J are left of {total[0]:.1f} J")
    if len(sys.argv) > 1:
        lw.motion_sequence(motion, [0.0, 0.1, 0.2, 0.3, 0.4, 0.7], sys.argv[1], joints=False, view=(-75.0, 10.0))
    holds = {
        "forces are the rate of the momentum": error < 1e-12,
        "all push": upward.min() >= 0.0,
        "forces lie in their cones": (across <= FRICTION * upward + 1e-9).all(),
        "no energy is gained": total.max() <= total[0] + 1e-9,
        "it comes to rest": kinetic[-1] < 1e-5 * total[0] and np.abs(borne - 1.0) < 1e-3,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
