"""The path from a public function to the engine: arguments are checked once, then compiled or interpreted code runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.arguments import once
from linkwork.batches import Given, all_converted, as_out, first_not_finite, plain, rows_of, spread
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics.arguments import Array, Frames, PointSet, as_frames, as_given, check_model
from linkwork.engine import mode
from linkwork.engine.code import jit
from linkwork.engine.emit.packing import TOO_LARGE
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.plans.plan import NOT_FINITE
from linkwork.engine.plans.task import moved
from linkwork.engine.run.entries import Entry, Serve, entries_of, serving
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, LinkworkError, excuse
from linkwork.memory import memory_of_results
from linkwork.model.model import Frame, Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

_BLOCK = 2**14
"""Numbers of an array that are looked at together, which stay in a cache."""
_FEWER = "take fewer states at a time, or a smaller mechanism"


def call(
    algorithm: str | Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame] = (),
    offsets: Sequence[float] = (),
    table: dict[Any, Any] | None = None,
    out: Any = None,
    kept: tuple[int, ...] | None = None,
) -> list[Array]:
    """The results of an algorithm, or of the one in the catalogue with this name, for a public function's arguments.

    ``offsets`` shift the frames, three numbers each, without new code being compiled. The builtin that serves
    such a call directly is kept in ``table``. Results are written to ``out``, if given. ``kept`` are the rows, of
    six for each frame, to return; None for all.
    """
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[algorithm]
    serve = table.get(algorithm.name) if table and current_form() == "auto" else None
    answer = None if serve is None else serve(out, *all_converted(values, out))
    if answer is not None:
        return _listed(answer)
    if not any(SPACES[space].row_axes for space in algorithm.results):
        kept = None
    request = _Request(algorithm, model, frames, offsets, kept)
    return request.traced(values) if any(map(is_traced, values)) else request.checked(values, table, out, serve)


class _Request(NamedTuple):
    """What a call computes, without its values."""

    algorithm: Algorithm
    model: Model
    frames: Sequence[Frame]
    offsets: Sequence[float]
    kept: tuple[int, ...] | None

    def traced(self, values: Sequence[ArrayLike | None]) -> list[Array]:
        """The results as traced arrays."""
        from linkwork.dynamics.traced import traced_call  # tracing is imported late

        results, kept = traced_call(self.algorithm, self.model, values, self.frames, self.offsets), self.kept
        if kept is None:
            return results
        return [_rows(*each, kept) for each in zip(results, self.algorithm.results, strict=True)]

    def checked(
        self, values: Sequence[ArrayLike | None], table: dict[Any, Any] | None, out: Any, serve: Serve | None
    ) -> list[Array]:
        """The results for any arguments, or an error. ``serve`` takes them once they are arrays."""
        form = current_form()
        arguments, batch = self._as_given(values, finite=form == "interpreted")
        shapes = self._shapes(batch)
        targets = None if out is None else as_out(out, shapes, self._names, arguments, values)
        if 0 in batch:
            self._as_given(values, finite=True)
            return targets or [np.empty(shape) for shape in shapes]
        of = f"{self.algorithm.name} for {prod(batch):,} state(s) of {self.model.name!r}"
        with memory_of_results(of, 0.0 if targets else 8.0 * sum(map(prod, shapes)), _FEWER):
            answer = None if serve is None else _served(serve, out, arguments, batch)
            if answer is not None:
                return _listed(answer)
            plan, results = self._run(values, arguments, batch, targets)
        if table is not None and form == "auto":
            keep(self.algorithm.name, plan, table, "one" if prod(batch) == 1 else "batch", self.offsets)
        return targets or [each.reshape(shape) for each, shape in zip(results, shapes, strict=True)]

    @property
    def _names(self) -> list[str]:
        """Of the arguments."""
        return [name for name, _ in self.algorithm.arguments]

    def _shapes(self, batch: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Of the results."""
        frames, kept = len(self.frames), self.kept
        return [(*batch, *SPACES[space].kept_shape(self.model, frames, kept)) for space in self.algorithm.results]

    def _as_given(self, values: Sequence[ArrayLike | None], finite: bool) -> tuple[list[Given | None], tuple[int, ...]]:
        return as_given(self.model, self.algorithm.arguments, values, len(self.frames), finite)

    def _run(
        self, values: Sequence[Any], arguments: list[Given | None], batch: tuple[int, ...], targets: list[Array] | None
    ) -> tuple[Plan, list[Array]]:
        """The plan and its results, or an error if one is not finite."""
        states = prod(batch)
        absent = tuple(name for name, pair in zip(self._names, arguments, strict=True) if pair is None)
        rows = [rows_of(plain(*pair, batch), pair[1], states) for pair in arguments if pair is not None]
        into = None if targets is None else [target.reshape(states, -1) for target in targets]
        try:
            plan = function(
                self.algorithm, self.model, absent, self.frames, bool(self.offsets), current_form(), kept=self.kept
            )
            results, status = plan.run(rows, states, self.offsets, into)
        except (ZeroDivisionError, OverflowError):  # in a constant of the model, or for a single state
            raise self._explained(values, arguments, batch, []) from None
        if status & NOT_FINITE:
            raise self._explained(values, arguments, batch, results)
        if status == TOO_LARGE and not _stepping.get():
            from linkwork.dynamics.high_speeds import warn_of_lost_digits

            warn_of_lost_digits(self.algorithm, self.model, plan, rows, results[0].reshape(states, -1), batch)
        return plan, results

    def _explained(
        self, values: Sequence[Any], arguments: list[Given | None], batch: tuple[int, ...], results: list[Array]
    ) -> LinkworkError:
        """The error for a result that is not finite."""
        self._as_given(values, finite=True)  # report a non-finite argument first
        where = first_not_finite(results, batch)
        state = [None if pair is None else spread(*pair, batch)[where] for pair in arguments]
        from linkwork.dynamics.diagnosis import diagnose  # the interpreter is imported late

        return diagnose(self.algorithm, self.model, state, moved(self.frames, self.offsets))


