"""A sheet of chain mail with a hundred loops swings from one corner.

Chains of rings hang from a chain at the top, and every ring stays beside its neighbour in the next column: nearly as
many loops as rings. By virtual work a loop is open only where its two columns are joined. The accelerations are one
code with loops over rings and constraints, of the same length for any number of them, which the code of a step calls.

Run it: it checks that the rings stay where the constraints hold them, that energy only falls, and that both methods
compute the same accelerations.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT = 1e-3  # s
COLUMNS, ROWS, STEPS = 11, 10, 1000
RING: dict[str, object] = {"mass": 0.01, "com": (0.0, 0.0, -0.025), "inertia": (4e-6, 4e-6, 6e-6)}
SIZE = 0.05  # m


def build(columns: int, rows: int) -> tuple[lw.Model, list[lw.Constraint]]:
    """A chain of rings along x, and on each of them a chain that hangs down."""
    builder = lw.Builder("chain_mail")
    top = "world"
    for column in range(columns):
        place = lw.placement((SIZE if column else 0.0, 0.0, 0.0))
        top = builder.add_body(f"top{column}", top, lw.joints.Spherical(), place, **RING)
        ring = top
        for row in range(rows):
            place = lw.placement((0.0, 0.0, -SIZE))
            ring = builder.add_body(f"ring{column}_{row}", ring, lw.joints.Spherical(), place, **RING)
            builder.add_frame(f"side{column}_{row}", ring, lw.placement((SIZE, 0.0, 0.0)))
    beside: list[lw.Constraint] = [
        lw.PointOnPlane(f"ring{column + 1}_{row}", f"side{column}_{row}", normal="x")
        for column in range(columns - 1)
        for row in range(rows)
    ]
    return builder.build(), beside


def main() -> int:
    columns, rows, steps = COLUMNS, ROWS, STEPS
    model, beside = build(columns, rows)
    print(f"{len(model.bodies)} rings, {model.nv} degrees of freedom, {len(beside)} loops")
    q, v = lw.neutral(model), np.zeros(model.nv)
    options = {"constraints": beside, "damping": 1e-4, "friction_law": "stiction", "progress": False}
    path = lw.simulate(model, q, v, steps * DT, DT, method="virtual_work", **options)
    off = max(
        abs((np.linalg.inv(b) @ a)[0, 3])
        for a, b in (lw.forward_kinematics(model, path.q[-1], [one.frame_a, one.frame_b]) for one in beside)
    )
    energy = np.sum(lw.energy(model, path.q[::50], path.v[::50]), axis=0)
    print(f"after {path.t[-1]:g} s the sheet is off by {1e6 * off:.1f} µm, and has lost {energy[0] - energy[-1]:.2g} J")
    state = path.q[-1], path.v[-1], np.zeros(model.nv)
    one, two = (
        lw.constrained_dynamics(model, *state, beside, method=name)[0] for name in ("virtual_work", "articulated_body")
    )
    difference = abs(one - two).max() / abs(two).max()
    print(f"there the accelerations by both methods differ by {difference:.0e}")
    fine = off < 2e-3 and difference < 1e-9 and bool((np.diff(energy) < 0.0).all())
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
