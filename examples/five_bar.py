"""A five-bar linkage with two motors follows a circle: control through a closed loop, compiled.

Two arms of two rods each meet at a hinge. Only the joints at the ground are actuated. The law is written over NumPy
arrays with linkwork's functions: the map from motor torques to accelerations of the hinge is found by evaluating the
constrained dynamics with one motor after the other. ``lw.compile`` turns the law into machine code.

Run it: the linkage must follow the circle, with its loop closed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

RADIUS, CENTRE, TURN = 0.06, np.array([0.1, 0.42]), 4.0  # m, m, rad/s
STIFFNESS, DAMPING = 900.0, 60.0  # 1/s², 1/s
STEP, STEPS = 5e-4, 3000  # s
LOOP = (lw.PointOnPlane("left", "right", normal="x"), lw.PointOnPlane("left", "right", normal="z"))


def build() -> lw.Model:
    """In the plane y = 0: two arms whose tips are the frames "left" and "right"."""
    builder = lw.Builder("five_bar")
    for name, x, tip in (("left", 0.0, "left"), ("right", 0.2, "right")):
        rod = {"mass": 0.4, "com": (0.0, 0.0, 0.125), "inertia": (0.002, 0.002, 1e-4)}
        joint = lw.joints.Revolute("y")
        builder.add_body(f"{name}_upper", "world", joint, lw.placement((x, 0.0, 0.0)), armature=0.001, **rod)
        builder.add_body(f"{name}_lower", f"{name}_upper", joint, lw.placement((0.0, 0.0, 0.25)), **rod)
        builder.add_frame(tip, f"{name}_lower", lw.placement((0.0, 0.0, 0.25)))
    return builder.build()


MODEL = build()
TIP = [lw.Point("left", axes="position")]
MOTORS = np.array([0, 2])


def goal(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Desired position of the hinge in the plane, with velocity and acceleration."""
    c, s = np.cos(TURN * t), np.sin(TURN * t)
    along = np.stack([c, s])
    across = np.stack([-s, c])
    return CENTRE + RADIUS * along, TURN * RADIUS * across, -(TURN**2) * RADIUS * along


def law(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Joint torques (4,), nonzero only for the motors."""
    place = lw.forward_kinematics(MODEL, q, ["left"])[0][:3, 3][[0, 2]]
    J = lw.jacobian(MODEL, q, TIP, reference="local_world_aligned")[[0, 2]]
    drift = lw.jacobian_drift(MODEL, q, v, TIP, reference="local_world_aligned")[[0, 2]]
    where, speed, change = goal(t)
    wanted = change + STIFFNESS * (where - place) + DAMPING * (speed - J @ v)

    def caused(tau: np.ndarray) -> np.ndarray:
        """The acceleration of the hinge, with the loop closed."""
        a, _ = lw.constrained_dynamics(MODEL, q, v, tau, LOOP)
        return J @ a + drift

    free = caused(np.zeros(4))
    unit = np.eye(4)[MOTORS]
    moved = np.stack([caused(unit[0]) - free, caused(unit[1]) - free], axis=-1)
    return np.linalg.solve(moved, wanted - free) @ unit


def closed(q: np.ndarray) -> np.ndarray:
    """A configuration near q in which the arms meet on the circle, by Newton's method."""
    for _ in range(50):
        left, right = (lw.forward_kinematics(MODEL, q, [name])[0][[0, 2], 3] for name in ("left", "right"))
        Jl, Jr = (lw.jacobian(MODEL, q, [name], reference="local_world_aligned")[[0, 2]] for name in ("left", "right"))
        start = goal(np.array(0.0))[0]
        q = q - np.linalg.solve(np.concatenate([Jl, Jr]), np.concatenate([left - start, right - start]))
    return q


def main() -> int:
    fast = lw.compile(law, t=(), q=MODEL.nq, v=MODEL.nv)
    q = closed(np.array([-0.6, 1.0, 0.7, -1.2]))
    v = np.zeros(4)
    compare = np.abs(fast(0.1, q, v) - law(np.array(0.1), q, v)).max()
    start = time.perf_counter()
    for _ in range(1000):
        fast(0.1, q, v)
    rate = 1000 / (time.perf_counter() - start)
    run = lw.simulate(
        MODEL, q, v, STEP * STEPS, STEP, torque=lambda t, q, v: fast(t, q, v), constraints=LOOP, stabilisation=0.01
    )
    ends = [lw.forward_kinematics(MODEL, run.q, [name])[:, 0][:, [0, 2], 3] for name in ("left", "right")]
    off = np.array([np.linalg.norm(end - goal(np.array(t))[0]) for t, end in zip(run.t, ends[0], strict=True)])
    late, gap = off[len(off) // 2 :].max(), np.linalg.norm(ends[0] - ends[1], axis=1).max()
    print(f"the law: {sum(fast.count().values())} operations, {rate:,.0f} times a second from Python")
    print(f"compiled and plain differ by {compare:.1e} N m")
    print(
        f"the hinge is off the circle by {1e3 * late:.3f} mm after half of the time; "
        f"the loop opens by {1e6 * gap:.2f} µm"
    )
    if len(sys.argv) > 1:
        lw.motion_sequence(run, 6, sys.argv[1], trails=["left"], view=(-80.0, 10.0))
    return 0 if compare < 1e-9 and late < 1e-3 and gap < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
