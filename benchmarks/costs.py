"""Measures both ways on either side of the values by which the planner chooses, and writes that into its table.

    python benchmarks/costs.py [NAME ...] [--write]

Prints a line for each name of ``linkwork.engine.plans.costs.COSTS`` that can be measured by times; ``--write`` puts
these lines into the table. Values are left alone: one is changed by hand when the lines on both of its sides say so.
Times are the best of many; the code cache is empty at first, so that a first call is traced and compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-costs-")

import numpy as np

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.engine.plans import costs as table
from linkwork.inside import costs, host, machine_code, one_state, operations

FILE = Path(table.__file__)
STATES = 256
WAYS = ("straight", "looped")


def best(call: Callable[[], Any], seconds: float = 0.2) -> float:
    """The shortest time of a call (s)."""
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs"


def states(model: lw.Model, inputs: int, count: int) -> list[Any]:
    q, v = lw.random_state(model, 0, shape=count)
    return [q, *(np.roll(v, k, axis=1) for k in range(inputs))]


def both(algorithm: str, inputs: int, model: lw.Model, batch: bool) -> str:
    """A first call, and later ones, by straight and by looped code."""
    found, given = [], states(model, inputs, STATES)
    for way in WAYS:
        with lw.form(way):
            start = time.perf_counter()
            if batch:
                code, arguments = machine_code(ALGORITHMS[algorithm], model), given
            else:
                code, arguments = one_state(ALGORITHMS[algorithm], model), [array[0].copy() for array in given]
            code(*arguments)
            first = time.perf_counter() - start
        found.append(f"{way} {first:.2g} s, {micro(best(lambda: code(*arguments)) / (STATES if batch else 1))}")  # noqa: B023
    return "; ".join(found)


def straight() -> str:
    """Forward dynamics of chains, a state of a batch."""
    found = [
        f"{count} bodies {both('articulated_body', 2, lw.mechanisms.serial_chain(count), True)}"
        for count in (25, 50, 100)
    ]
    return "forward dynamics of a batch: " + " | ".join(found)


def _long_code(batch: bool) -> str:
    found = []
    for count in (16, 24, 36):
        model = lw.mechanisms.serial_chain(count)
        length = sum(operations(ALGORITHMS["forward_dynamics_derivatives"], model).values())
        found.append(f"{length:,} {both('forward_dynamics_derivatives', 2, model, batch)}")
    return f"derivatives of {'a batch' if batch else 'one state'}: " + " | ".join(found)


def traced() -> str:
    """A function over arrays: the first call by machine code, and a later one by it and by the interpreter."""
    found = []
    for rounds in (300, 600, 1200):

        def text(x: Any, rounds: int = rounds) -> Any:
            for _ in range(rounds):
                x = 0.5 * x[::-1] + 0.25 * np.sqrt(x * x + 1.0)
            return x

        made, x = lw.compile(text, x=20), np.ones(20)
        with costs(traced=10**9):
            start = time.perf_counter()
            made(x)
            first, code = time.perf_counter() - start, best(lambda: made(x))  # noqa: B023
        with lw.interpreted():
            slow = best(lambda: made(x))  # noqa: B023
        found.append(f"{sum(made.count().values()):,} {first:.2g} s, {micro(code)}; interpreted {micro(slow)}")
    return " | ".join(found)


def one_thread() -> str:
    """One state of a long chain, by this thread and by two."""
    before, found = lw.get_threads(), []
    for count in (500, 1500, 5000):
        model = lw.mechanisms.serial_chain(count)
        q, v = lw.random_state(model, 0)
        times = []
        with costs(one_thread=0):
            for number in (1, 2):
                lw.set_threads(number)
                call = partial(lw.forward_dynamics, model, q, v, v, method="constraint_force")
                call()
                times.append(f"{number}: {micro(best(call))}")
        found.append(f"{count:,} bodies {', '.join(times)}")
    lw.set_threads(before)
    return " | ".join(found)


def inverted() -> str:
    """The operational inertia of points on a rope."""
    found = []
    for count in (2, 4, 6):
        times = []
        for way, value in (("compiled", 100), ("LAPACK", 0)):
            rope = lw.mechanisms.rope(24)
            q, frames = lw.random_state(rope, 0)[0], list(rope.body_names[3::4])[:count]
            with costs(inverted=value):
                call = partial(lw.operational_inertia, rope, q, frames)
                start = time.perf_counter()
                call()
                times.append(f"{way} {time.perf_counter() - start:.2g} s, {micro(best(call))}")
        found.append(f"{count} points {'; '.join(times)}")
    return " | ".join(found)


def _linearised(name: str, sizes: Sequence[int], constrained: bool) -> str:
    found = []
    for size in sizes:
        times = []
        for way, value in (("whole", 1000), ("by parts", 0)):
            model = lw.mechanisms.serial_chain(size)
            q, v = lw.random_state(model, 0)
            with costs(**{name: value}):
                if constrained:
                    plane = lw.PointOnPlane.at(model, q, "tip", normal="x")
                    call: Any = partial(lw.constrained_dynamics_derivatives, model, q, v, v, plane)
                else:
                    call = partial(lw.linearise, model, q, v, v, dt=0.01, damping=0.1)
                start = time.perf_counter()
                call()
                times.append(f"{way} {time.perf_counter() - start:.2g} s, {micro(best(call))}")
        found.append(f"{size} {'; '.join(times)}")
    return " | ".join(found)


MEASURES: dict[str, Callable[[], str]] = {
    "straight": straight,
    "straight_alone": lambda: _long_code(batch=False),
    "straight_in_batches": lambda: _long_code(batch=True),
    "traced": traced,
    "one_thread": one_thread,
    "inverted": inverted,
    "derived_whole": lambda: _linearised("derived_whole", (6, 9, 14), True),
    "linearised_whole": lambda: _linearised("linearised_whole", (14, 20, 28), False),
}


def written(text: str, lines: dict[str, str]) -> str:
    """The source of the table with what was measured."""
    head, rest = text.split("COSTS = {\n")
    _, tail = rest.split("\n}\n", 1)
    entries = []
    for name, cost in table.COSTS.items():
        measured = textwrap.wrap(lines.get(name, cost.measured), 104)
        said = [json.dumps(f"{part} ", ensure_ascii=False) for part in measured[:-1]]
        fields = [f"{cost.value:_}", *(json.dumps(x, ensure_ascii=False) for x in (cost.unit, cost.ways))]
        fields.append("\n        ".join([*said, json.dumps(measured[-1], ensure_ascii=False)]))
        entries.append(f'    "{name}": Cost(\n        ' + ",\n        ".join(fields) + ",\n    ),")
    return f"{head}COSTS = {{\n" + "\n".join(entries) + f"\n}}\n{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], metavar="NAME", help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--write", action="store_true", help="put the lines into the table")
    options = parser.parse_args()
    print(f"{host().cpu}, {host().lanes} lanes, LLVM {host().llvm}")
    lines = {}
    for name in options.names or MEASURES:
        lines[name] = MEASURES[name]()
        print(f"{name} ({table.COSTS[name].value:,} {table.COSTS[name].unit}): {lines[name]}", flush=True)
    if options.write:
        FILE.write_text(written(FILE.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
