"""A long chain cut into segments of equal length, for processors that each take one.

How a chain is cut depends on its bodies alone, never on the machine, so that results do not either. Before the
segments stands a head: what comes before the joint kinds repeat, and what is left over. Side branches come after them,
in a mechanism whose bodies are lined up: one after the other, those of the same shape and joints side by side.
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
"""Segments of a short chain: a multiple of any machine's SIMD lanes. A long one has more, for threads."""
SHORTEST = 3
"""Bodies of a segment."""
_LONGEST = 250
"""Bodies of a segment, about: shorter ones gain nothing, and have more seams between them (docs/constraint-force.md).
"""
_SEAM = 0.4
"""What a seam takes, in links of the head, which go one after the other (the same page)."""
_LONGEST_PERIOD = 12
WORTH_BLENDING = 500
"""Bodies from which on a chain whose joints are in no order is blended: below, bringing numbers into place costs more.
"""
_MOST_KINDS = 4
"""Of joints in no order, up to which all are computed and one is chosen."""
_LONGEST_REST = 8
"""An end of a chain that counts as a side branch is no longer than this part of it."""


@dataclass(frozen=True)
class Cut:
    """The first ``head`` bodies, then ``count`` segments of ``length`` bodies each; what follows are side branches."""

    head: int
    count: int
    length: int
    uniform: bool
    """Whether bodies at the same place in all segments are of one kind, so that segments can be SIMD lanes."""

    @property
    def chain(self) -> int:
        """How many bodies the chain has."""
        return self.head + self.count * self.length


@dataclass(frozen=True)
class LinedUp:
    """A mechanism with the bodies of its longest path first, and where its bodies and their q and v were before."""

    model: Model
    bodies: NDArray[np.int64]
    q: NDArray[np.int64]
    v: NDArray[np.int64]


@dataclass(frozen=True)
class Limbs:
    """Side branches of the same shape and joints: the first body of the first, how many there are, and how many bodies
    each has.
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
    """The bodies of a path, then its side branches, those of one shape side by side."""
    found = _limbs(model, set(path))
    shapes: dict[object, int] = {}
    ranks = [shapes.setdefault(_shape(model, limb), len(shapes)) for limb in found]
    in_order = sorted(range(len(found)), key=ranks.__getitem__)
    return [*path, *(body for k in in_order for body in found[k])]


def _limbs(model: Model, path: set[int]) -> list[list[int]]:
    """The side branches of a path, each with all that hangs on it, by the positions of their bodies in the model."""
    found: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for k, body in enumerate(model.bodies):
        if k not in path:
            root[k] = k if not body.parent or body.parent - 1 in path else root[body.parent - 1]
            found.setdefault(root[k], []).append(k)
    return list(found.values())


def _shape(model: Model, limb: Sequence[int]) -> tuple[object, ...]:
    """What must be the same for two side branches to be SIMD lanes."""
    place = {body: k for k, body in enumerate(limb)}
    doubtful = doubtful_joints(model)
    kinds = [(model.bodies[k].joint.kind(), bool(model.bodies[k].armature), doubtful[k]) for k in limb]
    return tuple((kind, place.get(model.bodies[k].parent - 1)) for kind, k in zip(kinds, limb, strict=True))


@kept_with_model
def limbs(model: Model) -> tuple[Limbs, ...]:
    """The side branches of a mechanism whose bodies are lined up."""
    path = set(range(_chain_length(model)))
    found: list[Limbs] = []
    last: object = None
    for limb in _limbs(model, path):
        shape = _shape(model, limb)
        if shape == last:
            found[-1] = replace(found[-1], count=found[-1].count + 1)
        else:
            found.append(Limbs(limb[0] + 1, 1, len(limb)))
        last = shape
    return tuple(found)


def judged_limbs(model: Model) -> list[bool]:
    """For each joint of a mechanism whose bodies are lined up, whether its pivots are judged: on the chain, whose
    joints are no pivots, none.
    """
    chain = _chain_length(model)
    return [*([False] * chain), *doubtful_joints(model)[chain:]]


def _chain_length(model: Model) -> int:
    beside = (k for k, body in enumerate(model.bodies) if body.parent != k)
    return _regular_end(_kinds(model, range(next(beside, len(model.bodies)))))


def _kinds(model: Model, bodies: Iterable[int]) -> list[int]:
    """Numbers of the kinds of bodies, given by their positions."""
    numbers: dict[object, int] = {}
    found = ((model.bodies[k].joint.kind(), bool(model.bodies[k].armature)) for k in bodies)
    return [numbers.setdefault(kind, len(numbers)) for kind in found]


def _regular_end(kinds: Sequence[int]) -> int:
    """Where a chain ends for what is cut into segments: with its last body, or, if most of it repeats and its end does
    not go on like that, before that end, which then counts as a side branch.
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
    """A mechanism whose bodies are lined up and whose chain has joints in no order, with joints of one kind only, each
    one of several, so that segments can be SIMD lanes all the same; None if there is no need, it is short, or has too
    many kinds, a rotor, or a joint that moves in no way or is a user's own.
    """
    found = cut(model)
    if found is None or found.uniform or found.chain < WORTH_BLENDING:
        return None
    chain = model.bodies[: found.chain]
    kinds = {body.joint.kind(): body.joint for body in reversed(chain)}
    if len(kinds) > _MOST_KINDS or any(body.armature or not is_built_in(body.joint) for body in chain):
        return None
    if any(joint.nv == 0 for joint in kinds.values()):
        return None
    order = list(kinds)

    def one_of(joint: Joint) -> OneOf:
        own = order.index(joint.kind())
        return OneOf(tuple(joint if k == own else kinds[kind] for k, kind in enumerate(order)), float(own))

    mixed = [one_of(body.joint) for body in chain]
    bodies = [replace(body, joint=joint, limits=Limits.none(joint)) for body, joint in zip(chain, mixed, strict=True)]
    return Model(model.name, (*bodies, *model.bodies[found.chain :]), (), model.gravity)


@kept_with_model
def cut(model: Model) -> Cut | None:
    """How to cut a mechanism whose bodies are lined up; None if its chain is too short."""
    kinds, count = _kinds(model, range(_chain_length(model))), FEWEST
    while count * _LONGEST <= len(kinds):
        count *= 2
    starts = _starts(kinds)
    found = [_cut_into(len(kinds), starts, more) for more in range(count, count + count // 2 + 1, FEWEST)]
    return min((one for one in found if one), key=lambda one: one.head + _SEAM * one.count, default=None)


def cut_into(model: Model, count: int) -> Cut | None:
    """The same, into so many segments, a multiple of ``FEWEST``."""
    kinds = _kinds(model, range(_chain_length(model)))
    return _cut_into(len(kinds), _starts(kinds), count)


def _cut_into(bodies: int, starts: Sequence[int], count: int) -> Cut | None:
    lengths = [(bodies - start) // (count * period) * period for period, start in enumerate(starts, 1)]
    length, uniform = max(lengths), True
    if length < SHORTEST or 2 * (bodies - count * length) > bodies:
        length, uniform = bodies // count, False
    return Cut(bodies - count * length, count, length, uniform) if length >= SHORTEST else None


def _starts(kinds: Sequence[int]) -> list[int]:
    """For each period, from where on the kinds repeat with it up to the end."""
    found = []
    for period in range(1, _LONGEST_PERIOD + 1):
        start = max(0, len(kinds) - period)
        while start and kinds[start - 1] == kinds[start - 1 + period]:
            start -= 1
        found.append(start)
    return found
