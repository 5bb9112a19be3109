"""What an exported call returns: 0, or a number that says which number is not finite, which joint is singular, or which
problem was not solved; and the texts that explain these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.exports.unit import Unit


@dataclass(frozen=True)
class Status:
    """The numbers of all statuses, in order: arguments, results, joints, problems.

    Attributes:
        results, joints, problems, end: the first number of each kind, and the number after the last.
        texts: the first number for which each text holds, with the text; they are in order.
    """

    results: int
    joints: int
    problems: int
    end: int
    texts: Sequence[tuple[int, str]]


def status_of(unit: Unit, problems: Sequence[str]) -> Status:
    """The statuses of a function that has these problems."""
    texts: list[tuple[int, str]] = []
    number = 1
    starts: list[int] = []
    for parts, word in ((unit.arguments, "argument"), (unit.results, "result")):
        starts.append(number)
        for part in parts:
            owners = part.owners
            for k, owner in enumerate(owners):
                first = number + k * (part.size // len(owners))
                texts.append((first, f"{word} {owner} is not finite".replace(",  is", ", is")))
            number += part.size
    joints = number
    if unit.pivots is not None and unit.model is not None:
        names = [name for name, body in zip(unit.model.joint_names, unit.model.bodies, strict=True)
                 for _ in range(body.joint.nv)]  # fmt: skip
        for k, name in enumerate(names):
            texts.append((number + k, f"joint '{name}' can move without moving any inertia"))
        number += len(names)
    first = number
    for k, problem in enumerate(problems):
        texts.append((number + k, f"{problem} did not converge"))
    number += len(problems)
    size = dict(texts)
    return Status(starts[1], joints, first, number, sorted(size.items()))
