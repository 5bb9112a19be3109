"""Rounding errors of forward-dynamics methods against 50 digits, over a mechanism's size or over a ratio of its links.

The error is max |q̈ - q̈₅₀| / max |q̈₅₀|, the worst of a few states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Model, random_state
from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.inside import evaluate, form_of
from linkwork.joints import Revolute
from linkwork_lab.reproduce.clock import Runner, code_of
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.truth import exact, relative_error

Array = NDArray[np.float64]
Method = Callable[[Array, Array, Array], Array]
"""q̈ of one state from q, v and τ."""
State = tuple[Array, Array, Array]
"""q, v and τ."""

HINGES = [Revolute("z"), Revolute("y")]
"""The joints of a chain that leaves the plane."""
_BODIES = 3000
"""Limit on the bodies of all states of a mechanism, if it is not longer: 50 digits take a millisecond or more for each.
"""


@dataclass(frozen=True)
class Case:
    """A mechanism for each size, or for each ratio of its links, and the distribution of its states."""

    label: str
    axis: str
    make: Callable[[float], Model]
    angles: float | None = None
    """Hinges within ± this (rad); anywhere if None."""
    moving: bool = True


def lighter(model: Model, bodies: set[int], ratio: float) -> Model:
    """The model with the inertias of some bodies divided by a ratio."""
    return replace(
        model,
        bodies=tuple(
            replace(body, inertia=body.inertia.of([x / ratio for x in body.inertia.numbers()])) if k in bodies else body
            for k, body in enumerate(model.bodies)
        ),
    )


def errors(
    case: Case, values: Sequence[float], methods: Callable[[Model, float], Mapping[str, Method]], states: int, say: Say
) -> dict[str, Any]:
    """The worst error of each method at each size or ratio; None where a method was not run or gave a non-finite
    result.

    ``methods`` returns those to run for a mechanism and its size or ratio; ``states`` are fewer on long mechanisms.
    """
    curves: dict[str, list[float | None]] = {}
    for place, value in enumerate(values):
        say(f"rounding: {case.label}, {value:g}")
        model = case.make(value)
        count = min(states, max(1, _BODIES // len(model.bodies)))
        for method, error in worst(model, methods(model, value), _states(case, model, count)).items():
            curves.setdefault(method, [None] * len(values))[place] = error
    return {"label": case.label, "axis": case.axis, "values": list(values), "errors": curves}


def _states(case: Case, model: Model, count: int) -> Iterator[State]:
    rng = np.random.default_rng(0)
    for _ in range(count):
        q, v = random_state(model, rng)
        tau = rng.normal(size=model.nv)
        if case.angles is not None:
            q = rng.uniform(-case.angles, case.angles, model.nq)
        yield q, v if case.moving else np.zeros(model.nv), tau


def worst(model: Model, methods: Mapping[str, Method], states: Iterable[State]) -> dict[str, float | None]:
    """The worst error of each method; None where a result is not finite."""
    maxima: dict[str, float] = dict.fromkeys(methods, 0.0)
    for q, v, tau in states:
        (truth,) = exact(ALGORITHMS["articulated_body"], model, [q, v, tau, None])
        for name, method in methods.items():
            result = method(q, v, tau)
            error = relative_error(result.tolist(), truth) if np.isfinite(result).all() else np.inf
            maxima[name] = max(maxima[name], error)
    return {name: error if np.isfinite(error) else None for name, error in maxima.items()}


def by_form(algorithm: Algorithm, model: Model) -> Method:
    """By code with loops, to be compiled in seconds, if that is the algorithm's form for the mechanism; interpreted
    otherwise. Results are identical to the last bit.
    """
    return (compiled if form_of(algorithm, model) == "rolled" else interpreted)(algorithm, model)


def interpreted(algorithm: Algorithm, model: Model) -> Method:
    """An algorithm without external forces, by the interpreter."""

    def run(q: Array, v: Array, tau: Array) -> Array:
        (numbers,) = evaluate(algorithm, model, [q.tolist(), v.tolist(), tau.tolist(), None])
        return np.array(numbers, dtype=np.float64)

    return run


def compiled(algorithm: Algorithm, model: Model) -> Method:
    """The same by rolled machine code."""
    code = code_of(Runner(algorithm, "rolled"), model)
    return lambda q, v, tau: code(q[None], v[None], tau[None])[0]
