"""Performance targets, as ratios to Pinocchio or MuJoCo in the same run, with the measured ratios."""

from __future__ import annotations

from typing import Any

ABA, RNEA, CRBA = "forward_dynamics articulated_body", "inverse_dynamics", "mass_matrix"
_SHORT = {ABA: "ABA", RNEA: "RNEA", CRBA: "CRBA"}
OSIM = ("operational_inertia_inverse 2", "operational_inertia_inverse 4")
ID, FD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
_BATCH = {"UR5": 25.0, "Panda": 25.0, "G1": 15.0, "Talos": 15.0}
_SINGLE = {"Panda": 4.0, "Talos": 3.0}
_DERIVED = ("Panda", "G1", "Talos")
_RATIOS: tuple[tuple[str, str, str, dict[str, float]], ...] = (
    *((f"{_SHORT[f]}, batch on one thread", f, "batch", _BATCH) for f in (ABA, RNEA)),
    *((f"{_SHORT[f]}, one call", f, "single", _SINGLE) for f in (ABA, RNEA, CRBA)),
    *(
        (f"{f}, {kind}", f, kind, dict.fromkeys(("G1", "Talos"), target))
        for f in OSIM
        for kind, target in (("single", 3.0), ("batch", 15.0))
    ),
    ("ID derivatives, batch on one thread", ID, "batch", dict.fromkeys(_DERIVED, 12.0)),
    ("ID derivatives, one call", ID, "single", dict.fromkeys(_DERIVED, 2.0)),
    ("FD derivatives, batch on one thread", FD, "batch", dict.fromkeys(_DERIVED, 10.0)),
    ("FD derivatives, one call", FD, "single", dict.fromkeys(_DERIVED, 2.0)),
)
"""What is measured, its function and kind, and the least ratio to Pinocchio for each robot."""
_COLD = {"Panda": 0.3, "Talos": 1.0}
_CACHED = 0.15
_ROLLOUT = {"Panda": 15.0, "G1": 15.0}


