"""Constraints between two frames as conditions for ``algorithms.closed_motion``: the text over arrays of ``held``, for
one pair of frames, over any scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.algorithms import Algorithm, closing_pairs
from linkwork.algorithms.closed_motion import Rows
from linkwork.compiled.arrays import array_of, is_traced, numbers
from linkwork.compiled.scalars import number
from linkwork.dynamics.held import PAIRS, conditions
from linkwork.engine.spaces import flatten
from linkwork.engine.trace.conditions import Undecided
from linkwork.model.constraints import Constraint
from linkwork.model.loop_walks import End
from linkwork.spatial import Force, Motion, Scalar, Transform

if TYPE_CHECKING:
    from linkwork.dynamics.held import HeldBy


class _OnePair(NamedTuple):
    """One constraint between frames 0 and 1, as ``conditions`` sees those of a model."""

    constraints: Sequence[Constraint]
    model: Any = None
    a: Sequence[int] = (0,)
    b: Sequence[int] = (1,)
    grips: Sequence[Sequence[int]] = ((0,),)
    alike: Sequence[Sequence[int]] = ((0,),)


@dataclass(frozen=True)
class PairCondition:
    """A ``Condition`` of ``algorithms.closed_motion``: a constraint, whatever its frames and held placement."""

    constraint: Constraint
    on_world: int = -1

    def rows(
        self, places: Sequence[Transform], V: Sequence[Motion], held: Sequence[Scalar], gains: Sequence[Scalar]
    ) -> Rows:
        scalars = [x for place in places for x in _pose(place)] + [x for one in V for x in one.numbers()]
        scalars += [*held, *gains]
        batch = np.broadcast_shapes(*(x.shape for x in scalars if isinstance(x, np.ndarray)))
        if not batch:
            return self._rows(scalars)
        all_states = [np.broadcast_to(x, batch).ravel().tolist() for x in scalars]
        each = [[*flatten(self._rows(list(state)))] for state in zip(*all_states, strict=True)]
        columns = [np.array(column).reshape(batch) for column in zip(*each, strict=True)]
        count = len(columns) // 13  # six numbers for each row of a and of b, and a rate
        a, b = (
            [Force.from_numbers(columns[k : k + 6]) for k in range(6 * n * count, 6 * (n + 1) * count, 6)]
            for n in (0, 1)
        )
        return Rows(a, b, columns[12 * count :])

    def _rows(self, scalars: Sequence[Scalar]) -> Rows:
        """The same from all numbers in a row, of one state."""
        at, moving, pose = (
            _array(scalars[:32], (2, 4, 4)),
            _array(scalars[32:44], (2, 6)),
            _array(scalars[44:60], (1, 4, 4)),
        )
        settings = [_array([gain], (1,)) for gain in scalars[60:]] or None
        pair: Any = _OnePair([self.constraint])
        (found,) = conditions(pair, _NOTHING, at, moving, None, pose, settings)  # type: ignore[arg-type]
        a, b = ([Force.from_numbers(row) for row in _scalars(rows[..., 0, :, :])] for rows in found.rows)
        (rates,) = _scalars(found.rates)
        return Rows(a, b, rates)

    def __str__(self) -> str:
        return f"{self.constraint.kind()} {self.on_world}"


_NOTHING = np.zeros(0)


def _pose(place: Transform) -> list[Scalar]:
    """The numbers of a placement (4, 4)."""
    r, p = place.rotation.numbers(), place.translation.numbers()
    return [*r[0:3], p[0], *r[3:6], p[1], *r[6:9], p[2], 0.0, 0.0, 0.0, 1.0]


def _array(items: Sequence[Scalar], shape: tuple[int, ...]) -> Any:
    """An array of scalars: floats and traced numbers, whose operations are in the same order, or mpmath numbers."""
    plain = all(isinstance(item, float | int | Undecided) for item in items)
    return array_of(items, shape) if plain else np.array(items, dtype=object).reshape(shape)


def _scalars(array: Any) -> list[Any]:
    """The scalars of a matrix, in lists."""
    return [[number(x) for x in row] for row in numbers(array)] if is_traced(array) else array.tolist()


class LoopPairs(NamedTuple):
    """The constraints of a model between two frames each: the kinds of their conditions, and both frames of each."""

    conditions: tuple[PairCondition, ...]
    ends: tuple[End, ...]

    def algorithm(self, frame: str | None, stabilised: bool, damped: bool) -> Algorithm:
        """That of their motion, with joint wrenches expressed in a ``frame`` if there is one."""
        return _algorithm(self.conditions, frame, stabilised, damped)


@lru_cache(maxsize=1000)
def _algorithm(conditions: tuple[PairCondition, ...], frame: str | None, stabilised: bool, damped: bool) -> Algorithm:
    """The same object for the same constraints, so that code is found by it."""
    return closing_pairs(conditions, frame, stabilised, damped)


def loop_pairs(held: HeldBy) -> LoopPairs | None:
    """The constraints of a model as pairs, cached; None if one of them is not between two frames."""
    if "pairs" not in held.problems:
        held.problems["pairs"] = _loop_pairs(held)
    found: LoopPairs | None = held.problems["pairs"]
    return found


def _loop_pairs(held: HeldBy) -> LoopPairs | None:
    found: dict[PairCondition, int] = {}
    ends: list[End] = []
    for constraint, grips in zip(held.constraints, held.grips, strict=True):
        if type(constraint) not in PAIRS:
            return None
        frames = [held.frames[side[grips[0]]] for side in (held.a, held.b)]
        bodies = [frame.body for frame in frames]
        own = replace(constraint, frame_a="a", frame_b="b", placement=Transform.identity())
        kind = found.setdefault(PairCondition(own, bodies.index(0) if 0 in bodies else -1), len(found))
        name = str(len(ends))  # frames of one name are the ends of one loop
        ends += [End(name, frame.body, frame.placement, condition=kind) for frame in frames]
    return LoopPairs(tuple(found), tuple(ends))
