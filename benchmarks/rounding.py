"""The float64 error of every algorithm: the same source run with floats and with 50 digits, on the built-in mechanisms.

    python benchmarks/rounding.py            prints the table
    python benchmarks/rounding.py --write    puts it into docs/accuracy.md

The error is max |x - x₅₀| / max |x₅₀| over all numbers of a result, the worst of five random states (seed 0).
The reference takes the floats of the model and the state as exact (a tree of mpmath numbers), so the error is the
algorithm's own.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.engine.trace.interpreter import evaluate
from linkwork_lab.bench import pages

STATES, DIGITS = 5, 50
ROOT = Path(__file__).resolve().parent.parent

AXES = [lw.joints.Revolute("z"), lw.joints.Revolute("y")]
MECHANISMS: dict[str, lw.Model] = {
    "humanoid": lw.mechanisms.humanoid(),
    "humanoid, floating": lw.mechanisms.humanoid(floating_base=True),
    "chain of 10 revolute": lw.mechanisms.serial_chain(10, AXES, link_length=0.1),
    "chain of 100 revolute": lw.mechanisms.serial_chain(100, AXES, link_length=0.1),
    "chain of 10 spherical": lw.mechanisms.serial_30dof(),
    "branched, 10 spherical": lw.mechanisms.branched_30dof(),
    "star of 12": lw.mechanisms.star(12),
    "binary tree of 63": lw.mechanisms.binary_tree(6, AXES),
    "rope of 50": lw.mechanisms.rope(50),
}
COLUMNS = {
    "frame_placements": "placement",
    "jacobian/local": "Jacobian",
    "energy": "energy",
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "articulated_body": "forward, articulated body",
    "virtual_work": "forward, virtual work",
    "composite_body": "forward, composite body",
}


def error(algorithm: Algorithm, model: lw.Model, rng: np.random.Generator) -> float:
    """The error of one random state."""
    q, v = lw.random_state(model, rng)
    given = {"q": q, "v": v, "a": rng.normal(size=model.nv), "tau": rng.normal(size=model.nv)}
    arguments: list[Any] = [given[name].tolist() if name in given else None for name, _ in algorithm.arguments]
    frames = [model.frame("left_hand" if "left_hand" in model.frame_names else model.body_names[-1])]
    rough = evaluate(algorithm, model, arguments, frames)
    exact = evaluate(algorithm, model, [a and [mpmath.mpf(x) for x in a] for a in arguments], frames)
    worst = 0.0
    for numbers, truth in zip(rough, exact, strict=True):
        size = max(abs(x) for x in truth)
        worst = max(worst, *(float(abs(x - t) / size) for x, t in zip(numbers, truth, strict=True)))
    return worst


def measure() -> dict[str, dict[str, float]]:
    """The worst error for each mechanism and column."""
    table: dict[str, dict[str, float]] = {}
    with mpmath.workdps(DIGITS):
        for label, model in MECHANISMS.items():
            table[label] = {}
            for name, heading in COLUMNS.items():
                rng = np.random.default_rng(0)
                table[label][heading] = max(error(ALGORITHMS[name], model, rng) for _ in range(STATES))
    return table


def markdown(table: dict[str, dict[str, float]]) -> str:
    columns = list(COLUMNS.values())
    lines = ["| mechanism | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row[c]:.0e}" for c in columns) + " |" for name, row in table.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    options = parser.parse_args()
    table = measure()
    print(markdown(table))
    worst = max(value for row in table.values() for value in row.values())
    print(f"\nworst: {worst:.0e}, {-math.log10(worst):.0f} digits")
    if options.write:
        pages.put(ROOT / "docs" / "accuracy.md", "rounding", markdown(table))


if __name__ == "__main__":
    main()
