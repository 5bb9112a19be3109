"""A Panda throws a ball into a bucket that it cannot reach, by the gradient of the landing point.

Inside one rollout, gravity is compensated and the joints follow a path through six knots by PD control. A compiled
function computes where a ball released by the hand in a given state lands; its derivative (``lw.vjp``) is propagated
backward through all steps of the rollout to the knots (``Rollout.pullback``), and SciPy's L-BFGS-B minimises the error
with it, within the joint limits.

Run it, with a URDF of the Panda or with the package example-robot-data installed. The ball must land within a
centimetre of the bucket's centre. The rate of gradients is printed.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.optimize import minimize

import linkwork as lw

DT, STEPS, KNOTS, ARM = 0.005, 120, 6, 7  # s
READY = np.array([0.0, -0.9, 0.0, -2.6, 0.0, 1.9, 0.8, 0.0, 0.0])  # seven joints, two fingers
BUCKET = np.array([1.7, 0.5])  # m, on the floor
FAST = 20.0  # 1/s: bandwidth of the joint control


def panda() -> lw.Model:
    """The model of the file given as an argument, or of the package of example robots."""
    try:
        return lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")


MODEL = panda()


def landing(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The landing point (2,) of a ball released by the hand in this state."""
    place = lw.forward_kinematics(MODEL, q, ["panda_hand"])[0, :3, 3]
    speed = lw.frame_velocity(MODEL, q, v, ["panda_hand"], "local_world_aligned")[0, :3]
    rise = speed[2] / 9.81
    return place[:2] + speed[:2] * (rise + np.sqrt(rise * rise + 2.0 * place[2] / 9.81))


def main() -> int:
    lands = lw.compile(landing, q=MODEL.nq, v=MODEL.nv)
    pulled = lw.vjp(lands)
    borne = lw.compile(lambda t, q, v: lw.gravity_torques(MODEL, q), t=(), q=MODEL.nq, v=MODEL.nv)
    rows = np.linspace(0.0, KNOTS - 1.0, STEPS)
    shares = np.maximum(0.0, 1.0 - np.abs(rows[:, None] - np.arange(KNOTS)))  # (T, KNOTS): linear interpolation
    inertia = lw.mass_matrix(MODEL, READY).diagonal()
    pull = {"kp": FAST**2 * inertia, "kd": 2.0 * FAST * inertia, "torque": borne}
    calls = 0

    def thrown(knots: np.ndarray) -> lw.Rollout:
        targets = np.tile(READY, (STEPS, 1))
        targets[:, :ARM] = shares @ knots
        still = np.zeros(MODEL.nv)
        return lw.rollout(MODEL, READY, still, q_target=targets, dt=DT, steps=STEPS, **pull)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        knots = flat.reshape(KNOTS, ARM)
        run = thrown(knots)
        miss = lands(run.q[-1], run.v[-1]) - BUCKET
        bends = np.diff(knots, axis=0, prepend=READY[None, :ARM])
        value = 0.5 * miss @ miss + 0.002 * (bends * bends).sum()
        _, (dq, dv) = pulled(run.q[-1], run.v[-1], miss)
        none = np.zeros((STEPS, MODEL.nv))  # the loss does not depend on states before the last
        back = run.pullback(q=np.vstack([none, dq]), v=np.vstack([none, dv]))
        gradient = shares.T @ (back.parts["q_target"].reshape(STEPS, -1)[:, :ARM])
        gradient += 0.004 * (bends - np.vstack([bends[1:], np.zeros(ARM)]))
        return float(value), gradient.ravel()

    low, high = np.tile(MODEL.lower_limit[:ARM], KNOTS), np.tile(MODEL.upper_limit[:ARM], KNOTS)
    first = np.tile(READY[:ARM], KNOTS)
    begun = time.perf_counter()
    within, most = list(zip(low, high, strict=True)), {"maxiter": 30}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=within, options=most)
    spent = time.perf_counter() - begun
    run = thrown(found.x.reshape(KNOTS, ARM))
    place = lands(run.q[-1], run.v[-1])
    off = float(np.linalg.norm(place - BUCKET))
    speed = lw.frame_velocity(MODEL, run.q[-1], run.v[-1], ["panda_hand"], "local_world_aligned")[0, :3]
    print(f"{calls} gradients through {STEPS} steps, {calls / spent:.0f}/s with the first call's compilation")
    print(f"let go at {np.linalg.norm(speed):.2f} m/s, the ball lands {1e3 * off:.1f} mm off the bucket's middle")
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    if picture is not None:
        lw.motion_sequence(run.trajectory(), 6, picture, trails=["panda_hand"])
    return 0 if off < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
