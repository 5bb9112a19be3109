"""LQR balances a cart-pole, an acrobot, and a humanoid on one foot: gains from one linearised step (``lw.linearise``).

The discrete Riccati equation is iterated with A and B of exactly the step that the simulation takes, so that the gains
fit it exactly. The law is compiled into the rollout, which starts from many states at once.

The model fixes the humanoid's foot to the ground, but a real foot would not be fixed: so the centre of pressure must
stay within the sole, which is checked in every state of every run.

Run it: all three must come to rest upright from all starts near it, and the foot must not tip.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, STEPS = 0.01, 1000  # s
SOLE = np.array([0.12, 0.04])  # m: half of its length and width


def cart_pole() -> tuple[lw.Model, np.ndarray, np.ndarray]:
    """The model, its upright configuration, and which joints have motors."""
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


def one_foot() -> tuple[lw.Model, np.ndarray, np.ndarray]:
    """A humanoid of 62 kg, with the standing foot as its root."""
    builder = lw.Builder("humanoid on one foot")
    slim = (0.12, 0.12, 0.01)
    x, y = lw.joints.Revolute("x"), lw.joints.Revolute("y")
    builder.add_body("ankle", joint=y, placement=lw.placement((0, 0, 0.08)), mass=0.5, inertia=(0.001, 0.001, 0.001))
    builder.add_body("shank", "ankle", x, mass=3.0, com=(0, 0, 0.2), inertia=slim)
    builder.add_body("thigh", "shank", y, lw.placement((0, 0, 0.42)), mass=7.0, com=(0, 0, 0.2), inertia=slim)
    builder.add_body("hip", "thigh", y, lw.placement((0, 0, 0.42)), mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.add_body("pelvis", "hip", x, mass=9.0, com=(0, 0.09, 0.05), inertia=(0.1, 0.1, 0.1))
    chest = {"mass": 25.0, "com": (0, 0, 0.2), "inertia": (1.0, 0.9, 0.4)}
    builder.add_body("spine", "pelvis", x, lw.placement((0, 0.09, 0.1)), mass=0.5, inertia=(0.01, 0.01, 0.01))
    builder.add_body("chest", "spine", y, **chest)
    for side, over in (("left", 0.2), ("right", -0.2)):
        shoulder = f"{side}_shoulder"
        builder.add_body(shoulder, "chest", y, lw.placement((0, over, 0.4)), mass=0.3, inertia=(0.001, 0.001, 0.001))
        builder.add_body(f"{side}_arm", shoulder, x, mass=3.0, com=(0, 0, -0.3), inertia=slim)
    builder.add_body("free_hip", "pelvis", x, lw.placement((0, 0.18, 0)), mass=0.5, inertia=(0.01, 0.01, 0.01))
    builder.add_body("free_leg", "free_hip", y, mass=9.0, com=(0, 0, -0.4), inertia=(1.0, 1.0, 0.02))
    model = builder.build()
    return model, balanced(model), np.ones(model.nv)


def balanced(model: lw.Model) -> np.ndarray:
    """The configuration near the neutral one in which the centre of pressure is at the foot's centre."""
    q, least = lw.neutral(model), np.eye(model.nv)
    for _ in range(30):
        off = lw.centre_of_mass(model, q)[:2]
        J = (
            np.array([lw.centre_of_mass(model, lw.integrate(model, q, 1e-6 * step))[:2] - off for step in least]).T
            / 1e-6
        )
        q = lw.integrate(model, q, -np.linalg.pinv(J) @ off)
    return q


def pressures(model: lw.Model, q: np.ndarray, v: np.ndarray, law: lw.CompiledFunction) -> np.ndarray:
    """Centres of pressure (..., 2), m from the foot's centre, in states under the law."""
    tau = law(0.0, q, v)
    _, wrenches = lw.forward_dynamics_and_reactions(model, q, v, tau)
    place = lw.forward_kinematics(model, q, ["ankle"])[..., 0, :, :]
    force = np.einsum("...ij,...j->...i", place[..., :3, :3], wrenches[..., 0, :3])
    moment = np.einsum("...ij,...j->...i", place[..., :3, :3], wrenches[..., 0, 3:])
    moment = moment + np.cross(place[..., :3, 3], force)
    return np.stack([-moment[..., 1], moment[..., 0]], axis=-1) / force[..., 2:]


def gains(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K of u = -K x, by the Riccati equation, iterated until it converges."""
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
    for build, near, price in ((cart_pole, 0.3, 0.1), (acrobot, 0.01, 0.1), (one_foot, 0.01, 0.001)):
        model, upright, motors = build()
        held = lw.gravity_torques(model, upright)  # zero where there is no motor
        A, B = lw.linearise(model, upright, np.zeros(model.nv), held, dt=DT)
        driven = B[:, motors > 0.0]
        K = gains(A, driven, np.diag([1.0] * model.nv + [0.1] * model.nv), price * np.eye(driven.shape[1]))
        rates = np.abs(np.linalg.eigvals(A - driven @ K))

        feedback = np.eye(model.nv)[:, motors > 0.0] @ K

        def text(t: np.ndarray, q: np.ndarray, v: np.ndarray, model=model, upright=upright, held=held, K=feedback):
            x = np.concatenate([lw.difference(model, upright, q), v])
            return held - K @ x

        law = lw.compile(text, t=(), q=model.nq, v=model.nv)
        starts = upright + near * np.random.default_rng(0).uniform(-1.0, 1.0, (500, model.nv))
        run = lw.rollout(model, starts, np.zeros(model.nv), dt=DT, steps=STEPS, record=10, torque=law)
        off = np.abs(run.q[:, -1] - upright).max()
        alone = np.abs(np.linalg.eigvals(A)).max()
        print(f"{model.name}: eigenvalues up to {alone:.3f} alone, {rates.max():.3f} with the law")
        print(f"  from 500 starts up to {near} off, the worst is {off:.1e} off after {STEPS * DT:g} s")
        if build is one_foot:
            where = np.abs(pressures(model, run.q, run.v, law)).reshape(-1, 2).max(axis=0)
            print(
                f"  the ground bears it within {100 * where[0]:.1f} cm along the foot and {100 * where[1]:.1f} across"
            )
            good = good and bool((where < SOLE).all())
        if len(sys.argv) > 1 and build is cart_pole:
            some = lw.rollout(model, starts[:1], np.zeros(model.nv), dt=DT, steps=300, record=5, torque=law)
            lw.motion_sequence(some.trajectory(0), 7, sys.argv[1], view=(-80.0, 10.0))
        good = good and bool(rates.max() < 1.0) and bool(off < 1e-2)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
