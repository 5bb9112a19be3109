"""A long chain cut into segments of equal length, one for each processor.

The cut depends on the chain's bodies alone, never on the machine, so that results do not either. A head precedes the
segments: the bodies before the joint types become periodic, and the remainder. Side branches follow the segments
in a mechanism whose bodies are lined up: one after another, those of the same topology and joints side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.joints import Joint
from linkwork.joints.joint import is_built_in
from linkwork.joints.one_of import OneOf
from linkwork.model.doubtful import doubtful_joints
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Limits, Model

FEWEST = 16
"""The segments of a short chain: a multiple of any machine's SIMD lanes. A long chain has more, for threads."""
SHORTEST = 3
"""The fewest bodies of a segment."""
_LONGEST = 250
"""The approximate number of bodies of a segment: shorter ones gain nothing, and have more seams between them
(docs/constraint-force.md).
"""
_SEAM = 0.4
"""The cost of a seam, in links of the head, which are sequential (the same page)."""
_LONGEST_PERIOD = 12
WORTH_BLENDING = 500
"""The number of bodies from which on a chain with irregular joint types is blended: below it, rearranging the numbers
costs more.
"""
_MOST_KINDS = 4
"""The most irregular joint types for which all are computed and one is selected."""
_LONGEST_REST = 8
"""The end of a chain can count as a side branch if it is at most 1 / this of the chain."""


@dataclass(frozen=True)
class Cut:
    """The first ``head`` bodies, then ``count`` segments of ``length`` bodies each; the rest are side branches."""

    head: int
    count: int
    length: int
    uniform: bool
    """Whether corresponding bodies of all segments are of one kind, so that segments can be SIMD lanes."""

    @property
    def chain(self) -> int:
        """The number of bodies of the chain."""
        return self.head + self.count * self.length


@dataclass(frozen=True)
class LinedUp:
    """A mechanism with the bodies of its longest path first, and the former indices of its bodies and their q and v."""

    model: Model
    bodies: NDArray[np.int64]
    q: NDArray[np.int64]
    v: NDArray[np.int64]

    def places(self, space: str) -> NDArray[np.int64]:
        """The former places of a state's numbers in a space."""
        if space == "wrenches":
            return (6 * self.bodies[:, None] + np.arange(6)).ravel()
        return self.q if space == "configuration" else self.v


@dataclass(frozen=True)
class Limbs:
    """Side branches of the same topology and joints: the first body of the first, their number, and the number of
    bodies of each.
    """

    first: int
    count: int
    length: int


@kept_with_model
def lined_up(model: Model) -> LinedUp | None:
    """A mechanism lined up; None if it is so already."""
    depths, end = [0], _chain_length(model)
    for body in model.bodies:
        depths.append(depths[body.parent] + 1)
    path: list[int] = list(range(end))
    if _LONGEST_REST * (max(depths) - end) > max(depths) or _order(model, path) != list(range(len(model.bodies))):
        path, last = [], depths.index(max(depths))
        while last:
            path.append(last - 1)
            last = model.bodies[last - 1].parent
        path = path[::-1][: _regular_end(_kinds(model, path[::-1]))]
    order = _order(model, path)
    if order == list(range(len(model.bodies))):
        return None
    number = {-1: 0} | {old: new for new, old in enumerate(order, 1)}
    bodies = tuple(replace(model.bodies[old], parent=number[model.bodies[old].parent - 1]) for old in order)
    q = [model.q_start[old] + k for old in order for k in range(model.bodies[old].joint.nq)]
    v = [model.v_start[old] + k for old in order for k in range(model.bodies[old].joint.nv)]
    places = (np.array(numbers, dtype=np.int64) for numbers in (order, q, v))
    return LinedUp(Model(model.name, bodies, (), model.gravity), *places)


def _order(model: Model, path: Sequence[int]) -> list[int]:
    """The bodies of a path, then its side branches, those of the same topology side by side."""
    branches = _limbs(model, set(path))
    shapes: dict[object, int] = {}
    ranks = [shapes.setdefault(_shape(model, limb), len(shapes)) for limb in branches]
    in_order = sorted(range(len(branches)), key=ranks.__getitem__)
    return [*path, *(body for k in in_order for body in branches[k])]


def _limbs(model: Model, path: set[int]) -> list[list[int]]:
    """The side branches of a path, each with its whole subtree, by the indices of their bodies in the model."""
    limbs_by_root: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for k, body in enumerate(model.bodies):
        if k not in path:
            root[k] = k if not body.parent or body.parent - 1 in path else root[body.parent - 1]
            limbs_by_root.setdefault(root[k], []).append(k)
    return list(limbs_by_root.values())


def _shape(model: Model, limb: Sequence[int]) -> tuple[object, ...]:
    """The data that must be equal for two side branches to be SIMD lanes."""
    place = {body: k for k, body in enumerate(limb)}
    doubtful = doubtful_joints(model)
    kinds = [(model.bodies[k].joint.kind(), bool(model.bodies[k].armature), doubtful[k]) for k in limb]
    return tuple((kind, place.get(model.bodies[k].parent - 1)) for kind, k in zip(kinds, limb, strict=True))


