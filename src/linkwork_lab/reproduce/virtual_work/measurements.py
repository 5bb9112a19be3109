"""The whole experiment, in parts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwork import mechanisms
from linkwork_lab.reproduce.clock import Effort
from linkwork_lab.reproduce.parts import Parts, Say, counted, measured
from linkwork_lab.reproduce.virtual_work import counts, rounding, swing, times

FULL, QUICK = Effort(sweeps=3, rounds=40, seconds=0.002), Effort(sweeps=1, rounds=3, seconds=0.0005)


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements."""

    step: float = 0.001
    pictures: int = 10
    apart: float = 0.15
    effort: Effort = FULL
    joints: tuple[int, ...] = tuple(range(1, 17))
    ends: tuple[int, ...] = tuple(range(2, 13))
    long: tuple[int, ...] = (10, 30, 100, 200, 400, 1000, 3000, 10_000, 30_000)
    unit_vector_up_to: int = 200
    mechanisms: tuple[str, ...] = tuple(counts.MECHANISMS)
    counted_chains: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    counted_stars: tuple[int, ...] = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24)
    states: int = 3
    sizes: tuple[int, ...] = (3, 10, 30, 100, 300, 1000)
    branches: tuple[int, ...] = (3, 10, 30, 100)
    dense_up_to: int = 100
    ratios: tuple[float, ...] = tuple(10.0**k for k in range(7))

    @staticmethod
    def quick() -> Settings:
        return Settings(
            step=0.005, pictures=4, effort=QUICK, joints=(2, 4), ends=(2, 3),
            long=(10, 100), unit_vector_up_to=10, mechanisms=("chain of 10 hinges",),
            counted_chains=(2, 4), counted_stars=(4, 5, 6, 7, 8), states=1, sizes=(10,), branches=(6,),
            ratios=(1e6,),
        )  # fmt: skip


def parts(quick: bool, say: Say) -> tuple[Settings, Parts]:
    """The parts that ``linkwork reproduce virtual-work`` measures."""
    s = Settings.quick() if quick else Settings()
    return s, {
        "swings/serial": measured(swing.swing, swing.serial, s.step, s.pictures, s.apart),
        "swings/branched": measured(swing.swing, swing.branched, s.step, s.pictures, s.apart),
        "times/serial": measured(times.serial_chains, s.joints, s.effort, say),
        "times/stars": measured(times.stars, s.ends, s.effort, say),
        "times/long": measured(times.long_chains, s.long, s.unit_vector_up_to, s.effort, say),
        **{f"counts/by_kind/{name}": counted(counts.by_kind, counts.MECHANISMS[name]) for name in s.mechanisms},
        "counts/chains": counted(counts.growth, counts.chain, s.counted_chains, say),
        "counts/stars": counted(counts.growth, mechanisms.star, s.counted_stars, say),
        **{
            f"rounding/over_size/{name}": measured(
                rounding.errors, case, s.branches if name == "star" else s.sizes, s.states, s.dense_up_to, say
            )
            for name, case in rounding.over_size().items()
        },
        **{
            f"rounding/over_ratio/{name}": measured(rounding.errors, case, s.ratios, s.states, math.inf, say)
            for name, case in rounding.over_ratio().items()
        },
    }
