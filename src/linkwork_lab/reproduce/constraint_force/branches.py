"""Chains with side branches of length log N: steps and operations, and agreement with articulated-body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import mechanisms, random_state
from linkwork.algorithms import ALGORITHMS, along
from linkwork_lab.bench.contest import difference
from linkwork_lab.reproduce.constraint_force.chains import comb
from linkwork_lab.reproduce.longest_path import longest_path
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.rounding import interpreted
from linkwork_lab.reproduce.steps import steps


def counts(sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """For each length of the main chain, with branches and without: bodies, depth, operations, sequential operations on
    as many processors as the main chain has links, and on any number.
    """
    data: dict[str, Any] = {"links": list(sizes), "bodies": []}
    lines: dict[str, Any] = {what: {"branched": [], "plain": []} for what in ("depth", "work", "time", "path")}
    for n in sizes:
        say(f"side branches: {n} links")
        model = comb(n)
        data["bodies"].append(len(model.bodies))
        for name, entry, mechanism in (
            ("branched", along("constraint_force", n), model),
            ("plain", ALGORITHMS["constraint_force"], mechanisms.serial_chain(n)),
        ):
            cost = steps(entry, mechanism)
            lines["path"][name].append(longest_path(entry, mechanism))
            lines["depth"][name].append(cost.depth)
            lines["work"][name].append(cost.work)
            lines["time"][name].append(cost.time(n))
    return data | lines


def differences(sizes: Sequence[int], say: Say) -> list[float]:
    """The differences from the articulated-body algorithm, with branches."""
    results = []
    for n in sizes:
        say(f"side branches: results of {n} links")
        model, rng = comb(n), np.random.default_rng(0)
        q, v = random_state(model, rng)
        tau = rng.normal(size=model.nv)
        methods = (along("constraint_force", n), ALGORITHMS["articulated_body"])
        ours, theirs = (interpreted(one, model)(q, v, tau) for one in methods)
        results.append(difference([theirs], [ours]))
    return results
