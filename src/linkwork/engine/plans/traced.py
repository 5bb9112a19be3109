"""Programs traced from a text over whole arrays: a user's function, a control law, a time step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine import optimisations
from linkwork.engine.code import fingerprint
from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.plan import Array, Arrays, Compiled
from linkwork.engine.plans.straight_line import Source
from linkwork.engine.plans.task import Shape, Signature
from linkwork.engine.trace.tracer import TooLong
from linkwork.model.memo import requested, requesting
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.engine.emit.sparing import Spared
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.callee import Callee

_SHORTER = 0.9
"""The fraction of a program's length below which a variant for usual numbers is worth its own code."""
_SECONDS = 0.4e-9
"""Roughly what an instruction takes on one lane."""
_gives_up: ContextVar[bool] = ContextVar("linkwork_gives_up", default=False)


@contextmanager
def giving_up(first: bool = True) -> Iterator[None]:
    """Traces inside end with ``TooLong`` where they are not worth ending, if this is the ``first`` of two: the next one
    calls code with loops.
    """
    token = _gives_up.set(first)
    try:
        yield
    finally:
        _gives_up.reset(token)


def gives_up() -> bool:
    """Whether traces end where they are not worth ending."""
    return _gives_up.get()


class TracedTask(Signature):
    """A program, whose arrays are "argument0", ... and "result0", ...

    Args:
        trace: makes the program in the form that is requested, sine and the like as one instruction each; it is called
            when it is first needed, and once more if what it makes is too long: then for code with loops.
        argument_shapes: of one state.
        shapes: of the results.
        identity: what the program follows from, if code can be found by that without tracing.
        seconds: what one state takes on one lane, roughly; by the program's length if left out.
        over_time: whether it is a step, which code repeats.
        recorded: how many arrays of such a step's state are recorded, the first ones; all if left out.
        observed: how many of its results are no state, but observations of the state in which it begins, the last ones.
        often: numbers of arguments, by array and place, that are often these: where all those of the first arrays are
            in all states of a tile, they are folded into the code that runs.
        branches: makes the program for a mechanism with isomorphic branches, with the same instructions for these, all
            of it arithmetic; None where there are none.
        first: whether it may be traced once more.
    """

    def __init__(
        self,
        trace: Callable[[], Program],
        argument_shapes: Sequence[Shape],
        shapes: Sequence[Shape],
        identity: str | None = None,
        seconds: float | None = None,
        over_time: bool = False,
        recorded: int | None = None,
        observed: int = 0,
        often: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
        branches: Callable[[], Program] | None = None,
        first: bool = True,
    ) -> None:
        self._trace, self._identity, self.often = trace, identity, often
        self.recorded, self.observed, self.interpreted = recorded, observed, 0
        self.branches, self.first, self._given_up, self._given_seconds = branches, first, False, seconds
        self.form = requested.get()
        """The form that is requested of what it calls, or empty: then it may be traced once more."""
        super().__init__(argument_shapes, shapes, 0.0, over_time)
        self.seconds = _SECONDS * max(100, len(self.any_program.operations)) if seconds is None else seconds

    @cached_property
    def program(self) -> Program:
        """Raises ``TooLong`` if the trace is not worth ending."""
        try:
            if self._given_up:
                raise TooLong
            with requesting(self.form), giving_up(gives_up() or not self.form):
                return self._trace()
        except TooLong:
            self._given_up = True
            raise

    @property
    def any_program(self) -> Program:
        """The program, with calls of code with loops if that is requested, or a trace without not worth ending."""
        if requested.get() == "rolled" and self.first:
            return self.in_loops.program
        try:
            return self.program
        except TooLong:
            if not self.first:
                raise
            return self.in_loops.program

    @cached_property
    def in_loops(self) -> TracedTask:
        """The same with calls of code with loops, whatever the number of bodies."""

        def again() -> Program:
            with requesting("rolled"), giving_up(not self._given_up):
                return self._trace()

        return TracedTask(
            again, self.argument_shapes, self.shapes, None, self._given_seconds, self.over_time, self.recorded,
            self.observed, self.often, first=False,
        )  # fmt: skip

    @property
    def operations(self) -> set[str]:
        """The operations of the program, if it had to be traced already; one found without tracing has no calls."""
        return set() if self.found_without_tracing else set(self.program.operations)

    @property
    def found_without_tracing(self) -> bool:
        """Whether code can be found before the program has been traced."""
        return self._identity is not None

    @property
    def identity(self) -> str:
        return self._identity or fingerprint.of_program(self.program)


