"""The error of the elementary functions in units in the last place, against mpmath, on random arguments of each range.

    python benchmarks/elementary.py            prints the table
    python benchmarks/elementary.py --write    puts it into docs/accuracy.md

An error is |value - exact| over the spacing of floats at the exact value; the table has the largest of 20,000 arguments
(seed 0), and the number of operations of the function in machine code.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Program, count
from linkwork.engine.trace.tracer import Tracer
from linkwork.spatial import elementary
from linkwork_lab.bench import pages

COUNT, DIGITS = 20_000, 40
ROOT = Path(__file__).resolve().parent.parent

Sample = Callable[[np.random.Generator, int], "np.ndarray[Any, np.dtype[np.float64]]"]


def uniform(low: float, high: float) -> Sample:
    return lambda rng, n: rng.uniform(low, high, n)


def sizes(low: float, high: float, signs: tuple[float, ...] = (1.0,)) -> Sample:
    """Numbers of all magnitudes between two."""
    return lambda rng, n: rng.choice(signs, n) * np.exp2(rng.uniform(np.log2(low), np.log2(high), n))


def near(centre: float, away: float = 1e-2) -> Sample:
    """Numbers at all distances up to ``away`` from a number."""
    return lambda rng, n: centre + rng.choice((-1.0, 1.0), n) * 10.0 ** rng.uniform(-16, np.log10(away), n)


BOTH = (-1.0, 1.0)
POSITIVE = sizes(5e-324, 1.79e308)
RANGES: dict[str, dict[str, tuple[Sample, ...]]] = {
    "sin": {"±1e6": (uniform(-1e6, 1e6),)},
    "cos": {"±1e6": (uniform(-1e6, 1e6),)},
    "tan": {"±π/2": (uniform(-1.5707, 1.5707),), "±1e6": (uniform(-1e6, 1e6),), "small": (sizes(1e-300, 1.0, BOTH),)},
    "arcsin": {"±1": (uniform(-1.0, 1.0),), "small": (sizes(1e-300, 1.0, BOTH),)},
    "arccos": {"±1": (uniform(-1.0, 1.0),), "near 1": (lambda rng, n: 1.0 - sizes(1e-16, 1.0)(rng, n),)},
    "arctan": {"all": (sizes(1e-300, 1e300, BOTH),), "±10": (uniform(-10.0, 10.0),)},
    "arctan2": {"±1, ±1": (uniform(-1.0, 1.0), uniform(-1.0, 1.0))},
    "exp": {"±1": (uniform(-1.0, 1.0),), "-708 to 709": (uniform(-708.0, 709.7),), "subnormal": (uniform(-745, -708),)},
    "exp2": {"±1": (uniform(-1.0, 1.0),), "±1022": (uniform(-1022.0, 1022.0),)},
    "expm1": {"small": (sizes(1e-300, 1.0, BOTH),), "±2": (uniform(-2.0, 2.0),), "-40 to 709": (uniform(-40, 709.0),)},
    "log": {"0.5 to 2": (uniform(0.5, 2.0),), "near 1": (near(1.0),), "all": (POSITIVE,)},
    "log1p": {
        "small": (sizes(1e-300, 1.0, BOTH),),
        "-1 to 2": (uniform(-1.0, 2.0),),
        "all": (POSITIVE,),
    },
    "log2": {"0.5 to 2": (uniform(0.5, 2.0),), "near 1": (near(1.0),), "all": (POSITIVE,)},
    "log10": {"0.5 to 2": (uniform(0.5, 2.0),), "near 1": (near(1.0),), "all": (POSITIVE,)},
    "sinh": {"small": (sizes(1e-300, 1.0, BOTH),), "±3": (uniform(-3.0, 3.0),), "±710": (uniform(-710.4, 710.4),)},
    "cosh": {"±3": (uniform(-3.0, 3.0),), "±710": (uniform(-710.4, 710.4),)},
    "tanh": {"small": (sizes(1e-300, 1.0, BOTH),), "±3": (uniform(-3.0, 3.0),), "±30": (uniform(-30.0, 30.0),)},
    "arcsinh": {"small": (sizes(1e-300, 1.0, BOTH),), "±10": (uniform(-10, 10),), "all": (sizes(1e-300, 1e308, BOTH),)},
    "arccosh": {"1 to 10": (uniform(1.0, 10.0),), "all": (sizes(1.0, 1e308),)},
    "arctanh": {"small": (sizes(1e-300, 1.0, BOTH),), "±1": (uniform(-1.0, 1.0),)},
    "power": {
        "0 to 10, ±10": (uniform(0.0, 10.0), uniform(-10.0, 10.0)),
        "1e±8, ±37": (sizes(1e-8, 1e8), uniform(-37.0, 37.0)),
        "near 1, 1e±10": (near(1.0), sizes(1e-10, 1e10, BOTH)),
    },
    "cbrt": {"±10": (uniform(-10.0, 10.0),), "all": (sizes(5e-324, 1.79e308, BOTH),)},
    "hypot": {"±1, ±1": (uniform(-1.0, 1.0), uniform(-1.0, 1.0)), "all": (sizes(1e-300, 1e300), sizes(1e-300, 1e300))},
    "floor": {"all": (sizes(1e-3, 1e18, BOTH),)},
    "ceil": {"all": (sizes(1e-3, 1e18, BOTH),)},
    "rint": {"all": (sizes(1e-3, 1e18, BOTH),)},
    "trunc": {"all": (sizes(1e-3, 1e18, BOTH),)},
    "remainder": {"1e±6, 1e±6": (sizes(1e-6, 1e6, BOTH), sizes(1e-6, 1e6, BOTH))},
    "fmod": {"1e±6, 1e±6": (sizes(1e-6, 1e6, BOTH), sizes(1e-6, 1e6, BOTH))},
}
"""Arguments of each function, by their description in the table."""


def error(name: str, samples: tuple[Sample, ...], n: int = COUNT, seed: int = 0) -> float:
    """The largest error in units in the last place."""
    rng = np.random.default_rng(seed)
    function = getattr(elementary, name)
    arguments = [sample(rng, n) for sample in samples]
    context = mpmath.mp.clone()
    context.dps = DIGITS
    worst = 0.0
    for value, *numbers in zip(function(*arguments).tolist(), *(a.tolist() for a in arguments), strict=True):
        exact = function(*map(context.mpf, numbers))
        nearest = float(exact)
        if math.isfinite(nearest):
            worst = max(worst, float(abs(exact - value) / math.ulp(nearest)))
    return worst


def operations(name: str) -> int:
    """The number of operations in machine code."""
    return sum(count(program(name)).values())


def program(name: str) -> Program:
    tracer = Tracer()
    arguments = [tracer.load(Address("argument0", k)) for k in range(len(next(iter(RANGES[name].values()))))]
    tracer.store(Address("result0", 0), getattr(elementary, name)(*arguments))
    eliminate_dead_code(tracer.program)
    return tracer.program


def markdown(n: int = COUNT) -> str:
    lines = ["| function | operations | largest error in ulp |", "|---|---|---|"]
    for name, ranges in RANGES.items():
        errors = "; ".join(f"{label}: {error(name, samples, n):.2f}" for label, samples in ranges.items())
        lines.append(f"| {name} | {operations(name)} | {errors} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    parser.add_argument("--count", type=int, default=COUNT, help="arguments for each range (%(default)s)")
    options = parser.parse_args()
    table = markdown(options.count)
    print(table)
    if options.write:
        pages.put(ROOT / "docs" / "accuracy.md", "elementary", table)


if __name__ == "__main__":
    main()
