"""A model as tables: what rolled code is told of the bodies that it was not made for.

``ints``: for each body its kind, its parent, its start in q and in v; then the body of each frame; then, for
algorithms of several points, the body and the following of each junction, the junction of each frame, and the common
ancestor of each pair of frames. ``data``: gravity in the world's row; for each body its placement, inertia, rotor and
joint parameters; then the placement of each frame. Numbers that are 0, 1 or -1 for all bodies of a kind belong to the
kind, so that the code of axis-aligned mechanisms knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.joints import Joint
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.model import Frame, Model

PLACEMENT, INERTIA = 12, 10
"""How many numbers these have."""


@dataclass(frozen=True)
class Kind:
    """Bodies with the same code: the joint as a template, and which numbers are fixed (NaN where they are not)."""

    joint: Joint
    rotor: bool
    fixed: tuple[float, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.joint.kind(), self.rotor, tuple("x" if x != x else x for x in self.fixed))


@dataclass(frozen=True)
class Tables:
    """A model as rolled code sees it."""

    kinds: tuple[Kind, ...]
    width: int
    data: NDArray[np.float64]
    ints: NDArray[np.int64]
    junctions: int = 0
    """How many there are besides the ground."""


def _numbers(model: Model) -> list[list[float]]:
    return [
        [*body.placement.numbers(), *body.inertia.numbers(), *body.armature, *body.joint.numbers()]
        for body in model.bodies
    ]


def kinds_of(model: Model) -> tuple[tuple[Kind, ...], list[int], list[list[float]]]:
    """The kinds of a model, the kind of each body, and each body's numbers."""
    rows = _numbers(model)
    groups: dict[Any, list[int]] = {}
    for i, body in enumerate(model.bodies):
        groups.setdefault((body.joint.kind(), bool(body.armature)), []).append(i)
    kinds, number = [], [0] * len(rows)
    for k, members in enumerate(groups.values()):
        table = np.array([rows[i] for i in members])
        same = (table == table[0]).all(axis=0) & np.isin(table[0], (0.0, 1.0, -1.0))
        body = model.bodies[members[0]]
        fixed = tuple(float(x) if keep else float("nan") for x, keep in zip(table[0], same, strict=True))
        kinds.append(Kind(body.joint, bool(body.armature), fixed))
        for i in members:
            number[i] = k
    return tuple(kinds), number, rows


def tables_of(model: Model, frames: Sequence[Frame] = (), together: bool = False) -> Tables:
    """The tables of a model and the frames asked for; ``together`` adds how their ways meet."""
    kinds, number, rows = kinds_of(model)
    width = max([3, *(len(row) for row in rows)])
    data = np.zeros((len(rows) + 1, width))
    data[0, :3] = model.gravity
    for i, row in enumerate(rows, 1):
        data[i, : len(row)] = row
    ints = np.zeros((len(rows) + 1, 4), dtype=np.int64)
    for i, body in enumerate(model.bodies, 1):
        ints[i] = number[i - 1], body.parent, model.q_start[i - 1], model.v_start[i - 1]
    places = [x for frame in frames for x in frame.placement.numbers()]
    points = [frame.body for frame in frames]
    meeting: list[int] = []
    junctions: list[tuple[int, int]] = [(0, 0)]
    if together:
        parents = [0, *(body.parent for body in model.bodies)]
        junctions, of_points = junctions_of(parents, points)
        pairs = [common_ancestor(parents, a, b) for a in points for b in points]
        meeting = [*(number for row in junctions for number in row), *of_points, *pairs]
    return Tables(
        kinds,
        width,
        np.concatenate([data.ravel(), np.array(places, dtype=np.float64)]),
        np.concatenate([ints.ravel(), np.array([*points, *meeting], dtype=np.int64)]),
        len(junctions) - 1,
    )
