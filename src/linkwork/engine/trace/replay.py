"""A program without loops run again over other scalars: one traced function inlined in another, or expanded for machine
code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linkwork.engine.ir import evaluator
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Program
from linkwork.engine.trace.tracer import Tracer
from linkwork.spatial import Scalar

Known = Mapping[str, Mapping[int, float]]
"""Numbers of arrays, by their places."""


def replay(program: Program, arguments: Sequence[Sequence[Scalar]], count: int = 0) -> list[list[Scalar]]:
    """The results of a program for arguments that are any scalars: floats, NumPy arrays, mpmath numbers, or values that
    some tracer is tracing, which then gets the program's operations. With ``count`` there are so many, of which some
    may be empty.
    """
    found: dict[str, dict[int, Scalar]] = {f"result{k}": {} for k in range(count)}
    for n in program.walk():
        if program.operations[n] == "store":
            found.setdefault(program.details[n].array, {})
    arrays: dict[str, Any] = {f"argument{k}": numbers for k, numbers in enumerate(arguments)}
    evaluator.run(program, arrays | found)
    results = [found[f"result{k}"] for k in range(len(found))]
    return [[numbers[k] for k in range(len(numbers))] for numbers in results]


def expanded(program: Program, known: Known = MappingProxyType({})) -> Program:
    """The same program with elementary functions expanded to arithmetic, as if it had been traced that way; for
    arguments some numbers of which are known, if there are such.
    """
    if any(program.operations[n] in ("loop", "vector") for n in program.walk()):
        raise ValueError("only a program without loops and wide values can be written out; trace it with expand=True")
    tracer = Tracer(expand=True)
    evaluator.run(program, _Arrays(tracer, known))
    return tracer.program


def inlined(program: Program) -> Program:
    """The same program with subroutines inlined."""
    if "subroutine" not in program.operations:
        return program
    tracer = Tracer(expand=False, inline=True)
    evaluator.run(program, _Arrays(tracer))
    return tracer.program


class _Arrays(Mapping[str, Any]):
    """Arrays of any name, whose elements are loads and stores of a tracer."""

    def __init__(self, tracer: Tracer, known: Known = MappingProxyType({})) -> None:
        self.tracer, self.known = tracer, known

    def __getitem__(self, array: str) -> _Elements:
        return _Elements(self.tracer, array, self.known.get(array, {}))

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Elements:
    def __init__(self, tracer: Tracer, array: str, known: Mapping[int, float]) -> None:
        self.tracer, self.array, self.known = tracer, array, known

    def __getitem__(self, k: int) -> Scalar:
        return self.known[k] if k in self.known else self.tracer.load(Address(self.array, k))

    def __setitem__(self, k: int, value: Scalar) -> None:
        self.tracer.store(Address(self.array, k), value)
