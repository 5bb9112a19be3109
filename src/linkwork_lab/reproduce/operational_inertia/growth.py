"""Operations and times of every method for Λ⁻¹, over the links of a mechanism and over the points on it.

Operations are as written, or folded for one mechanism. Times are of rolled code (loops; the mechanism in tables), which
is the same for every size, or of specialised code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork import Builder, Frame, Model, mechanisms, placement
from linkwork.algorithms import ALGORITHMS, OPERATIONAL
from linkwork.joints import Revolute
from linkwork_lab.reproduce.clock import Effort, Runner, race, sweep
from linkwork_lab.reproduce.counting import as_written, folded
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.studies import EXPLICIT_INVERSE

METHODS = {name: ALGORITHMS[f"operational/{name}"] for name in OPERATIONAL}

BASELINE = {"explicit_inverse": EXPLICIT_INVERSE}
"""The symbolic method of the paper's comparison, A⁻¹ formed and multiplied: O(n³) on any mechanism."""

Lines = dict[str, list[Any]]
Case = tuple[Model, list[Frame]]


def chain(links: int, points: int) -> Case:
    """A chain of hinges, with points at equal distances along it, the last at its tip."""
    model = mechanisms.serial_chain(links)
    bodies = [f"body{links * k // points}" for k in range(1, points)]
    return model, [model.frame(name) for name in (*bodies, "tip")]


def tree(levels: int, points: int) -> Case:
    """A binary tree of hinges, with points on leaves: on both halves in turn, on both halves of these, and so on."""
    model = mechanisms.binary_tree(levels)
    bits = levels - 1
    leaves = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(points)]
    return model, [model.frame(f"tip{leaf + 1}") for leaf in leaves]


def fan(links: int, points: int) -> Case:
    """A trunk of four hinges with arms of four, ``links`` links in total, with points at the ends of the first arms."""
    builder = Builder("fan")
    for limb in range(links // 4):
        parent = "limb0_3" if limb else "world"
        for k in range(4):
            at = placement((0.0, -0.3 if parent != "world" else 0.0, 0.0))
            solid = (0.01, 0.01, 0.01)
            parent = builder.add_body(
                f"limb{limb}_{k}", parent, Revolute("z"), at, mass=1.0, com=(0.0, -0.15, 0.0), inertia=solid
            )
    model = builder.build()
    return model, [model.frame(f"limb{arm}_3") for arm in range(1, points + 1)]


def humanoid(points: int) -> Case:
    """The humanoid, with points at hands, soles and head, and then on every second link."""
    model = mechanisms.humanoid()
    ends = ["left_hand", "right_hand", "left_sole", "right_sole", "head_top"]
    return model, [model.frame(name) for name in (ends + list(model.body_names[::2]))[:points]]


@dataclass(frozen=True)
class Limits:
    """The deepest mechanism for ``dense``, and the largest for ``explicit_inverse``: their cost grows too fast."""

    depth: int
    links: int = 0

    def left_out(self, model: Model) -> set[str]:
        too_much = {"dense": model.depth > self.depth, "explicit_inverse": len(model.bodies) > self.links}
        return {name for name, much in too_much.items() if much}


def operations(cases: Sequence[Case], limits: Limits, say: Say) -> Lines:
    """Totals as written for each case; None beyond the limits."""
    entries = METHODS | BASELINE
    totals: Lines = {name: [] for name in entries}
    for model, frames in cases:
        say(f"counts: {_title(model, frames)}")
        omitted = limits.left_out(model)
        for name, algorithm in entries.items():
            totals[name].append(None if name in omitted else sum(as_written(algorithm, model, frames).values()))
    return totals


def operations_folded(cases: Sequence[Case]) -> Lines:
    """The same in code for one mechanism."""
    return {
        name: [sum(folded(algorithm, model, frames).values()) for model, frames in cases]
        for name, algorithm in METHODS.items()
    }


def inversion(cases: Sequence[Case]) -> list[int]:
    """Operations as written of the paper's step 6, from Λ⁻¹ to Λ."""
    return [
        sum(as_written(ALGORITHMS["operational_inertia/pv"], model, frames).values())
        - sum(as_written(METHODS["pv"], model, frames).values())
        for model, frames in cases
    ]


def seconds(cases: Sequence[Case], limits: Limits, effort: Effort, say: Say, form: str = "rolled") -> Lines:
    """Times of one Λ⁻¹ for each case."""
    entries = METHODS | BASELINE if limits.links else METHODS

    def times(k: int) -> dict[str, float | None]:
        model, frames = cases[k]
        say(f"times: {_title(model, frames)}, {form}")
        omitted = limits.left_out(model)
        runners = {name: Runner(algorithm, form) for name, algorithm in entries.items() if name not in omitted}
        return race(model, runners, effort.rounds, effort.seconds, frames)

    lines = sweep(len(cases), effort, times)
    return {name: lines.get(name, [None] * len(cases)) for name in entries}


def winners(lines: Lines) -> list[str]:
    """The method of least cost in each case."""
    return [
        min(costs, key=lambda name: costs[name])
        for costs in (
            {name: line[k] for name, line in lines.items() if line[k] is not None}
            for k in range(len(next(iter(lines.values()))))
        )
    ]


def _title(model: Model, frames: Sequence[Frame]) -> str:
    return f"{model.name} of {len(model.bodies)} links, {len(frames)} points"
