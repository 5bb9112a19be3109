"""The cost of a mechanism's parameters as data: times relative to code with the model's own numbers as constants.

    python benchmarks/parameters.py [robot ...] [--states 256,1024,4096] [--seconds 1]

One thread, results by ``out=``, with a set of parameters for each state except for "one set". Placements are "moved"
(joints are elsewhere on their parents) or "turned" as well, by about a degree, so that no quarter turn is left;
"turned, own" is relative to code with such placements as constants. A rollout has ten steps, one trajectory per state;
its time is that of a step. All calls alternate; the best time of each counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import linkwork as lw
from linkwork_lab.bench import standard

STEPS = 10
JOINTS = ("armature", "damping", "friction")
KINDS: dict[str, tuple[str, ...]] = {
    "folded": (),
    "inertias": ("inertias",),
    "and joints": ("inertias", *JOINTS),
    "moved": ("moved",),
    "turned": ("turned",),
    "all, moved": ("inertias", *JOINTS, "moved"),
    "all, turned": ("inertias", *JOINTS, "turned"),
}


def parameters(model: lw.Model, states: int, rng: np.random.Generator) -> dict[str, Any]:
    """Sets of each parameter, by the names above."""
    bodies = len(model.bodies)
    found = {name: rng.uniform(0.01, 0.1, size=(states, model.nv)) for name in JOINTS}
    found["inertias"] = model.inertial_parameters * rng.uniform(0.8, 1.2, size=(states, bodies, 1))
    own = np.array([np.asarray(body.placement) for body in model.bodies])
    found["moved"] = np.broadcast_to(own, (states, bodies, 4, 4)).copy()
    found["moved"][..., :3, 3] += rng.normal(scale=0.01, size=(states, bodies, 3))
    turns = [np.asarray(lw.placement((0, 0, 0), rpy)) for rpy in rng.normal(scale=0.02, size=(64, 3))]
    found["turned"] = found["moved"] @ np.array(turns)[rng.integers(64, size=(states, bodies))]
    return found


def calls_of(function: Any, model: lw.Model, states: int) -> dict[str, Callable[[], Any]]:
    """A call for each kind."""
    rng = np.random.default_rng(0)
    q, v = lw.random_state(model, 1, shape=states)
    x, sets = rng.normal(size=(states, model.nv)), parameters(model, states, rng)
    places = [lw.placement(matrix=place) for place in sets["turned"][0]]
    turned = [replace(body, placement=place) for body, place in zip(model.bodies, places, strict=True)]
    own, rollout = replace(model, bodies=tuple(turned)), function is lw.rollout
    found = {}
    for kind, names in (*KINDS.items(), ("own", ()), ("one set", KINDS["all, turned"])):
        given = {name: sets[name][0].copy() if kind == "one set" else sets[name] for name in names}
        given = {"placements" if name in ("moved", "turned") else name: value for name, value in given.items()}
        options: dict[str, Any] = {"constraints": ()} if rollout else {}
        if rollout:
            options |= {"dt": 1e-4, "steps": STEPS, "tau": x[:, None], "damping": False, "friction": False}
        arguments = (own if kind == "own" else model, q, v, *([] if rollout else [x]))
        options["out"] = function(*arguments, **(options | given)) if rollout else np.empty((states, model.nv))
        found[kind] = partial(function, *arguments, **(options | given))
    return found


def best_of(calls: dict[str, Callable[[], Any]], repeats: int, seconds: float) -> dict[str, float]:
    """The least time of each call."""
    best = dict.fromkeys(calls, np.inf)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or np.inf in best.values():
        for kind, call in calls.items():
            call()  # its own arguments and code are in the caches, as far as they fit
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            best[kind] = min(best[kind], (time.perf_counter() - start) / repeats)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--states", default="256,1024,4096")
    parser.add_argument("--seconds", type=float, default=1.0)
    asked = parser.parse_args()
    lw.set_threads(1)
    columns = [*list(KINDS)[1:], "one set"]
    print("".join(f"{head:>13}" for head in ("", "function", "states", "folded, ns", *columns, "turned, own")))
    for subject in standard()[0]:
        if asked.robots and subject.name not in asked.robots:
            continue
        for function in (lw.forward_dynamics, lw.inverse_dynamics, lw.rollout):
            for states in map(int, asked.states.split(",")):
                calls = calls_of(function, subject.model, states)
                done = STEPS if function is lw.rollout else 1
                best = best_of(calls, max(1, 2048 // states // done), asked.seconds)
                ratios = "".join(f"{best[kind] / best['folded']:13.2f}" for kind in columns)
                ratios += f"{best['all, turned'] / best['own']:13.2f}"
                head = f"{subject.name:>13}{function.__name__.split('_')[0]:>13}{states:13}"
                print(f"{head}{1e9 * best['folded'] / states / done:13.0f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
