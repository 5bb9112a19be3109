"""What is alike in a task: for branches of a model that are alike, which of its arguments and numbers correspond."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from linkwork.engine.fingerprint import own
from linkwork.model.likeness import Lane, Place, places
from linkwork.model.model import Frame, Model
from linkwork.model.tree import Tree
from linkwork.spatial import CoordinateAxis

Seed = tuple[Hashable, Lane]
"""What a number is, and which of several such."""


def places_of(model: Model) -> list[Place]:
    """The place of each body of a model; number 0 is the world. A joint of a user's own is like no other."""
    kinds: list[Hashable] = [
        (*map(_unsigned, body.joint.kind()), bool(body.armature)) if own(body.joint) else number
        for number, body in enumerate(model.bodies)
    ]
    return places([0, *(body.parent for body in model.bodies)], [None, *kinds])


def _unsigned(part: Any) -> Any:
    """Part of a joint's kind, an axis and its opposite the same."""
    return part.index if isinstance(part, CoordinateAxis) else part


def frames_of(found: Sequence[Place], frames: Sequence[Frame]) -> list[Place]:
    """The place of each frame: the first ones on bodies of one kin are alike, the second ones, ..."""
    before: dict[int, int] = {}
    kins: dict[tuple[int, int], int] = {}
    result = []
    for frame in frames:
        place, number = found[frame.body], before.get(frame.body, 0)
        before[frame.body] = number + 1
        result.append(Place(kins.setdefault((place.kin, number), len(kins)), place.lane))
    return result


def seeds(model: Model, frames: Sequence[Frame], spaces: Sequence[str]) -> dict[tuple[str, int], Seed]:
    """For arguments from these spaces, the seed of each number that belongs to a body or a frame, by array and
    offset.
    """
    bodies = places_of(model)
    points = frames_of(bodies, frames)
    found: dict[tuple[str, int], Seed] = {}
    for number, space in enumerate(spaces):
        for place, start, count in _parts(space, model, bodies[1:], points):
            for k in range(count):
                found[f"argument{number}", start + k] = (number, place.kin, k), place.lane
    return found


def _parts(
    space: str, model: Model, bodies: Sequence[Place], points: Sequence[Place]
) -> Iterator[tuple[Place, int, int]]:
    """The parts of an argument that belong to a body or a frame: start and length."""
    joints = [body.joint for body in model.bodies]
    if space == "configuration":
        yield from zip(bodies, model.q_start, [joint.nq for joint in joints], strict=True)
    elif space == "velocity":
        yield from zip(bodies, model.v_start, [joint.nv for joint in joints], strict=True)
    elif space == "wrenches":
        yield from ((place, 6 * k, 6) for k, place in enumerate(bodies))
    elif space in ("twists", "offsets"):
        count = 6 if space == "twists" else 3
        yield from ((place, count * k, count) for k, place in enumerate(points))


class AlikeTree(Tree):
    """A tree whose numbers are folded into code in the same way in all branches that are alike: one that is 0, 1 or -1
    in some of them only is hidden in ``constant`` of it, and so are signs of axes.
    """

    def __init__(self, model: Model, frames: Sequence[Frame], constant: Callable[[float], Any]) -> None:
        super().__init__(model, frames)
        bodies = places_of(model)
        kins: dict[int, list[Any]] = {}
        for node in self.outward():
            kins.setdefault(bodies[node.index].kin, []).append(node)
        for alike in kins.values():
            for part in ("placement", "inertia", "joint"):
                _hide(alike, part, constant)
            _hide_signs(alike, constant)
            if alike[0].rotor:
                rows = _hidden([node.rotor for node in alike], constant)
                for node, row in zip(alike, rows, strict=True):
                    node.rotor = tuple(row)
        fixed: dict[int, list[Any]] = {}
        for frame, place in zip(self.frames(), frames_of(bodies, frames), strict=True):
            if all(isinstance(x, float) for x in frame.placement.numbers()):
                fixed.setdefault(place.kin, []).append(frame)
        for same in fixed.values():
            _hide(same, "placement", constant)


def _hide(nodes: Sequence[Any], part: str, constant: Callable[[float], Any]) -> None:
    wholes = [getattr(node, part) for node in nodes]
    rows = [whole.numbers() for whole in wholes]
    for node, whole, row, hidden in zip(nodes, wholes, rows, _hidden(rows, constant), strict=True):
        if hidden != row:
            setattr(node, part, whole.of(hidden))


def _hide_signs(nodes: Sequence[Any], constant: Callable[[float], Any]) -> None:
    for field in dataclasses.fields(nodes[0].joint) if dataclasses.is_dataclass(nodes[0].joint) else ():
        axes = [getattr(node.joint, field.name) for node in nodes]
        if isinstance(axes[0], CoordinateAxis) and len({axis.sign for axis in axes}) > 1:
            for node, axis in zip(nodes, axes, strict=True):
                node.joint = dataclasses.replace(node.joint, **{field.name: _Axis(axis, constant(axis.sign))})


class _Axis(CoordinateAxis):
    """An axis whose sign is hidden."""

    __slots__ = ("_sign",)

    def __init__(self, axis: CoordinateAxis, sign: Any) -> None:
        super().__init__(axis.name)
        self._sign = sign

    @property
    def sign(self) -> Any:
        return self._sign


def _hidden(rows: Sequence[Sequence[float]], constant: Callable[[float], Any]) -> list[list[Any]]:
    """Numbers of each of several alike, those hidden that are not folded in the same way."""
    folded = [{x if x in (0.0, 1.0, -1.0) else None for x in column} for column in zip(*rows, strict=True)]
    return [[x if len(ways) == 1 else constant(x) for x, ways in zip(row, folded, strict=True)] for row in rows]
