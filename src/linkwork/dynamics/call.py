"""The path from a public function to the engine: arguments are checked once, then compiled or interpreted code runs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.arguments import once
from linkwork.batches import all_converted, as_out, first_not_finite, is_plain, plain, rows_of, spread
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, as_frames, as_given, check_model
from linkwork.engine import mode
from linkwork.engine.code import jit
from linkwork.engine.emit.python_calls import BY_IDENTITY, BY_VALUE, MOST_ARRAYS
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.plans.task import moved
from linkwork.engine.run import entries
from linkwork.engine.run.entries import Entry, Holder, held
from linkwork.engine.run.public import Function, Names, Parameters, added, serve
from linkwork.engine.run.public import public as public_object
from linkwork.engine.run.routes import keep as keep_found
from linkwork.engine.run.routes import key_of
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError
from linkwork.memory import fits_memory, not_enough_memory
from linkwork.model.model import Frame, Model, Point

Named = TypeVar("Named", bound=tuple[Any, ...])
_BLOCK = 2**14
"""Numbers of an array that are looked at together, which stay in a cache."""
PARAMETERS = ("inertias", "armature", "damping", "friction", "placements")
"""Parameters of a mechanism that can be passed as data."""
_FEWER = "take fewer states at a time, or a smaller mechanism"


def call(
    algorithm: str | Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame] = (),
    offsets: Sequence[float] = (),
    table: dict[str, Holder | None] | None = None,
    out: Any = None,
    kept: tuple[int, ...] | None = None,
) -> list[Array]:
    """The results of an algorithm, or of the one in the catalogue with this name, for a public function's arguments.

    ``offsets`` shift the frames, three numbers each, without new code being compiled. The entry by which the builtins
    serve such a call directly is kept in ``table``. Results are written to ``out``, if given. ``kept`` are the rows, of
    six for each frame, to return; None for all.
    """
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[algorithm]
    if kept is not None and not any(SPACES[space].row_axes for space in algorithm.results):
        kept = None
    form = current_form()
    holder = table.get(algorithm.name) if table and form == "auto" else None
    if holder is not None:
        answer = served(holder, out, *all_converted(values, out))
        if answer is not None:
            return list(answer) if isinstance(answer, tuple) else [answer]
    if any(map(is_traced, values)):
        from linkwork.dynamics.traced import traced_call  # tracing is imported late

        found = traced_call(algorithm, model, values, frames, offsets)
        return found if kept is None else [_rows(*each, kept) for each in zip(found, algorithm.results, strict=True)]
    arguments, batch = as_given(model, algorithm.arguments, values, len(frames), finite=form == "interpreted")
    shapes = [(*batch, *SPACES[space].kept_shape(model, len(frames), kept)) for space in algorithm.results]
    names = [name for name, _ in algorithm.arguments]
    targets = None if out is None else as_out(out, shapes, names, arguments, values)
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
        plan = function(algorithm, model, absent, frames, bool(offsets), form, kept=kept)
        given = None if targets is None else [target.reshape(states, -1) for target in targets]
        found, status = plan.run(rows, states, offsets, given)
    except MemoryError:
        raise _too_large(algorithm, model, states, needed) from None
    except (ZeroDivisionError, OverflowError):  # in a constant of the model, or for a single state
        found, status = [], 2
    if status:
        as_given(model, algorithm.arguments, values, len(frames))  # report a non-finite argument first
        where = first_not_finite(found, batch)
        state = [None if array is None else spread(*array, batch)[where] for array in arguments]
        from linkwork.dynamics.diagnosis import diagnose  # the interpreter is imported late

        raise diagnose(algorithm, model, state, moved(frames, offsets))
    if table is not None and form == "auto":
        keep(algorithm.name, plan, table, plan.form(states), offsets)
    if any(is_fast(rows[speed], most) for speed, most in plan.task.most) and not _stepping.get():
        from linkwork.dynamics.high_speeds import warn_of_lost_digits

        warn_of_lost_digits(algorithm, model, plan, rows, found[0].reshape(states, -1), batch)
    if targets is not None:
        return targets
    return [result.reshape((*batch, *shape)) for result, shape in zip(found, plan.task.shapes, strict=True)]


@contextmanager
def stepping() -> Iterator[None]:
    """While calls are steps of a motion, which is examined for high speeds as a whole, they are not."""
    token = _stepping.set(True)
    try:
        yield
    finally:
        _stepping.reset(token)


_stepping: ContextVar[bool] = ContextVar("stepping", default=False)


def is_fast(v: Array, most: float) -> bool:
    """Whether a speed is beyond the most."""
    numbers = once(v).ravel()
    blocks = (numbers[k : k + _BLOCK] for k in range(0, numbers.size, _BLOCK))
    return any(max(float(block.max()), -float(block.min())) > most for block in blocks)


def _rows(result: Array, space: str, kept: tuple[int, ...]) -> Array:
    for axis in SPACES[space].row_axes:
        result = np.take(result, kept, axis=axis)
    return result


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
    """Let the builtins serve "one" state, a "batch" or "many" states of plain arrays from now on, with ``further``
    parameters among them.
    """
    more = added(PARAMETERS, further)
    which = len(plan.task.argument_shapes) + more

    def known() -> dict[int, Entry]:
        holder = table.get(name)
        return holder[1] if holder else {}

    entry = known().get(which)
    if entry is not None and form in entry.forms:
        return
    with jit.lock:  # one entry for the same arguments, and one chain of all, whichever threads make them
        entry = known().get(which)
        if entry is not None:
            if form not in entry.forms:
                plan.serve(entry, form, offsets)
        elif offsets and name not in table:
            table[name] = None  # points may move from call to call: these offsets may never recur
        elif (entry := plan.entry(further=more)) is not None:
            plan.serve(entry, form, offsets)
            table[name] = held({**known(), which: entry})
            _install()


# Entry points


def every(name: str, model: Model, out: Any, *values: ArrayLike | None) -> Any:
    """The result of an algorithm, an array or several; a trailing external force may be None."""
    check_model(model)
    absent = [None] * (len(ALGORITHMS[name].arguments) - len(values))
    return _answer(call(name, model, [*values, *absent], table=model._memo.quick, out=out), out)


def every_frames(name: str, model: Model, frames: Frames, out: Any, *values: ArrayLike) -> Any:
    """The same for an algorithm of frames; of the six rows of each frame, those that its point asks for."""
    asked = as_frames(model, frames)
    return _answer(call(name, model, values, asked.frames, asked.offsets, asked.quick, out, asked.kept), out)


def _answer(results: list[Array], out: Any) -> Any:
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def _nothing(*_: object) -> None:
    return None


served: Callable[..., Any] = _nothing
"""(holder, out, arguments...): a builtin once there is code for it to call; None for calls that it does not serve."""
_public: list[tuple[Any, Parameters]] = []
_AT_ONCE, _SELDOM = 100, 16
"""Calls of a function with new choices whose routes are all kept; after these, one in ``_SELDOM`` is."""
_known_by: dict[int, list[int]] = {}
"""The keys of a function's choices, by its address; such functions live as long as the process."""


