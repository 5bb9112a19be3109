"""A text repeated over a state until it has converged: in code, lanes that are done wait; over arrays, states do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.compiled.arrays import array_of, is_traced, numbers
from linkwork.compiled.scalars import number
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.evaluator import repeated
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Program, Repeat
from linkwork.engine.trace.tracer import Traced, Tracer
from linkwork.errors import TracingError
from linkwork.unsolved import note_unsolved

Body = Callable[..., tuple[Sequence[Any], Any]]


def repeat(
    body: Body,
    state: Sequence[Any],
    given: Sequence[Any] = (),
    *,
    most: int,
    name: str = "a repeated text",
    may_stop: bool = False,
    batch: int = 0,
) -> list[Any]:
    """The state after ``body(*state, *given) -> next state, whether to go on`` has been repeated, at least once and at
    most so many times. Each state of a batch iterates independently, and keeps its numbers when it is done; those of a
    state that is not done in the end are NaN.

    Args:
        body: a text over arrays, of one state. Every traced value that it uses must be in ``state`` or ``given``.
        state: arrays, which keep their shapes.
        given: arrays that do not change.
        most: the most iterations.
        name: the problem that is solved, for messages.
        may_stop: whether the last numbers of a state that is not done count as well.
        batch: how many leading axes the arrays have, if they are plain ones; traced arrays are of one state.

    Example:
        >>> import linkwork as lw
        >>> def halved(x, step):
        ...     return [x - step], x - step > 0.0
        >>> def text(x):
        ...     return repeat(halved, [x], [np.ones(())], most=100)[0]
        >>> lw.compile(text, x=())([0.5, 2.5, 7.0])
        array([-0.5, -0.5,  0. ])
    """
    if not is_traced([*state, *given]):
        return _over_arrays(body, state, given, most, None if may_stop else name, batch)
    shapes, given_shapes = [np.shape(each) for each in state], [np.shape(each) for each in given]
    start, fixed = (flat(arrays) for arrays in (state, given))
    loaded = [k for k, x in enumerate(fixed) if isinstance(x, Traced)]  # constants become part of the program
    program = _traced(body, shapes, given_shapes, fixed, loaded)
    what = Repeat(program, len(start), len(loaded), most, may_stop, name)
    ends = repeated(what, [*start, *(fixed[k] for k in loaded)])
    return shaped(list(ends), shapes)


def _traced(
    body: Body, shapes: Sequence[tuple[int, ...]], given_shapes: Sequence[tuple[int, ...]], fixed: list[Any],
    loaded: Sequence[int],
) -> Program:  # fmt: skip
    """The program of a body, with the given numbers ``fixed`` except those that are ``loaded``."""
    tracer = Tracer(expand=False)
    own = [tracer.load(Address("argument0", k)) for k in range(sum(map(prod, shapes)))]
    inside = list(fixed)
    for place, k in enumerate(loaded):
        inside[k] = tracer.load(Address("argument1", place))
    following, going = body(*shaped(own, shapes), *shaped(inside, given_shapes))
    found = [np.shape(each) for each in following]
    if found != list(shapes):
        raise TracingError(f"a state of shapes {list(shapes)} is repeated, but the next one has shapes {found}")
    return program_of(tracer, flat(following), flat([going]))


def program_of(tracer: Tracer, *results: Sequence[Any]) -> Program:
    """The traced program, with these scalars as its results."""
    for number_of_result, items in enumerate(results):
        for k, item in enumerate(items):
            tracer.store(Address(f"result{number_of_result}", k), item)
    tracer.finish()
    eliminate_dead_code(tracer.program)
    return tracer.program


def flat(arrays: Sequence[Any]) -> list[Any]:
    """All numbers of arrays, flat."""
    return [number(item) for each in arrays for item in numbers(each).flat]


def shaped(items: list[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Arrays of these shapes, from flat numbers."""
    made, start = [], 0
    for shape in shapes:
        made.append(array_of(items[start : start + prod(shape)], shape))
        start += prod(shape)
    return made


def _over_arrays(
    body: Body, state: Sequence[Any], given: Sequence[Any], most: int, name: str | None, batch: int
) -> list[Any]:
    """The same over plain arrays, all states at once; without a name for the problem it may stop."""
    now = [np.asarray(each, dtype=np.float64) for each in state]
    axes = np.broadcast_shapes(*(each.shape[:batch] for each in now))
    now = [np.broadcast_to(each, (*axes, *each.shape[batch:])) for each in now]
    going = np.ones(axes, dtype=bool)
    for _ in range(most):
        following, more = body(*now, *given)
        now = [
            np.where(going.reshape((*axes, *(1,) * (old.ndim - batch))), new, old)
            for new, old in zip(following, now, strict=True)
        ]
        going = going & np.asarray(more, dtype=bool)
        if not going.any():
            break
    else:
        if name is not None:
            left = going & np.logical_and.reduce([np.isfinite(_flat_of(x, batch)).all(axis=-1) for x in now])
            if left.any():  # what is not finite is no fault of the solver
                note_unsolved(name, most)
            now = [np.where(going.reshape((*axes, *(1,) * (x.ndim - batch))), np.nan, x) for x in now]
    return now


def _flat_of(array: Any, batch: int) -> Any:
    """The numbers of each state in one axis."""
    return array.reshape((*array.shape[:batch], -1))
