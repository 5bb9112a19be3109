"""LQR balances a cart-pole, and lets an acrobot stand: gains from one step linearised (``lw.linearise``).

The discrete Riccati equation is iterated with A and B of the very step that the simulation takes, so that the gains fit
it exactly. The law is compiled into the rollout, from many starts at once.

Run it: both mechanisms must come to rest upright from all starts near it.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, STEPS = 0.01, 1000  # s


def cart_pole() -> tuple[lw.Model, np.ndarray, np.ndarray]:
    """The model, where it stands, and which joints have motors."""
    builder = lw.Builder("cart_pole")
    builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    pole = {"mass": 0.2, "com": (0.0, 0.0, -0.5), "inertia": (0.02, 0.02, 1e-4)}
    builder.add_body("pole", "cart", lw.joints.Revolute("y"), **pole)
    return builder.build(), np.array([0.0, np.pi]), np.array([1.0, 0.0])


def acrobot() -> tuple[lw.Model, np.ndarray, np.ndarray]:
    builder = lw.Builder("acrobot")
    rod = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (0.08, 0.08, 1e-3)}
    builder.add_body("upper", joint=lw.joints.Revolute("y"), **rod)
    builder.add_body("lower", "upper", lw.joints.Revolute("y"), lw.placement((0, 0, -1.0)), **rod)
    return builder.build(), np.array([np.pi, 0.0]), np.array([0.0, 1.0])


def gains(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K of u = -K x, by the Riccati equation, iterated until it stays."""
    P = Q
    for _ in range(20_000):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        after = Q + A.T @ P @ (A - B @ K)
        if np.abs(after - P).max() < 1e-12 * np.abs(P).max():
            break
        P = 0.5 * (after + after.T)
    return K


def main() -> int:
    good = True
    for build, near in ((cart_pole, 0.3), (acrobot, 0.01)):
        model, upright, motors = build()
        A, B = lw.linearise(model, upright, np.zeros(model.nv), dt=DT)
        driven = B[:, motors > 0.0]
        K = gains(A, driven, np.diag([1.0] * model.nv + [0.1] * model.nv), 0.1 * np.eye(1))
        rates = np.abs(np.linalg.eigvals(A - driven @ K))

        def text(t: np.ndarray, q: np.ndarray, v: np.ndarray, model=model, upright=upright, motors=motors, K=K):
            x = np.concatenate([lw.difference(model, upright, q), v])
            return -motors * (K @ x)

        law = lw.compile(text, t=(), q=model.nq, v=model.nv)
        starts = upright + near * np.random.default_rng(0).uniform(-1.0, 1.0, (500, model.nv))
        run = lw.rollout(model, starts, np.zeros(model.nv), dt=DT, steps=STEPS, record=STEPS, torque=law)
        off = np.abs(run.q[:, -1] - upright).max()
        alone = np.abs(np.linalg.eigvals(A)).max()
        print(f"{model.name}: eigenvalues up to {alone:.3f} alone, {rates.max():.3f} with the law")
        print(f"  from 500 starts up to {near} off, the worst is {off:.1e} off after {STEPS * DT:g} s")
        if len(sys.argv) > 1 and build is cart_pole:
            some = lw.rollout(model, starts[:1], np.zeros(model.nv), dt=DT, steps=300, record=5, torque=law)
            lw.motion_sequence(some.trajectory(0), 7, sys.argv[1], view=(-80.0, 10.0))
        good = good and bool(rates.max() < 1.0) and bool(off < 1e-2)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
