"""All measurements, as plain data that JSON can hold."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork import SingularError, set_threads
from linkwork.inside import cores
from linkwork_lab.bench.cases import CASES, Case, States
from linkwork_lab.bench.chains import measure_chain, memory_of_chains
from linkwork_lab.bench.contest import Contestant, contest, ours
from linkwork_lab.bench.first_call import first_calls
from linkwork_lab.bench.machine import conditions
from linkwork_lab.bench.peers import NAMES, Factory, Peer, among, factories
from linkwork_lab.bench.rollouts import measure_rollout
from linkwork_lab.bench.subjects import Subject
from linkwork_lab.bench.targets import compare
from linkwork_lab.bench.threads import measure_threads

SCHEMA = 5
"""The version of the saved data. 2: the times of chains are those of a user's call, and peers are compared with these.
3: small batches, and results in place. 4: threads by the size of a batch, and the time of a first call beyond NumPy's
import. 5: the throughput of processes on all cores, beside threads.
"""


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements. Times are the best of ``rounds`` samples, each of about ``seconds``, in each of
    ``visits`` visits, between which everything else is measured: a machine may be slow for minutes.
    """

    visits: int = 2
    rounds: int = 4
    seconds: float = 0.003
    small: tuple[int, ...] = (1, 4, 16, 64, 256)
    """Batch sizes on one thread, beside Pinocchio only."""
    batch: int = 4096
    large: int = 65_536
    singles: int = 32
    threads: tuple[int, ...] = (1024, 4096, 16_384, 65_536)
    """Batch sizes on one thread and on all."""
    own_cache: bool = True
    """Code is compiled into a folder of this run, once for each mechanism; otherwise it is kept in the user's cache."""
    first_rounds: int = 3
    chains: tuple[int, ...] = (10, 30, 100, 200, 500, 1000, 3000, 10_000, 30_000, 100_000)
    chain_batch: int = 4096
    chain_peers: int = 500
    """Joints of the longest chain that peers are measured on; in later visits 200, since longer ones take them much
    longer to build than to compute.
    """
    memory: tuple[int, int] | None = (10_000, 100_000)
    rollout: tuple[int, int] = (256, 200)
    """Trajectories and steps."""
    rollout_memory: int = 1_000_000
    """Steps over which memory is monitored; 0 for none."""

    @staticmethod
    def quick() -> Settings:
        return Settings(
            visits=1, rounds=5, seconds=0.002, small=(16,), batch=1024, large=0, threads=(1024, 16_384),
            own_cache=False, first_rounds=1, chains=(10, 100, 1000, 10_000), memory=None, rollout_memory=0,
        )  # fmt: skip


