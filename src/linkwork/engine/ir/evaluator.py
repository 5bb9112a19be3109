"""The executable definition of the intermediate code: a plain evaluator.

The semantics of a program are what happens here over floats. Machine code must give the same bits; tests compare the
two. The elements of arrays may be other scalars as well: NumPy arrays (a batch of states, with the same bits), mpmath
numbers, or values that are being traced (see ``trace.replay``). Other code that is called says how it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from functools import wraps
from math import nan
from typing import Any

import numpy as np

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Cell, Fold, Keep, Loop, Map, Operand, Program, Repeat, Rows, Subroutine
from linkwork.spatial.elementary import OPERATIONS
from linkwork.spatial.functions import (
    divide,
    exponent,
    mantissa,
    pow2,
    quadrant_cos,
    quadrant_sin,
    sqrt,
    where_less,
)
from linkwork.unsolved import note_unsolved

Kept = dict[Rows, list[tuple[Any, list[Any]]]]
"""Rows that were kept, each with the flag for the states that have it."""


def run(
    program: Program,
    arrays: Mapping[str, MutableSequence[Any]],
    sizes: Mapping[str, int] | None = None,
    kept: Kept | None = None,
) -> None:
    """Run a program over arrays given by name: arguments are read, results and work written in place.

    An element of an array is a float, or any other scalar; results of a batch go into a list or an array with the
    states last. ``kept`` are rows of the program around this one.
    """
    with np.errstate(all="ignore"):
        Run(program, arrays, sizes, kept).block(program.root)


class Run:
    """A run of a program, instruction by instruction: their ``values`` so far."""

    def __init__(
        self,
        program: Program,
        arrays: Mapping[str, MutableSequence[Any]],
        sizes: Mapping[str, int] | None = None,
        kept: Kept | None = None,
    ) -> None:
        self.program, self.arrays, self.sizes = program, arrays, sizes or {}
        self.kept: Kept = {} if kept is None else kept
        self.values: dict[int, Any] = {}

    def block(self, block: Block) -> None:
        for n in block.order:
            self.instruction(n)

    def instruction(self, n: int) -> None:
        operation = self.program.operations[n]
        operands = [self.value(x) for x in self.program.operands[n]]
        if operation in WITH_PROGRAM:
            self.values[n] = WITH_PROGRAM[operation](self.program.details[n], operands, self.kept)
        elif operation not in ARITHMETIC:
            self.values[n] = _OTHER[operation](self, n, operands)
        elif self.program.widths[n] > 1:
            self.values[n] = tuple(map(ARITHMETIC[operation], *operands))
        else:
            self.values[n] = ARITHMETIC[operation](*operands)

    def load(self, n: int, _: Sequence[Any]) -> Any:
        array, element = self.element(self.program.details[n])
        found = [array[element + k] for k in range(self.program.widths[n])]
        numbers = [float(x) if isinstance(x, float | int | np.number) else x for x in found]
        return tuple(numbers) if len(numbers) > 1 else numbers[0]

    def store(self, n: int, operands: Sequence[Any]) -> None:
        array, element = self.element(self.program.details[n])
        for k, x in enumerate(operands[0] if self.program.widths[n] > 1 else operands):
            array[element + k] = x

    def numbered(self, n: int, operands: Sequence[Any]) -> Any:
        """One of several numbers."""
        several, number = operands[0], self.program.details[n]
        return several.part(number) if hasattr(several, "part") else several[number]

    def gather(self, n: int, operands: Sequence[Any]) -> Any:
        """A number of a row."""
        cell: Cell = self.program.details[n]
        (row,) = operands
        return row.gathered(cell) if hasattr(row, "gathered") else self.arrays[cell.array][_place(cell, row)]

    def scatter(self, n: int, operands: Sequence[Any]) -> None:
        """Add to a number of a row."""
        cell: Cell = self.program.details[n]
        row, value = operands
        if hasattr(row, "gathered"):
            row.scattered(cell, value)
            return
        array, place = self.arrays[cell.array], _place(cell, row)
        array[place] = array[place] + value

    def value(self, x: Operand) -> Any:
        return self.values[x] if type(x) is int else x

    def size(self, x: int | str) -> int:
        return self.sizes[x] if isinstance(x, str) else x

    def affine(self, address: Address) -> int:
        total = address.offset
        for index, stride in address.terms:  # a negative index stands for the integer 1
            total += self.size(stride) * (self.values[index] if index >= 0 else 1)
        return total

    def element(self, address: Address) -> tuple[MutableSequence[Any], int]:
        element = self.affine(address)  # groups are of one: ``lane`` is always 0 here
        if element < 0:
            raise IndexError(f"{address} is at {element}")
        return self.arrays[address.array], element

    def integer(self, address: Address) -> int:
        array, element = self.element(address)
        return int(array[element])

    def loop(self, loop: Loop) -> None:
        cases = dict(loop.cases)
        cases |= {kind: cases[first] for kind, first in loop.same.items()}
        for counter in self.iterations(loop):
            self.values[loop.counter] = counter
            kind = loop.cases[0][0] if loop.kind is None else self.integer(loop.kind)
            if kind in cases:
                self.block(cases[kind])

    def iterations(self, loop: Loop) -> Iterator[int]:
        if loop.walk == "climb":
            counter: int = self.values[loop.start]  # type: ignore[index]
            stop = 0 if loop.stop is None else self.values[loop.stop]
            while counter != stop:
                yield counter
                counter = self.integer(loop.successor)  # type: ignore[arg-type]
        elif loop.start is not None and loop.stop is not None:
            yield from range(self.values[loop.start], self.values[loop.stop])
        else:
            end = loop.start if loop.walk == "down" else loop.stop
            last: int = self.size(loop.last) if end is None else self.values[end]
            up = range(self.size(loop.first), last + 1)
            yield from reversed(up) if loop.walk == "down" else up


def in_trace(method: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Of a function of a detail, operands and maybe rows: if an operand is being traced, this method of it writes the
    instruction into that trace instead.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def either(what: Any, operands: Sequence[Any], *kept: Kept | None) -> Any:
            for x in operands:
                if hasattr(x, method):
                    return getattr(x, method)(what, operands)
            return function(what, operands, *kept)

        return either

    return decorated


@in_trace("called")
def called(what: Any, operands: Sequence[Any]) -> Any:
    """The results of other code, one list."""
    return what.evaluated(operands)


@in_trace("repeated")
def repeated(what: Repeat, operands: Sequence[Any], kept: Kept | None = None) -> Sequence[Any]:
    """The final state of a repeat."""
    state, given = list(operands[: what.state]), list(operands[what.state :])
    going: Any = 1.0
    for _ in range(what.most):
        new, (again,) = _results(what.program, [state, given], [what.state, 1], kept)
        state = _where(going, new, state)
        going = where_less(0.5, going, again, 0.0)
        if not np.any(np.less(0.5, going)):
            break
    else:
        if not what.may_stop:
            left = np.less(0.5, going)
            for x in state:  # what is not finite is no fault of the solver
                left = left & np.equal(x, x)
            if np.any(left):
                note_unsolved(what.name, what.most)
            state = _where(going, [nan] * what.state, state)
    return state


@in_trace("used")
def used(what: Subroutine, operands: Sequence[Any], kept: Kept | None = None) -> Sequence[Any]:
    """The results of a subroutine."""
    return _results(what.program, [list(operands)], [what.state], kept)[0]


@in_trace("kept")
def keep(what: Keep, operands: Sequence[Any], kept: Kept) -> None:
    """Keep a row, if some state has it."""
    if what.first:
        kept[what.rows] = []
    flag, *numbers = operands
    if np.any(np.less(0.5, flag)):
        kept[what.rows].append((flag, numbers))


@in_trace("mapped")
def mapped(what: Map, operands: Sequence[Any], kept: Kept) -> None:
    """Rows mapped from others."""
    if what.first:
        kept[what.target] = []
    for flag, numbers in kept[what.source]:
        ((also, *made),) = _results(what.program, [numbers, operands], [1 + what.target.width])
        both = where_less(0.5, flag, where_less(0.5, also, 1.0, 0.0), 0.0)
        if np.any(np.less(0.5, both)):
            kept[what.target].append((both, made))


@in_trace("folded")
def folded(what: Fold, operands: Sequence[Any], kept: Kept) -> Sequence[Any]:
    """The state that all rows were folded into."""
    state, given = list(operands[: what.state]), list(operands[what.state :])
    for flag, numbers in kept[what.rows]:
        new = list(state)
        _evaluate(what.program, [state, given, numbers], [new])
        state = _where(flag, new, state)
    return state


def _results(
    program: Program, arguments: Sequence[Any], sizes: Sequence[int], kept: Kept | None = None
) -> list[list[Any]]:
    """The results, of so many numbers, of a program inside another."""
    results: list[list[Any]] = [[0.0] * size for size in sizes]
    _evaluate(program, arguments, results, kept)
    return results


def _evaluate(
    program: Program, arguments: Sequence[Any], results: Sequence[list[Any]], kept: Kept | None = None
) -> None:
    arrays = {f"argument{k}": array for k, array in enumerate(arguments)}
    run(program, arrays | {f"result{k}": array for k, array in enumerate(results)}, kept=kept)


def _place(cell: Cell, row: Any) -> int:
    return cell.offset + cell.width * int(row)


def _where(flag: Any, new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
    """New numbers for the states whose flag is more than 0.5."""
    return [where_less(0.5, flag, x, y) for x, y in zip(new, old, strict=True)]


WITH_PROGRAM: dict[str, Callable[..., Any]] = {
    "repeat": repeated,
    "subroutine": used,
    "keep": keep,
    "map": mapped,
    "fold": folded,
}
"""What operations that have a program, or keep rows, do with their detail, their operands and the rows so far."""
_OTHER: dict[str, Callable[[Run, int, Sequence[Any]], Any]] = {
    "constant": lambda run, n, _: run.program.details[n],
    "loop": lambda run, n, _: run.loop(run.program.details[n]),
    "load": Run.load,
    **dict.fromkeys(("store", "store_index"), Run.store),
    "gather": Run.gather,
    "scatter": Run.scatter,
    "affine": lambda run, n, _: run.affine(run.program.details[n]),
    "index": lambda run, n, _: run.integer(run.program.details[n]),
    "vector": lambda _, __, operands: tuple(operands),
    "call": lambda run, n, operands: called(run.program.details[n], operands),
    **dict.fromkeys(("part", "final", "extract"), Run.numbered),
}
"""What the remaining instructions do, by their number and operands."""
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": divide,
    "neg": lambda a: -a,
    "sqrt": sqrt,
    "less": where_less,
    "quadrant_sin": quadrant_sin,
    "quadrant_cos": quadrant_cos,
    "pow2": pow2,
    "exponent": exponent,
    "mantissa": mantissa,
    **{name: function for name, (_, function) in OPERATIONS.items()},
}
"""What each arithmetic operation of ``ir`` computes."""
