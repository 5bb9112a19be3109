"""A traced program called with arrays."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter, Signature
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import Array, all_finite, array
from linkwork.batches import FLOAT64, Given, all_converted, as_out, broadcast, leading_axes, plain, rows_of
from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.compiled.results import Structure, laying_flat, names_of, putting_together
from linkwork.compiled.tracing import Shape
from linkwork.engine.code import fingerprint, jit
from linkwork.engine.ir.program import Program, calls, count, text
from linkwork.engine.mode import current_form, setting_of_calls
from linkwork.engine.plans import Plan, TracedTask, code_for_trace, plan_for_trace, short_plan
from linkwork.engine.run.entries import Entry, Serve, serving
from linkwork.engine.trace.replay import replay
from linkwork.errors import ArgumentError, LinkworkError, SingularError, TracingError, excuse
from linkwork.memory import memory_of_results
from linkwork.model.model import Model
from linkwork.properties import cached_property
from linkwork.unsolved import unsolved

_FEWER = "take fewer states at a time"


class CompiledFunction:
    """What ``lw.compile`` returns: called with arrays, with any leading (batch) axes, over threads.

    Results have the same bits alone, in any batch, and on any number of threads. It can be pickled, as its trace.

    Attributes:
        name: of the function.
        shapes: of each argument for one state, by its name.
        result_shapes: of the arrays that it returns, in order.
    """

    def __init__(
        self,
        name: str,
        shapes: Mapping[str, Shape],
        trace: Callable[[], Program],
        structure: Structure,
        result_shapes: Sequence[Shape],
        identity: str | None = None,
        seconds: float | None = None,
        configurations: Mapping[str, Model] | None = None,
        often: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
        function: Callable[..., Any] | None = None,
        branches: Callable[[], Program] | None = None,
        planned: Callable[[TracedTask], Plan] | None = None,
    ) -> None:
        """``trace`` returns the program when it is first needed; ``identity`` is what the program depends on, if code
        can be found without tracing, and ``seconds`` roughly what one state takes on one lane. ``configurations`` are
        arguments that are configurations of models; ``often`` has the usual values of numbers of arguments, by name and
        place. The ``function`` that was traced is called to explain why a result does not exist. ``branches`` returns
        the program of a mechanism that has isomorphic branches, with the same instructions for these. ``planned`` makes
        the plan while no form is requested, if the program is too long for code of its own.
        """
        self._planned, self._function = planned, function
        self.configurations = dict(configurations or {})
        self.name, self.shapes, self.result_shapes = name, dict(shapes), list(result_shapes)
        self.__name__ = name
        self._structure, self._names = structure, list(shapes)
        usual = {f"argument{self._names.index(key)}": own for key, own in often.items()}
        arguments = list(self.shapes.values())
        self._task = TracedTask(trace, arguments, self.result_shapes, identity, seconds, often=usual, branches=branches)
        self.straight = partial(code_for_trace, self._task)  # a plan of machine code, however long
        self._plans: dict[str, Plan] = {}
        self._entry: Entry | None = None
        self.quick: Serve = _nothing
        """(out, arguments...): serves plain arrays, results in a tuple if there are several; None for all else."""
        with suppress(ValueError):  # names that only a dict can hold
            self.__signature__ = Signature([
                *(Parameter(key, Parameter.POSITIONAL_OR_KEYWORD) for key in self._names),
                Parameter("out", Parameter.KEYWORD_ONLY, default=None),
            ])  # fmt: skip

    def __call__(self, /, *arguments: ArrayLike, out: Any = None, **named: ArrayLike) -> Any:
        values = arguments
        if named:
            in_order = not arguments and [*named] == self._names
            values = tuple(named.values()) if in_order else self._bound(arguments, named)
        into = out if out is None or self._flat else self._into(out)
        answer = self.quick(into, *values)
        if answer is None:
            answer = self.converted(into, *values)
        if answer is not None:
            return out if out is not None else answer if self._flat else self._whole(answer)
        if any(map(is_traced, values)):
            return self._inner(values, out)
        leaves, batch, fine = self.attempt(values, out)
        if not fine.all():
            raise self._not_finite(values, leaves, batch)
        return out if out is not None else self._result(tuple(leaves))

    def served(self, out: Any, *values: Any) -> Any:
        """The result of ``quick``, with numbers, lists and other arrays converted first."""
        answer = self.quick(out, *values)
        return self.converted(out, *values) if answer is None else answer

    def converted(self, out: Any, *values: Any) -> Any:
        """The result of ``quick`` for values that it did not take as they are; None if there is nothing to convert."""
        if self.quick is _nothing:
            return None
        plain = all_converted(values, out)
        same = all(new is old or type(old) is float for new, old in zip(plain, values, strict=True))
        return None if same else self.quick(out, *plain)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        return f"<compiled function {self.name}({shown}) -> {', '.join(map(str, self.result_shapes))}>"

    def __reduce__(self) -> Any:
        program = self._plan(current_form()).task.any_program  # type: ignore[attr-defined]
        parts = (self.name, self.shapes, program, self._structure, self.result_shapes, self.configurations)
        return _restored, parts

    @property
    def program(self) -> Program:
        """The intermediate code."""
        return self._task.any_program

    @property
    def nested(self) -> bool:
        """Whether its arrays come in a tuple, list or dict, be it of one."""
        return self._structure is not None

    @property
    def task(self) -> TracedTask:
        """What is computed, for any plan."""
        return self._task

    @property
    def plan(self) -> Plan:
        """How it runs while no form is requested."""
        return self._plan("auto")

    @property
    def entry(self) -> Entry | None:
        """The entry by which one state of plain arrays is served; None until there is one."""
        return self._entry if self._entry is not None and "one" in self._entry.forms else None

    @cached_property
    def digest(self) -> str:
        """Of the intermediate code: the same for functions that compute the same."""
        return fingerprint.of_program(self.program)

    @cached_property
    def fits(self) -> bool:
        """Whether the program is short enough for machine code."""
        if (plan := short_plan(self._task)) is not None:
            self._plans.setdefault("auto", plan)
        return plan is not None

    @cached_property
    def has_loops(self) -> bool:
        """Whether it calls code that has loops, of a mechanism of many bodies."""
        return bool(calls(self.program))

    def count(self) -> Counter[str]:
        """How often each operation is done for one state; sine and the like count one each, and what is repeated counts
        once. What code with loops over bodies does is counted body by body; its derivatives, and those of more than
        1,000 bodies, are one "call" each.

        Example:
            >>> import linkwork as lw
            >>> dict(lw.compile(lambda x: x @ x, x=2).count())
            {'mul': 2, 'add': 1}
        """
        return sum((callee.count() for callee in calls(self.program)), count(self.program))

    def text(self) -> str:
        """The intermediate code, to read: one instruction a line.

        Example:
            >>> import linkwork as lw
            >>> print(lw.compile(lambda x: 2.0 * x, x=()).text(), end="")
            %0 = load argument0[0]
            %1 = mul %0, 2.0
            result0[0] = %1
        """
        return text(self.program)

    def attempt(self, values: Sequence[Any], out: Any = None) -> tuple[list[Array], tuple[int, ...], NDArray[np.bool_]]:
        """The arrays of the result, those of ``out`` if that is given; the leading axes; and for which states (flat)
        all of it is finite.
        """
        form = current_form()
        given, batch = self._given(values, finite=form == "interpreted")
        shapes = [(*batch, *shape) for shape in self.result_shapes]
        targets = None if out is None else as_out(self._into(out), shapes, self._names, given, values)
        states = prod(batch)
        if not states:
            self._given(values, finite=True)
            return targets or [np.empty(shape) for shape in shapes], batch, np.ones(0, dtype=bool)
        found, status = self._rows(form, given, batch, targets)
        fine = np.ones(states, dtype=bool)
        if status:
            self._given(values, finite=True)  # a non-finite argument is reported first
            for result in found:
                fine &= np.isfinite(result).all(axis=1)
        return [result.reshape(shape) for result, shape in zip(found, shapes, strict=True)], batch, fine

    def _rows(
        self, form: str, given: Sequence[Given], batch: tuple[int, ...], targets: Sequence[Array] | None
    ) -> tuple[Sequence[Array], int]:
        """Each array of the result, a row for each state, and the status of the code; it serves the next call."""
        states = prod(batch)
        needed = 8.0 * states * sum(map(prod, self.result_shapes)) if targets is None else 0.0
        with memory_of_results(f"{self.name} for {states:,} state(s)", needed, _FEWER):
            rows = [rows_of(plain(*each, batch), each[1], states) for each in given]
            plan = self._plan(form)
            into = None if targets is None else [target.reshape(states, -1) for target in targets]
            found, status = plan.run(rows, states, out=into)
        if form == "auto" and not status:
            self._serve(plan, "one" if states == 1 else "batch")
        return found, status

    # Arguments

    def _bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order."""
        rest = self._names[len(arguments) :]
        try:
            values = *arguments, *map(named.__getitem__, rest)
        except KeyError:  # reported below
            values = ()
        if len(values) == len(arguments) + len(named):
            return values
        for key in named:
            if key not in rest:
                wrong = "is given twice" if key in self._names else "is no argument"
                raise ArgumentError(f"{self.name}: {key!r} {wrong}; it takes {', '.join(self._names)}")
        missing = next(key for key in rest if key not in named)
        raise ArgumentError(f"{self.name}: {missing!r} is missing; it takes {', '.join(self._names)}")

    def _given(self, values: Sequence[Any], finite: bool) -> tuple[list[Given], tuple[int, ...]]:
        if len(values) != len(self._names):
            takes = f"{len(self._names)} argument(s) ({', '.join(self._names)})"
            raise ArgumentError(f"{self.name} takes {takes}, not {len(values)}")
        given, axes = list[Given](), list[tuple[int, ...]]()
        for (key, shape), value in zip(self.shapes.items(), values, strict=True):
            plain_array = type(value) is np.ndarray and value.dtype is FLOAT64
            found: Array = value if plain_array else array(f"{key} of {self.name}", value, shape)
            axes.append(leading_axes(f"{key} of {self.name}", found, shape))
            if finite and not all_finite(found):
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
                at = f"[{', '.join(map(str, where))}]" if where else ""
                raise ArgumentError(f"{key}{at} of {self.name} is {found[where]}; it must be finite")
            given.append((found, len(shape)))
        return given, broadcast(self._names, axes)

    # Results

    @cached_property
    def _flat(self) -> bool:
        """Whether a result is an array, or a tuple of arrays, as code serves it."""
        return self._structure is None or (
            self._structure[0] is tuple and len(self.result_shapes) > 1 and not any(self._structure[1])
        )

    @cached_property
    def _result(self) -> Callable[[tuple[Any, ...]], Any]:
        """Builds a result from its arrays."""
        return putting_together(self._structure)

    @cached_property
    def _whole(self) -> Callable[[Any], Any]:
        """The same, from what code serves: a tuple of several arrays, or one."""
        result = self._result
        return result if len(self.result_shapes) > 1 else lambda leaf: result((leaf,))

    @cached_property
    def _into(self) -> Callable[[Any], Any]:
        """Turns an ``out`` into a tuple of several arrays, or one."""
        flat = laying_flat(self._structure)

        def only(out: Any) -> Any:
            (leaf,) = flat(out)
            if leaf is None:  # which would mean that there is no out
                raise ArgumentError("out must have a float64 array where the function returns one, not None")
            return leaf

        return flat if len(self.result_shapes) > 1 else only

    def _not_finite(self, values: Sequence[Any], leaves: Sequence[Array], batch: tuple[int, ...]) -> SingularError:
        axes = len(batch)
        for which, leaf in zip(names_of(self._structure, "the result"), leaves, strict=True):
            bad = np.argwhere(~np.isfinite(leaf))
            if len(bad):
                where = tuple(int(i) for i in bad[0])
                at = f"[{', '.join(map(str, where[axes:]))}]" if where[axes:] else ""
                state = f" at state {list(where[:axes])} of the batch" if axes else ""
                why = self._said_of(values, batch, where[:axes])
                return SingularError(f"{self.name}: {which}{at} is {leaf[where]}{state}; it must be finite. {why}")
        return SingularError(f"{self.name}: the result is not finite")

    def _said_of(self, values: Sequence[Any], batch: tuple[int, ...], state: tuple[int, ...]) -> str:
        """The problem that a solver gives up in a state, or the error of ours that the function raises."""
        given = {
            key: np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (*batch, *shape))[state])
            for (key, shape), value in zip(self.shapes.items(), values, strict=True)
        }
        with unsolved() as problems, np.errstate(all="ignore"):
            self._plan("interpreted").run([row.reshape(1, -1) for row in given.values()], 1)
        if problems:
            return f"On the way {', and '.join(problems)}"
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _ = None if self._function is None else self._function(**given)
        except LinkworkError as error:
            return f"Called with arrays, it says: {error}"
        except Exception as error:  # whatever a user's function raises
            excuse(error)
        return "An argument is too large, or an operation on the way has no result for it"

    # Plans

    def _plan(self, form: str) -> Plan:
        found = self._plans.get(form)
        if found is None:  # or another thread has found it by now: all must use one, whose memory serves one call
            own = self._planned if form == "auto" else None
            made = plan_for_trace(self._task, self.name, form) if own is None else own(self._task)
            found = self._plans.setdefault(form, made)
        return found

    def _serve(self, plan: Plan, form: str) -> None:
        """From now on plain arrays are served without these checks."""
        with jit.lock:  # one entry, whichever thread makes it
            if self._entry is None and (entry := plan.entry()) is not None:
                self._entry, self.quick = entry, serving([entry], setting_of_calls())
            if self._entry is not None and form not in self._entry.forms:
                plan.serve(self._entry, form)

    # While another function is traced

    def _inner(self, values: Sequence[Any], out: Any) -> Any:
        """The result for traced arrays: its instructions become part of what is being traced."""
        if out is not None:
            raise TracingError(f"{self.name}(out=...) cannot be traced; assign the result")
        if len(values) != len(self._names):
            raise ArgumentError(f"{self.name} takes {len(self._names)} argument(s), not {len(values)}")
        given = [(numbers(value), shape) for value, shape in zip(values, self.shapes.values(), strict=True)]
        axes = [leading_axes(f"{key} of {self.name}", *each) for key, each in zip(self._names, given, strict=True)]
        batch = broadcast(self._names, axes)
        rows = [np.broadcast_to(x, (*batch, *shape)).reshape((*batch, prod(shape))) for x, shape in given]
        leaves = [np.empty((*batch, prod(shape)), dtype=object) for shape in self.result_shapes]
        for state in np.ndindex(*batch):
            flat = [each[state].tolist() for each in rows]
            for leaf, result in zip(leaves, replay(self.program, flat, len(leaves)), strict=True):
                leaf[state] = result
        whole = (leaf.reshape((*batch, *shape)) for leaf, shape in zip(leaves, self.result_shapes, strict=True))
        return self._result(tuple(map(traced, whole)))


def _restored(
    name: str,
    shapes: dict[str, Shape],
    program: Program,
    structure: Structure,
    results: list[Shape],
    configurations: dict[str, Model],
) -> CompiledFunction:
    return CompiledFunction(name, shapes, lambda: program, structure, results, configurations=configurations)


def _nothing(*_: object) -> None:
    return None
