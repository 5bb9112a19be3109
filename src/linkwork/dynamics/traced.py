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
from linkwork.model.segments import LinedUp, lined_up


def _callee(
    algorithm: Algorithm, model: Model, absent: tuple[str, ...], frames: Sequence[Frame], offsets: Sequence[float],
    flat: Sequence[Array | None],
) -> tuple[Callee | None, LinedUp | None, Sequence[Any]]:  # fmt: skip
    """The code with loops over bodies that is called instead of being traced, the order in which it takes the bodies of
    a chain, and what it takes besides arguments: rotor inertias, offsets; None if everything is traced.
    """
    own = None if named(algorithm.name) is algorithm else algorithm
    form = "" if own and not own.of_loops else form_of(algorithm, model)
    present = (each for each in flat if each is not None)
    if form not in ("rolled", "segmented") or not any(isinstance(x, Traced) for each in present for x in each.flat):
        return None, None, ()
    apart, rotors = rotors_apart(model)
    if rotors and (form == "segmented" or algorithm.by_levels):
        return None, None, ()
    order = lined_up(model) if form == "segmented" else None
    lined = order.model if order else apart
    called = Callee(algorithm.name, lined, absent, tuple(frames), rotors=bool(rotors), placed=bool(offsets), own=own)
    return called, order, [*rotors, *offsets]


def _lined_up(algorithm: Algorithm, order: LinedUp | None, arguments: Sequence[list[Any] | None]) -> list[Any]:
    """The numbers of all arguments that are there, in the order of the bodies."""
    places = [order.places(space).tolist() if order else None for _, space in algorithm.arguments]
    in_order: list[Any] = []
    for each, own in zip(arguments, places, strict=True):
        in_order += [each[k] for k in own] if each and own is not None else each or ()
    return in_order


def _called(algorithm: Algorithm, callee: Callee, order: LinedUp | None, numbers: Sequence[Any]) -> list[list[Any]]:
    """The results of code that is called."""
    result = next(number for number in numbers if isinstance(number, Traced)).called(callee, numbers)
    results, first = [], 0
    for size, space in zip(callee.result_sizes, algorithm.results, strict=True):
        back = order.places(space).argsort().tolist() if order else range(size)
        results.append([result.part(first + k) for k in back])
        first += size
    return results


def traced_call(
    algorithm: Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame],
    offsets: Sequence[float],
) -> list[Array]:
    """The results of an algorithm as traced arrays; the states of a batch are traced one after another."""
    arrays, batch = as_given(model, algorithm.arguments, values, len(frames), finite=False)
    states = prod(batch)
    flat = [None if each is None else numbers(spread(*each, batch)).reshape(states, -1) for each in arrays]
    placed, spaces = moved(frames, offsets), [SPACES[space] for _, space in algorithm.arguments]
    absent = tuple(name for (name, _), each in zip(algorithm.arguments, flat, strict=True) if each is None)
    callee, order, more = _callee(algorithm, model, absent, frames, offsets, flat)

    def one(arguments: list[list[Any] | None]) -> list[list[Any]]:
        if callee is None:
            return evaluate(algorithm, model, arguments, placed, tree_inside(model, placed, spaces, arguments))
        return _called(algorithm, callee, order, [*_lined_up(algorithm, order, arguments), *more])

    by_state = [one([None if each is None else each[k].tolist() for each in flat]) for k in range(states)]
    results = []
    for k, space in enumerate(algorithm.results):
        shape = SPACES[space].shape(model, len(frames))
        items = np.empty((states, prod(shape)), dtype=object)
        for state, state_results in enumerate(by_state):
            for i, item in enumerate(state_results[k]):
                items[state, i] = item
        results.append(traced(items.reshape((*batch, *shape))))
    return results
