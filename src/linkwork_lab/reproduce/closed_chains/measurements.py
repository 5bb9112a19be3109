"""The whole experiment, in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from linkwork import Model, constrained_dynamics, forward_dynamics, mechanisms, set_threads
from linkwork.algorithms import ALGORITHMS, closing
from linkwork.inside import cores, loop_conditions, loops_of, machine_code
from linkwork_lab.reproduce.closed_chains.ladders import (
    Ladder,
    caterpillar,
    comb,
    fork,
    ladder,
    rope_ladder,
    snake,
    star,
    state,
)
from linkwork_lab.reproduce.counting import as_written
from linkwork_lab.reproduce.longest_path import longest_path
from linkwork_lab.reproduce.parts import Parts, Say, counted, measured
from linkwork_lab.reproduce.steps import steps

LADDERS: dict[str, Callable[[int], Ladder]] = {"ladder": ladder, "rope ladder": rope_ladder, "snake": snake}
TREES: dict[str, Callable[[int], Model]] = {
    "chain": lambda n: mechanisms.serial_chain(n),
    "star": star,
    "comb": comb,
    "caterpillar": caterpillar,
    "fork": fork,
    "binary tree": lambda n: mechanisms.binary_tree(n.bit_length() - 1),
}
PATHS = ("articulated_body", "virtual_work", "constraint_force", "assembly")


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements. Times are the best of ``rounds`` calls."""

    loops: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100)
    rounds: int = 25
    timed: bool = True
    counted: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    links: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    rungs: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    ropes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    serial: int = 32
    """Rungs of a rope ladder up to which the serial recursion is counted, whose work is cubic."""
    on_the_ground: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256)
    long: tuple[int, ...] = (100, 1_000, 10_000)
    contacts: tuple[int, ...] = (0, 64)
    """Of a snake of so many ``links_on_the_ground``."""
    links_on_the_ground: int = 1_024

    @staticmethod
    def quick() -> Settings:
        return Settings(
            loops=(1, 2),
            rounds=2,
            timed=False,
            counted=(1, 2, 3),
            links=(4, 8, 16),
            rungs=(1, 2, 4),
            ropes=(1, 2, 4),
            serial=2,
            on_the_ground=(2, 4, 8),
            contacts=(0, 2),
            links_on_the_ground=8,
        )


def parts(quick: bool, say: Say) -> tuple[Settings, Parts]:
    """The parts that ``linkwork reproduce closed-chains`` measures."""
    s = Settings.quick() if quick else Settings()
    timed = {"times/ladder": measured(_times, ladder, s.loops, s.rounds, say)} | {
        f"in_parallel/{name}": measured(_in_parallel, TREES[name], s.long, s.rounds, say) for name in ("chain", "comb")
    }
    depth = {"ladder": (s.rungs, s.rungs[-1]), "rope ladder": (s.ropes, s.serial)}
    depth["snake"] = s.on_the_ground, s.on_the_ground[-1]
    return s, {
        **(timed if s.timed else {}),
        **{f"operations/{name}": counted(_operations, make, s.counted, say) for name, make in LADDERS.items()},
        **{f"depth/{name}": counted(_depth, make, s.links, say) for name, make in TREES.items()},
        **{
            f"depth_of_loops/{name}": counted(_depth_of_loops, LADDERS[name], *sizes, say)
            for name, sizes in depth.items()
        },
        "depth_of_loops/long snake": counted(
            _depth_of_loops, partial(snake, links=s.links_on_the_ground), s.contacts, s.contacts[-1], say
        ),
    }


