"""A text that is emitted once, however often it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import is_traced
from linkwork.compiled.repeating import flat, program_of, shaped
from linkwork.engine import optimisations
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.evaluator import used
from linkwork.engine.ir.program import Program, Subroutine
from linkwork.engine.trace.tracer import Traced, Tracer

Shapes = Sequence[tuple[int, ...] | None]


def subroutine(
    body: Callable[..., Sequence[Any]], zeros: Sequence[Sequence[int]] = (), symmetric: bool = False
) -> Callable[..., Sequence[Any]]:
    """``body(*given) -> results``, over traced arrays a function that code calls; over plain arrays the text itself.

    Args:
        body: a text over arrays. Every traced value that it uses must be given; None stands for a missing array.
        zeros: sets of places, counted over all given arrays, whose numbers are often all zero, as in a sparse matrix:
            then code skips the products with them, as the text does with zeros. The first set that is all zero is
            used.
        symmetric: whether the result, one array, is a symmetric matrix times the first array given, of the same shape,
            the other arrays being constant: then it has that derivative, and the body need not have one.

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
    known: dict[Any, tuple[Subroutine, list[tuple[int, ...]]]] = {}

    def calling(*given: Any) -> Sequence[Any]:
        there = [each for each in given if each is not None]
        if not is_traced(there):
            return body(*given)
        shapes_given = tuple(None if each is None else np.shape(each) for each in given)
        isomorphic = any(type(x) is Traced and x.tracer.isomorphic for x in flat(there))
        key = isomorphic, shapes_given
        if key not in known:
            known[key] = _traced(body, shapes_given, zeros, isomorphic, symmetric)
        what, shapes = known[key]
        return shaped(list(used(what, flat(there))), shapes)

    return calling


def _traced(
    body: Callable[..., Sequence[Any]],
    shapes: Shapes,
    zeros: Sequence[Sequence[int]],
    isomorphic: bool,
    symmetric: bool,
) -> tuple[Subroutine, list[tuple[int, ...]]]:
    """A body for arrays of these shapes, and the shapes of its results. With ``isomorphic``, isomorphic branches of
    mechanisms get the same instructions.
    """
    program, results = _program(body, shapes, (), isomorphic)
    given = sum(prod(shape) for shape in shapes if shape is not None)
    sparing = tuple(
        (tuple(places), _program(body, shapes, places, isomorphic)[0])
        for places in (zeros if optimisations.on("variants") else ())
    )
    return Subroutine(program, given, sum(map(prod, results)), sparing, symmetric), results


def _program(
    body: Callable[..., Sequence[Any]], shapes: Shapes, zeros: Sequence[int], isomorphic: bool
) -> tuple[Program, list[tuple[int, ...]]]:
    """The program of a body for given numbers of which some are zero, and the shapes of its results."""
    tracer, absent = Tracer(expand=isomorphic, isomorphic=isomorphic), set(zeros)
    sizes = [shape for shape in shapes if shape is not None]
    given = [
        0.0 if k in absent else tracer.load(Address("argument0", k)) for k in range(sum(prod(size) for size in sizes))
    ]
    inside = iter(shaped(given, sizes))
    results = body(*(None if shape is None else next(inside) for shape in shapes))
    return program_of(tracer, flat(results)), [np.shape(each) for each in results]
