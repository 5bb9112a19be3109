"""An estimate of the digits that a method of forward dynamics loses to rounding, by perturbed arithmetic.

The method runs over numbers whose every operation has a slightly larger error than rounding, and the results are
compared with those of floats: stochastic arithmetic (Vignes). It takes some milliseconds for each body, so it is done
once for a model and a method, in one state, and only where a joint's own body is light compared with the bodies it
carries, or its centre of mass is far from its frame. Long chains are skipped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.algorithms import ALGORITHMS
from linkwork.engine.plans.costs import within
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.spatial import OPERATIONS

LIGHT = 1e-8
"""No estimate is made if every joint's own body surely contributes a larger share than this to the largest terms that
can cancel."""
MOST_LOST = 1e-8
"""The relative error of accelerations above which a warning is given."""
METHODS = ("articulated_body", "composite_body", "unit_vector", "virtual_work", "constraint_force", "assembly")
BETTER = 0.01
"""Another method is better if its error is smaller by this factor."""


def lost_digits(method: str, model: Model, shares: Sequence[float], others: Callable[[], Sequence[str]]) -> str:
    """The warning; empty if there is none. ``shares`` are lower bounds of each joint's, or its body's, own inertia
    relative to the largest terms that can cancel there; ``others`` are methods to use instead.
    """
    if method not in METHODS or not within("perturbed", model) or not min(shares, default=1.0) < LIGHT:
        return ""
    error = estimated_error(method, model)
    if not error > MOST_LOST:
        return ""
    other = better(method, model, others())
    if other:
        advice = f"use method={other!r}"
    else:
        advice = "bring masses nearer to each other, and the frames of bodies nearer to their centres of mass"
    joint = model.joint_names[shares.index(min(shares))]
    lost = min(16, round(math.log10(error / 1e-16)))
    return (
        f"about {lost} of 16 digits are lost to rounding on model {model.name!r}, where joint {joint!r} moves little "
        f"inertia beside what is added and subtracted there; {advice}"
    )


def better(method: str, model: Model, others: Sequence[str]) -> str:
    """The most accurate of other methods by estimate, if it is better than this one; empty if none is."""
    errors = {other: estimated_error(other, model) for other in others if other != method}
    best = min(errors, key=lambda other: errors[other], default="")
    return best if best and errors[best] < BETTER * estimated_error(method, model) else ""


def estimated_error(method: str, model: Model) -> float:
    """The relative error of accelerations in a sample state; 0 if the method has no result there."""
    errors = _errors(model)
    if method not in errors:
        errors[method] = _error(method, model)
    return errors[method]


@kept_with_model
def _errors(model: Model) -> dict[str, float]:
    """The estimates for each method, kept with the model."""
    return {}


def _error(method: str, model: Model) -> float:
    from linkwork.engine.trace.interpreter import evaluate  # imported late: few mechanisms need it

    rng = np.random.default_rng(1)
    q = [float(x) for body in model.bodies for x in body.joint.random(rng)]
    state = [q, [0.0] * model.nv, rng.normal(size=model.nv).tolist(), None]
    try:
        right = evaluate(ALGORITHMS[method], model, state)[0]
    except (ZeroDivisionError, OverflowError):  # the call itself will report that there is no result
        return 0.0
    try:
        others = [_rounded_otherwise(method, model, state, seed) for seed in range(2)]
    except (ZeroDivisionError, OverflowError):
        return 1.0
    except (TypeError, AttributeError):  # a user-defined joint that supports floats only
        return 0.0
    largest = max(map(abs, right), default=0.0)
    off = max((abs(a - b) for other in others for a, b in zip(right, other, strict=True)), default=0.0)
    return off / largest if math.isfinite(off) and 0.0 < largest < math.inf else 0.0


def _rounded_otherwise(method: str, model: Model, state: Sequence[Sequence[float] | None], seed: int) -> list[float]:
    from linkwork.engine.trace.interpreter import evaluate
    from linkwork.model.tree import Tree

    def number(value: Any) -> Rounded:
        return Rounded(float(value), seed)

    arguments = [None if numbers is None else [number(x) for x in numbers] for numbers in state]
    results = evaluate(ALGORITHMS[method], model, arguments, (), Tree(model, (), number))[0]
    return [float(x) for x in results]


def _operator(act: Callable[[float, float], float]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operator, and the same with its operands swapped."""

    def forward(self: Rounded, other: Any) -> Rounded:
        b = other.value if isinstance(other, Rounded) else other
        return self.near(act(self.value, b), self.value, b)

    def swapped(self: Rounded, other: Any) -> Rounded:
        return self.near(act(other, self.value), other, self.value)

    return forward, swapped


class Rounded:
    """A float whose operations have a pseudo-random error of up to three units in the last place. The error depends on
    the operands only, so that equal floats stay equal.
    """

    __slots__ = ("seed", "value")

    def __init__(self, value: float, seed: int) -> None:
        self.value, self.seed = value, seed

    def near(self, result: float, *operands: float) -> Rounded:
        if result and result not in operands and -result not in operands:
            result *= 1.0 + (hash((result, *operands, self.seed)) % 8 - 3.5) * 0.5 * sys.float_info.epsilon
        return Rounded(result, self.seed)

    __add__, __radd__ = _operator(lambda a, b: a + b)
    __sub__, __rsub__ = _operator(lambda a, b: a - b)
    __mul__, __rmul__ = _operator(lambda a, b: a * b)
    __truediv__, __rtruediv__ = _operator(lambda a, b: a / b)

    def __float__(self) -> float:
        return self.value

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.seed)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < (other.value if isinstance(other, Rounded) else other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > (other.value if isinstance(other, Rounded) else other))

    def sqrt(self) -> Rounded:
        return self.near(math.sqrt(self.value), self.value) if self.value >= 0.0 else Rounded(math.nan, self.seed)

    def elementary(self, names: tuple[str, ...], text: Any, operands: tuple[Any, ...]) -> Any:
        values = [float(x) for x in operands]
        results = tuple(self.near(OPERATIONS[name][1](*values), *values) for name in names)
        return results[0] if len(results) == 1 else results
