"""From a public function to an engine: arguments checked once, then machine code or the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.batches import all_converted, as_out, first_not_finite, is_plain, plain, rows_of, spread
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, Frames, as_frames, as_given, check_model
from linkwork.engine import mode
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
    kept: tuple[int, ...] | None = None,
) -> list[Array]:
    """The results of an algorithm, of the catalogue if it is a name, for arguments as the user gave them.

    ``offsets`` moves the frames, three numbers each, without new code being made for it. What the builtins need to
    serve such a call at once is kept in ``table``. The results are those of ``out``, if that is given. ``kept`` are the
    rows, of six for each frame, that they have; all of them if None.
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
    return _answer(call(name, model, values, asked.frames, asked.offsets, asked.quick, out, asked.kept), out)


def _answer(results: list[Array], out: Any) -> Any:
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def _nothing(*_: object) -> None:
    return None


served: Callable[..., Any] = _nothing
"""(holder, out, arguments...): a builtin as soon as there is anything that it can serve; None for what is not."""
_public: list[tuple[Any, Parameters]] = []
_AT_ONCE, _SELDOM = 100, 16
"""Calls of a function with other choices than before whose routes are kept, and after which one in how many."""
_known_by: dict[int, list[int]] = {}
"""How the choices of a function, by its address, are known; such functions live as long as the process."""


def public(algorithm: Names, *choosers: str, further: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Calls of a function with plain arrays are answered by code, as soon as there is anything to serve; its own lines
    are for all else. It has parameters of the names ``model``, ``out``, those of the algorithm's arguments, and
    ``frames`` if it asks about some; what else it has must be left out.

    Args:
        algorithm: the name in the catalogue, or a table of names (or of tables) by what a parameter is.
        choosers: the parameter that chooses from each table.
        further: parameters that other code takes, which is kept under the same name, if they are given.
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
    """The same for a function whose code follows from what it is asked: calls that it has kept a route for
    (``keep_route``) are answered by code.

    Args:
        arguments: the parameters that are arrays, of which the last may be left out.
        choices: those that the code and its other arguments follow from.
        objects: likewise, known by their identity: one object, or a list of them.
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
    """Calls with these choices, and as many arrays, are answered by code from now on, if there is any; after many such
    calls of a function only one in so many is looked at, since its choices may change from call to call.

    Args:
        function: whose calls.
        table: the model's; the function's own if None.
        values: all arrays of the call, of which the last may be None.
        choices: in the order in which ``routed`` names them.
        holder: of the code's entry, if there is one.
        arguments: of the code: an array, or None for the next one of the call.
        made: makes what the function returns of the results; None if they are returned as they are.
        kept: what must live as long, such as objects that are known by their identity.
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
    """Makes a named tuple of a tuple, without a line of Python."""
    return partial(tuple.__new__, kind)


def _is_known(choice: Any) -> bool:
    """Whether what is equal to it, of the same class, means the same."""
    items = choice if type(choice) in (list, tuple, dict) else (choice,)
    return all(type(item) in _PLAIN for item in items)


_PLAIN = (str, Point, float, np.float64, int, bool, type(None))


def _is_kept(choice: Any, kept: Sequence[object]) -> bool:
    """Whether what is known by its address lives as long as that is known."""
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
