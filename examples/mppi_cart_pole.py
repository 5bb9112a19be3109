"""Model-predictive path integral control swings up a cart-pole: 4,096 sampled rollouts in every control step.

Each sample is a rollout in machine code with its own forces over time; the cost is a compiled function, summed along
each trajectory without storing any state (``record=0``). The forces are averaged with weights exp(-cost / λ).

Run it: the pole must stand upright at the end, with the cart near the middle. The control rate is printed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

SAMPLES, HORIZON = 4096, 50
DT, SECONDS = 0.02, 4.0  # s
NOISE, LAMBDA, MOST = 6.0, 8.0, 15.0  # N, of cost, N


def build() -> lw.Model:
    """A cart on a rail with a pole that hangs down at q = 0."""
    builder = lw.Builder("cart_pole")
    builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    hinge = lw.joints.Revolute("y")
    builder.add_body("pole", "cart", hinge, mass=0.2, com=(0.0, 0.0, -0.5), inertia=(0.02, 0.02, 1e-4))
    return builder.build()


MODEL = build()


def cost(t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The cost of one step: the pole upright, the cart in the middle, everything at rest, with little force."""
    up = 1.0 + np.cos(q[1])  # 0 upright, 2 hanging
    return 10.0 * up * up + 1.5 * q[0] * q[0] + 0.1 * v[0] * v[0] + 0.1 * v[1] * v[1] * (2.0 - up) + 0.002 * tau @ tau


def main() -> int:
    fast = lw.compile(cost, t=(), q=MODEL.nq, v=MODEL.nv, tau=MODEL.nv)
    rng = np.random.default_rng(0)
    q, v, plan = np.zeros(2), np.zeros(2), np.zeros(HORIZON)
    spent, states = 0.0, []
    for _ in range(round(SECONDS / DT)):
        begun = time.perf_counter()
        noise = NOISE * rng.normal(size=(SAMPLES, HORIZON))
        forces = np.zeros((SAMPLES, HORIZON, MODEL.nv))
        forces[..., 0] = np.clip(plan + noise, -MOST, MOST)
        starts = np.broadcast_to(q, (SAMPLES, 2)), np.broadcast_to(v, (SAMPLES, 2))
        costs = lw.rollout(MODEL, *starts, forces, dt=DT, record=0, cost=fast).cost
        weights = np.exp(-(costs - costs.min()) / LAMBDA)
        plan = (weights[:, None] * forces[..., 0]).sum(axis=0) / weights.sum()
        spent += time.perf_counter() - begun
        step = lw.rollout(MODEL, q, v, [plan[0], 0.0], dt=DT, steps=1)
        q, v = step.q[-1], step.v[-1]
        states.append(q)
        plan = np.append(plan[1:], 0.0)
    steps = round(SECONDS / DT)
    tilt = abs(np.remainder(q[1], 2.0 * np.pi) - np.pi)
    print(f"{SAMPLES} samples of {HORIZON} steps: {steps / spent:.0f} control steps a second")
    print(f"{SAMPLES * HORIZON * steps / spent:,.0f} steps of the cart-pole a second")
    print(f"after {SECONDS:g} s the pole is {np.degrees(tilt):.1f}° off, the cart {q[0]:.2f} m from the middle")
    if len(sys.argv) > 1:
        lw.draw(MODEL, states[::8], path=sys.argv[1], view=(-80.0, 10.0))
    return 0 if tilt < 0.2 and abs(q[0]) < 0.6 else 1


if __name__ == "__main__":
    sys.exit(main())
