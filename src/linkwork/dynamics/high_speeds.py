"""Digits that results lose at high speeds, where velocity terms cancel that are much larger than the result.

On a hinge with an oblique axis the terms of Sᵀ (V ×* I V) cancel, but what is added are rounded numbers: at 1e7 rad/s
they are of size 1e14, and their sum is off by 1e-2. All results here are r(v) = r(0) + N(v) with a quadratic form N, so
N(s v) = s² N(v). Rounding errors do not follow this law, since they depend on every bit of s v: how far r is from it
at some slower speeds is an estimate of the error, by the very code that computed the result. A state whose speeds are
all below ``FAST`` needs none; builtins leave other states to Python (``dynamics.call``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log10
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.arguments import Array
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.plans.plan import NOT_FINITE
from linkwork.engine.plans.task import FAST
from linkwork.engine.spaces import SPACES
from linkwork.errors import warn_caller
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model

_Indices = NDArray[np.intp]

MOST_LOST = 1e-8
"""The estimated error above which a warning is given, relative to the largest number of the state's result, or to that
for 1 rad/s² or m/s² if it is larger.
"""
_SLOWER = (0.9, 0.77, 0.63, 0.53)
"""Speeds relative to a state's own; numbers of many bits, so that all roundings differ."""
_ROUNDING = 1e-14
"""Rounding errors of velocity terms relative to the largest square of a speed: those of a hundred numbers."""
_SPEED = 1
"""The place of v among the arguments."""
_AT_ONCE = 1024
"""States that are examined together."""


class _Loss(NamedTuple):
    """The state that loses most of some, what it loses, and the joint whose number is off most."""

    state: int
    share: float
    joint: str


def warn_of_lost_digits(
    algorithm: Algorithm, model: Model, plan: Plan, rows: Sequence[Array], result: Array, batch: tuple[int, ...]
) -> None:
    """Warn if a result of a batch has lost more than about half of its digits."""
    v = rows[_SPEED]
    for chosen in _some(_doubtful(v, result, _least(model, algorithm)), len(v)):
        loss = _loss(algorithm, model, plan, [array[chosen] for array in rows], result[chosen])
        if loss is not None:
            which = int(chosen[loss.state])
            where = tuple(int(k) for k in np.unravel_index(which, batch)) if batch else ()
            state = f" in state {where[0] if len(where) == 1 else where}" if where else ""
            warn_caller(f"{algorithm.name}: {_words(model, v[which], loss, state)}")
            return


def warn_of_fast_ends(model: Model, q: Array, v: Array, gained: Array, what: Callable[[int], str]) -> None:
    """Warn of accelerations that have lost their digits in the last states of motions (motions, nq) and (motions, nv);
    ``gained`` are the accelerations there, driving forces included, and ``what`` names a motion by its number.
    """
    ends = np.flatnonzero((abs(v) > FAST).any(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(q).all(axis=1))
    if not len(ends):
        return
    algorithm = ALGORITHMS["articulated_body"]
    plan = function(algorithm, model, ("f_ext",), (), False, current_form())
    for chosen in _some(ends, len(v)):
        rows = [q[chosen], v[chosen], np.zeros_like(v[chosen])]
        result = _run(plan, rows)
        loss = None if result is None else _loss(algorithm, model, plan, rows, result, gained[chosen].max(axis=1))
        if loss is not None:
            which = int(chosen[loss.state])
            warn_caller(_words(model, v[which], loss, f" in accelerations at the end of {what(which)}"))
            return


@np.errstate(all="ignore")  # the squares of very high speeds overflow
def _doubtful(v: Array, result: Array, least: float) -> _Indices:
    """The states, rows, with a speed above ``FAST`` and a result that is small beside the terms for it."""
    fast = np.flatnonzero((abs(v) > FAST).any(axis=1))
    terms = np.square(v[fast]).max(axis=1) * least
    return fast[_ROUNDING * terms > MOST_LOST * abs(result[fast]).max(axis=1)]


def _some(states: _Indices, of: int) -> Iterator[_Indices]:
    """Some states at a time: never one alone of several, which would be served by other code."""
    for start in range(0, len(states), _AT_ONCE):
        chosen = states[start : start + _AT_ONCE]
        yield np.repeat(chosen, 2) if len(chosen) == 1 < of else chosen


@np.errstate(all="ignore")
def _loss(
    algorithm: Algorithm, model: Model, plan: Plan, rows: Sequence[Array], result: Array,
    further: Array | float = 0.0,
) -> _Loss | None:  # fmt: skip
    """The loss of some states, given their results; None if it is small, or if slower states have no result."""
    errors = np.zeros_like(result)
    still, *slower = (_run(plan, [*rows[:_SPEED], s * rows[_SPEED], *rows[_SPEED + 1 :]]) for s in (0.0, *_SLOWER))
    for s, other in zip(_SLOWER, slower, strict=True):
        if still is None or other is None:
            return None
        np.fmax(errors, abs((result - still) - (other - still) / (s * s)), out=errors)
    sizes = np.maximum(np.maximum(abs(result).max(axis=1), _least(model, algorithm)), further)
    shares = errors.max(axis=1) / sizes
    state = int(shares.argmax())
    if not shares[state] > MOST_LOST:
        return None
    row = int(errors[state].reshape(model.nv, -1).max(axis=1).argmax())
    return _Loss(state, float(shares[state]), SPACES["velocity"].coordinate(model, (row,)))


def _run(plan: Plan, rows: Sequence[Array]) -> Array | None:
    """The first result of some states; None if there is none."""
    try:
        results, status = plan.run(rows, len(rows[0]))
    except (ZeroDivisionError, OverflowError):  # interpreted
        return None
    return None if status & NOT_FINITE else results[0]


def _least(model: Model, algorithm: Algorithm) -> float:
    """What a result is compared with at least: 1 rad/s² or m/s², or the force for that on one of the bodies."""
    return _largest_inertia(model) if algorithm.name.startswith(("inverse_dynamics", "nonlinear_effects")) else 1.0


@kept_with_model
def _largest_inertia(model: Model) -> float:
    bodies = [(body.inertia.mass, body.inertia.second) for body in model.bodies]
    sizes = [max(float(mass), float(second.xx + second.yy + second.zz)) for mass, second in bodies]
    return max(*sizes, *(abs(x) for body in model.bodies for x in body.armature), 1e-300, 0.0)


def _words(model: Model, v: Array, loss: _Loss, where: str) -> str:
    fastest = int(abs(v).argmax())
    lost = min(16, round(log10(loss.share / 1e-16)))
    return (
        f"about {lost} of 16 digits are lost to rounding{where} of model {model.name!r}, most of them at {loss.joint}: "
        f"{SPACES['velocity'].coordinate(model, (fastest,))} has a speed of {abs(v[fastest]):.2g} rad/s or m/s, and "
        f"velocity terms cancel that are much larger than what is left of them"
    )
