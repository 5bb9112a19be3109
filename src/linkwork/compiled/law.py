"""linkwork's own texts over arrays, compiled: found on disk by what they depend on, without being traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.code import fingerprint
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import Plan, TracedTask, looped
from linkwork.engine.plans.traced import gives_up, giving_up
from linkwork.engine.run import threads
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.errors import TracingError
from linkwork.model.model import Frame, Model

_DEARER = 3.0
"""Roughly the cost of such a text, relative to an algorithm alone."""


def law(
    name: str,
    text: Callable[..., Any],
    shapes: Mapping[str, Shape],
    results: Sequence[Shape],
    model: Model,
    frames: Sequence[Frame],
    *what: object,
    often: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
    dearer: float = _DEARER,
    planned: Callable[[TracedTask], Plan] | None = None,
    optional: bool = False,
    identified: bool = True,
) -> CompiledFunction:
    """A text over arrays for a model. ``what`` must name everything that it depends on besides model and frames.
    Numbers of arguments, by name and place, may ``often`` have these values: code has a shorter program for states in
    which all of them do. It is roughly so many times ``dearer`` than an algorithm alone. A text too long for one kernel
    is ``planned`` in another way; if it is ``optional``, callers compute it otherwise (``CompiledFunction.fits``).
    Code of a text that is not ``identified`` by its name is found by its program.

    Its results are an array, or a tuple of arrays, of these shapes; NaN in every state if the text divides by something
    that is zero for this model.
    """

    def program(isomorphic: bool = False) -> Program:
        try:
            with giving_up(optional or gives_up()):
                found, _, shaped = trace(name, text, shapes, isomorphic)
        except TracingError as error:
            if not isinstance(error.__cause__, ZeroDivisionError):
                raise
            return trace(name, lambda **_: tuple(np.full(shape, np.nan) for shape in results), shapes)[0]
        assert list(shaped) == list(results), (shaped, results)
        return found

    numbers = (
        None if looped(model) and not planned else fingerprint.of_model(model, frames)
    )  # its program says what it calls
    identity = None if numbers is None or not identified else fingerprint.key(name, numbers, dict(shapes), *what)
    structure = None if len(results) == 1 else (tuple, [None] * len(results))
    seconds = dearer * threads.SECONDS * max(1, len(model.bodies))
    branches = None if planned else branches_of(model, program)
    return CompiledFunction(
        name, shapes, program, structure, results, identity, seconds, None, often, None, branches, planned
    )
