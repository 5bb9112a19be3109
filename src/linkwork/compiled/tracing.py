"""Runs a function over traced arrays and returns its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import TracedArray
from linkwork.compiled.results import Structure, taken_apart
from linkwork.compiled.scalars import number
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Program
from linkwork.engine.plans.costs import most
from linkwork.engine.plans.traced import gives_up
from linkwork.engine.trace.tracer import TooLong, Tracer
from linkwork.errors import LinkworkError, TracingError, excuse, warn_caller, whereabouts

Shape = tuple[int, ...]

_LONG = 5
"""Times the longest code: the trace takes seconds, dead code included; the user hears of it before it ends."""
_TOO_LONG = 3
"""The same, of a trace that is not worth ending: less than two thirds of one prove to be of no use."""


def trace(
    name: str,
    function: Callable[..., Any],
    parameters: Mapping[str, Shape],
    isomorphic: bool = False,
    warns: bool = True,
) -> tuple[Program, Structure, tuple[Shape, ...]]:
    """The program of a function, the structure of its result, and the shapes of the arrays in it. With ``isomorphic``,
    isomorphic branches of mechanisms get the same instructions, and elementary functions are expanded. It ``warns`` of
    a long trace before it ends, or raises ``TooLong`` inside of ``giving_up``.
    """
    longest = (_TOO_LONG if gives_up() else _LONG) * most("traced") if gives_up() or warns else None
    warn = None if gives_up() else lambda: _warn_of_length(name)
    tracer = Tracer(expand=isomorphic, isomorphic=isomorphic, most=longest, warn=warn)
    arrays = _arguments(tracer, parameters)
    try:
        with np.errstate(all="ignore"):  # constants that fold to NaN are reported when computed
            value = function(**arrays)
        structure, leaves = taken_apart(name, value)
        results = [[number(item) for item in leaf.flat] for leaf in leaves]
    except (LinkworkError, TooLong):
        raise
    except ZeroDivisionError as error:
        raise TracingError(
            f"{name} divides by a number that is zero whatever its arguments are, as the acceleration of a joint does "
            f"that moves no inertia",
            whereabouts(error.__traceback__),
        ) from error
    except Exception as error:
        excuse(error)
        place = whereabouts(error.__traceback__)
        raise TracingError(
            f"{name} cannot be traced: {type(error).__name__}: {error}. Arguments are arrays of numbers that are not "
            f"known yet; make arrays of them by np.stack or np.concatenate, and use NumPy's functions",
            place,
        ) from error
    for k, leaf in enumerate(results):
        for i, item in enumerate(leaf):
            tracer.store(Address(f"result{k}", i), item)
    tracer.finish()
    eliminate_dead_code(tracer.program)
    if not leaves:
        raise TracingError(f"{name} returns no array", "")
    return tracer.program, structure, tuple(leaf.shape for leaf in leaves)


def _arguments(tracer: Tracer, parameters: Mapping[str, Shape]) -> dict[str, TracedArray]:
    """The arguments as arrays of traced numbers."""
    arrays: dict[str, TracedArray] = {}
    for k, (key, shape) in enumerate(parameters.items()):
        loads = [tracer.load(Address(f"argument{k}", i)) for i in range(prod(shape))]
        items = np.empty(prod(shape), dtype=object)
        items[:] = loads
        items.flags.writeable = False
        arrays[key] = items.reshape(shape).view(TracedArray)
    return arrays


def _warn_of_length(name: str) -> None:
    warn_caller(
        f"the trace of {name} has {_LONG * most('traced'):,} instructions so far; unless most of them prove to be of "
        f"no use, it runs by the interpreter, slowly, since machine code is made up to {most('traced'):,}. Use smaller "
        f"matrices, fewer bodies, points or iterations"
    )
