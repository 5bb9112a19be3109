"""Time against the length of a chain of 10 to 100,000 revolute joints: articulated-body and constraint-force."""

from __future__ import annotations

import tempfile
from typing import Any

from linkwork import Model, mechanisms, set_threads
from linkwork.algorithms import ALGORITHMS
from linkwork.inside import cores, form_of
from linkwork_lab.bench.cases import CASES, CONSTRAINT_FORCE, States
from linkwork_lab.bench.contest import SOME, Contestant, contest, ours
from linkwork_lab.bench.first_call import probe
from linkwork_lab.bench.peers import Factory, Peer, among
from linkwork_lab.bench.subjects import Subject

_WORK = 1_000_000
"""Joints times states in a batch."""


def measure_chain(
    n: int, available: dict[str, Factory], rounds: int, seconds: float, largest_batch: int
) -> dict[str, Any]:
    """One length: one state and a batch on one thread, called as a user would, beside the peers, whose batch has the
    first of the states.

    For a short chain such a call runs code specialised for it, for a long one rolled code.
    """
    case, model = CASES[0], mechanisms.serial_chain(n)
    states = States.random(model, max(8, min(largest_batch, _WORK // n)))
    few = states.first(max(1, min(16, len(states), 20_000 // n)))
    peers, absent = among(available, lambda _, factory: factory(model))
    row: dict[str, Any] = {"n": n, "states": len(states), "absent": absent, "constraint_force": None}
    set_threads(1)
    try:
        for kind, chosen in (("single", few), ("batch", states)):
            rivals = {name: rival for name, peer in peers.items() if (rival := _rival(peer, kind, chosen)) is not None}
            best, others = contest(ours(case, model, chosen, single=kind == "single"), rivals, rounds, seconds)
            row[kind] = {"seconds": best, "peers": others}
        if form_of(ALGORITHMS["constraint_force"], model) == "segmented":
            row["constraint_force"] = _constraint_force(model, few, rounds, seconds)
    finally:
        set_threads(None)
    return row


def _constraint_force(model: Model, states: States, rounds: int, seconds: float) -> dict[str, Any]:
    """One state by the constraint-force and articulated-body algorithms, on one thread's lanes and on all threads."""
    times = {}
    for name, threads in (("one_thread", 1), ("all_threads", cores())):
        set_threads(threads)
        rival = ours(CONSTRAINT_FORCE, model, states, single=True)
        articulated = ours(CASES[0], model, states, single=True)
        best, others = contest(articulated, {"constraint_force": rival}, rounds, seconds)
        row = others["constraint_force"]
        if not row["agrees"]:
            raise AssertionError(f"constraint forces differ from articulated bodies by {row['error']}")
        times[name] = {"seconds": row["seconds"], "articulated_body": best, "threads": threads}
    return times


def memory_of_chains(sizes: tuple[int, int]) -> dict[str, Any]:
    """Peak memory of a process that computes the forward dynamics of a chain, for two lengths."""
    with tempfile.TemporaryDirectory(prefix="linkwork-bench-") as folder:
        peaks = {str(n): probe(Subject(f"chain {n}", f"serial_chain:{n}"), folder)["peak_bytes"] for n in (1, *sizes)}
    return {"peak_bytes": peaks}


def _rival(peer: Peer, kind: str, states: States) -> Contestant | None:
    return peer.single(CASES[0], states) if kind == "single" else peer.batch(CASES[0], states.first(SOME), 1)
