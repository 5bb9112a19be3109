"""An acrobot swings itself up by iLQR: one weak motor at its elbow, none at its shoulder.

Each iteration linearises all 400 steps of the trajectory in one call (``lw.linearise``), runs the Riccati recursion
backwards, and tries eleven step lengths at once, each as one trajectory of a single rollout whose compiled law includes
the feedback.

Run it: the acrobot must end standing upright, to 0.05 rad and rad/s.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

DT, STEPS, ROUNDS = 0.0125, 400, 100
LENGTHS = 2.0 ** -np.arange(11.0)  # step lengths towards the new torques
UPRIGHT = np.array([np.pi, 0.0, 0.0, 0.0])
RUNNING, FINAL, EFFORT = np.array([0.01, 0.01, 0.01, 0.01]), 400.0 * np.array([1.0, 1.0, 0.3, 0.3]), 0.02


def acrobot() -> lw.Model:
    """Two rods of 1 kg and 1 m; it hangs at q = 0."""
    builder = lw.Builder("acrobot")
    rod = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (0.08, 0.08, 1e-3)}
    builder.add_body("upper", joint=lw.joints.Revolute("y"), **rod)
    builder.add_body("lower", "upper", lw.joints.Revolute("y"), lw.placement((0, 0, -1.0)), **rod)
    return builder.build()


def feedback(t, q, v, torque, change, gain, around, length):  # type: ignore[no-untyped-def]
    """The elbow's torque: that of a trajectory, plus a step of the given length towards the new one, with feedback."""
    off = np.concatenate([q, v]) - around
    return np.stack([0.0, torque + length * change + gain @ off])


def price(t, q, v, tau):  # type: ignore[no-untyped-def]
    """The cost of a step."""
    off = np.concatenate([q, v]) - UPRIGHT
    return 0.5 * DT * (RUNNING @ (off * off) + EFFORT * tau[1] * tau[1])


def backward(A: np.ndarray, B: np.ndarray, x: np.ndarray, u: np.ndarray, damping: float) -> tuple[np.ndarray, ...]:
    """The changes of torque (T,) and gains (T, 4) of the optimal feedback for the linearised steps."""
    V, s = np.diag(FINAL), FINAL * (x[-1] - UPRIGHT)
    changes, gains = np.empty(STEPS), np.empty((STEPS, 4))
    for k in reversed(range(STEPS)):
        Q_x, Q_u = DT * RUNNING * (x[k] - UPRIGHT) + A[k].T @ s, DT * EFFORT * u[k] + B[k] @ s
        Q_uu, Q_ux = DT * EFFORT + B[k] @ V @ B[k] + damping * (B[k] @ B[k]), (B[k] @ V + damping * B[k]) @ A[k]
        changes[k], gains[k] = -Q_u / Q_uu, -Q_ux / Q_uu
        closed = A[k] + np.outer(B[k], gains[k])
        V = DT * np.diag(RUNNING) + DT * EFFORT * np.outer(gains[k], gains[k]) + closed.T @ V @ closed
        s = Q_x + gains[k] * Q_u + (Q_ux + gains[k] * Q_uu) * changes[k]
    return changes, gains


def main() -> int:
    model = acrobot()
    law = lw.compile(feedback, t=(), q=2, v=2, torque=(), change=(), gain=4, around=4, length=())
    cost = lw.compile(price, t=(), q=2, v=2, tau=2)
    rng = np.random.default_rng(2)
    u, zero = 0.5 * rng.normal(size=STEPS), np.zeros(STEPS)
    run = {"dt": DT, "torque": law, "cost": cost, "diverged": "nan"}
    start = np.zeros(2)

    def rolled(u: np.ndarray, change: np.ndarray, gain: np.ndarray, x: np.ndarray, lengths: np.ndarray) -> lw.Rollout:
        numbers = (u, change, gain, x[:-1], lengths[:, None])
        q = np.zeros((len(lengths), 2))
        return lw.rollout(model, q, start, steps=STEPS, parameters=numbers, **run)

    first = rolled(u, zero, np.zeros((STEPS, 4)), np.zeros((STEPS + 1, 4)), LENGTHS[:1])
    x = np.concatenate([first.q[0], first.v[0]], axis=1)
    best, damping = float(first.cost[0] + 0.5 * FINAL @ (x[-1] - UPRIGHT) ** 2), 1.0
    begun, rounds = time.perf_counter(), 0
    for _ in range(ROUNDS):
        rounds += 1
        A, B = lw.linearise(model, x[:-1, :2], x[:-1, 2:], np.stack([zero, u], axis=1), dt=DT)
        changes, gains = backward(A, B[:, :, 1], x, u, damping)
        tried = rolled(u, changes, gains, x, LENGTHS)
        states = np.concatenate([tried.q, tried.v], axis=2)
        costs = np.nan_to_num(tried.cost + 0.5 * (states[:, -1] - UPRIGHT) ** 2 @ FINAL, nan=np.inf)
        which = int(costs.argmin())
        if costs[which] < best:
            gain = best - costs[which]
            u = u + LENGTHS[which] * changes + ((states[which, :-1] - x[:-1]) * gains).sum(axis=1)
            x, best, damping = states[which], float(costs[which]), max(1e-6, damping / 3.0)
            if gain < 1e-4 * best:
                break
        else:
            damping *= 5.0
            if damping > 1e6:
                break
    spent = time.perf_counter() - begun
    off = np.abs(x[-1] - UPRIGHT)
    print(f"cost {best:.2f} after {rounds} rounds, {rounds / spent:.0f} rounds/s: {STEPS} linearised steps each, and")
    print(f"{len(LENGTHS)} trajectories. It ends {off[:2].max():.1e} rad and {off[2:].max():.1e} rad/s off upright,")
    print(f"with {np.abs(u).max():.1f} N m at most")
    if len(sys.argv) > 1:
        lw.draw(model, x[::25, :2], path=sys.argv[1], view=(-85.0, 8.0))
    return 0 if off.max() < 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
