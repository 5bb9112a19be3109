"""The whole experiment, as plain data that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork import mechanisms
from linkwork_lab.bench.machine import conditions
from linkwork_lab.reproduce.clock import Effort
from linkwork_lab.reproduce.operational_inertia import growth
from linkwork_lab.reproduce.operational_inertia import humanoid as section4
from linkwork_lab.reproduce.operational_inertia.growth import (
    Case,
    Limits,
    Lines,
    Say,
    chain,
    fan,
    humanoid,
    tree,
    winners,
)
from linkwork_lab.reproduce.operational_inertia.many_points import experiment
from linkwork_lab.reproduce.operational_inertia.visits import visited

FULL, QUICK = Effort(sweeps=2, rounds=40, seconds=0.002), Effort(sweeps=1, rounds=3, seconds=0.0005)


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements."""

    effort: Effort = FULL
    whole: bool = True
    """Whether section 4 is measured with the humanoid; otherwise with two arms in its place."""
    states: int = 32
    batch: int = 4096
    chains: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)
    levels: tuple[int, ...] = (4, 5, 6, 7, 8, 9, 10)
    bush: int = 5
    seen: int = 4
    fan: int = 36
    arms: tuple[int, ...] = tuple(range(1, 9))
    points: tuple[int, ...] = tuple(range(1, 17))
    humanoid_points: tuple[int, ...] = tuple(range(1, 17))
    ends: tuple[int, ...] = (1, 2, 3, 4, 5)
    dense_counted_up_to: int = 100
    dense_timed_up_to: int = 200
    explicit_up_to: int = 100
    map_chains: tuple[int, ...] = (16, 30, 100, 300, 1000)
    map_levels: tuple[int, ...] = (5, 6, 7, 8, 9, 10)
    map_points: tuple[int, ...] = (1, 2, 4, 8, 16)
    controlled: tuple[int, ...] = (4, 8, 16)
    simulated: float = 1.0

    @staticmethod
    def quick() -> Settings:
        return Settings(
            effort=QUICK, whole=False, states=4, batch=1, chains=(10, 20, 30), levels=(2, 3),
            bush=3, seen=3, fan=20, arms=(1, 2, 3, 4), explicit_up_to=10,
            points=(1, 2, 3, 4), humanoid_points=(1,), ends=(), dense_counted_up_to=20, dense_timed_up_to=20,
            map_chains=(8,), map_levels=(3,), map_points=(1, 2), controlled=(),
        )  # fmt: skip


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """All measurements that ``linkwork reproduce operational-inertia`` shows."""
    s = Settings.quick() if quick else Settings()
    say("the humanoid with both hands")
    robot = mechanisms.humanoid() if s.whole else section4.two_arms()
    return {
        **conditions(s),
        "humanoid": section4.one_matrix(robot, s.states, s.batch, s.effort),
        "servo": section4.servo(robot, s.states, s.effort),
        "many_points": [_controlled(m, s, say) for m in s.controlled],
        "over_links": {
            "chains": _over([chain(n, 2) for n in s.chains], s, say),
            "trees": _over([tree(levels, 2) for levels in s.levels], s, say),
        },
        "over_points": {
            "tree": _over([tree(s.bush, m) for m in s.points], s, say),
            "humanoid": _over([humanoid(m) for m in s.humanoid_points], s, say),
            "fan": _counted([fan(s.fan, m) for m in s.arms], s, say),
            "tree_folded": _folded([tree(s.bush, m) for m in s.points]),
            "humanoid_folded": _folded([humanoid(m) for m in s.humanoid_points]),
            "humanoid_specialised": _specialised([humanoid(m) for m in s.ends], s, say),
        },
        "visits": visited(s.seen, (2, 4)),
        "inversion": {
            "points": list(s.points),
            "operations": growth.inversion([tree(s.bush, m) for m in s.points]),
        },
        "map": {
            "chains": _map(chain, s.map_chains, s, say),
            "trees": _map(tree, s.map_levels, s, say),
        },
    }  # fmt: skip


def _controlled(points: int, s: Settings, say: Say) -> dict[str, Any]:
    say(f"control of {points} points")
    return experiment(points, s.simulated, s.states, s.effort)


def _counted(cases: Sequence[Case], s: Settings, say: Say) -> dict[str, Any]:
    return _found(cases, growth.operations(cases, Limits(s.dense_counted_up_to, s.explicit_up_to), say))


def _over(cases: Sequence[Case], s: Settings, say: Say) -> dict[str, Any]:
    operations = growth.operations(cases, Limits(s.dense_counted_up_to, s.explicit_up_to), say)
    seconds = growth.seconds(cases, Limits(s.dense_timed_up_to, s.explicit_up_to), s.effort, say)
    return _found(cases, operations, seconds)


def _folded(cases: Sequence[Case]) -> dict[str, Any]:
    return _found(cases, growth.operations_folded(cases))


def _specialised(cases: Sequence[Case], s: Settings, say: Say) -> dict[str, Any]:
    operations = growth.operations_folded(cases)
    return _found(cases, operations, growth.seconds(cases, Limits(s.dense_timed_up_to), s.effort, say, "specialised"))


def _found(cases: Sequence[Case], operations: Lines, seconds: Lines | None = None) -> dict[str, Any]:
    return {
        "links": [len(model.bodies) for model, _ in cases], "depth": [model.depth for model, _ in cases],
        "points": [len(frames) for _, frames in cases],
        "operations": operations, "fewest_operations": winners(operations),
        **({"seconds": seconds, "fastest": winners(seconds)} if seconds else {}),
    }  # fmt: skip


def _map(make: Callable[[int, int], Case], sizes: Sequence[int], s: Settings, say: Say) -> dict[str, Any]:
    """The fastest method for each number of points (a row) and size (a column)."""
    limits = Limits(s.dense_timed_up_to)
    rows = [growth.seconds([make(n, m) for n in sizes], limits, s.effort, say) for m in s.map_points]
    return {
        "links": [len(make(n, 1)[0].bodies) for n in sizes], "points": list(s.map_points),
        "seconds": rows, "fastest": [winners(row) for row in rows],
    }  # fmt: skip