def _served(serve: Serve, out: Any, arguments: list[Given | None], batch: tuple[int, ...]) -> Any:
    """The result by a builtin, unless it is one state for all of a batch."""
    present = [(plain(*pair, batch), pair[1]) for pair in arguments if pair is not None]
    if batch and all(array.ndim == axes for array, axes in present):
        return None
    return serve(out, *(array for array, _ in present))


def _listed(answer: Any) -> list[Array]:
    return list(answer) if isinstance(answer, tuple) else [answer]


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
    speeds = once(v).ravel()
    blocks = (speeds[k : k + _BLOCK] for k in range(0, speeds.size, _BLOCK))
    return any(max(float(block.max()), -float(block.min())) > most for block in blocks)


def _rows(result: Array, space: str, kept: tuple[int, ...]) -> Array:
    for axis in SPACES[space].row_axes:
        result = np.take(result, kept, axis=axis)
    return result


def keep(name: str, plan: Plan, table: dict[Any, Any], form: str, offsets: Sequence[float] = ()) -> None:
    """Let a builtin serve "one" state or a "batch" of plain arrays from now on."""
    count = len(plan.task.argument_shapes)

    def known() -> Entry | None:
        return next((entry for entry in entries_of(table.get(name)) if entry.arguments == count), None)

    entry = known()
    if entry is not None and form in entry.forms:
        return
    with jit.lock:  # one entry for the same arguments, and one chain of all, whichever threads make them
        entry = known()
        if entry is not None:
            if form not in entry.forms:
                plan.serve(entry, form, offsets)
        elif offsets and name not in table:
            table[name] = None  # points may move from call to call: these offsets may never recur
        elif (entry := plan.entry()) is not None:
            plan.serve(entry, form, offsets)
            table[name] = serving([*entries_of(table.get(name)), entry], mode.setting_of_calls())


