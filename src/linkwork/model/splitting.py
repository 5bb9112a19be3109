"""Links split into parts on fixed joints, so that no link has many joints: Yamane and Nakamura's Figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from linkwork.joints import Fixed
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Limits, Model
from linkwork.spatial import Transform

MOST_JOINTS = 3
"""The most joints on one link after splitting."""


class Part(NamedTuple):
    """A part of body number ``body``: the part that carries it (0 for the world), and its share of the body. The
    first part of a body has its joint, the others are fixed to the one before.
    """

    body: int
    parent: int
    share: float
    first: bool


@dataclass(frozen=True)
class Split:
    """A mechanism with split links, and its parts."""

    model: Model
    parts: tuple[Part, ...]


def parts_of(parents: Sequence[int]) -> tuple[Part, ...]:
    """The parts of bodies with these parents, each after its parent: a link with n joints has n - 2."""
    children = [0] * (len(parents) + 1)
    for parent in parents:
        children[parent] += 1
    parts: list[Part] = []
    places: dict[int, list[int]] = {}  # for each body, the parts that carry its next children
    for body, parent in enumerate(parents, 1):
        on = places[parent].pop(0) if parent else 0
        count = max(1, children[body] + 1 - (MOST_JOINTS - 1))
        numbers = [len(parts) + 1 + k for k in range(count)]
        parts += [Part(body, n - 1 if k else on, 1.0 / count, not k) for k, n in enumerate(numbers)]
        places[body] = [*numbers, numbers[-1]]
    return tuple(parts)


@kept_with_model
def split(model: Model) -> Split:
    """A mechanism with its links split; its coordinates are unchanged."""
    parts = parts_of([body.parent for body in model.bodies])
    bodies = []
    for number, (index, parent, share, first) in enumerate(parts, 1):
        body = model.bodies[index - 1]
        inertia = body.inertia.of([x * share for x in body.inertia.numbers()])
        body = replace(body, parent=parent, inertia=inertia)
        if not first:
            weld, name = Fixed(), f"{body.name} (part {number})"
            body = replace(
                body, name=name, joint_name=name, joint=weld, placement=Transform.identity(), armature=(),
                limits=Limits.none(weld), actuated=False,
            )  # fmt: skip
        bodies.append(body)
    return Split(Model(model.name, tuple(bodies), (), model.gravity), parts)
