"""Ten thousand arms swing and come to rest, each from its own state and with its own damping.

``lw.rollout`` computes all of them at once: dynamics, damping, integration and the time loop are one piece of machine
code. Only every 20th state is kept. Run it: it checks that each arm has lost the energy dissipated by its dampers, ∫ Σ
d v² dt, and that none ever gained any.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkwork as lw

ARMS, STEPS, EVERY, DT = 10_000, 2000, 20, 5e-4


def main() -> int:
    arm = lw.mechanisms.serial_chain(6, joint=[lw.joints.Revolute("z"), lw.joints.Revolute("y")])
    rng = np.random.default_rng(0)
    q, v = lw.random_state(arm, rng, shape=ARMS)
    damping = rng.uniform(1.0, 3.0, size=(ARMS, arm.nv))  # N m s/rad

    lw.rollout(arm, q[:8], v[:8], dt=DT, steps=1, damping=damping[:8])  # compiles the code
    start = time.perf_counter()
    t, q, v = lw.rollout(arm, q, v, dt=DT, steps=STEPS, record=EVERY, damping=damping)
    seconds = time.perf_counter() - start

    kinetic, potential = lw.energy(arm, q, v)
    energy = kinetic + potential
    lost = energy[:, 0] - energy[:, -1]
    power = (damping[:, None, :] * v * v).sum(axis=-1)
    taken = (0.5 * (power[:, 1:] + power[:, :-1]) * np.diff(t)).sum(axis=1)
    balance = abs(lost - taken) / np.ptp(energy, axis=1)
    gained = np.diff(energy, axis=1).max()

    rate = ARMS * STEPS / seconds
    print(f"{ARMS} arms of {arm.nv} joints, {STEPS} steps of {DT * 1e3} ms: {seconds:.2f} s, {rate:.1e} steps a second")
    print(f"an arm loses {lost.mean():.1f} J on average; none gains more than {gained:.1e} J between two records")
    print(f"what the dampers took differs from that by {np.median(balance):.1e}, {balance.max():.1e} at worst")
    if len(sys.argv) > 1:
        from matplotlib.figure import Figure

        figure = Figure((6.0, 4.0), layout="constrained")
        axes = figure.subplots()
        axes.plot(t, energy[:40].T, linewidth=0.8)
        axes.set(xlabel="time, s", ylabel="energy of 40 of the arms, J")
        figure.savefig(sys.argv[1])
    return 0 if np.median(balance) < 5e-3 and balance.max() < 0.1 and gained < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
