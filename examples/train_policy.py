"""A policy of 30 numbers learns to swing a pendulum up, by its gradient through 200 steps of simulation.

A small network is a compiled law inside the rollout; a compiled cost is summed along each trajectory. The gradient of
the cost with respect to the network's numbers is propagated backward in time by the adjoint method
(``Rollout.pullback``), for 48 starts at once, and Adam minimises the cost with it. The motor is too weak to lift the
pendulum directly.

Run it: the cost must fall to less than half, and the pendulum must end upright from most starts.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

HIDDEN, STEPS, DT, MOST = 6, 200, 0.02, 4.0  # tanh units, steps, s, N m
ROUNDS, STARTS, RATE = 90, 48, 0.1
NUMBERS = HIDDEN * 3 + HIDDEN + HIDDEN  # 30


def build() -> lw.Model:
    """1 kg at 0.5 m, hanging at q = 0; holding it level takes 4.9 N m."""
    builder = lw.Builder("pendulum")
    hinge = lw.joints.Revolute("y")
    builder.add_body("bob", joint=hinge, mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01), damping=0.05)
    return builder.build()


MODEL = build()


def policy(t: np.ndarray, q: np.ndarray, v: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """A torque from the angle's sine and cosine and the velocity."""
    first = numbers[: HIDDEN * 3].reshape(HIDDEN, 3)
    bias, last = numbers[HIDDEN * 3 : HIDDEN * 4], numbers[HIDDEN * 4 :]
    seen = np.stack([np.sin(q[0]), np.cos(q[0]), 0.3 * v[0]])
    return MOST * np.tanh(np.stack([last @ np.tanh(first @ seen + bias)]))


def price(t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The cost of a step: higher for low positions and high velocities, and with more weight for later steps."""
    return (0.2 + 0.01 * t) * (1.0 + np.cos(q[0])) + 0.002 * v[0] * v[0] + 0.0005 * tau[0] * tau[0]


def main() -> int:
    law = lw.compile(policy, t=(), q=1, v=1, numbers=NUMBERS)
    cost = lw.compile(price, t=(), q=1, v=1, tau=1)
    rng = np.random.default_rng(3)
    numbers = 0.8 * rng.normal(size=NUMBERS)
    first, second = np.zeros(NUMBERS), np.zeros(NUMBERS)
    history = []
    begun = time.perf_counter()
    for k in range(1, ROUNDS + 1):
        q, v = rng.uniform(-0.6, 0.6, (STARTS, 1)), rng.uniform(-0.6, 0.6, (STARTS, 1))
        run = lw.rollout(MODEL, q, v, dt=DT, steps=STEPS, record=0, torque=law, parameters=(numbers,), cost=cost)
        assert run.cost is not None
        history.append(run.cost.mean())
        gradient = run.pullback(cost=1.0 / STARTS).parameters[0].ravel()
        gradient = gradient / max(1.0, np.linalg.norm(gradient) / 50.0)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        numbers = numbers - RATE * (first / (1 - 0.9**k)) / (np.sqrt(second / (1 - 0.99**k)) + 1e-9)
    spent = time.perf_counter() - begun
    q = rng.uniform(-0.6, 0.6, (200, 1))
    trained = lw.rollout(MODEL, q, [0.0], dt=DT, steps=400, record=8, torque=law, parameters=(numbers,))
    end = trained.q[:, -1, 0]
    upright = (np.cos(end) < -0.9).mean()
    print(f"cost {history[0]:.1f} at first, {np.mean(history[-10:]):.1f} after {ROUNDS} rounds")
    print(f"{ROUNDS / spent:.1f} gradients a second, each of {STARTS} trajectories of {STEPS} steps")
    print(f"upright at the end: {100 * upright:.0f} % of 200 new starts")
    if len(sys.argv) > 1:
        from matplotlib.figure import Figure

        figure = Figure((8.0, 3.2), layout="constrained")
        learning, swinging = figure.subplots(1, 2)
        learning.plot(history)
        learning.set(xlabel="round", ylabel="mean cost")
        swinging.plot(trained.t, np.degrees(trained.q[:50, :, 0].T), linewidth=0.6)
        swinging.set(xlabel="time, s", ylabel="angle from hanging, degrees")
        figure.savefig(sys.argv[1])
    return 0 if np.mean(history[-10:]) < history[0] / 2.0 and upright > 0.6 else 1


if __name__ == "__main__":
    sys.exit(main())
