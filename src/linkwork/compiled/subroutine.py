"""A text that stands in code once, however often it is used there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import is_traced
from linkwork.compiled.repeating import flat, shaped
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.evaluator import used
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Subroutine
from linkwork.engine.trace.tracer import Tracer

Shapes = Sequence[tuple[int, ...] | None]


def subroutine(body: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """``body(*given) -> results``, over traced arrays a function that code calls; over plain arrays the text itself.

    Args:
        body: a text over arrays. All that is traced and that it uses must be given; None stands for what there is not.

    Example:
        >>> import linkwork as lw
        >>> def text(x):
        ...     wave = subroutine(lambda x: [1.0 + np.sin(x)])
        ...     return wave(wave(x)[0])[0]
        >>> print(lw.compile(text, x=()).text(), end="")
        %0 = load argument0[0]
        %1 = subroutine 0, 1 given, 1 results: %0
          %0 = load argument0[0]
          %1 = sin %0
          %3 = add %1, 1.0
          result0[0] = %3
        %2 = final %1, 0
        %3 = subroutine 0, 1 given, 1 results: %2
        %4 = final %3, 0
        result0[0] = %4
    """
    known: dict[Any, tuple[Subroutine, list[tuple[int, ...]]] | None] = {}

    def calling(*given: Any) -> Sequence[Any]:
        there = [each for each in given if each is not None]
        if not is_traced(there):
            return body(*given)
        key = tuple(None if each is None else np.shape(each) for each in given)
        if key not in known:
            known[key] = _traced(body, key)
        found = known[key]
        if found is None:
            return body(*given)
        what, shapes = found
        return shaped(list(used(what, flat(there))), shapes)

    return calling


def _traced(body: Callable[..., Sequence[Any]], shapes: Shapes) -> tuple[Subroutine, list[tuple[int, ...]]] | None:
    """A body for arrays of these shapes, and the shapes of its results; None if it calls code that has loops."""
    tracer = Tracer(expand=False)
    sizes = [shape for shape in shapes if shape is not None]
    given = sum(map(prod, sizes))
    inside = iter(shaped([tracer.load(Address("argument0", k)) for k in range(given)], sizes))
    results = body(*(None if shape is None else next(inside) for shape in shapes))
    items = flat(results)
    for k, item in enumerate(items):
        tracer.store(Address("result0", k), item)
    tracer.finish()
    eliminate_dead_code(tracer.program)
    if "call" in tracer.program.operations:
        return None
    return Subroutine(tracer.program, given, len(items)), [np.shape(each) for each in results]
