"""All functions and tables of a routine, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from linkwork.engine.ir.program import Fold, Map, Program, Repeat, Rows, Subroutine, inner
from linkwork.engine.targets.function import Writer
from linkwork.engine.targets.language import Language
from linkwork.engine.targets.routine import Loops, Routine

_PER_LINE = 6
"""Numbers of a table on a line."""


class Source:
    """The functions and tables of a routine, in the order in which they must stand.

    Attributes:
        prefix: of the names of all functions and tables.
        problems: the names of problems that may be left unsolved; number k is ``problems[k - 1]``.
        rows: where rows begin that are kept, in ``shared``.
        entry: the function that computes everything; its name is the prefix and "_compute".
        shared: how many numbers all functions share.
    """

    def __init__(self, routine: Routine, language: Language, prefix: str) -> None:
        self.language, self.prefix, self._routine = language, prefix, routine
        self.functions: list[str] = []
        self.tables: list[str] = []
        self.problems: list[str] = []
        self._needed: set[str] = set()
        self._subroutines: dict[Subroutine, Writer] = {}
        self._loops: dict[Any, tuple[Writer, Loops]] = {}
        self.rows, self.shared = _places_of_rows(routine.program)
        self.entry = Writer(self, routine.program, f"{prefix}_compute")

    @property
    def workspace(self) -> int:
        """How many numbers all functions need for their own: those that are shared, then the memory of the entry."""
        return self.shared + self.entry.memory

    def subroutine(self, what: Subroutine) -> Writer:
        """The function of a subroutine, which is written once."""
        if what not in self._subroutines:
            name = f"{self.prefix}_subroutine{len(self._subroutines)}"
            self._subroutines[what] = Writer(self, what.program, name)
        return self._subroutines[what]

    def loops(self, what: Any) -> tuple[Writer, Loops]:
        """The function of code with loops, which is written once for a mechanism."""
        written = self._loops.get(what)
        if written is None:
            loops, k = self._routine.called[what], len(self._loops)
            names = {kind: f"{self.prefix}_{kind}{k}" for kind in self.language.kinds}
            writer = Writer(self, loops.program, f"{self.prefix}_loops{k}", names, loops.sizes)
            written = self._loops[what] = writer, loops
            text = "".join(writer.texts)
            for kind, values in (("data", loops.data), ("ints", loops.ints)):
                if names[kind] in text:
                    self.tables.append(self.table(names[kind], kind, values.tolist()))
        return written

    def table(self, name: str, kind: str, values: Sequence[float]) -> str:
        """A constant table."""
        number = str if kind == "ints" else self.language.literal
        head = self.language.table.format(kind=self.language.kinds[kind], name=name, size=len(values))
        return f"{head} = {{\n{rows_of_numbers(map(number, values))}\n}};\n"

    def problem(self, name: str) -> int:
        """The number of a problem that may be left unsolved."""
        if name not in self.problems:
            self.problems.append(name)
        return self.problems.index(name) + 1

    def need(self, helper: str) -> None:
        """A function of the language is called."""
        before, _ = self.language.helpers[helper]
        for each in before:
            self.need(each)
        self._needed.add(helper)

    def need_for(self, expression: str) -> None:
        """The functions that an expression calls."""
        for helper in self.language.helpers:
            if f"{helper}(" in expression:
                self.need(helper)

    @property
    def helpers(self) -> list[str]:
        """The texts of the functions of the language that are called."""
        return [text for name, (_, text) in self.language.helpers.items() if name in self._needed]


def rows_of_numbers(numbers: Iterable[str]) -> str:
    """The numbers of a table, some on each line."""
    listed = list(numbers)
    lines = [listed[k : k + _PER_LINE] for k in range(0, len(listed), _PER_LINE)]
    return ",\n".join("    " + ", ".join(line) for line in lines)


def _places_of_rows(program: Program) -> tuple[dict[Rows, int], int]:
    """Where rows begin: their count, then the rows; and the size of all. The first number is that of a problem."""
    places: dict[Rows, int] = {}
    size = int(any(isinstance(what, Repeat) and not what.may_stop for what in _everything(program)))
    for rows in dict.fromkeys(_all_rows(program)):
        places[rows] = size
        size += 1 + rows.most * rows.width
    return places, size


def _everything(program: Program) -> Iterator[Any]:
    """Everything that has a program of its own, at any depth."""
    for what in inner(program):
        yield what
        yield from _everything(what.program)


def _all_rows(program: Program) -> Iterator[Rows]:
    for n in program.walk():
        if program.operations[n] == "keep":
            yield program.details[n].rows
    for what in inner(program):
        if isinstance(what, Map):
            yield from (what.source, what.target)
        elif isinstance(what, Fold):
            yield what.rows
        yield from _all_rows(what.program)