def public(algorithm: Names, *choosers: str, further: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Decorator: calls of a function with plain arrays are answered by compiled code once there is any; the body of
    the function handles all other calls. Its parameters are ``model``, ``out``, the algorithm's arguments, and
    ``frames`` for an algorithm of frames; any other parameter must be left out in such calls.

    Args:
        algorithm: the name in the catalogue, or a table of names (or of tables) by the value of a parameter.
        choosers: the parameter that selects from each table.
        further: parameters that, if given, are passed to other code, which is kept under the same name.
    """
    name = algorithm
    while not isinstance(name, str):
        name = next(iter(name.values()))
    arguments = [argument for argument, _ in ALGORITHMS[name].arguments]
    return _made(Parameters(arguments, algorithm, choosers, further=further))


def routed(
    *arguments: str,
    choices: Sequence[str] = (),
    objects: Sequence[str] = (),
    mapping: str | None = None,
) -> Callable[[Function], Function]:
    """Decorator for a function whose code depends on its choices: calls for which a route is kept (``keep_route``)
    are answered by compiled code.

    Args:
        arguments: the parameters that are arrays, of which the last may be left out.
        choices: those that determine the code and its other arguments.
        objects: likewise, compared by identity: one object, or a list of them.
        mapping: likewise, a dict of choices whose values are arrays.
    """
    known_by = dict.fromkeys(choices, BY_VALUE) | dict.fromkeys(objects, BY_IDENTITY)
    if mapping is not None:
        known_by[mapping] = BY_VALUE
    return _made(Parameters(arguments, None, (), known_by, mapping))


def keep_route(
    function: Any,
    table: dict[Any, Any] | None,
    values: Sequence[Any],
    choices: Sequence[Any],
    holder: Holder | None,
    arguments: Sequence[Any],
    made: Callable[[Any], Any] | None = None,
    *kept: object,
) -> None:
    """Let compiled code, if there is any, answer calls with these choices and as many arrays from now on. After many
    calls of a function only one in so many is kept, since its choices may change from call to call.

    Args:
        function: the public function.
        table: the model's table of routes; None for the function's own.
        values: all arrays of the call, of which the last may be None.
        choices: in the order in which ``routed`` names them.
        holder: of the code's entry, if there is one.
        arguments: of the code: an array, or None for the next array of the call.
        made: converts the results to the function's return value; None if they are returned unchanged.
        kept: objects that must live as long, such as those compared by identity.
    """
    known_by = _known_by.get(id(function))
    if known_by is None:
        return
    routes = function.quick if table is None else table
    asked = routes[function] = routes.get(function, 0) + 1
    if asked > _AT_ONCE and asked % _SELDOM:
        return
    if not all(value is None or is_plain(value) for value in values):
        return
    if holder is None or current_form() != "auto" or len(arguments) > MOST_ARRAYS:
        return
    for choice, how in zip(choices, known_by, strict=True):
        if not (_is_kept(choice, kept) if how == BY_IDENTITY else _is_known(choice)):
            return
    present = len(values)
    while present and values[present - 1] is None:
        present -= 1
    present += sum(len(choice) for choice in choices if type(choice) is dict)
    key = key_of(function, present, choices, known_by)
    keep_found(routes, key, holder, arguments, made, *kept)
    _install()


@cache
def tuples(kind: type[Named]) -> Callable[[Any], Named]:
    """A function that converts a tuple to a named tuple without running Python code."""
    return partial(tuple.__new__, kind)


def _is_known(choice: Any) -> bool:
    """Whether equal values of the same class are interchangeable."""
    items = choice if type(choice) in (list, tuple, dict) else (choice,)
    return all(type(item) in _PLAIN for item in items)


_PLAIN = (str, Point, float, np.float64, int, bool, type(None))


def _is_kept(choice: Any, kept: Sequence[object]) -> bool:
    """Whether an object compared by its address lives as long as the route."""
    items = choice if type(choice) in (list, tuple) else () if choice is None else (choice,)
    return {id(item) for item in items} <= {id(each) for each in kept}


def _made(asked: Parameters) -> Callable[[Function], Function]:
    def made(function: Function) -> Function:
        found: Any = public_object(function)
        if asked.algorithm is None and found is not function:
            found.quick, _known_by[id(found)] = {}, list(asked.choices.values())
        _public.append((found, asked))
        if served is not _nothing:
            serve(found, asked, *_setting())
        return found

    return made


@cache
def _install() -> None:
    global served
    served = mode.served()
    for found, asked in _public:
        serve(found, asked, *_setting())


@cache
def _setting() -> tuple[Any, object]:
    return entries.setting(ctypes.addressof(mode.forced))
