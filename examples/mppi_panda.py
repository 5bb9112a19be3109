"""A Panda reaches around an obstacle by sampling: 4,096 rollouts in every control step, in machine code.

Model-predictive path integral control over joint velocities. Inside each rollout a compiled law turns them into
torques, by inverse dynamics; a compiled cost depends on the position of the hand, and on the penetration of hand and
elbow into a sphere on the straight path. Only the cost of a rollout is kept (``record=0``).

Run it, with a URDF of the Panda or with the package example-robot-data installed. The hand must reach its target, and
neither it nor the elbow may touch the sphere. The control rate is printed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

SAMPLES, HORIZON, KNOTS = 4096, 24, 4
DT, CONTROLS = 0.025, 70  # s
NOISE, LAMBDA = 0.8, 0.02  # rad/s, of cost
READY = np.array([0.8, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.0, 0.0])  # seven joints, two fingers
RADIUS, CLEAR, TAKE_UP = 0.12, 0.05, 0.1  # m, m, s
ARM = 7


def panda() -> lw.Model:
    """The model of the file given as an argument, or of the package of example robots."""
    try:
        return lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")


MODEL = panda()
POINTS = ["panda_hand", "panda_link4"]
START = lw.forward_kinematics(MODEL, READY, POINTS)[0, :3, 3]
TARGET = START * np.array([1.0, -1.0, 1.0])  # on the other side
SPHERE = 0.5 * (START + TARGET) + np.array([-0.02, 0.0, 0.02])


def law(t: np.ndarray, q: np.ndarray, v: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Torques with which the joints reach velocities (7,); the fingers stay where they are."""
    wanted = np.concatenate([speed, -5.0 * q[ARM:]])
    return lw.inverse_dynamics(MODEL, q, v, (wanted - v) / TAKE_UP)


def cost(t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The cost of one step."""
    places = lw.forward_kinematics(MODEL, q, POINTS)[:, :3, 3]
    off = np.linalg.norm(places[0] - TARGET)
    deep = np.maximum(RADIUS + CLEAR - np.linalg.norm(places - SPHERE, axis=1), 0.0)
    return off + 60.0 * deep.sum() + 0.002 * v @ v


def main() -> int:
    drive = lw.compile(law, t=(), q=MODEL.nq, v=MODEL.nv, speed=ARM)
    price = lw.compile(cost, t=(), q=MODEL.nq, v=MODEL.nv, tau=MODEL.nv)
    rng = np.random.default_rng(0)
    spread = np.array([np.interp(np.arange(HORIZON), np.linspace(0, HORIZON - 1, KNOTS), row) for row in np.eye(KNOTS)])
    q, v, plan = READY, np.zeros(MODEL.nv), np.zeros((HORIZON, ARM))
    spent, nearest, states = 0.0, np.inf, []
    for _ in range(CONTROLS):
        begun = time.perf_counter()
        noise = np.einsum("kh,skj->shj", spread, NOISE * rng.normal(size=(SAMPLES, KNOTS, ARM)))
        noise[0] = 0.0
        speeds = np.clip(plan + noise, -2.0, 2.0)
        starts = np.broadcast_to(q, (SAMPLES, MODEL.nq)), np.broadcast_to(v, (SAMPLES, MODEL.nv))
        found = lw.rollout(
            MODEL,
            *starts,
            dt=DT,
            steps=HORIZON,
            record=0,
            torque=drive,
            parameters=(speeds,),
            cost=price,
            friction=False,
            constraints=(),  # those of the fingers do not matter here
        )
        assert found.cost is not None
        weights = np.exp(-(found.cost - found.cost.min()) / (LAMBDA * HORIZON))
        plan = np.einsum("s,shj->hj", weights / weights.sum(), speeds)
        spent += time.perf_counter() - begun
        step = lw.rollout(
            MODEL, q, v, dt=DT, steps=1, torque=drive, parameters=(plan[0],), friction=False, constraints=()
        )
        q, v = step.q[-1], step.v[-1]
        states.append(q)
        plan = np.concatenate([plan[1:], plan[-1:]])
        places = lw.forward_kinematics(MODEL, q, POINTS)[:, :3, 3]
        nearest = min(nearest, np.linalg.norm(places - SPHERE, axis=1).min())
    off = np.linalg.norm(places[0] - TARGET)
    print(f"{SAMPLES} samples of {HORIZON} steps: {CONTROLS / spent:.1f} control steps a second")
    print(f"{SAMPLES * HORIZON * CONTROLS / spent:,.0f} steps of the Panda a second, law and cost included")
    print(f"after {CONTROLS * DT:g} s the hand is {1e3 * off:.0f} mm from its target")
    print(f"hand and elbow kept {1e3 * (nearest - RADIUS):.0f} mm away from the sphere")
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    if picture is not None:
        way = lw.forward_kinematics(MODEL, np.array(states), POINTS)[:, 0, :3, 3]
        turn = np.linspace(0.0, 2.0 * np.pi, 50)
        ring = RADIUS * np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=-1)
        rings = [SPHERE + np.roll(ring, k, axis=1) for k in range(3)]
        lw.draw(MODEL, states[::15], path=picture, trails=[way, *rings], view=(-30.0, 25.0))
    return 0 if off < 0.05 and nearest > RADIUS else 1


if __name__ == "__main__":
    sys.exit(main())