@kept_with_model
def limbs(model: Model) -> tuple[Limbs, ...]:
    """The side branches of a mechanism whose bodies are lined up."""
    path = set(range(_chain_length(model)))
    groups: list[Limbs] = []
    last: object = None
    for limb in _limbs(model, path):
        shape = _shape(model, limb)
        if shape == last:
            groups[-1] = replace(groups[-1], count=groups[-1].count + 1)
        else:
            groups.append(Limbs(limb[0] + 1, 1, len(limb)))
        last = shape
    return tuple(groups)


def judged_limbs(model: Model) -> list[bool]:
    """For each joint of a mechanism whose bodies are lined up, whether its pivots are checked: none on the chain, whose
    joints are not pivots.
    """
    chain = _chain_length(model)
    return [*([False] * chain), *doubtful_joints(model)[chain:]]


def _chain_length(model: Model) -> int:
    beside = (k for k, body in enumerate(model.bodies) if body.parent != k)
    return _regular_end(_kinds(model, range(next(beside, len(model.bodies)))))


def _kinds(model: Model, bodies: Iterable[int]) -> list[int]:
    """Numbers for the kinds of bodies, given by their indices."""
    numbers: dict[object, int] = {}
    kinds = ((model.bodies[k].joint.kind(), bool(model.bodies[k].armature)) for k in bodies)
    return [numbers.setdefault(kind, len(numbers)) for kind in kinds]


def _regular_end(kinds: Sequence[int]) -> int:
    """The end of the part of a chain that is cut into segments: its last body, or, if most of the chain is periodic and
    its end is not, the body before that end, which then counts as a side branch.
    """
    stretches = []
    for period in range(1, min(_LONGEST_PERIOD, len(kinds)) + 1):
        start, alike = 0, [x == y for x, y in zip(kinds, kinds[period:], strict=False)]
        for k, same in enumerate([*alike, False]):
            if not same:
                stretches.append((k - start + period, -period, k + period))
                start = k + 1
    length, _, end = max(stretches, default=(0, 0, 0))
    rest = len(kinds) - end
    return end if 2 * length > len(kinds) and _LONGEST_REST * rest <= len(kinds) else len(kinds)


@kept_with_model
def blended(model: Model) -> Model | None:
    """For a mechanism whose bodies are lined up and whose chain has irregular joint types: the same with joints that
    select one of several types, so that segments can be SIMD lanes all the same. None if that is not needed, the chain
    is short, or it has too many types, a rotor, a joint without motion, or a user-defined joint.
    """
    segments = cut(model)
    if segments is None or segments.uniform or segments.chain < WORTH_BLENDING:
        return None
    chain = model.bodies[: segments.chain]
    kinds = {body.joint.kind(): body.joint for body in reversed(chain)}
    if len(kinds) > _MOST_KINDS or any(body.armature or not is_built_in(body.joint) for body in chain):
        return None
    if any(joint.nv == 0 for joint in kinds.values()):
        return None
    order = list(kinds)

    def one_of(joint: Joint) -> OneOf:
        which = order.index(joint.kind())
        return OneOf(tuple(joint if k == which else kinds[kind] for k, kind in enumerate(order)), float(which))

    mixed = [one_of(body.joint) for body in chain]
    bodies = [replace(body, joint=joint, limits=Limits.none(joint)) for body, joint in zip(chain, mixed, strict=True)]
    return Model(model.name, (*bodies, *model.bodies[segments.chain :]), (), model.gravity)


@kept_with_model
def cut(model: Model) -> Cut | None:
    """The cut of a mechanism whose bodies are lined up; None if its chain is too short."""
    kinds, count = _kinds(model, range(_chain_length(model))), FEWEST
    while count * _LONGEST <= len(kinds):
        count *= 2
    starts = _starts(kinds)
    cuts = [_cut_into(len(kinds), starts, more) for more in range(count, count + count // 2 + 1, FEWEST)]
    return min((one for one in cuts if one), key=lambda one: one.head + _SEAM * one.count, default=None)


def cut_into(model: Model, count: int) -> Cut | None:
    """The same, into ``count`` segments, a multiple of ``FEWEST``."""
    kinds = _kinds(model, range(_chain_length(model)))
    return _cut_into(len(kinds), _starts(kinds), count)


def _cut_into(bodies: int, starts: Sequence[int], count: int) -> Cut | None:
    lengths = [(bodies - start) // (count * period) * period for period, start in enumerate(starts, 1)]
    length, uniform = max(lengths), True
    if length < SHORTEST or 2 * (bodies - count * length) > bodies:
        length, uniform = bodies // count, False
    return Cut(bodies - count * length, count, length, uniform) if length >= SHORTEST else None


def _starts(kinds: Sequence[int]) -> list[int]:
    """For each period, the index from which on the kinds repeat with it up to the end."""
    starts = []
    for period in range(1, _LONGEST_PERIOD + 1):
        start = max(0, len(kinds) - period)
        while start and kinds[start - 1] == kinds[start - 1 + period]:
            start -= 1
        starts.append(start)
    return starts
