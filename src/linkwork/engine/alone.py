"""A plan of code that cuts a chain into pieces: one state over the lanes of a vector and over threads; a batch with
states on the lanes, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.engine import fingerprint, jit, llvm, team, threads
from linkwork.engine.crew import ask, gives_way
from linkwork.engine.ir import Program
from linkwork.engine.memory import address, aligned, scratch
from linkwork.engine.pieces import SIZES, PiecesTree, grouped
from linkwork.engine.roll import roll
from linkwork.engine.tables import Tables, kinds_of
from linkwork.engine.tiles import Interface
from linkwork.model.segments import cut

if TYPE_CHECKING:
    from linkwork.engine.function import Task

_WORTH_A_TEAM = 1500
"""Bodies from which on helpers pay."""


class Pieces:
    """Code for all chains of the same joint kinds; the chain comes as tables."""

    def __init__(self, task: Task, lanes: int) -> None:
        found = cut(task.model)
        assert found is not None
        self.task, self.cut = task, found
        self.group = lanes if found.alike else 1
        """Pieces that run side by side if there is one state."""
        arguments = tuple(f"count{k}" for k in range(len(task.arguments)))
        results = tuple(f"size{k}" for k in range(len(task.results)))
        self.interface = Interface(arguments, results, (*SIZES, *arguments, *results))
        self._tables: dict[int, tuple[Tables, list[int]]] = {}

    @cached_property
    def program(self) -> tuple[Program, int, int]:
        tables, _ = self.tables(1)
        form = partial(PiecesTree, on_chain=self.kinds[0], beside=self.kinds[1])
        return roll(self.task.algorithm, tables.kinds, tables.width, self.task.absent, form=form)

    @cached_property
    def kinds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which kinds there are on the chain, and in side branches."""
        _, numbers, _ = kinds_of(self.task.model)
        chain = self.cut.chain
        return tuple(sorted(set(numbers[:chain]))), tuple(sorted(set(numbers[chain:])))

    def tables(self, group: int) -> tuple[Tables, list[int]]:
        """The tables for groups of so many pieces, and all sizes; made once, since code is told their addresses."""
        if group not in self._tables:
            with jit.lock:
                if group not in self._tables:
                    self._tables[group] = self._made(group)
        return self._tables[group]

    def _made(self, group: int) -> tuple[Tables, list[int]]:
        tables, sizes = grouped(self.task.model, self.cut, group)
        data = aligned(tables.data.size)
        data[:] = tables.data
        return Tables(tables.kinds, tables.width, data, tables.ints), [*sizes, *self.task.arguments, *self.task.results]

    @cached_property
    def identity(self) -> tuple[object, ...]:
        tables, _ = self.tables(1)
        kinds = fingerprint.of_kinds(tables.kinds) or fingerprint.of_program(self.program[0])
        return "pieces", self.group, tables.width, kinds, self.kinds

    def names(self, lanes: int) -> list[str]:
        return ["batch", "constant"] if lanes > 1 else ["batch", "help", "constant"]

    def text(self, lanes: int) -> str:
        program, *widths = self.program
        if lanes > 1:
            return llvm.module(program, self.interface, lanes, llvm.constants(widths))
        told = llvm.constants([*widths, team.size(program)])
        return team.module(program, self.interface, self.group, told)

    def words(self, code: jit.Code, lanes: int, group: int = 1) -> list[int]:
        """Where the code works and what it is told; ``lanes`` are states, ``group`` is of pieces."""
        tables, sizes = self.tables(group)
        row, cell, *_ = code.constants
        work = scratch("work", self.cut.length * row * group * lanes)
        lasting = tables.data.size // (tables.width * group) if self.kinds[1] else self.cut.head + 1
        square = scratch("square", (self.cut.count // group + lasting) * cell * group * lanes)
        return [work, square, address(tables.data), address(tables.ints), *sizes]

    def alone(self, code: jit.Code) -> list[int]:
        """All words for one state, the addresses of arguments and results still missing after the first."""
        return [0] * (1 + len(self.interface.arrays)) + self.words(code, 1, group=self.group)

    def run(self, code: jit.Code, batch: Callable[[int], int], words: NDArray[np.int64], where: int) -> int:
        """One state, by words at an address; the status."""
        wanted = min(threads.get_threads(), self.cut.count // self.group)
        if wanted < 2 or len(self.task.model.bodies) < _WORTH_A_TEAM:
            return batch(where)
        room, work = self.cut.length * code.constants[0] * self.group, 1 + len(self.interface.arrays)
        shared = np.zeros(code.constants[2] + team.LINE, dtype=np.int64)
        begin = -address(shared) % 64 // 8
        shared[begin + 1] = gives_way()
        words = words.copy()
        words[0] = address(shared) + 8 * begin
        try:
            ask(wanted - 1, code.addresses["help"], words, work, room, shared, code)
            return batch(address(words))
        finally:  # of a call that Ctrl-C ends before it has begun, too: helpers must not wait for it
            shared[begin] = team.OVER
