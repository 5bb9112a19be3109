"""The whole experiment, in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork import mechanisms
from linkwork_lab.reproduce.clock import Effort
from linkwork_lab.reproduce.operational_inertia import growth, on_the_ground
from linkwork_lab.reproduce.operational_inertia import humanoid as section4
from linkwork_lab.reproduce.operational_inertia.growth import (
    Case,
    Limits,
    Lines,
    chain,
    fan,
    humanoid,
    tree,
)
from linkwork_lab.reproduce.operational_inertia.many_points import experiment
from linkwork_lab.reproduce.operational_inertia.visits import visited
from linkwork_lab.reproduce.parts import Parts, Say, counted, measured

Cases = Callable[[], Sequence[Case]]
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
    visited_levels: int = 4
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
    grounded: tuple[int, ...] = (3, 4, 6, 10, 16)
    simulated: float = 1.0

    @staticmethod
    def quick() -> Settings:
        return Settings(
            effort=QUICK, whole=False, states=4, batch=1, chains=(10, 20, 30), levels=(2, 3),
            bush=3, visited_levels=3, fan=20, arms=(1, 2, 3, 4), explicit_up_to=10,
            points=(1, 2, 3, 4), humanoid_points=(1,), ends=(), dense_counted_up_to=20, dense_timed_up_to=20,
            map_chains=(8,), map_levels=(3,), map_points=(1, 2), controlled=(), grounded=(),
        )  # fmt: skip


def parts(quick: bool, say: Say) -> tuple[Settings, Parts]:
    """The parts that ``linkwork reproduce operational-inertia`` measures."""
    s = Settings.quick() if quick else Settings()
    robot = mechanisms.humanoid if s.whole else section4.two_arms
    over_points: dict[str, Cases] = {
        "over_points/tree": lambda: [tree(s.bush, m) for m in s.points],
        "over_points/humanoid": lambda: [humanoid(m) for m in s.humanoid_points],
    }
    timed: dict[str, Cases] = over_points | {
        "over_links/chains": lambda: [chain(n, 2) for n in s.chains],
        "over_links/trees": lambda: [tree(levels, 2) for levels in s.levels],
    }

    def ends() -> Sequence[Case]:
        return [humanoid(m) for m in s.ends]

    return s, {
        "humanoid": counted(section4.operations, robot),
        "humanoid/seconds": measured(section4.one_matrix, robot, s.states, s.batch, s.effort),
        "servo": measured(section4.servo, robot, s.states, s.effort),
        **{f"many_points/{m}": measured(experiment, m, s.simulated, s.states, s.effort) for m in s.controlled},
        **{
            f"on_the_ground/{m}": measured(on_the_ground.experiment, m, s.simulated, s.states, s.effort)
            for m in s.grounded
        },
        **{place: counted(_operations, cases, s, say) for place, cases in timed.items()},
        **{f"{place}/seconds": measured(_seconds, cases, s, say) for place, cases in timed.items()},
        "over_points/fan": counted(_operations, lambda: [fan(s.fan, m) for m in s.arms], s, say),
        **{f"{place}_folded": counted(_folded, cases) for place, cases in over_points.items()},
        "over_points/humanoid_specialised": counted(_folded, ends),
        "over_points/humanoid_specialised/seconds": measured(_specialised, ends, s, say),
        "visits": counted(visited, s.visited_levels, (2, 4)),
        "inversion": counted(_inversion, s),
        "map/chains": measured(_map, chain, s.map_chains, s, say),
        "map/trees": measured(_map, tree, s.map_levels, s, say),
    }


def _operations(cases: Cases, s: Settings, say: Say) -> dict[str, Any]:
    rows = cases()
    return _sizes(rows) | {"operations": growth.operations(rows, Limits(s.dense_counted_up_to, s.explicit_up_to), say)}


def _folded(cases: Cases) -> dict[str, Any]:
    rows = cases()
    return _sizes(rows) | {"operations": growth.operations_folded(rows)}


def _sizes(cases: Sequence[Case]) -> dict[str, Any]:
    return {
        "links": [len(model.bodies) for model, _ in cases], "depth": [model.depth for model, _ in cases],
        "points": [len(frames) for _, frames in cases],
    }  # fmt: skip


def _seconds(cases: Cases, s: Settings, say: Say) -> Lines:
    return growth.seconds(cases(), Limits(s.dense_timed_up_to, s.explicit_up_to), s.effort, say)


def _specialised(cases: Cases, s: Settings, say: Say) -> Lines:
    return growth.seconds(cases(), Limits(s.dense_timed_up_to), s.effort, say, "specialised")


def _inversion(s: Settings) -> dict[str, Any]:
    return {"points": list(s.points), "operations": growth.inversion([tree(s.bush, m) for m in s.points])}


def _map(make: Callable[[int, int], Case], sizes: Sequence[int], s: Settings, say: Say) -> dict[str, Any]:
    """Times for each number of points (a row) and size (a column)."""
    limits = Limits(s.dense_timed_up_to)
    rows = [growth.seconds([make(n, m) for n in sizes], limits, s.effort, say) for m in s.map_points]
    return {"links": [len(make(n, 1)[0].bodies) for n in sizes], "points": list(s.map_points), "seconds": rows}
