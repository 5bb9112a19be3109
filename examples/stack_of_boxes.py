"""A stack of three boxes stands for ten seconds, and each carries the boxes above it.

Boxes touch boxes (``lw.Contact("top", lw.Box(...), against=lw.Box(...), on="middle")``) in up to eight points, the
corners of the common area of two faces. They are released a millimetre above each other, rotated and off centre, and
come to rest: contacts are soft and redundant, and the force at each point is unique.

Run it, optionally with the path of an image to write. It checks that the boxes hardly move and come to rest, that no
force pulls or leaves its friction cone, that each layer carries the weight of all boxes above it, with the centre of
pressure below the centre of mass, and that no energy is gained.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

HALF = {"bottom": (0.15, 0.15, 0.1), "middle": (0.1, 0.12, 0.1), "top": (0.12, 0.08, 0.1)}  # m
MASS = {"bottom": 2.0, "middle": 4.0, "top": 3.0}  # kg: heavy on light
PLACES = {"bottom": (0.0, 0.0, 0.0), "middle": (0.03, -0.02, 20.0), "top": (-0.02, 0.01, -35.0)}  # m, m, degrees
GAP, DT, DURATION, FRICTION = 1e-3, 0.005, 10.0, 0.6


def main() -> int:
    builder = lw.Builder("stack of boxes")
    for name, mass in MASS.items():
        x, y, z = (mass / 3.0 * half**2 for half in HALF[name])
        builder.add_body(name, joint=lw.joints.Free(), mass=mass, inertia=(y + z, x + z, x + y))
    stack, names = builder.build(), list(MASS)
    contacts = [lw.Contact("bottom", lw.Box(HALF["bottom"]), friction=FRICTION)]
    for name, below in zip(names[1:], names, strict=False):
        on = {"against": lw.Box(HALF[below]), "on": below}
        contacts.append(lw.Contact(name, lw.Box(HALF[name]), friction=FRICTION, **on))

    q, height = lw.neutral(stack), 0.0
    for k, (x, y, degrees) in enumerate(PLACES.values()):
        angle, half = 0.5 * np.radians(degrees), HALF[names[k]][2]
        q[7 * k : 7 * k + 7] = [x, y, height + GAP + half, 0.0, 0.0, np.sin(angle), np.cos(angle)]
        height += GAP + 2.0 * half
    motion = lw.simulate(stack, q, np.zeros(stack.nv), DURATION, DT, contacts=contacts, record=20)
    seen = [1, 5, -1]  # indices of recorded states
    with lw.interpreted():
        points, _ = lw.contact_points(stack, motion.q[seen], contacts)
        _, forces = lw.contact_dynamics(stack, motion.q[seen], motion.v[seen], np.zeros(stack.nv), contacts, dt=DT)

    layers = [slice(0, 4), slice(4, 16), slice(16, 28)]  # four points on the floor, twelve for each pair of boxes
    upward, across = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    weights = -stack.gravity[2] * np.cumsum(list(MASS.values())[::-1])[::-1]  # of each box and all above it
    borne = [upward[-1, layer].sum() for layer in layers]
    for name, layer, bears, weighs in zip(names, layers, borne, weights, strict=True):
        count = np.count_nonzero(upward[-1, layer])
        print(f"below the {name} one {count} points bear {bears:.3f} N; all from there up weighs {weighs:.3f} N")
    total = np.add(*motion.energy)
    crept = max(np.abs(motion.q[-1, 7 * k : 7 * k + 2] - q[7 * k : 7 * k + 2]).max() for k in range(3))
    print(f"in {DURATION:g} s it creeps by {1e3 * crept:.2f} mm, and ends at {np.abs(motion.v[-1]).max():.1e} m/s")
    pressure = [upward[-1, layer] @ points[-1, layer, :2] / upward[-1, layer].sum() for layer in layers]
    masses, places = np.array(list(MASS.values())), motion.q[-1].reshape(3, 7)[:, :2]
    above = [masses[k:] @ places[k:] / masses[k:].sum() for k in range(3)]
    if len(sys.argv) > 1:
        boxes = {name: tuple(2.0 * x for x in half) for name, half in HALF.items()}
        lw.draw(stack, motion.q[-1], path=sys.argv[1], boxes=boxes, joints=False, view=(-60.0, 20.0))
    holds = {
        "it stands": crept < 1e-3 and np.abs(motion.v[-1]).max() < 1e-4,
        "all push": upward.min() >= 0.0,
        "forces lie in their cones": (across <= 1.01 * FRICTION * upward + 1e-6).all(),  # normals are slightly inclined
        "each bears what lies above it": np.allclose(borne, weights, rtol=1e-4),
        "below the centre of mass": np.abs(np.array(pressure) - above).max() < 1e-4,
        "no energy is gained": total.max() <= total[0],  # soft contacts store some, and return it
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