def measure(
    subjects: Sequence[Subject],
    peers: Sequence[str] = NAMES,
    settings: Settings | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """All measurements that ``linkwork bench`` prints.

    Args:
        subjects: the mechanisms.
        peers: names of other libraries; one that is not installed is noted and omitted.
        settings: the extent of the measurements.
        say: called with a description of each measurement.

    Returns:
        Data as described by its keys; times in seconds, of one state; a ratio is the peer's time over linkwork's.
    """
    settings = settings or Settings()
    available, notes = factories(list(peers))
    data = {"schema": SCHEMA, **conditions(settings), "notes": notes}
    with tempfile.TemporaryDirectory(prefix="linkwork-bench-") as folder:
        if settings.own_cache:
            subjects = [replace(subject, cache=os.path.join(folder, str(k))) for k, subject in enumerate(subjects)]
        first = [first_calls(subject, settings.first_rounds, say) for subject in subjects]
        data |= _visits(_Visit(subjects, available, settings, say))
    for calls, row in zip(first, data["models"], strict=True):
        row["first_call"] = calls
    data["memory"] = memory_of_chains(settings.memory) if settings.memory else None
    data["targets"] = compare(data)
    return data


class _Visit(NamedTuple):
    """What is measured in a visit: by what peers, to what extent, and a function that is told of it."""

    subjects: Sequence[Subject]
    available: dict[str, Factory]
    settings: Settings
    say: Callable[[str], None]

    def rows(self, measured: Callable[[Subject], dict[str, Any]]) -> list[dict[str, Any]]:
        """A row for each subject, measured with its own cache."""
        rows = []
        for subject in self.subjects:
            with subject.own_cache():
                rows.append(measured(subject))
        return rows


def _visits(all_of: _Visit) -> dict[str, Any]:
    """All times of calls, the best of several visits."""
    best, (_, _, settings, say) = dict[str, Any](), all_of
    for number in range(settings.visits):

        def tell(text: str, number: int = number) -> None:
            say(f"{text} ({number + 1} of {settings.visits})" if settings.visits > 1 else text)

        now = replace(settings, rollout_memory=0, chain_peers=200) if number else settings
        visit = all_of._replace(settings=now, say=tell)
        again = {name: part(visit) for name, part in _PARTS.items()}
        best = best_of(best, again) if number else again
    return best


_TIMES = ("seconds", "in_place", "articulated_body", "all_threads", "beside")


def best_of(one: Any, other: Any) -> Any:
    """The same measurements, made twice: the better time of each, with new ratios."""
    if isinstance(one, list):
        return [best_of(*both) for both in zip(one, other, strict=True)]
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one
    best = {name: best_of(value, other[name]) if name in other else value for name, value in one.items()}
    for name in _TIMES:
        if name in other and isinstance(one.get(name), float):  # some are functions' names
            best[name] = min(one[name], other[name])
    if other.get("seconds", math.inf) < one.get("seconds", math.inf) and "disturbed" in other:
        best["disturbed"] = other["disturbed"]
    for peer in best.get("peers", {}).values():
        if "ratio" in peer:
            peer["ratio"] = peer["seconds"] / best["seconds"]
    return best


def _threads(visit: _Visit) -> list[dict[str, Any]]:
    settings = visit.settings
    extent = settings.threads, settings.rounds, settings.seconds
    return visit.rows(lambda subject: measure_threads(subject, *extent, visit.say)) if cores() > 1 else []


def _rollouts(visit: _Visit) -> list[dict[str, Any]]:
    settings = visit.settings

    def rollout(subject: Subject) -> dict[str, Any]:
        visit.say(f"{subject.name}: rollout")
        extent = settings.rounds, *settings.rollout, settings.rollout_memory
        return measure_rollout(subject, visit.available, *extent)

    return visit.rows(rollout)


def _chains(visit: _Visit) -> list[dict[str, Any]]:
    rows, settings = [], visit.settings
    for n in settings.chains:
        visit.say(f"chain of {n}")
        peers = visit.available if n <= settings.chain_peers else {}
        rows.append(measure_chain(n, peers, settings.rounds, settings.seconds, settings.chain_batch))
    return rows


def _models(visit: _Visit) -> list[dict[str, Any]]:
    return visit.rows(lambda subject: _of_model(subject, visit.available, visit.settings, visit.say))


_PARTS = {"models": _models, "threads": _threads, "rollouts": _rollouts, "chains": _chains}


def _of_model(
    subject: Subject, available: dict[str, Factory], settings: Settings, say: Callable[[str], None]
) -> dict[str, Any]:
    model, threads = subject.model, sorted({1, cores()})
    states = States.random(model, settings.batch)
    peers, absent = among(available, lambda _, factory: factory(model))
    pinned = {name: peer for name, peer in peers.items() if name == "pin"}
    rows = []
    for case in (case for case in CASES if case.least_nv <= model.nv):
        say(f"{subject.name}: {case.name}")
        try:
            rows += [
                _single(case, states.first(settings.singles), peers, settings),
                *(_batch(case, states.first(n), 1, pinned, settings) for n in settings.small if n < settings.batch),
                *(_batch(case, states, count, peers, settings) for count in threads),
            ]
        except SingularError as error:  # some robots cannot be constrained, or moved, as in a case
            say(f"{subject.name}: {case.name} is left out: {error}")
    if subject.large and settings.large:
        rows += _large(subject, states.repeated(settings.large), pinned, settings, say)
    return {
        "name": subject.name, "bodies": len(model.bodies), "nv": model.nv, "floating_base": subject.floating_base,
        "absent": absent, "first_call": None, "rows": rows,
    }  # fmt: skip


def _large(
    subject: Subject, states: States, peers: dict[str, Peer], settings: Settings, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Batches of many states, on one thread and on all."""
    rows = []
    for case in (case for case in CASES if case.name in (CASES[0].name, "inverse_dynamics")):
        say(f"{subject.name}: {case.name}, {len(states)} states")
        rows += [_batch(case, states, count, peers, settings) for count in sorted({1, cores()})]
    return rows


def _single(case: Case, states: States, peers: dict[str, Peer], settings: Settings) -> dict[str, Any]:
    rivals = {name: peer.single(case, states) for name, peer in peers.items()}
    return _row(case, ours(case, states.model, states, single=True), rivals, settings) | {
        "kind": "single", "threads": 1, "states": 1,
    }  # fmt: skip


def _batch(case: Case, states: States, threads: int, peers: dict[str, Peer], settings: Settings) -> dict[str, Any]:
    set_threads(threads)
    try:
        rivals = {name: peer.batch(case, states, threads) for name, peer in peers.items()}
        rivals["in_place"] = ours(case, states.model, states, single=False, in_place=True)
        row = _row(case, ours(case, states.model, states, single=False), rivals, settings)
    finally:
        set_threads(None)
    row["in_place"] = row["peers"].pop("in_place")["seconds"]
    return row | {"kind": "batch", "threads": threads, "states": len(states)}


def _row(case: Case, mine: Contestant, rivals: dict[str, Contestant | None], settings: Settings) -> dict[str, Any]:
    able = {name: rival for name, rival in rivals.items() if rival is not None}
    seconds, others = contest(mine, able, settings.rounds, settings.seconds)
    return {"function": case.name, "seconds": seconds, "peers": others}
