"""The spaces that algorithms map between: the shape of one state, and the way between its flat numbers and fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any

from linkwork.model.model import Model
from linkwork.model.tree import Field
from linkwork.spatial import Force, Scalar, Transform, Vec3

_SHAPES: dict[str, Callable[[Model, int], tuple[int, ...]]] = {
    "configuration": lambda m, f: (m.nq,),
    "velocity": lambda m, f: (m.nv,),
    "wrenches": lambda m, f: (len(m.bodies), 6),
    "matrix": lambda m, f: (m.nv, m.nv),
    "poses": lambda m, f: (f, 4, 4),
    "twists": lambda m, f: (f, 6),
    "jacobian": lambda m, f: (6 * f, m.nv),
    "responses": lambda m, f: (6 * f, m.nv),
    "operational": lambda m, f: (6 * f, 6 * f),
    "triples": lambda m, f: (3 * f, 3 * f),
    "vector": lambda m, f: (3,),
    "wrench": lambda m, f: (6,),
    "scalar": lambda m, f: (),
}


def shape(space: str, model: Model, frames: int = 0) -> tuple[int, ...]:
    """The shape of one state's array in a space."""
    return _SHAPES[space](model, frames)


def size(space: str, model: Model, frames: int = 0) -> int:
    """How many numbers one state has in a space."""
    return prod(shape(space, model, frames))


def scatter(space: str, model: Model, numbers: Sequence[Scalar]) -> Any:
    """An argument's flat numbers as a field over bodies or frames, or as rows of a matrix; a scalar as itself."""
    if space == "scalar":
        return numbers[0]
    if space == "triples":
        rows = isqrt(len(numbers))
        return [list(numbers[rows * r : rows * (r + 1)]) for r in range(rows)]
    field = Field()
    if space == "twists":
        for index in range(len(numbers) // 6):
            field.put(index, list(numbers[6 * index : 6 * index + 6]))
        return field
    for index, body in enumerate(model.bodies, 1):
        if space == "configuration":
            start, count = model.q_start[index - 1], body.joint.nq
        elif space == "velocity":
            start, count = model.v_start[index - 1], body.joint.nv
        else:
            start, count = 6 * (index - 1), 6
        part = list(numbers[start : start + count])
        field.put(index, Force.from_numbers(part) if space == "wrenches" else part)
    return field


def gather(space: str, model: Model, frames: int, value: Any) -> list[Scalar]:
    """A result as flat numbers."""
    bodies = range(1, len(model.bodies) + 1)
    if space == "scalar":
        return [value]
    if space == "triples":
        return [number for row in value for number in row]
    if space in ("vector", "wrench"):
        return list(value.numbers())
    if space in ("configuration", "velocity"):
        return [number for index in bodies for number in value.get(index)]
    if space == "wrenches":
        return [number for index in bodies for number in value.get(index).numbers()]
    if space == "twists":
        return [number for index in range(frames) for number in value.get(index).numbers()]
    if space == "poses":
        return [number for index in range(frames) for number in _pose(value.get(index))]
    flat: list[Scalar] = [0.0] * size(space, model, frames)
    if space == "operational":
        for i in range(frames):
            for j in range(frames):
                for k, motion in enumerate(value.get((i, j))):
                    flat[36 * frames * i + 6 * j + k : 36 * frames * (i + 1) : 6 * frames] = motion.numbers()
        return flat
    for index in bodies:
        column, width = model.v_start[index - 1], model.bodies[index - 1].joint.nv
        if space in ("jacobian", "responses"):
            for frame in range(frames):
                for k, motion in enumerate(value.get((frame, index)) or ()):
                    for row, number in enumerate(motion.numbers()):
                        flat[(6 * frame + row) * model.nv + column + k] = number
        else:
            for other in bodies:
                for i, row_numbers in enumerate(value.get((other, index)) or ()):
                    start = (model.v_start[other - 1] + i) * model.nv + column
                    flat[start : start + width] = row_numbers
    return flat


def shifted(placement: Transform, offset: Sequence[Scalar]) -> Transform:
    """A placement moved by an offset in its own axes."""
    return Transform(placement.rotation, placement.rotation.apply(Vec3(*offset)) + placement.translation)


def _pose(placement: Any) -> list[Scalar]:
    r, p = placement.rotation.numbers(), placement.translation
    return [*r[0:3], p.x, *r[3:6], p.y, *r[6:9], p.z, 0.0, 0.0, 0.0, 1.0]
