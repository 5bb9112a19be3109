"""The whole experiment, as plain data that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from linkwork.inside import cores, host
from linkwork_lab.bench.machine import conditions
from linkwork_lab.reproduce.clock import Effort
from linkwork_lab.reproduce.constraint_force import parallel, rounding, times
from linkwork_lab.reproduce.constraint_force.branches import branched
from linkwork_lab.reproduce.constraint_force.chains import CHAINS
from linkwork_lab.reproduce.constraint_force.claim import claimed, unbiased
from linkwork_lab.reproduce.schedule import MACHINES

FULL, QUICK = Effort(sweeps=2, rounds=40, seconds=0.002), Effort(sweeps=1, rounds=3, seconds=0.0005)


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements."""

    effort: Effort = FULL
    timed: tuple[str, ...] = tuple(CHAINS)
    links: tuple[int, ...] = (10, 30, 100, 300, 1000, 4000, 10_000, 100_000)
    pieces: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    in_pieces: tuple[str, ...] = ("revolute", "spherical", "irregular")
    pieces_of: int = 10_000
    counted: tuple[str, ...] = ("revolute", "spherical", "mixed", "floating")
    counted_links: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024)
    operations: int = 30
    gains: tuple[int, ...] = (64, 1024, 4096)
    segments_up_to: int = 1024
    combs: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    claimed: int = 12
    biased: tuple[int, ...] = (8, 16, 32, 64)
    states: int = 2
    sizes: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000)
    interpreted_up_to: int = 1000

    @staticmethod
    def quick() -> Settings:
        return Settings(
            effort=QUICK, timed=("spherical",), links=(10, 100), pieces=(16,), in_pieces=("spherical",), pieces_of=60,
            counted_links=(8, 16, 32), operations=3, gains=(16, 64), combs=(8, 16), claimed=4, biased=(8,),
            states=1, sizes=(10, 60), interpreted_up_to=60,
        )  # fmt: skip


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """All measurements that ``linkwork reproduce constraint-force`` shows."""
    s = Settings.quick() if quick else Settings()
    data = conditions(s) | {"lanes": host().lanes, "threads": cores()}
    data["times"] = {name: times.seconds(name, CHAINS[name], s.links, s.effort, say) for name in s.timed}
    data["pieces"] = {
        name: times.over_pieces(CHAINS[name], s.pieces_of, s.pieces, s.effort, say) for name in s.in_pieces
    }
    data["growth"] = {name: parallel.growth(name, CHAINS[name], s.counted_links, say) for name in s.counted}
    data["operations"] = {name: parallel.operations(CHAINS[name], s.operations) for name in s.counted}
    data["machines"] = {machine.name: asdict(machine) for machine in MACHINES if machine.sources}
    data["gains"] = [parallel.gain(CHAINS["revolute"](n), s.segments_up_to, say) for n in s.gains]
    data["branches"] = branched(s.combs, say)
    data["claim"] = claimed(s.claimed, say)
    data["bias"] = unbiased(s.biased, say)
    data["rounding"] = {
        name: rounding.errors(case, s.sizes, s.states, s.interpreted_up_to, say)
        for name, case in rounding.cases().items()
    }
    return data