# Public functions


def served(name: str, model: Model, out: Any, *values: ArrayLike | None) -> Any:
    """The result of an algorithm by its builtin, an array or several; None if there is none for these arguments."""
    if not isinstance(model, Model):
        check_model(model)
    serve = model._own_memo.quick.get(name)  # builtins serve nothing while a form is requested
    return None if serve is None else serve(out, *values)


def every(name: str, model: Model, out: Any, *values: ArrayLike | None) -> Any:
    """The result of an algorithm, an array or several; a trailing external force may be None."""
    answer = served(name, model, out, *values)
    if answer is not None:
        return answer
    absent = [None] * (len(ALGORITHMS[name].arguments) - len(values))
    return _answer(call(name, model, [*values, *absent], table=model._memo.quick, out=out), out)


def every_frames(name: str, model: Model, frames: Frames, out: Any, *values: ArrayLike, poses: str = "") -> Any:
    """The same for an algorithm of frames; of the six rows of each frame, those that its point asks for. ``poses`` is a
    function for which that must be all.
    """
    point_set = as_frames(model, frames)
    serve = point_set.quick.get(name)
    answer = None if serve is None else serve(out, *values)
    if answer is not None:
        return answer
    for point in point_set.points if poses else ():
        if point.axes != "pose":
            raise ArgumentError(f"{poses} gives six numbers a frame; point on {point.frame!r} asks for {point.axes!r}")
    return _answer(
        call(name, model, values, point_set.frames, point_set.offsets, point_set.quick, out, point_set.kept), out
    )


def _answer(results: list[Array], out: Any) -> Any:
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def recall(table: dict[Any, Any], choices: tuple[Any, ...], out: Any, *values: ArrayLike) -> Any:
    """The result of code that a call with the same choices left in a table; None if there is none for these arguments.
    Of a number, its class is a choice, too: 1, 1.0 and True are equal.
    """
    try:
        code = table.get(choices)
    except Exception as error:  # anything that the comparison of a choice raises
        excuse(error)
        return None
    if code is None:
        return None
    law, fixed = code
    answer = law.quick(out, *values, *fixed)
    return law.converted(out, *values, *fixed) if answer is None else answer


def serve_by(
    law: CompiledFunction,
    table: dict[Any, Any],
    choices: tuple[Any, ...],
    fixed: Sequence[Array],
    out: Any,
    *values: Any,
) -> Any:
    """The result of a kernel for plain arrays, which ``recall`` returns from now on, or for what converts to them; or
    None. The kernel's ``fixed`` arguments follow those of the call.
    """
    if all(type(choice) in _PLAIN for choice in choices):
        if len(table) >= _MOST_CODES:  # choices that change from call to call
            table.clear()
        table[choices] = law, fixed
    return law.served(out, *values, *fixed)


def kernel_at(
    point_set: PointSet, name: str, text: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]],
    results: Sequence[tuple[int, ...]], *what: object, **options: Any,
) -> CompiledFunction:  # fmt: skip
    """The kernel of ``text(offsets, **values)`` at points, shared by points that differ only in their offsets, which
    are the last argument, ``point_set.fixed``, if there are any.
    """
    from linkwork.compiled.law import law

    laws, key = point_set.model._memo.laws, (name, point_set.frames, bool(point_set.offsets), *what)
    if key not in laws:

        def whole(offsets: Any = (), **values: Any) -> Any:
            return text(numbers(offsets).tolist(), **values)

        last = {"offsets": (len(point_set.offsets),)} if point_set.offsets else {}
        laws[key] = law(name, whole, {**shapes, **last}, results, point_set.model, point_set.frames, *what, **options)
    kernel: CompiledFunction = laws[key]
    return kernel


_MOST_CODES = 1000
_PLAIN = (str, bytes, float, np.float64, int, bool, type(None), type)
"""Classes of choices whose equal values are interchangeable."""
