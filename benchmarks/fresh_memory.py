"""The cost of a batch's result beyond its computation: fresh pages from the operating system.

    python benchmarks/fresh_memory.py            prints the table
    python benchmarks/fresh_memory.py --write    puts it into docs/performance.md

A call of ``lw.mass_matrix`` returns a new array. Where the C library requests it from the operating system and returns
it each time, every page is cleared again at its first touch. Each batch size is measured in a process of its own, with
a new result and with ``out=``, beside filling an array of the same size. Linux only.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork_lab.bench import pages, standard
from linkwork_lab.bench.machine import machine
from linkwork_lab.bench.report import duration

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
ROBOT, STATES, SECONDS, SAMPLES, SWEEPS = "G1", (64, 256, 1024, 4096), 0.5, 20, 3
Timed = tuple[float, float]


def best(function: Callable[[], Any], states: int) -> Timed:
    """Seconds per state, the best of many samples, and page faults per call."""
    calls = max(1, 1024 // states)
    found, result = (float("inf"), 0.0), None
    for _ in range(5):  # memory that the C library keeps must exist first
        result = function()
    end, samples = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end or samples < SAMPLES:
        samples += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        start = time.perf_counter()
        for _ in range(calls):
            result = function()
        elapsed = time.perf_counter() - start
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        found = min(found, (elapsed / (calls * states), faults / calls))
    del result
    return found


def measure(states: int) -> dict[str, Timed]:
    """Measured in this process: the call, the same with ``out=``, filling a new array of its result's size, and filling
    the same array again.
    """
    model = next(subject.model for subject in standard()[0] if subject.name == ROBOT)
    lw.set_threads(1)
    q, _ = lw.random_state(model, 0, states if states > 1 else ())
    found = {"call": best(lambda: lw.mass_matrix(model, q), states)}
    out = lw.mass_matrix(model, q)
    found["in place"] = best(lambda: lw.mass_matrix(model, q, out=out), states)
    shape = (states, model.nv, model.nv)
    found["fill new"] = best(lambda: np.full(shape, 1.0), states)
    again = np.full(shape, 1.0)
    found["fill again"] = best(lambda: again.fill(2.0), states)
    return found


def apart(states: int) -> dict[str, Timed]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--states", str(states)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {name: (seconds, faults) for name, (seconds, faults) in json.loads(done.stdout).items()}


def table() -> str:
    """Times of one state, the best of all sweeps."""
    host, found = machine(), dict[int, dict[str, Timed]]()
    for _ in range(SWEEPS):
        for states in (1, *STATES):
            row = apart(states)
            old = found.get(states, row)
            found[states] = {name: min(old[name], row[name]) for name in row}
    lines = [
        "| states in a call | one state | page faults of a call | one state, `out=` | page faults of a call "
        "| filling a new array | filling the same array |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for states in (1, *STATES):
        row = found[states]
        cells = [f"{states:,}"]
        cells += [text for name in ("call", "in place") for text in (duration(row[name][0]), f"{row[name][1]:.0f}")]
        cells += [duration(row[name][0]) if states > 1 else "" for name in ("fill new", "fill again")]
        lines.append("| " + " | ".join(cells) + " |")
    where = f"{host['cpu']} ({host['llvm_cpu']}), {host['lanes']} lanes; {host['system']}"
    lines += ["", f"{ROBOT}, one thread; {where}; load {host['load']} when it began."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    parser.add_argument("--states", type=int, metavar="N", help="measure one batch size in this process, as JSON")
    options = parser.parse_args()
    if options.states:
        print(json.dumps(measure(options.states)))
        return
    text = table()
    print(text)
    if options.write:
        pages.put(PAGE, "fresh memory", text)


if __name__ == "__main__":
    main()
