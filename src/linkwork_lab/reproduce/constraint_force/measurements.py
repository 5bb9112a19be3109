"""The whole experiment, in parts."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork_lab.reproduce.clock import Effort
from linkwork_lab.reproduce.constraint_force import branches, parallel, rounding, times
from linkwork_lab.reproduce.constraint_force.chains import CHAINS
from linkwork_lab.reproduce.constraint_force.claim import claimed, unbiased
from linkwork_lab.reproduce.parts import Parts, Say, counted, measured

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
    whole_up_to: int = 1000

    @staticmethod
    def quick() -> Settings:
        return Settings(
            effort=QUICK, timed=("spherical",), links=(10, 100), pieces=(16,), in_pieces=("spherical",), pieces_of=60,
            counted_links=(8, 16, 32), operations=3, gains=(16, 64), combs=(8, 16), claimed=4, biased=(8,),
            states=1, sizes=(10, 60), whole_up_to=60,
        )  # fmt: skip


def parts(quick: bool, say: Say) -> tuple[Settings, Parts]:
    """The parts that ``linkwork reproduce constraint-force`` measures."""
    s = Settings.quick() if quick else Settings()
    return s, {
        **{f"times/{name}": measured(times.seconds, name, CHAINS[name], s.links, s.effort, say) for name in s.timed},
        **{
            f"pieces/{name}": measured(times.over_pieces, CHAINS[name], s.pieces_of, s.pieces, s.effort, say)
            for name in s.in_pieces
        },
        **{f"growth/{name}": counted(parallel.growth, name, CHAINS[name], s.counted_links, say) for name in s.counted},
        **{f"operations/{name}": counted(parallel.operations, CHAINS[name], s.operations) for name in s.counted},
        **{f"gains/{n}": counted(parallel.gain, CHAINS["revolute"], n, s.segments_up_to, say) for n in s.gains},
        "branches": counted(branches.counts, s.combs, say),
        "branches/difference": measured(branches.differences, s.combs, say),
        "claim": measured(claimed, s.claimed, say),
        "bias": measured(unbiased, s.biased, say),
        **{
            f"rounding/{name}": measured(rounding.errors, case, s.sizes, s.states, s.whole_up_to, say)
            for name, case in rounding.cases().items()
        },
    }
