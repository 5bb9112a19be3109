"""For isomorphic branches of a model: which numbers of arguments correspond, and a tree whose numbers fold alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from linkwork.engine.ir.program import Program
from linkwork.engine.spaces import Space
from linkwork.engine.trace.tracer import Traced
from linkwork.joints.joint import is_built_in
from linkwork.model.isomorphism import Lane, Role, roles
from linkwork.model.model import Frame, Model
from linkwork.model.tree import Tree
from linkwork.spatial import CoordinateAxis

Seed = tuple[Hashable, Lane]
"""What a number is, and which of several such."""


def roles_of(model: Model) -> list[Role]:
    """The role of each body of a model; number 0 is the world. A user-defined joint corresponds to no other."""
    kinds: list[Hashable] = [
        (*map(_unsigned, body.joint.kind()), bool(body.armature)) if is_built_in(body.joint) else number
        for number, body in enumerate(model.bodies)
    ]
    return roles([0, *(body.parent for body in model.bodies)], [None, *kinds])


def branches_of(
    model: Model, program: Callable[[bool], Program], spaces: Sequence[Space | None] = ()
) -> Callable[[], Program] | None:
    """Makes the program of a text about a model with the same instructions for isomorphic branches, from a function
    that makes it with or without that; None if there are no such branches. ``spaces`` are those of the text's
    arguments, None if an argument belongs to no bodies; none are needed for arguments that an algorithm gets unchanged.
    """
    if not any(role.lane for role in roles_of(model)):
        return None

    def isomorphic() -> Program:
        found = program(True)
        found.seeds |= seeds(model, (), spaces)
        return found

    return isomorphic


def _unsigned(part: Any) -> Any:
    """Part of a joint's kind, with an axis and its opposite the same."""
    return part.index if isinstance(part, CoordinateAxis) else part


def roles_of_frames(bodies: Sequence[Role], frames: Sequence[Frame]) -> list[Role]:
    """The role of each frame: the first ones on bodies of one role correspond, the second ones, ..."""
    before: dict[int, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    result = []
    for frame in frames:
        body, earlier = bodies[frame.body], before.get(frame.body, 0)
        before[frame.body] = earlier + 1
        result.append(Role(numbers.setdefault((body.number, earlier), len(numbers)), body.lane))
    return result


def seeds(model: Model, frames: Sequence[Frame], spaces: Sequence[Space | None]) -> dict[tuple[str, int], Seed]:
    """For arguments from these spaces, the seed of each number that belongs to a body or a frame, by array and
    offset.
    """
    return {(f"argument{number}", k): seed for number, k, seed in _seeds(model, frames, spaces)}


def _seeds(model: Model, frames: Sequence[Frame], spaces: Sequence[Space | None]) -> Iterator[tuple[int, int, Seed]]:
    """The number of an argument, the place there, and its seed."""
    bodies = roles_of(model)
    points = roles_of_frames(bodies, frames)
    for number, space in enumerate(spaces):
        for of_frame, index, start, count in () if space is None else space.owners(model, len(frames)):
            role = (points if of_frame else bodies)[index]
            for k in range(count):
                yield number, start + k, ((number, role.number, k), role.lane)


def tree_inside(
    model: Model, frames: Sequence[Frame], spaces: Sequence[Space], arguments: Sequence[Sequence[Any] | None]
) -> IsomorphicTree | None:
    """The tree that an algorithm walks inside a text that is traced for isomorphic branches; None inside any other. The
    text's own arguments that are among those of the algorithm get their seeds.
    """
    numbers = (x for each in arguments for x in each or () if type(x) is Traced)
    first = next(numbers, None)
    if first is None:
        return None
    program = first.tracer.program
    for number, k, seed in _seeds(model, frames, spaces):
        given = arguments[number]
        x = None if given is None else given[k]
        if type(x) is Traced and program.operations[x.number] == "load":
            address = program.details[x.number]
            program.seeds.setdefault((address.array, address.offset), seed)
    return IsomorphicTree(model, frames, first.tracer.constant) if first.tracer.isomorphic else None


class IsomorphicTree(Tree):
    """A tree whose numbers are folded into code in the same way in all isomorphic branches: one that is 0, 1 or -1 only
    in some of them is hidden in a ``constant``, and so are signs of axes.
    """

    def __init__(self, model: Model, frames: Sequence[Frame], constant: Callable[[float], Any]) -> None:
        super().__init__(model, frames)
        bodies = roles_of(model)
        groups: dict[int, list[Any]] = {}
        for node in self.outward():
            groups.setdefault(bodies[node.index].number, []).append(node)
        for nodes in groups.values():
            for part in ("placement", "inertia", "joint"):
                _hide(nodes, part, constant)
            _hide_signs(nodes, constant)
            if nodes[0].rotor:
                rows = _hidden([node.rotor for node in nodes], constant)
                for node, row in zip(nodes, rows, strict=True):
                    node.rotor = tuple(row)
        fixed: dict[int, list[Any]] = {}
        for frame, role in zip(self.frames(), roles_of_frames(bodies, frames), strict=True):
            if all(isinstance(x, float) for x in frame.placement.numbers()):
                fixed.setdefault(role.number, []).append(frame)
        for same in fixed.values():
            _hide(same, "placement", constant)


def _hide(nodes: Sequence[Any], part: str, constant: Callable[[float], Any]) -> None:
    wholes = [getattr(node, part) for node in nodes]
    rows = [whole.numbers() for whole in wholes]
    for node, whole, row, hidden in zip(nodes, wholes, rows, _hidden(rows, constant), strict=True):
        if any(new is not old for new, old in zip(hidden, row, strict=True)):
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


def _hidden(rows: Sequence[Sequence[Any]], constant: Callable[[float], Any]) -> list[list[Any]]:
    """Numbers of several corresponding bodies, with those hidden that would not fold alike; traced ones, of a model
    whose parameters are data, are not folded.
    """

    def way(x: Any) -> float | None:
        return x if type(x) is not Traced and x in (0.0, 1.0, -1.0) else None

    folded = [{way(x) for x in column} for column in zip(*rows, strict=True)]
    return [
        [x if len(ways) == 1 or type(x) is Traced else constant(x) for x, ways in zip(row, folded, strict=True)]
        for row in rows
    ]