class Traced(Source):
    """The program of a traced task, which may call code with loops."""

    def __init__(self, task: TracedTask, callees: Mapping[Callee, Compiled] = MappingProxyType({})) -> None:
        self.task, self.callees = task, dict(callees)
        called = tuple(plan.called(callee) for callee, plan in self.callees.items())
        self.interface = Interface(
            tuple(task.arguments), tuple(task.results), recorded=task.recorded, observed=task.observed, called=called
        )

    @cached_property
    def program(self) -> Program:
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.ir.shared_calls import share_calls
        from linkwork.engine.trace.replay import expanded

        program = expanded(self.task.program)
        return schedule(share_calls(program) if self.callees else program)

    @property
    def abreast(self) -> bool:
        return optimisations.on("packing") and self.task.branches is not None and not self.callees

    @property
    def one_state_program(self) -> Program:
        """The program for one state, in which isomorphic branches take the lanes if it is shorter so."""
        if self.task.branches is None or self.callees or not optimisations.on("packing"):
            return self.program
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.ir.program import length
        from linkwork.engine.trace.superword import can_be_packed, doubtful, pack_isomorphic, told_by_results

        if not can_be_packed(self.program):
            return self.program
        narrow = self.task.branches()
        doubts = doubtful(narrow)
        if doubts is None:
            return self.program
        narrow = schedule(told_by_results(narrow, doubts))
        wide = pack_isomorphic(narrow, narrow.seeds)
        return wide if length(wide) < _SHORTER * length(self.program) else self.program

    @cached_property
    def spared(self) -> Sequence[Spared]:
        """Variants for usual numbers, the shortest first: each assumes one more array than the next to have them, if
        that makes it shorter by enough to pay for its code.
        """
        if not self.task.often or not optimisations.on("variants"):
            return ()
        from linkwork.engine.emit.sparing import Spared
        from linkwork.engine.ir.passes import schedule
        from linkwork.engine.ir.program import length
        from linkwork.engine.trace.replay import expanded

        found: list[Spared] = []
        taken, lengths = dict[str, Mapping[int, float]](), [length(self.program)]
        for array, own in self.task.often.items():
            try:
                program = schedule(expanded(self.task.program, taken | {array: own}))
            except ZeroDivisionError:  # by something that is zero then
                continue
            shorter = length(program)
            if shorter < _SHORTER * lengths[-1] and within("traced", shorter + sum(lengths)):
                taken, lengths = taken | {array: own}, [*lengths, shorter]
                found.insert(0, Spared(program, taken))
        return found

    @property
    def identity(self) -> tuple[object, ...]:
        return (
            "traced",
            self.interface,
            self.task.identity,
            self.abreast,  # a program alone does not tell
            [(array, list(own.items())) for array, own in self.task.often.items()],
        )

    @property
    def least(self) -> int:
        from linkwork.engine.ir.passes import needed

        return 0 if self.task.found_without_tracing else needed(self.task.program)


def evaluated(
    program: Program,
    task: Signature,
    arguments: Arrays,
    states: int,
    tables: Mapping[str, MutableSequence[Any]] = MappingProxyType({}),
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> list[Array]:
    """The evaluator's results for a batch; ``tables`` are arrays besides arguments and results."""
    from linkwork.engine.ir.evaluator import run

    arrays: dict[str, MutableSequence[Any]] = dict(tables)
    for k, array in enumerate(arguments):
        rows = np.ascontiguousarray(array.T)
        arrays[f"argument{k}"] = rows[:, 0].tolist() if states == 1 else list(rows)
    for k, count in enumerate(task.results):
        arrays[f"result{k}"] = [0.0] * count
    run(program, arrays, sizes)
    found: list[Array] = []
    for k, count in enumerate(task.results):
        result = np.empty((states, count))
        for i, number in enumerate(arrays[f"result{k}"]):
            result[:, i] = number
        result += 0.0  # clears the sign of zeros
        found.append(result)
    return found
