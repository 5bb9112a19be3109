"""Steps that must follow each other, operations, and what any number of processors would gain; all counted, as written.

A processor takes one turn of a step at a time, and steps wait for each other (Brent); talking to each other costs
nothing. So a gain is what the algorithm allows, not what a machine gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.algorithms import ALGORITHMS, SEGMENTS
from linkwork.model import Model
from linkwork.model.segments import cut
from linkwork.reproduce.counting import as_written, folded
from linkwork.reproduce.longest_path import longest_path
from linkwork.reproduce.steps import steps

METHODS = {name: ALGORITHMS[name] for name in ("articulated_body", "virtual_work")} | {
    "constraint_force": ALGORITHMS["constraint_force"]
}

PROCESSORS = (4, 8, 64, 1024, 16_384)
"""Sizes of vector units, of CPUs with many cores, and of GPUs."""

Say = Callable[[str], None]


def growth(name: str, make: Callable[[int], Model], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Depth (steps), span (operations one after the other, on as many processors as links), the longest path
    (operations that need each other's results, on any number of processors) and work over the links.
    """
    found: dict[str, Any] = {"links": list(sizes), "depth": [], "span": []}
    found |= {what: {method: [] for method in METHODS} for what in ("path", "work")}
    for n in sizes:
        say(f"steps: {name}, {n} links")
        model = make(n)
        cost = steps(METHODS["constraint_force"], model)
        found["depth"].append(cost.depth)
        found["span"].append(cost.span)
        for method, algorithm in METHODS.items():
            work = cost.work if method == "constraint_force" else sum(as_written(algorithm, model).values())
            found["work"][method].append(work)
            found["path"][method].append(longest_path(algorithm, model))
    return found


def operations(make: Callable[[int], Model], n: int) -> dict[str, dict[str, int]]:
    """Of each method, as written and folded: where the mechanism's numbers are constants."""
    model = make(n)
    return {
        method: {
            "written": sum(as_written(algorithm, model).values()),
            "folded": sum(folded(algorithm, model).values()),
        }
        for method, algorithm in METHODS.items()
    }


def gain(model: Model, segments_up_to: int, say: Say) -> dict[str, Any]:
    """How many times sooner than articulated bodies on one processor 1, 2, 4, ... are done, up to one for each link:
    by cyclic reduction, and, if the chain is neither too short nor too long, in segments.
    """
    links = len(model.bodies)
    say(f"processors: {links} links")
    processors = [2**k for k in range(links.bit_length())]
    one = sum(as_written(METHODS["articulated_body"], model).values())
    segments = cut(model) if links <= segments_up_to else None
    forms = {"constraint_force": METHODS["constraint_force"]} | (
        {"constraint_force_segments": SEGMENTS} if segments else {}
    )
    counted = {name: steps(algorithm, model) for name, algorithm in forms.items()}
    return {
        "links": links, "processors": processors, "articulated_body": one,
        "segments": segments.count if segments else None,
        "work": {name: cost.work for name, cost in counted.items()},
        "span": {name: cost.span for name, cost in counted.items()},
        "gain": {name: [one / cost.time(count) for count in processors] for name, cost in counted.items()},
    }  # fmt: skip