def _times(make: Callable[[int], Ladder], loops: Sequence[int], rounds: int, say: Say) -> dict[str, Any]:
    """Seconds of one state: a call of either method, and the recursion of virtual work alone, in code of one lane."""
    data: dict[str, Any] = {"loops": list(loops), "bodies": [], "articulated_body": [], "virtual_work": []}
    data |= {"recursion": [], "difference": []}
    for count in loops:
        model, constraints, _ = make(count)
        say(f"times: {model.name}, {len(model.bodies)} bodies")
        data["bodies"].append(len(model.bodies))
        now = state(model)
        results = {}
        for method in ("articulated_body", "virtual_work"):
            call = partial(constrained_dynamics, model, *now, constraints, method=method)
            results[method], seconds = _best(call, rounds)
            data[method].append(seconds)
        pairs = list(zip(*results.values(), strict=True))
        data["difference"].append(max(float(np.abs(x - y).max() / np.abs(x).max()) for x, y in pairs))
        frames, conditions = loop_conditions(model, constraints, now[0], now[1])
        code = machine_code(closing(), model, frames, "rolled", lanes=1)
        data["recursion"].append(_best(partial(code, *(x[None] for x in (*now, *conditions))), rounds)[1])
    return data


def _in_parallel(make: Callable[[int], Model], links: Sequence[int], rounds: int, say: Say) -> dict[str, Any]:
    """Seconds of one state: articulated-body on one lane, assembly on all lanes of one thread, and of all threads."""
    data: dict[str, Any] = {"links": list(links), "articulated_body": [], "assembly": [], "assembly_team": []}
    data["difference"] = []
    for count in links:
        model = make(count)
        say(f"times: {model.name}, {len(model.bodies)} bodies")
        now = state(model)
        results = {}
        for name, method, team in (
            ("articulated_body", "articulated_body", 1),
            ("assembly", "assembly", 1),
            ("assembly_team", "assembly", cores()),
        ):
            set_threads(team)
            try:
                results[name], seconds = _best(partial(forward_dynamics, model, *now, method=method), 4 * rounds)
            finally:
                set_threads(None)
            data[name].append(seconds)
        scale = np.abs(results["articulated_body"]).max()
        data["difference"].append(float(np.abs(results["assembly"] - results["articulated_body"]).max() / scale))
    return data


def _best(call: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    call()
    times = []
    for _ in range(rounds):
        start = perf_counter()
        result = call()
        times.append(perf_counter() - start)
    return result, min(times)


def _operations(make: Callable[[int], Ladder], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Operations of the recursion as written, and the largest number of open loops."""
    data: dict[str, Any] = {"loops": list(sizes), "bodies": [], "open": [], "operations": []}
    for count in sizes:
        model, _, holds = make(count)
        say(f"operations: {model.name}")
        parents = [0, *(body.parent for body in model.bodies)]
        data["bodies"].append(len(model.bodies))
        data["open"].append(loops_of(parents, [(int(hold.name), hold.body) for hold in holds]).most_open)
        data["operations"].append(sum(as_written(closing(), model, holds).values()))
    return data


def _depth(make: Callable[[int], Model], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Operations on the longest path of each method and in total, as written, and the steps of the assembly."""
    data: dict[str, Any] = {"links": [], "steps": []}
    data |= {what: {name: [] for name in PATHS} for what in ("path", "work")}
    for size in sizes:
        model = make(size)
        say(f"depth: {model.name}, {len(model.bodies)} links")
        data["links"].append(len(model.bodies))
        for name in PATHS:
            data["path"][name].append(longest_path(ALGORITHMS[name], model))
            data["work"][name].append(sum(as_written(ALGORITHMS[name], model).values()))
        data["steps"].append(steps(ALGORITHMS["assembly"], model).depth)
    return data


def _depth_of_loops(make: Callable[[int], Ladder], loops: Sequence[int], serial: int, say: Say) -> dict[str, Any]:
    """Operations on the longest path with loops, and in total; of the serial recursion up to so many loops."""
    data: dict[str, Any] = {"loops": list(loops)}
    data |= {what: {"virtual_work": [], "assembly": []} for what in ("path", "work")}
    for count in loops:
        ladder = make(count)
        say(f"depth: {ladder.model.name}")
        for method, line in data["path"].items():
            few, entry = method == "assembly" or count <= serial, closing(method=method)
            line.append(longest_path(entry, ladder.model, ladder.holds) if few else None)
            work = sum(as_written(entry, ladder.model, ladder.holds).values()) if few else None
            data["work"][method].append(work)
    return data
