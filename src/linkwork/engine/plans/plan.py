"""What every plan has: one way to run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.code import jit, loader
from linkwork.engine.emit.call_frame import CallFrame, Interface, Words
from linkwork.engine.plans.task import Task, moved
from linkwork.engine.run import threads
from linkwork.engine.run.memory import address, aligned, empty, scratch
from linkwork.engine.run.one_state import OneState
from linkwork.engine.trace.interpreter import interpret

Array = NDArray[np.float64]

NOT_FINITE_ARGUMENT, NOT_FINITE_RESULT = 1, 2
"""Bits of a status."""


class Plan(ABC):
    """How a task is computed."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def run(self, arguments: Sequence[Array], states: int, offsets: Sequence[float] = ()) -> tuple[list[Array], int]:
        """Results (states, numbers of one state) for arrays of the same kind, each contiguous or with all states the
        same; and a status, 0 if all is well.

        Every array must have been checked: this is the door to machine code.
        """

    def single(self) -> Callable[..., Any] | None:
        """What takes one state of plain arrays, and says None to anything else; None where there is no such thing."""
        return None


class Interpreted(Plan):
    """The algorithm's text as it stands."""

    def run(self, arguments: Sequence[Array], states: int, offsets: Sequence[float] = ()) -> tuple[list[Array], int]:
        task, batch = self.task, () if states == 1 else (states,)
        given = iter(arguments)
        values = [None if name in task.absent else next(given) for name, _ in task.algorithm.arguments]
        results = interpret(task.algorithm, task.model, values, batch, moved(task.frames, offsets))
        fine = all(np.isfinite(result).all() for result in results)
        return [result.reshape(states, -1) for result in results], 0 if fine else NOT_FINITE_RESULT


class Compiled(Plan):
    """Machine code, made when it is first needed; ``cpu`` and ``lanes`` are the host's unless a test says."""

    interface: Interface

    def __init__(self, task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task)
        self.cpu = cpu or jit.host()
        self.lanes = lanes or jit.lanes(self.cpu)
        self._codes: dict[int, tuple[jit.Code, Callable[[int], int]]] = {}
        self._templates: dict[str, Words] = {}

    # What a form of code has of its own

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """What the code depends on besides the algorithm."""

    @abstractmethod
    def symbols(self, lanes: int) -> list[str]:
        """The functions of the code for so many lanes, the one that is called for a batch first."""

    @abstractmethod
    def text(self, lanes: int) -> str:
        """The module for so many lanes."""

    @abstractmethod
    def tables(self, code: jit.Code, frame: str) -> dict[str, int]:
        """The words of a call frame for the kernel's tables and sizes, which are the same in every call."""

    @abstractmethod
    def workspace(self, code: jit.Code, lanes: int, frame: str) -> dict[str, int]:
        """The words for what the kernel works in, in this thread's memory."""

    @property
    def zeroed(self) -> bool:
        """Whether the code stores only some of its results, among zeros."""
        return False

    # What they share

    @property
    def entry(self) -> str:
        return "time_loop" if self.task.over_time else "batch"

    def key(self, lanes: int) -> str:
        """A digest of all that the code depends on."""
        what = (self.task.algorithm.name, self.task.absent, *self.identity, self.symbols(lanes))
        return loader.key_of(self.cpu, lanes, what)

    def code(self, lanes: int) -> tuple[jit.Code, Callable[[int], int]]:
        """The code for a number of lanes, and its main function."""
        found = self._codes.get(lanes)
        if found is None:
            with jit.lock:  # tracing too: cached_property of Python 3.11 holds a lock that a forked child finds taken
                code = loader.load(self.key(lanes), lambda: self.text(lanes), self.cpu, self.symbols(lanes))
                found = self._codes.setdefault(lanes, (code, code.function(self.symbols(lanes)[0])))
        return found

    @property
    def buffer_size(self) -> int:
        """How many numbers tiles take, for one lane."""
        return sum(self.task.arguments) + sum(self.task.results)

    def run(self, arguments: Sequence[Array], states: int, offsets: Sequence[float] = ()) -> tuple[list[Array], int]:
        return self.run_one(arguments) if states == 1 else self.run_tiles(arguments, states, self.lanes)

    def words(self, name: str, lanes: int) -> Words:
        """The words of a call frame that follow from the plan; those of the call are 0."""
        code, _ = self.code(lanes)
        frame: CallFrame = getattr(self.interface, name)
        found = self._templates.get(name)
        if found is None:
            found = np.zeros(len(frame.words), dtype=np.int64)
            self._templates[name] = frame.put(found, self.tables(code, name))
        return frame.put(found.copy(), self.workspace(code, lanes, name))

    def run_tiles(self, arguments: Sequence[Array], states: int, lanes: int) -> tuple[list[Array], int]:
        """Any number of states, tile by tile, over threads."""
        results = [empty((states, count)) for count in self.task.results]
        _, batch = self.code(lanes)
        interface = self.interface

        def part(first: int, count: int) -> Callable[[], int]:
            call = {"states": count}
            for name, distance, array in zip(interface.argument_names, interface.stride_names, arguments, strict=True):
                call[distance] = stride = 0 if array.strides[0] == 0 else array.shape[1]
                call[name] = address(array) + 8 * first * stride
            for name, array in zip(interface.result_names, results, strict=True):
                call[name] = address(array) + 8 * first * array.shape[1]

            def job(kept: object = (arguments, results)) -> int:  # an interrupted caller must not take them away
                call["buffer"], _owner = self.buffer(lanes)
                words = interface.batch.put(self.words("batch", lanes), call)
                return batch(address(words))

            return job

        parts = threads.parts(states, lanes, len(self.task.model.bodies))
        return results, threads.run([part(*states_of) for states_of in parts])

    def buffer(self, lanes: int) -> tuple[int, object]:
        """Memory for tiles, by its address, and what keeps it."""
        size = lanes * self.buffer_size
        if not self.zeroed:
            return scratch("tile", size), None
        zeros = aligned(size, 0.0)
        return address(zeros), zeros

    # One state, by code for one lane

    def run_one(self, arguments: Sequence[Array]) -> tuple[list[Array], int]:
        results = [empty((1, count)) for count in self.task.results]
        words, _owner = self.one_state_words()
        for index, array in zip(self.array_indices, (*arguments, *results), strict=True):
            words[index] = address(array)
        return results, self.call_one(words, address(words))

    def short_path(self) -> OneState:
        """One state of plain arrays, in memory that is prepared once for each thread."""
        task = self.task
        return OneState(
            task.argument_shapes, task.shapes, lambda: self.one_state_words()[0], self.array_indices, self.call_one
        )

    one_state_frame = "batch"
    """The call frame of code for one lane."""

    @cached_property
    def array_indices(self) -> list[int]:
        """Where the addresses of arguments and results stand in the words for one state."""
        frame: CallFrame = getattr(self.interface, self.one_state_frame)
        return frame.indices([*self.interface.argument_names, *self.interface.result_names])

    def one_state_words(self) -> tuple[Words, object]:
        """The words for one state, the addresses of arrays still missing, and what keeps the memory in them."""
        buffer, owner = self.buffer(1)
        words = self.interface.batch.put(self.words("batch", 1), {"states": 1, "buffer": buffer})
        return words, owner

    def call_one(self, words: Words, where: int) -> int:
        """One state, by words at an address; the status."""
        _, batch = self.code(1)
        return batch(where)
