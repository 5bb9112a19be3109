"""From a public function to an engine: arguments checked once, then machine code or the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.batches import all_converted, as_out, first_not_finite, plain, put_into, rows_of, spread
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, as_frames, as_given, check_model
from linkwork.engine import mode
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.plans.task import moved
from linkwork.engine.run import entries
from linkwork.engine.run.entries import Entry, Holder, held
from linkwork.engine.run.public import Function, Names, added, serve
from linkwork.engine.run.public import public as public_object
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError
from linkwork.memory import fits_memory, not_enough_memory
from linkwork.model.model import Frame, Model

PARAMETERS = ("inertias", "armature", "damping", "friction", "placements")
"""Of a mechanism, that may be data."""
_FEWER = "take fewer states at a time, or a smaller mechanism"


def call(
    algorithm: str | Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame] = (),
    offsets: Sequence[float] = (),
    table: dict[str, Holder | None] | None = None,
    out: Any = None,
) -> list[Array]:
    """The results of an algorithm, of the catalogue if it is a name, for arguments as the user gave them.

    ``offsets`` moves the frames, three numbers each, without new code being made for it. What the builtins need to
    serve such a call at once is kept in ``table``. The results are those of ``out``, if that is given.
    """
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[algorithm]
    form = current_form()
    holder = table.get(algorithm.name) if table and form == "auto" else None
    if holder is not None:
        answer = served(holder, out, *all_converted(values, out))
        if answer is not None:
            return list(answer) if isinstance(answer, tuple) else [answer]
    if any(map(is_traced, values)):
        from linkwork.dynamics.traced import traced_call  # tracing is imported late

        return traced_call(algorithm, model, values, frames, offsets)
    arguments, batch = as_given(model, algorithm.arguments, values, len(frames), finite=form == "interpreted")
    shapes = [(*batch, *SPACES[space].shape(model, len(frames))) for space in algorithm.results]
    targets = None if out is None else as_out(out, shapes, [name for name, _ in algorithm.arguments], arguments)
    if 0 in batch:
        as_given(model, algorithm.arguments, values, len(frames))
        return targets or [np.empty(shape) for shape in shapes]
    states = prod(batch)
    needed = 8.0 * sum(map(prod, shapes)) if targets is None else 0.0
    if not fits_memory(needed):
        raise _too_large(algorithm, model, states, needed)
    try:
        present = [(plain(*given, batch), given[1]) for given in arguments if given is not None]
        if holder is not None and (not batch or any(array.ndim > axes for array, axes in present)):
            answer = served(holder, out, *(array for array, _ in present))
            if answer is not None:
                return list(answer) if isinstance(answer, tuple) else [answer]
        absent = tuple(name for (name, _), array in zip(algorithm.arguments, arguments, strict=True) if array is None)
        rows = [rows_of(array, axes, states) for array, axes in present]
        plan = function(algorithm, model, absent, frames, bool(offsets), form)
        given = None if targets is None else [target.reshape(states, -1) for target in targets]
        found, status = plan.run(rows, states, offsets, given)
    except MemoryError:
        raise _too_large(algorithm, model, states, needed) from None
    except (ZeroDivisionError, OverflowError):  # a constant of the model, or the only state
        found, status = [], 2
    if status:
        as_given(model, algorithm.arguments, values, len(frames))  # an argument that is not finite is said first
        where = first_not_finite(found, batch)
        state = [None if array is None else spread(*array, batch)[where] for array in arguments]
        from linkwork.dynamics.diagnosis import diagnose  # the interpreter is imported late

        raise diagnose(algorithm, model, state, moved(frames, offsets))
    if table is not None and form == "auto":
        keep(algorithm.name, plan, table, plan.form(states), offsets)
    if targets is not None:
        return targets
    return [result.reshape((*batch, *shape)) for result, shape in zip(found, plan.task.shapes, strict=True)]


def _too_large(algorithm: Algorithm, model: Model, states: int, needed: float) -> ArgumentError:
    asked = f"the results of {algorithm.name} for {states:,} state(s) of {model.name!r}"
    return not_enough_memory(asked, needed, _FEWER)


def keep(
    name: str,
    plan: Plan,
    table: dict[str, Holder | None],
    form: str,
    offsets: Sequence[float] = (),
    further: Collection[str] = (),
) -> None:
    """From now on, the builtins serve "one" state, a "batch" or "many" states of plain arrays; ``further`` parameters
    among them.
    """
    more = added(PARAMETERS, further)
    which = len(plan.task.argument_shapes) + more
    holder = table.get(name)
    known: dict[int, Entry] = holder[1] if holder else {}
    entry = known.get(which)
    if entry is not None:
        if form not in entry.forms:
            plan.serve(entry, form, offsets)
    elif offsets and name not in table:
        table[name] = None  # points may move from call to call: these may be asked for once only
    elif (entry := plan.entry(further=more)) is not None:
        plan.serve(entry, form, offsets)
        table[name] = held({**known, which: entry})
        _install()


# The ways into it


def every(name: str, model: Model, out: Any, *values: ArrayLike | None) -> Any:
    """What an algorithm results in, an array or several; an external force may be left out at the end."""
    check_model(model)
    absent = [None] * (len(ALGORITHMS[name].arguments) - len(values))
    return _answer(call(name, model, [*values, *absent], table=model._memo.quick, out=out), out)


def every_frames(name: str, model: Model, frames: Frames, out: Any, *values: ArrayLike) -> Any:
    """The same for an algorithm that is asked about frames; of six rows for each, those that its point asks for."""
    asked = as_frames(model, frames)
    axes = SPACES[ALGORITHMS[name].results[0]].row_axes if asked.kept is not None else ()
    if not axes:
        return _answer(call(name, model, values, asked.frames, asked.offsets, asked.quick, out), out)
    holder = asked.whole.get(name) if current_form() == "auto" else None
    found = None if holder is None else served(holder, None, *values)
    if found is None:
        found = _answer(call(name, model, values, asked.frames, asked.offsets, asked.whole), None)
    results = list(found) if isinstance(found, tuple) else [found]
    for axis in axes:
        results = [asked.rows(result, axis) for result in results]
    return put_into(out, *results)


def _answer(results: list[Array], out: Any) -> Any:
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def _nothing(*_: object) -> None:
    return None


served: Callable[..., Any] = _nothing
"""(holder, out, arguments...): a builtin as soon as there is anything that it can serve; None for what is not."""
_public: list[tuple[Any, Names, tuple[str, ...], Sequence[str]]] = []


def public(algorithm: Names, *choosers: str, further: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Calls of a function with plain arrays are answered by code, as soon as there is anything to serve; its own lines
    are for all else. It has parameters of the names ``model``, ``out``, those of the algorithm's arguments, and
    ``frames`` if it asks about some; what else it has must be left out.

    Args:
        algorithm: the name in the catalogue, or a table of names (or of tables) by what a parameter is.
        choosers: the parameter that chooses from each table.
        further: parameters that other code takes, which is kept under the same name, if they are given.
    """

    def made(function: Function) -> Function:
        found = public_object(function)
        _public.append((found, algorithm, choosers, further))
        if served is not _nothing:
            _serve(found, algorithm, choosers, further)
        return found

    return made


@cache
def _install() -> None:
    global served
    served = mode.served()
    for each in _public:
        _serve(*each)


def _serve(found: Any, algorithm: Names, choosers: tuple[str, ...], further: Sequence[str]) -> None:
    name = algorithm
    while not isinstance(name, str):
        name = next(iter(name.values()))
    arguments = [argument for argument, _ in ALGORITHMS[name].arguments]
    serve(found, algorithm, choosers, arguments, *_setting(), further=further)


@cache
def _setting() -> tuple[Any, object]:
    return entries.setting(ctypes.addressof(mode.forced))
