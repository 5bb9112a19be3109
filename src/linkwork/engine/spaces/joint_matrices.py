"""Spaces of matrices whose rows and columns belong to joints, and all spaces by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from linkwork.engine.ir.address import ONE, Terms
from linkwork.engine.spaces.space import (
    Columns,
    ForceColumns,
    Frames,
    Joints,
    Operational,
    Pairs,
    Parameters,
    PathColumns,
    Poses,
    Several,
    Space,
    StackedTwists,
    Triples,
    Wrenches,
    store_rows,
)
from linkwork.model.model import Model
from linkwork.spatial import Scalar


class Matrix(Space):
    """A block for each joint and its ancestors, above and below the diagonal."""

    patterned = True

    def pairs(self, tree: Any) -> Iterator[tuple[Any, Any]]:
        """The rows and columns of its blocks."""
        for body in tree.outward():
            yield body, body
            for other in tree.ancestors(body):
                yield body, other
                yield other, body

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        flat: list[Scalar] = [0.0] * self.size(model, frames)
        starts = list(enumerate(zip(model.v_start, model.bodies, strict=True), 1))
        for (number, (column, body)), (other, (first, _)) in product(starts, repeat=2):
            for i, row in enumerate(value.get((other, number)) or ()):
                start = (first + i) * model.nv + column
                flat[start : start + body.joint.nv] = row
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for a, b in () if tree.is_result(array, value) else self.pairs(tree):
            if rows := value[a, b]:
                store_rows(tree, array, rows, ((a.integer("v"), "nv1"), (b.integer("v"), 1)), "nv")


class FullMatrix(Matrix):
    """A block for each pair of joints."""

    patterned = False

    def pairs(self, tree: Any) -> Iterator[tuple[Any, Any]]:
        for body in tree.outward():
            for other in tree.outward():
                yield body, other


class OfStates(Space):
    """The derivatives of a step with respect to states or driving forces: rows for changes of q, then of v, and so many
    groups of columns. The value has a full matrix for each pair of these.
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups
        super().__init__(lambda model, frames: (2 * model.nv, groups * model.nv))

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        own = SPACES["full_matrix"]
        found: list[Scalar] = []
        for of_rows in value:
            parts = [own.gather(model, frames, field) for field in of_rows]
            for k in range(0, model.nv**2, model.nv):
                found += [number for part in parts for number in part[k : k + model.nv]]
        return found

    def store(self, tree: Any, array: str, value: Any) -> None:
        for half, of_rows in enumerate(value):
            for group, field in enumerate(of_rows):
                above: Terms = ((ONE, "nv_square"),) * (half * self.groups)
                if not tree.is_result(array, field, self.groups, (*above, *((ONE, "nv1"),) * group)):
                    raise TypeError("a field of a step's derivatives must be a matrix, of blocks for pairs of joints")


class Regressor(Space):
    """A row for each degree of freedom, ten columns for each body; zeros for bodies that are not behind the joint."""

    patterned = True

    def gather(self, model: Model, frames: int, value: Any) -> list[Scalar]:
        width = 10 * len(model.bodies)
        flat: list[Scalar] = [0.0] * (model.nv * width)
        for body in range(1, len(model.bodies) + 1):
            for joint, first in enumerate(model.v_start, 1):
                for i, row in enumerate(value.get((joint, body)) or ()):
                    start = (first + i) * width + 10 * (body - 1)
                    flat[start : start + 10] = row
        return flat

    def store(self, tree: Any, array: str, value: Any) -> None:
        for body in tree.outward():
            for joint in tree.path(body):
                terms: Terms = ((joint.integer("v"), "parameters1"), (body.number, 10))
                store_rows(tree, array, value[joint, body], terms, "parameters", -10)


SPACES: dict[str, Space] = {
    "configuration": Joints("q"),
    "velocity": Joints("v"),
    "wrenches": Wrenches(),
    "matrix": Matrix(lambda model, frames: (model.nv, model.nv)),
    "full_matrix": FullMatrix(lambda model, frames: (model.nv, model.nv)),
    "of_states": OfStates(2),
    "of_inputs": OfStates(1),
    "parameters": Parameters(),
    "regressor": Regressor(lambda model, frames: (model.nv, 10 * len(model.bodies))),
    "momentum_matrix": ForceColumns(lambda model, frames: (6, model.nv)),
    "poses": Poses(4, 4),
    "twists": Frames(6),
    "conditions": Frames(6, 6),
    "stiffnesses": Frames(21),
    "held_poses": Pairs(4, 4),
    "pair_wrenches": Pairs(6),
    "gains": Several(lambda model, frames: (3,)),
    "stacked_twists": StackedTwists(),
    "jacobian": PathColumns(lambda model, frames: (6 * frames, model.nv)),
    "responses": Columns(lambda model, frames: (6 * frames, model.nv)),
    "operational": Operational(lambda model, frames: (6 * frames, 6 * frames)),
    "triples": Triples(lambda model, frames: (3 * frames, 3 * frames)),
    "vector": Space(lambda model, frames: (3,)),
    "wrench": Space(lambda model, frames: (6,)),
    "scalar": Space(lambda model, frames: ()),
}
"""The spaces by the names that algorithms give them."""


def shape(space: str, model: Model, frames: int = 0) -> tuple[int, ...]:
    """The shape of one state's array in a space."""
    return SPACES[space].shape(model, frames)


def size(space: str, model: Model, frames: int = 0) -> int:
    """How many numbers one state has in a space."""
    return SPACES[space].size(model, frames)
