"""A program with calls of other code in it, cut into stages: straight-line code alternates with the calls.

The level of a call is the length of the longest chain of dependent calls that ends with it. Stage k computes the
arguments of the calls of level k + 1; then these are made. Everything is computed as late as possible, and values that
later stages need from earlier ones are carried along in an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Operand, Program


@dataclass
class Stage:
    """Straight-line code, and the calls that follow it.

    The available arrays: the arguments, what earlier stages carried, and all results of all calls so far. Its program
    takes some of these; it returns what it carries on, and arguments of its calls, one after the other; that of the
    last stage returns results.
    """

    program: Program
    inputs: list[int]
    """The arrays that its program takes."""
    carried: list[int] = field(default_factory=list)
    """Values of the whole program that are in the array it gives."""
    calls: list[int] = field(default_factory=list)


def stages_of(program: Program, arguments: int, results: int) -> list[Stage]:
    """A program cut at its calls; it has so many arguments and results."""
    level = _levels(program)
    last = max(level.values(), default=0)
    stage_of = _latest(program, level, last)
    needed: list[set[int]] = [set() for _ in range(last + 2)]  # what is used in a stage
    for n in program.root.order:
        needed[stage_of[n]].update(x for x in program.operands[n] if type(x) is int)
    stages: list[Stage] = []
    order: list[int] = []  # the calls so far, whose results are arguments
    carried: list[int] = []
    for at in range(last + 1):
        stage = _Builder(program, at, arguments, carried, order)
        if at < last:
            later = set().union(*needed[at + 1 :])
            known = [n for n in program.root.order if stage_of[n] <= at and n in later]
            carried = [n for n in known if program.operations[n] not in ("load", "part", "call", "store")]
            calls = [n for n in program.root.order if program.operations[n] == "call" and level[n] == at + 1]
            stage.go_on(carried, calls)
            order += stage.stage.calls
        else:
            stage.finish(results)
        stages.append(stage.stage)
    return stages


def _levels(program: Program) -> dict[int, int]:
    level: dict[int, int] = {}
    for n in program.root.order:
        behind = max((level[x] for x in program.operands[n] if type(x) is int), default=0)
        level[n] = behind + (program.operations[n] == "call")
    return level


def _latest(program: Program, level: dict[int, int], last: int) -> dict[int, int]:
    """The stage of each instruction: for a call the one after which it is made, for others the first to need them."""
    stage: dict[int, int] = {}
    for n in reversed(program.root.order):
        operation = program.operations[n]
        own = level[n] - 1 if operation == "call" else min(stage.get(n, last), last)
        stage[n] = own
        for x in program.operands[n]:
            if type(x) is int:
                stage[x] = min(stage.get(x, last), own)
    for n in program.root.order:
        if program.operations[n] == "final":
            stage[n] = stage[program.operands[n][0]]
    return stage


class _Builder:
    """Writes the program of one stage, instructions as they are first needed."""

    def __init__(self, program: Program, at: int, arguments: int, carried: Sequence[int], calls: Sequence[int]) -> None:
        self.whole, self.results = program, 0
        self.stage = Stage(Program(), [] if at else list(range(arguments)))
        self.numbers: dict[int, Operand] = {}
        self.carried = {n: (arguments, k) for k, n in enumerate(carried)}
        self.parts: dict[int, list[tuple[int, int]]] = {}
        """Of each call, where each of its numbers is."""
        number = arguments + 1
        for n in calls:
            sizes = list(enumerate(program.details[n].result_sizes, number))
            self.parts[n] = [(array, k) for array, size in sizes for k in range(size)]
            number += len(sizes)

    def value(self, x: Operand) -> Operand:
        """An operand in this stage: computed here, or loaded from an earlier stage."""
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

    def _source(self, x: int) -> tuple[int, int]:
        """The array that a number comes in by, and its place there."""
        operation, detail = self.whole.operations[x], self.whole.details[x]
        if operation == "load":
            return int(detail.array.removeprefix("argument")), detail.offset
        return self.parts[self.whole.operands[x][0]][detail] if operation == "part" else self.carried[x]

    def _written(self, n: int) -> int:
        program = self.stage.program
        if self._comes_in(n):
            array, k = self._source(n)
            if array not in self.stage.inputs:
                self.stage.inputs.append(array)
            place = Address(f"argument{self.stage.inputs.index(array)}", k)
            return program.instruction(program.root, "load", (), place)
        operands = tuple(self.numbers[x] if type(x) is int else x for x in self.whole.operands[n])
        return program.instruction(program.root, self.whole.operations[n], operands, self.whole.details[n])

    def _store(self, values: Sequence[Operand]) -> None:
        """Have the program compute its next result."""
        program = self.stage.program
        for k, value in enumerate(values):
            program.instruction(program.root, "store", (self.value(value),), Address(f"result{self.results}", k))
        self.results += 1

    def go_on(self, carried: list[int], calls: list[int]) -> None:
        self.stage.carried, self.stage.calls = carried, calls
        self._store(carried)
        for n in calls:
            edges = accumulate(self.whole.details[n].argument_sizes, initial=0)
            for start, stop in pairwise(edges):
                self._store(self.whole.operands[n][start:stop])

    def finish(self, count: int) -> None:
        results: dict[str, dict[int, Operand]] = {f"result{k}": {} for k in range(count)}  # which may be empty
        for n in self.whole.root.order:
            if self.whole.operations[n] == "store":
                address = self.whole.details[n]
                results[address.array][address.offset] = self.whole.operands[n][0]
        for numbers in results.values():
            self._store([numbers[i] for i in range(len(numbers))])