def compare(data: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each target that this run has measured: what, target, measured, met."""
    rows: list[dict[str, Any] | None] = []
    sizes = {"single": 1, "batch": max(data["settings"]["batch"], 1)}
    for model in data["models"]:
        name, first = model["name"], model["first_call"]
        for what, function, kind, least in _RATIOS:
            ratio = _ratio(model, function, kind, 1, sizes[kind])
            rows.append(_at_least(f"{name} {what}", least.get(name), ratio))
        cold = first["cold"]["calls"].get(FD) if name == "Talos" else None
        rows.append(_at_most("Talos FD derivatives, first call, empty cache", 3.0, cold))
        rows += _threads(name, model, data)
        rows.append(_at_most(f"{name} first call, empty cache", _COLD.get(name), first["cold"]["call"]))
        limit = _CACHED if name in _COLD else None
        rows.append(_at_most(f"{name} first result from cache, beyond import numpy", limit, first["cached"]["beyond"]))
    return [row for row in [*rows, *_rollouts(data), *_chains(data)] if row is not None]


def _threads(name: str, model: dict[str, Any], data: dict[str, Any]) -> list[dict[str, Any] | None]:
    """No smaller ratio on all threads than on one, for the large batch."""
    large, cores, rows = data["settings"]["large"], data["machine"]["cores"], []
    for function in (ABA, RNEA) if cores > 1 else ():
        one, every = (_ratio(model, function, "batch", threads, large) for threads in (1, cores))
        what = f"{name} {_SHORT[function]}, {large} states on {cores} threads"
        rows.append(_at_least(what, one.get("ratio") if one else None, every))
    return rows


def _rollouts(data: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Steps per second beside MuJoCo's rollout, with every state kept; and no more memory after many steps."""
    rows = []
    for row in data.get("rollouts", ()):
        name, memory = row["name"], row["memory"]
        rows.append(_at_least(f"{name} rollout, one thread", _ROLLOUT.get(name), row["each"]["peers"].get("mujoco")))
        if memory and memory["before"]:
            what = f"{name} memory after {memory['steps']:,} steps over that before"
            rows.append(_at_most(what, 1.01, memory["after"] / memory["before"], "times"))
    return rows


def _chains(data: dict[str, Any]) -> list[dict[str, Any] | None]:
    rows: list[dict[str, Any] | None] = []
    for chain in data["chains"]:
        if chain["n"] == 500:
            for kind, target in (("single", 4.0), ("batch", 10.0)):
                ratio = chain[kind]["peers"].get("pin")
                rows.append(_at_least(f"chain of 500, ABA, {kind}", target, ratio))
    rows += _constraint_force(data)
    long = [chain for chain in data["chains"] if chain["n"] >= 100]
    for kind in ("single", "batch"):
        times = [chain[kind]["seconds"] / chain["n"] for chain in long]
        if len(times) > 1 and long[-1]["n"] >= 100_000:
            what = f"chains of 100 to 100,000, {kind}: slowest over fastest joint"
            rows.append(_at_most(what, 1.2, max(times) / min(times), "times"))
    peaks = data["memory"]["peak_bytes"] if data["memory"] else {}
    if peaks and None not in peaks.values():
        one, small, large = sorted(peaks, key=int)
        growth = (peaks[large] - peaks[one]) / int(large) / max((peaks[small] - peaks[one]) / int(small), 1.0)
        rows.append(_at_most(f"memory a joint at {int(large):,} over that at {int(small):,}", 1.2, growth, "times"))
    return rows


def _constraint_force(data: dict[str, Any]) -> list[dict[str, Any] | None]:
    """One state of a long chain by the constraint-force algorithm, on the lanes of one thread and on all threads."""
    rows: list[dict[str, Any] | None] = []
    for chain in data["chains"]:
        if chain["constraint_force"] is None:
            continue
        one, every = chain["constraint_force"]["one_thread"], chain["constraint_force"]["all_threads"]
        if chain["n"] >= 4000:
            what = f"chain of {chain['n']:,}, constraint forces"
            ratio = one["seconds"] / one["articulated_body"]
            rows.append(_at_most(f"{what} on lanes of one thread over scalar ABA", 1.3, ratio, "times"))
            faster = {"ratio": every["articulated_body"] / every["seconds"], "disturbed": False}
            if every["threads"] > 1:
                rows.append(_at_least(f"{what} on {every['threads']} threads against ABA", 1.4, faster))
        peer = chain["single"]["peers"].get("pin", {})
        if chain["n"] == 500 and "seconds" in peer:
            faster = {"ratio": peer["seconds"] / one["seconds"], "disturbed": peer["disturbed"]}
            rows.append(_at_least("chain of 500, constraint forces against pin's ABA", 4.0, faster))
    return rows


def _ratio(model: dict[str, Any], function: str, kind: str, threads: int, states: int) -> dict[str, Any] | None:
    """The row of Pinocchio for that measurement, if there is one."""
    for row in model["rows"]:
        if (row["function"], row["kind"], row["threads"], row["states"]) == (function, kind, threads, states):
            return row["peers"].get("pin")
    return None


def _at_least(what: str, target: float | None, peer: dict[str, Any] | None) -> dict[str, Any] | None:
    """A row; "met" is unknown (None) if other work on the machine slowed the peer down."""
    if target is None or peer is None or "ratio" not in peer:
        return None
    verdict = None if peer["disturbed"] else peer["ratio"] >= target
    return {"what": what, "target": target, "measured": peer["ratio"], "unit": "times faster", "met": verdict}


def _at_most(what: str, target: float | None, measured: float | None, unit: str = "s") -> dict[str, Any] | None:
    if target is None or measured is None:
        return None
    return {"what": what, "target": target, "measured": measured, "unit": unit, "met": measured <= target}
