"""A traced program with calls of other code in it: straight code and these by turns, each over the whole batch.

What is computed for a mechanism of many bodies stays in loops: a trace has a "call" there instead of instructions. The
level of an instruction is how many calls, one behind the other, it must wait for. Stage k computes all that has level
k; then the calls of level k + 1 are made. What later stages need of earlier ones is carried along in an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.ir.passes import copied
from linkwork.engine.ir.program import Address, Operand, Program
from linkwork.engine.plans.plan import NOT_FINITE_RESULT, Array, Arrays, Found, Offsets, Plan, given_back
from linkwork.engine.plans.task import Callee, Shape, Task
from linkwork.engine.plans.traced import TracedTask

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Stage:
    """Straight code, and the calls that follow it.

    Its program takes the arguments, an array of what earlier stages carried, and the results of all calls so far; it
    gives what it carries on, and the arguments of its calls; the last stage gives the results.
    """

    program: Program
    carried: list[int] = field(default_factory=list)
    """Values of the whole program that are in the array it gives."""
    calls: list[int] = field(default_factory=list)


def stages_of(program: Program, arguments: int) -> list[Stage]:
    """A program cut at its calls; it has so many arguments."""
    level = _levels(program)
    last = max(level.values(), default=0)
    needed: list[set[int]] = [set() for _ in range(last + 2)]  # what is used at a level, or by the calls before it
    for n in program.root.order:
        at = level[n] if program.operations[n] not in ("store", "call") else last
        at = level[n] - 1 if program.operations[n] == "call" else at
        needed[at].update(x for x in program.operands[n] if type(x) is int)
    stages: list[Stage] = []
    order: list[int] = []  # the calls so far, whose results are arguments
    carried: list[int] = []
    for at in range(last + 1):
        stage = _Builder(program, level, at, arguments, carried, order)
        if at < last:
            later = set().union(*needed[at + 1 :])
            known = [n for n in program.root.order if level.get(n, 0) <= at and n in later]
            carried = [n for n in known if program.operations[n] not in ("load", "part", "call", "store")]
            stage.give(
                carried, [n for n in program.root.order if program.operations[n] == "call" and level[n] == at + 1]
            )
            order += stage.stage.calls
        else:
            stage.finish()
        stages.append(stage.stage)
    return stages


def shared(program: Program) -> Program:
    """A program without calls that nobody needs, or whose numbers another gives, too: derivatives give the values."""
    operations, operands, details = program.operations, program.operands, program.details
    behind: dict[int, set[int]] = {}  # the calls whose parts an instruction needs, without those that these need
    givers: dict[int, int] = {}

    def needs(call: int, other: int) -> bool:
        seen, todo = {call}, [call]
        while todo:
            before = {givers.get(each, each) for each in behind[todo.pop()]} - seen
            seen |= before
            todo += before
        return other in seen

    calls: list[int] = []
    for n in program.root.order:
        own = [behind[x] for x in operands[n] if type(x) is int]
        behind[n] = {operands[n][0]} if operations[n] == "part" else set().union(*own)
        if operations[n] != "call":
            continue
        for other in calls:
            same = operands[n][: len(operands[other])] == operands[other] and details[n].gives(details[other])
            if same and other not in givers and not needs(n, other):
                givers[other] = n
        calls.append(n)
    found = copied(program)
    for n in program.root.order:
        if operations[n] == "part":
            found.operands[n] = (givers.get(operands[n][0], operands[n][0]),)
    found.root.order = _needed_in_order(found)
    return found


def _needed_in_order(program: Program) -> list[int]:
    """What the stores of a program need, each instruction behind its operands, and the stores."""
    order: list[int] = []
    placed: set[int] = set()
    for store in (n for n in program.root.order if program.operations[n] == "store"):
        todo = [store]
        while todo:
            missing = [x for x in program.operands[todo[-1]] if type(x) is int and x not in placed]
            if missing:
                todo += missing
                continue
            n = todo.pop()
            if n not in placed:
                placed.add(n)
                order.append(n)
    return order


def _levels(program: Program) -> dict[int, int]:
    level: dict[int, int] = {}
    for n in program.root.order:
        behind = max((level[x] for x in program.operands[n] if type(x) is int), default=0)
        level[n] = behind + (program.operations[n] == "call")
    return level


class _Builder:
    """Writes the program of one stage, instructions as they are first needed."""

    def __init__(
        self,
        program: Program,
        level: dict[int, int],
        at: int,
        arguments: int,
        carried: Sequence[int],
        calls: Sequence[int],
    ) -> None:
        self.whole, self.level, self.at = program, level, at
        self.stage = Stage(Program())
        self.numbers: dict[int, Operand] = {}
        self.carried = {n: k for k, n in enumerate(carried)}
        self.array = f"argument{arguments}"
        self.calls = {n: f"argument{arguments + 1 + k}" for k, n in enumerate(calls)}

    def value(self, x: Operand) -> Operand:
        """An operand in this stage: computed here, or loaded from what comes from before."""
        if type(x) is not int:
            return x
        if x not in self.numbers:
            todo = [x]
            while todo:
                n = todo[-1]
                missing = [] if self._comes_in(n) else [y for y in self.whole.operands[n] if type(y) is int]
                missing = [y for y in missing if y not in self.numbers]
                if missing:
                    todo += missing
                else:
                    todo.pop()
                    if n not in self.numbers:
                        self.numbers[n] = self._written(n)
        return self.numbers[x]

    def _comes_in(self, n: int) -> bool:
        return n in self.carried or self.whole.operations[n] in ("load", "part")

    def _written(self, n: int) -> int:
        operation, detail = self.whole.operations[n], self.whole.details[n]
        if n in self.carried:
            operation, detail = "load", Address(self.array, self.carried[n])
        elif operation == "part":
            operation, detail = "load", Address(self.calls[self.whole.operands[n][0]], detail)
        operands = (
            ()
            if operation == "load"
            else tuple(self.numbers[x] if type(x) is int else x for x in self.whole.operands[n])
        )
        program = self.stage.program
        return program.instruction(program.root, operation, operands, detail)

    def _store(self, array: str, values: Sequence[Operand]) -> None:
        program = self.stage.program
        for k, value in enumerate(values):
            program.instruction(program.root, "store", (self.value(value),), Address(array, k))

    def give(self, carried: list[int], calls: list[int]) -> None:
        self.stage.carried, self.stage.calls = carried, calls
        self._store("result0", carried)
        for k, n in enumerate(calls, 1):
            self._store(f"result{k}", self.whole.operands[n])

    def finish(self) -> None:
        program = self.stage.program
        for n in self.whole.root.order:
            if self.whole.operations[n] == "store":
                operands = (self.value(self.whole.operands[n][0]),)
                program.instruction(program.root, "store", operands, self.whole.details[n])


class Staged(Plan):
    """Stages of straight code with calls between them; ``plan_of`` makes the plan of each."""

    task: TracedTask

    def __init__(
        self, task: TracedTask, straight: Callable[[TracedTask], Plan], called: Callable[[Task], Plan]
    ) -> None:
        super().__init__(task)
        self.straight, self.called = straight, called

    @cached_property
    def stages(self) -> list[tuple[Plan, list[tuple[Plan, Callee]]]]:
        """The plan of each stage, and those of its calls."""
        program, task = shared(self.task.program), self.task
        found: list[tuple[Plan, list[tuple[Plan, Callee]]]] = []
        shapes = [*task.argument_shapes, (0,)]
        cut = stages_of(program, len(task.argument_shapes))
        for stage in cut:
            callees: list[Callee] = [program.details[n] for n in stage.calls]
            results: list[Shape] = [(len(stage.carried),), *((len(program.operands[n]),) for n in stage.calls)]
            results = results if stage is not cut[-1] else task.shapes
            part = TracedTask(lambda own=stage.program: own, list(shapes), results)  # type: ignore[misc]
            calls = [(self.called(callee.task()), callee) for callee in callees]
            found.append((self.straight(part), calls))
            shapes[len(task.argument_shapes)] = (len(stage.carried),)
            shapes += [(sum(plan.task.results),) for plan, _ in calls]
        return found

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        values: list[Array] = [*arguments, np.empty((states, 0))]
        own, status, lost = len(arguments), 0, np.zeros(states, dtype=bool)
        for plan, calls in self.stages:
            results, here = plan.run(values, states)
            status |= _sound(results, here, lost)
            if not calls:
                for result in results:
                    result[lost] = np.nan
                return given_back(results, out), status
            values[own] = results[0]
            for (called, callee), numbers in zip(calls, results[1:], strict=True):
                edges = np.cumsum([0, *called.task.arguments])
                parts = [np.ascontiguousarray(numbers[:, a:b]) for a, b in pairwise(edges)]
                found, here = called.run(parts, states, callee.offsets)
                status |= _sound(found, here, lost)
                values.append(np.ascontiguousarray(np.concatenate(found, axis=1)))
        raise AssertionError("the last stage has no calls")


def _sound(results: list[Array], status: int, lost: NDArray[np.bool_]) -> int:
    """The status; states with numbers that are not finite are lost, and go on with zeros."""
    if status:
        for result in results:
            bad = ~np.isfinite(result).all(axis=1)
            lost |= bad
            result[bad] = 0.0
    return NOT_FINITE_RESULT if status else 0
