"""A control law of your own in 20 lines, compiled, against linkwork's operational-space controller.

The hand of a humanoid follows a point, and the remaining motion keeps the posture: the law of Chang and Khatib's paper,
written over NumPy arrays. ``lw.compile`` turns it into machine code, for one state or for thousands.

Run it: both laws must give the same torques.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

MODEL = lw.mechanisms.humanoid()
HAND = lw.Point("left_hand", axes="position")
HOME = lw.neutral(MODEL)
SPRINGS = 25.0 * lw.mass_matrix(MODEL, HOME).diagonal()


def law(q: np.ndarray, v: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Torques (nv,) for a hand like a unit mass on a spring and a damper, with the posture in its null space."""
    J = lw.jacobian(MODEL, q, [HAND], reference="local_world_aligned")
    drift = lw.jacobian_drift(MODEL, q, v, [HAND], reference="local_world_aligned")
    place = lw.forward_kinematics(MODEL, q, ["left_hand"])[0]
    M, h = lw.mass_matrix(MODEL, q), lw.nonlinear_effects(MODEL, q, v)

    L = np.linalg.cholesky(M)
    half = np.linalg.solve(L, J.T)  # J M⁻¹ Jᵀ = halfᵀ half
    mobility = half.T @ half
    wanted = 100.0 * (target - place[:3, 3]) - 20.0 * (J @ v)
    force = np.linalg.solve(mobility, wanted - drift)

    posture = SPRINGS * lw.difference(MODEL, q, HOME) - 10.0 * (M @ v)
    felt = np.linalg.solve(mobility, half.T @ np.linalg.solve(L, posture))  # the posture's effect at the hand
    return h + MODEL.damping * v + J.T @ (force - felt) + posture


def main() -> int:
    start = time.perf_counter()
    fast = lw.compile(law, q=MODEL.nq, v=MODEL.nv, target=3)
    q, v = lw.random_state(MODEL, 0, shape=4096)
    q, target = 0.3 * q, np.array([0.3, 0.3, 1.0])
    tau = fast(q, v, target)
    print(f"the law: {sum(fast.count().values()):,} operations, compiled in {time.perf_counter() - start:.1f} s")
    task = lw.control.Task(HAND, target, kp=100.0, kd=20.0)
    library = lw.control.OperationalSpaceController(MODEL, [task], lw.control.Posture(HOME, SPRINGS, kd=10.0))
    worst = max(np.abs(library.torque(0.0, q[k], v[k]) - tau[k]).max() / np.abs(tau[k]).max() for k in range(50))
    print(f"torques differ from linkwork's controller by {worst:.1e} of the largest")
    fast(q[0], v[0], target)  # compiles code for one state
    start = time.perf_counter()
    for k in range(1000):
        fast(q[k], v[k], target)
    one = (time.perf_counter() - start) / 1000
    start = time.perf_counter()
    fast(q, v, target, out=tau)
    batch = (time.perf_counter() - start) / len(q)
    print(f"one state: {1e6 * one:.1f} µs; in a batch of {len(q)}: {1e6 * batch:.2f} µs a state")
    if len(sys.argv) > 1:
        run = lw.simulate(MODEL, HOME, 0 * HOME, 1.0, 0.002, torque=lambda t, q, v: fast(q, v, target))
        lw.motion_sequence(run, 5, sys.argv[1], trails=["left_hand"])
    return 0 if worst < 1e-8 else 1


if __name__ == "__main__":
    sys.exit(main())
