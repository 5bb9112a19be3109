"""Algorithms called in a function that is being traced: they run over the function's own traced numbers."""

from __future__ import annotations

from collections.abc import Sequence
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
from linkwork.model.segments import lined_up


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
    form = form_of(algorithm, model) if named(algorithm.name) is algorithm else ""
    keeps_loops = form in ("rolled", "segmented") and any(
        isinstance(number, Traced) for each in flat if each is not None for number in each.flat
    )
    apart, rotors = rotors_apart(model)
    keeps_loops = keeps_loops and not (rotors and (form == "segmented" or algorithm.by_levels))
    order = lined_up(model) if keeps_loops and form == "segmented" else None
    callee = Callee(
        algorithm.name, order.model if order else apart, absent, tuple(frames), tuple(offsets), rotors=bool(rotors)
    )

    def one(arguments: list[list[Any] | None]) -> list[list[Any]]:
        if not keeps_loops:
            return evaluate(algorithm, model, arguments, placed, tree_inside(model, placed, spaces, arguments))
        if order:
            places = [order.places(space) for _, space in algorithm.arguments]
            arguments = [each and [each[k] for k in own] for each, own in zip(arguments, places, strict=True)]
        numbers = [*(number for each in arguments if each is not None for number in each), *rotors]
        result = next(number for number in numbers if isinstance(number, Traced)).called(callee, numbers)
        results, first = [], 0
        for size, space in zip(callee.result_sizes, algorithm.results, strict=True):
            back = order.places(space).argsort().tolist() if order else range(size)
            results.append([result.part(first + k) for k in back])
            first += size
        return results

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
