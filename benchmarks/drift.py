"""The accuracy of simulations: energy, end state and order of convergence by integrator and step; momentum in free
fall.

    python benchmarks/drift.py            prints the tables
    python benchmarks/drift.py --write    puts them into docs/simulation.md

Every motion is conservative and without driving forces, and takes one second from a random state (seed 0, velocities of
1 rad/s and 1 m/s, 0.3 for the humanoid). The end state's error is the largest of its velocity and of its configuration
in the tangent space, against the adaptive integrator at 1e-13; energies are relative to the largest kinetic energy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork_lab.bench import pages

ROOT = Path(__file__).resolve().parent.parent
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
NO_LOSS = {"damping": False, "friction": False}
MECHANISMS: dict[str, tuple[lw.Model, float]] = {
    "double pendulum": (lw.mechanisms.double_pendulum(), 1.0),
    "chain of 4 spherical": (lw.mechanisms.serial_chain(4, "spherical"), 1.0),
    "humanoid, floating": (lw.mechanisms.humanoid(floating_base=True), 0.3),
}


def measure(model: lw.Model, speed: float) -> list[str]:
    """Rows of the table for a mechanism."""
    q, v = lw.random_state(model, 0)
    v *= speed
    truth = lw.simulate(model, q, v, 1.0, 0.01, integrator="adaptive", rtol=1e-13, atol=1e-14, **NO_LOSS)
    rows = []
    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        drifts, errors = [], []
        for dt in STEPS:
            path = lw.simulate(model, q, v, 1.0, dt, integrator=integrator, **NO_LOSS)
            energy = sum(path.energy)
            drifts.append(abs(energy - energy[0]).max() / path.energy[0].max())
            leap = lw.difference(model, truth.q[-1], path.q[-1])
            errors.append(max(abs(leap).max(), abs(path.v[-1] - truth.v[-1]).max()))
        for what, values in (("energy", drifts), ("end state", errors)):
            order = np.log2(values[0] / values[-1]) / (len(STEPS) - 1)
            rows.append(f"{integrator} | {what} | " + " | ".join(f"{x:.1e}" for x in values) + f" | {order:.2f}")
    energy = sum(truth.energy)
    rows.append(f"adaptive, 1e-13 | energy | {np.ptp(energy) / truth.energy[0].max():.1e} | | | |")
    return rows


def momentum() -> list[str]:
    """The momentum of the floating humanoid over ten seconds: rows of a table."""
    model, speed = MECHANISMS["humanoid, floating"]
    q, v = lw.random_state(model, 0)
    q[7:] *= 0.3
    rows = []
    for integrator, dt in (("semi_implicit_euler", 1e-3), ("runge_kutta_4", 1e-3), ("runge_kutta_4", 5e-4)):
        path = lw.simulate(model, q, speed * v, 10.0, dt, integrator=integrator, record=100, **NO_LOSS)
        found = lw.momentum(model, path.q, path.v)
        weight = model.mass * np.array(model.gravity)
        wrong = abs(found - found[0] - np.outer(path.t, np.append(weight, [0.0, 0.0, 0.0]))).max(axis=0)
        rows.append(
            f"{integrator} | {1e3 * dt:g} ms | {wrong[:3].max():.1e} of {abs(found[:, :3]).max():.0f} | "
            f"{wrong[3:].max():.1e} of {abs(found[:, 3:]).max():.2f}"
        )
    return rows


def tables() -> str:
    head = " | ".join(f"{1e3 * dt:g} ms" for dt in STEPS)
    lines = [f"| mechanism | integrator | worst of | {head} | order |", "|---" * (len(STEPS) + 4) + "|"]
    lines += [f"| {name} | {row} |" for name, case in MECHANISMS.items() for row in measure(*case)]
    lines += ["", "| integrator | step | linear momentum off by, kg m/s | angular, kg m²/s |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {row} |" for row in momentum())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/simulation.md")
    options = parser.parse_args()
    text = tables()
    print(text)
    if options.write:
        pages.put(ROOT / "docs" / "simulation.md", "drift", text)


if __name__ == "__main__":
    main()
