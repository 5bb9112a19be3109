"""``linkwork demo``: the main job on a built-in mechanism, checked."""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

from linkwork.algorithms import FORWARD_DYNAMICS
from linkwork.cli.describe import as_table, summary
from linkwork.dynamics import energy, forward_dynamics, forward_kinematics, inverse_dynamics, neutral
from linkwork.model import mechanisms

NAME = "demo"
HELP = "load the humanoid, compute its forward dynamics and check it against its inverse dynamics"

TOLERANCE = 1e-10
"""Of the torques that inverse dynamics gives back, relative to the largest."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="of the state (0)")


def run(options: argparse.Namespace, console: Console) -> int:
    model = mechanisms.humanoid()
    console.print(summary(model), markup=False)
    console.print(as_table(model, len(model.bodies)))

    hands = ["left_hand", "right_hand"]
    for name, pose in zip(hands, forward_kinematics(model, neutral(model), hands), strict=True):
        x, y, z = pose[:3, 3]
        console.print(f"{name} when it stands: x {x:+.3f}, y {y:+.3f}, z {z:.3f} m", markup=False)

    rng = np.random.default_rng(options.seed)
    q = rng.uniform(model.lower_limit, model.upper_limit)
    v = rng.normal(size=model.nv)
    tau = rng.uniform(-0.01, 0.01, model.nv) * model.effort_limit
    kinetic, potential = energy(model, q, v)
    console.print(f"\nA state within the limits: kinetic energy {kinetic:.3f} J, potential {potential:.3f} J")
    worst = 0.0
    for method in FORWARD_DYNAMICS:
        a = forward_dynamics(model, q, v, tau, method=method)
        error = float(abs(inverse_dynamics(model, q, v, a) - tau).max() / abs(tau).max())
        worst = max(worst, error)
        console.print(f"forward dynamics by {method}: largest acceleration {abs(a).max():.4g} rad/s²", markup=False)
        console.print(f"    inverse dynamics gives the torques back to a relative {error:.1e}", markup=False)
    good = worst <= TOLERANCE
    console.print(f"{'ok' if good else 'FAILED'}: {worst:.1e} {'<=' if good else '>'} {TOLERANCE:.0e}", markup=False)
    return 0 if good else 1
