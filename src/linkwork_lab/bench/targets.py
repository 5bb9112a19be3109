"""Performance targets, as ratios to Pinocchio or MuJoCo in the same run, with the measured ratios."""

from __future__ import annotations

from typing import Any

ABA, RNEA, CRBA = "forward_dynamics articulated_body", "inverse_dynamics", "mass_matrix"
_SHORT = {ABA: "ABA", RNEA: "RNEA", CRBA: "CRBA"}
OSIM = ("operational_inertia_inverse 2", "operational_inertia_inverse 4")
_BATCH = {"UR5": 25.0, "Panda": 25.0, "G1": 15.0, "Talos": 15.0}
_SINGLE = {"Panda": 4.0, "Talos": 3.0}
ID, FD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
_DERIVATIVES = {ID: ("ID derivatives", 12.0), FD: ("FD derivatives", 10.0)}
_COLD = {"Panda": 0.3, "Talos": 1.0}
_CACHED = 0.15
_ROLLOUT = {"Panda": 15.0, "G1": 15.0}


def compare(data: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each target that this run has measured: what, target, measured, met."""
    models = {model["name"]: model for model in data["models"]}
    rows = []
    for name, model in models.items():
        for function in (ABA, RNEA):
            ratio = _ratio(model, function, "batch", 1, max(data["settings"]["batch"], 1))
            rows.append(_at_least(f"{name} {_SHORT[function]}, batch on one thread", _BATCH.get(name), ratio))
        for function in (ABA, RNEA, CRBA):
            ratio = _ratio(model, function, "single", 1, 1)
            rows.append(_at_least(f"{name} {_SHORT[function]}, one call", _SINGLE.get(name), ratio))
        for function in OSIM if name in ("G1", "Talos") else ():
            for kind, states, target in (("single", 1, 3.0), ("batch", max(data["settings"]["batch"], 1), 15.0)):
                rows.append(_at_least(f"{name} {function}, {kind}", target, _ratio(model, function, kind, 1, states)))
        rows += _derivatives(name, model, data) if name in ("Panda", "G1", "Talos") else []
        rows += _threads(name, model, data)
        first = model["first_call"]
        rows.append(_at_most(f"{name} first call, empty cache", _COLD.get(name), first["cold"]["call"]))
        limit = _CACHED if name in _COLD else None
        rows.append(_at_most(f"{name} first result from cache, beyond import numpy", limit, first["cached"]["beyond"]))
    return [row for row in [*rows, *_rollouts(data), *_chains(data)] if row is not None]


def _derivatives(name: str, model: dict[str, Any], data: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Derivatives of dynamics, in batches and in single calls; and the first call, which compiles."""
    rows = []
    for function, (short, target) in _DERIVATIVES.items():
        ratio = _ratio(model, function, "batch", 1, max(data["settings"]["batch"], 1))
        rows.append(_at_least(f"{name} {short}, batch on one thread", target, ratio))
        rows.append(_at_least(f"{name} {short}, one call", 2.0, _ratio(model, function, "single", 1, 1)))
    first = model["first_call"]["cold"]["calls"].get(FD) if name == "Talos" else None
    rows.append(_at_most("Talos FD derivatives, first call, empty cache", 3.0, first))
    return rows


def _threads(name: str, model: dict[str, Any], data: dict[str, Any]) -> list[dict[str, Any] | None]:
    """No smaller ratio on all threads than on one, for the large batch."""
    rows = []
    for function in (ABA, RNEA):
        one = _ratio(model, function, "batch", 1, data["settings"]["large"])
        all_of_them = _ratio(model, function, "batch", data["machine"]["cores"], data["settings"]["large"])
        if data["machine"]["cores"] > 1:
            what = (
                f"{name} {_SHORT[function]}, {data['settings']['large']} states on {data['machine']['cores']} threads"
            )
            rows.append(_at_least(what, one.get("ratio") if one else None, all_of_them))
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
        each = [chain[kind]["seconds"] / chain["n"] for chain in long]
        if len(each) > 1 and long[-1]["n"] >= 100_000:
            what = f"chains of 100 to 100,000, {kind}: slowest over fastest joint"
            rows.append(_at_most(what, 1.2, max(each) / min(each), "times"))
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
        found = chain["constraint_force"]
        if found is None:
            continue
        one, every = found["one_thread"], found["all_threads"]
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
            found: dict[str, Any] | None = row["peers"].get("pin")
            return found
    return None


def _at_least(what: str, target: float | None, peer: dict[str, Any] | None) -> dict[str, Any] | None:
    """A row; ``met`` is unknown (None) if other work on the machine slowed the peer down."""
    if target is None or peer is None or "ratio" not in peer:
        return None
    met = None if peer["disturbed"] else peer["ratio"] >= target
    return {"what": what, "target": target, "measured": peer["ratio"], "unit": "times faster", "met": met}


def _at_most(what: str, target: float | None, measured: float | None, unit: str = "s") -> dict[str, Any] | None:
    if target is None or measured is None:
        return None
    return {"what": what, "target": target, "measured": measured, "unit": unit, "met": measured <= target}
