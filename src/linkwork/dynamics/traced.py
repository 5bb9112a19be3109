"""Algorithms called in a function that is being traced: they run over the function's own traced numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import Algorithm, named
from linkwork.batches import spread
from linkwork.compiled.arrays import numbers, traced
from linkwork.dynamics.arguments import Array, as_given
from linkwork.engine.plans import form_of
from linkwork.engine.plans.callee import Callee
from linkwork.engine.plans.task import moved
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.interpreter import evaluate
from linkwork.engine.trace.isomorphic import tree_inside
from linkwork.engine.trace.tracer import Traced
from linkwork.model.model import Frame, Model
from linkwork.model.rotors import rotors_apart


def _keeps_loops(algorithm: Algorithm, model: Model, flat: Iterable[Array | None]) -> bool:
    """Whether traced numbers reach code with loops over bodies, which is then called instead of traced."""
    if named(algorithm.name) is not algorithm or form_of(algorithm, model) not in ("rolled", "segmented"):
        return False
    return any(isinstance(number, Traced) for each in flat if each is not None for number in each.flat)


def traced_call(
    algorithm: Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame],
    offsets: Sequence[float],
) -> list[Array]:
    """The results of an algorithm as traced arrays; the states of a batch are traced one after another."""
    given, batch = as_given(model, algorithm.arguments, values, len(frames), finite=False)
    states = prod(batch)
    flat = [None if each is None else numbers(spread(*each, batch)).reshape(states, -1) for each in given]
    placed, spaces = moved(frames, offsets), [SPACES[space] for _, space in algorithm.arguments]
    absent = tuple(name for (name, _), each in zip(algorithm.arguments, flat, strict=True) if each is None)
    keeps_loops = _keeps_loops(algorithm, model, flat)
    model, rotors = rotors_apart(model) if keeps_loops else (model, ())

    def one(arguments: list[list[Any] | None]) -> list[list[Any]]:
        if not keeps_loops:
            return evaluate(algorithm, model, arguments, placed, tree_inside(model, placed, spaces, arguments))
        callee = Callee(algorithm.name, model, absent, tuple(frames), tuple(offsets), rotors=bool(rotors))
        numbers = [*(number for each in arguments if each is not None for number in each), *rotors]
        result = next(number for number in numbers if isinstance(number, Traced)).called(callee, numbers)
        parts = iter(range(sum(callee.task().results)))
        return [[result.part(next(parts)) for _ in range(size)] for size in callee.task().results]

    found = [one([None if each is None else each[k].tolist() for each in flat]) for k in range(states)]
    results = []
    for k, space in enumerate(algorithm.results):
        shape = SPACES[space].shape(model, len(frames))
        items = np.empty((states, prod(shape)), dtype=object)
        for state, state_results in enumerate(found):
            for i, item in enumerate(state_results[k]):
                items[state, i] = item
        results.append(traced(items.reshape((*batch, *shape))))
    return results
