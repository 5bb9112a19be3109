"""Sequential steps, operations, and the speed-up on any number of processors; all counted, as written.

A speed-up is that of a simulated machine (``schedule``) which runs the recorded tasks, with and without the time of
messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork import Model
from linkwork.algorithms import ALGORITHMS, SEGMENTS
from linkwork.inside import cut
from linkwork_lab.reproduce.counting import as_written, folded
from linkwork_lab.reproduce.longest_path import longest_path
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.schedule import MACHINES, record, run
from linkwork_lab.reproduce.steps import steps

METHODS = {name: ALGORITHMS[name] for name in ("articulated_body", "virtual_work")} | {
    "constraint_force": ALGORITHMS["constraint_force"]
}

PROCESSORS = tuple(4**k for k in range(8))
"""Up to more than a GPU has."""


def growth(name: str, make: Callable[[int], Model], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Depth (steps), span (sequential operations, on as many processors as links), the longest path (operations that
    depend on each other, on any number of processors) and work over the links.
    """
    data: dict[str, Any] = {"links": list(sizes), "depth": [], "span": []}
    data |= {what: {method: [] for method in METHODS} for what in ("path", "work")}
    for n in sizes:
        say(f"steps: {name}, {n} links")
        model = make(n)
        cost = steps(METHODS["constraint_force"], model)
        data["depth"].append(cost.depth)
        data["span"].append(cost.span)
        for method, algorithm in METHODS.items():
            work = cost.work if method == "constraint_force" else sum(as_written(algorithm, model).values())
            data["work"][method].append(work)
            data["path"][method].append(longest_path(algorithm, model))
    return data


def operations(make: Callable[[int], Model], n: int) -> dict[str, dict[str, int]]:
    """Operations of each method, as written and folded (with the mechanism's numbers as constants)."""
    model = make(n)
    return {
        method: {
            "written": sum(as_written(algorithm, model).values()),
            "folded": sum(folded(algorithm, model).values()),
        }
        for method, algorithm in METHODS.items()
    }


def gain(make: Callable[[int], Model], n: int, segments_up_to: int, say: Say) -> dict[str, Any]:
    """The speed-up over the articulated-body algorithm on one processor with 1, 4, 16, ... processors, up to one for
    each link, on each machine: by cyclic reduction, and, if the chain is neither too short nor too long, in segments.
    With it, the share of messages in the critical path.
    """
    model = make(n)
    links = len(model.bodies)
    one = sum(as_written(METHODS["articulated_body"], model).values())
    segments = cut(model) if links <= segments_up_to else None
    forms = {"constraint_force": METHODS["constraint_force"]} | (
        {"constraint_force_segments": SEGMENTS} if segments else {}
    )
    runs_of: dict[str, Any] = {machine.name: {} for machine in MACHINES}
    work = {}
    for name, algorithm in forms.items():
        say(f"processors: {links} links, {name}")
        tasks = record(algorithm, model)
        work[name] = sum(task.operations for task in tasks)
        for machine in MACHINES:
            counts = [count for count in PROCESSORS if count <= min(links, machine.most)]
            runs = [run(tasks, machine, count) for count in counts]
            runs_of[machine.name][name] = {
                "processors": counts,
                "gain": [one / machine.rate / outcome.seconds for outcome in runs],
                "messages": [outcome.waiting for outcome in runs],
            }
    return {
        "links": links, "articulated_body": one, "segments": segments.count if segments else None, "work": work,
        "machines": runs_of,
    }  # fmt: skip
