"""What every plan has: one way to run it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.code import jit, loader
from linkwork.engine.emit.call_frame import Called, CallFrame, Interface, Words
from linkwork.engine.emit.packing import TOO_LARGE
from linkwork.engine.plans.task import Signature, Task, moved
from linkwork.engine.run import threads
from linkwork.engine.run.entries import Entry, Serve, fit, serving
from linkwork.engine.run.memory import address, aligned, scratch
from linkwork.engine.run.threads import Pace

Array = NDArray[np.float64]
Arrays = Sequence[Array]
Offsets = Sequence[float]
"""Offsets of frames, three numbers each."""
Found = tuple[list[Array], int]
"""Results, and a status."""

NOT_FINITE_ARGUMENT, NOT_FINITE_RESULT = 1, 2
NOT_FINITE = NOT_FINITE_ARGUMENT | NOT_FINITE_RESULT
"""Bits of a status; there is one more, ``TOO_LARGE``: a number of an argument is beyond ``task.most``."""
MOST_MEMORY = 16 * 2**20
"""The most bytes of a plan's own memory for calls by the builtins; larger code is not called often enough to matter."""


class Plan(ABC):
    """How a task is computed."""

    def __init__(self, task: Signature) -> None:
        self.task: Signature = task

    @abstractmethod
    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        """Results (states, numbers of one state) for arrays of the same kind, each contiguous or with all states the
        same; and a status. The results are those of ``out``, contiguous, if it is given.

        Every array must have been checked: this is the entrance to machine code.
        """

    @property
    def is_kept(self) -> bool:
        """Whether its code needs no compilation."""
        return False

    def entry(self) -> Entry | None:
        """A new entry for the builtins, without code; None if not supported."""
        return None

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        """Add the code for "one" state or a "batch" to an entry, if these can be served."""
        return None

    def served(self, *forms: str) -> Serve | None:
        """A function (out, arguments...) that serves plain arrays, for one state or a batch, and returns None for
        anything else; None if not supported.
        """
        entry = self.entry()
        if entry is None:
            return None
        for form in forms:
            self.serve(entry, form)
        return serving([entry])


class Interpreted(Plan):
    """Without machine code: the results of a function of (arguments, states, offsets), by default of the algorithm's
    text as it stands.
    """

    def __init__(self, task: Signature, results: Callable[[Arrays, int, Offsets], list[Array]] | None = None) -> None:
        super().__init__(task)
        self._results = results or self._by_text

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        found = self._results(arguments, states, offsets)
        fine = all(np.isfinite(result).all() for result in found)
        large = any((abs(arguments[k]) > most).any() for k, most in self.task.most)
        return given_back(found, out), (0 if fine else NOT_FINITE_RESULT) | TOO_LARGE * large

    def _by_text(self, arguments: Arrays, states: int, offsets: Offsets) -> list[Array]:
        from linkwork.engine.trace.interpreter import interpret

        task = self.task
        assert isinstance(task, Task)
        given = iter(arguments)
        values = [None if name in task.absent else next(given) for name, _ in task.algorithm.arguments]
        rotors = next(given) if task.rotors else None
        batch = () if states == 1 else (states,)
        if task.placed:
            offsets = next(given)[0].tolist() if states == 1 else list(next(given).T)
        results = interpret(task.algorithm, task.model, values, batch, moved(task.frames, offsets), rotors)
        return [result.reshape(states, -1) for result in results]


def given_back(results: list[Array], out: Arrays | None) -> list[Array]:
    """The results, in the caller's arrays if there are any."""
    if out is None:
        return results
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return list(out)


class Compiled(Plan):
    """Machine code, compiled when it is first needed; ``cpu`` and ``lanes`` are the host's unless a test overrides
    them.
    """

    interface: Interface

    def __init__(self, task: Signature, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task)
        self.cpu = cpu or jit.host()
        self.lanes = lanes or jit.lanes(self.cpu)
        self._codes: dict[int, tuple[jit.Code, Callable[[int], int]]] = {}
        self._templates: dict[tuple[str, int], Words] = {}
        self.busy: Words = np.zeros(1, dtype=np.int64)
        self._own: dict[tuple[str, str], Array] = {}
        self.pace = Pace(task.seconds / self.lanes)

    # What differs between forms of code

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
        """The kernel's scratch memory, by the words of a call frame: how many numbers each has."""

    @property
    def zeroed(self) -> bool:
        """Whether the code stores only some of its results, among zeros."""
        return False

    # What they share

    @property
    def entry_point(self) -> str:
        """The function to call."""
        return "time_loop" if self.task.over_time else "batch"

    def key(self, lanes: int) -> str:
        """A digest of everything that the code depends on."""
        what = (*self.task.name, *self.identity, self.symbols(lanes))
        return loader.key_of(self.cpu, lanes, what)

    @property
    def is_kept(self) -> bool:
        return loader.is_kept(self.key(self.lanes))

    @property
    def is_ready(self) -> bool:
        """Whether its code is in memory."""
        return bool(self._codes)

    def code(self, lanes: int) -> tuple[jit.Code, Callable[[int], int]]:
        """The code for a number of lanes, and its main function."""
        found = self._codes.get(lanes)
        if found is None:
            with jit.lock:  # tracing too: the lock of Python 3.11's cached_property may be held in a forked child
                code = loader.load(self.key(lanes), lambda: self.text(lanes), self.cpu, self.symbols(lanes))
                found = self._codes.setdefault(lanes, (code, code.function(self.symbols(lanes)[0])))
        return found

    @property
    def buffer_size(self) -> int:
        """How many numbers tiles take, for one lane."""
        return sum(self.task.inputs) + sum(self.task.results)

    @property
    def abreast(self) -> bool:
        """Whether code for one state may compute isomorphic branches side by side: it has zeros that may meet an
        infinite number, so that only tiles can tell which results are not finite.
        """
        return False

    def run(self, arguments: Arrays, states: int, offsets: Offsets = (), out: Arrays | None = None) -> Found:
        if offsets:
            arguments = [*arguments, np.broadcast_to(np.array(offsets, dtype=np.float64), (states, len(offsets)))]
        if states == 1:
            return self.run_one(arguments, out)
        return self.run_tiles(arguments, states, self.lanes, out)

    def words(self, name: str, lanes: int) -> Words:
        """The words of a call frame that depend on the plan and this thread's memory; those of the call are 0."""
        sizes = self.workspace(self.code(lanes)[0], lanes, name)
        return self.frame(name).put(self.template(name, lanes), {part: scratch(part, n) for part, n in sizes.items()})

    def frame(self, name: str) -> CallFrame:
        found: CallFrame = getattr(self.interface, name)
        return found

    def template(self, name: str, lanes: int) -> Words:
        """The words of a call frame that depend on the plan; all others are 0."""
        found = self._templates.get((name, lanes))
        if found is None:
            made = np.zeros(len(self.frame(name).words), dtype=np.int64)
            self.frame(name).put(made, self.tables(self.code(lanes)[0], name))
            found = self._templates.setdefault((name, lanes), made)
        return found.copy()

    def run_tiles(self, arguments: Arrays, states: int, lanes: int, out: Arrays | None = None) -> Found:
        """Any number of states, tile by tile, over threads."""
        results = list(out) if out is not None else [np.empty((states, count)) for count in self.task.results]
        _, batch = self.code(lanes)
        frame, arrays = self.interface.batch, (*arguments, *results)
        strides = [0 if array.strides[0] == 0 else array.shape[1] for array in arrays]
        places = [address(array) for array in arrays]

        def share(pieces: deque[tuple[int, int]], kept: object = arrays) -> int:
            """Compute pieces until none is left, on any thread; arrays must outlive an interrupted caller."""
            words, status = self.words("batch", lanes), 0
            buffer, _owner = self.buffer(lanes)
            call = {"whole": states, "buffer": buffer, **dict(zip(self.interface.stride_names, strides, strict=False))}
            frame.put(words, call)
            while piece := threads.next_of(pieces):
                first, few = piece
                starts = (place + 8 * first * stride for place, stride in zip(places, strides, strict=True))
                frame.put(words, {"states": few, **dict(zip(self.array_names, starts, strict=True))})
                status |= batch(address(words))
            return status

        count, step, status = self.pace.threads(states), self.pace.longest(lanes), 0
        for first in range(0, states, step):  # Ctrl-C is handled in between
            few = min(step, states - first)
            pieces = self.pace.pieces(first, few, lanes, count)
            start = time.perf_counter()
            status |= threads.run([lambda pieces=pieces: share(pieces)] * count)  # type: ignore[misc]
            self.pace.measured(time.perf_counter() - start, -(-few // lanes) * lanes, count)
        return results, status

    def buffer(self, lanes: int) -> tuple[int, object]:
        """Memory for tiles, by its address, and what keeps it alive."""
        size = lanes * self.buffer_size
        if not self.zeroed:
            return scratch("tile", size), None
        zeros = aligned(size, 0.0)
        return address(zeros), zeros

    # One state, by code for one lane

    def run_one(self, arguments: Arrays, out: Arrays | None = None) -> Found:
        results = list(out) if out is not None else [np.empty((1, count)) for count in self.task.results]
        frame, words = self.frame(self.one_state_frame), self.one_state_words()
        for index, array in zip(frame.indices(self.array_names), (*arguments, *results), strict=True):
            words[index] = address(array)
        status = self.call_one(words)
        return results, status

    @property
    def one_state_frame(self) -> str:
        """The call frame of code for one lane."""
        return "batch"

    @property
    def array_names(self) -> list[str]:
        return [*self.interface.argument_names, *self.interface.result_names]

    def one_state_words(self) -> Words:
        """The words for one state, without the addresses of arrays."""
        return self.interface.batch.put(self.words("batch", 1), {"states": 1})

    def call_one(self, words: Words) -> int:
        """One state, by its words; the status."""
        _, batch = self.code(1)
        return batch(address(words))

    # By other code, for its own tiles

    def called(self, callee: object) -> Called:
        """What code that calls this depends on."""
        code, frames = self.code(1)[0], (self.one_state_frame, "batch")
        known, memory = [self.tables(code, frame) for frame in frames], [self.workspace(code, 1, f) for f in frames]
        of_one, of_tiles = (tuple(each[name] for name in self.interface.sizes) for each in known)
        work, square = (max(each[part] for each in memory) for part in ("work", "square"))
        return Called(
            callee, tuple(self.task.arguments), tuple(self.task.results), of_one, of_tiles, work, square, self.zeroed
        )

    def addresses(self, lanes: int) -> list[int]:
        """Of the code for a tile of so many lanes, and of its tables."""
        code, _ = self.code(lanes)
        known = self.tables(code, self.one_state_frame if lanes == 1 else "batch")
        return [code.addresses["tile"], known["data"], known["ints"]]

    # By the builtins

    def entry(self) -> Entry | None:
        task = self.task
        if task.over_time or not fit(task.argument_shapes, task.shapes):
            return None
        return Entry(task.argument_shapes, task.shapes, self.busy, self.pace.limits)

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        name, lanes = (self.one_state_frame, 1) if form == "one" else ("batch", self.lanes)
        code, _ = self.code(lanes)
        sizes = self.workspace(code, lanes, name)
        if form == "batch":
            sizes["buffer"] = lanes * self.buffer_size
        if 8 * sum(sizes.values()) > MOST_MEMORY:
            return
        frame, words = self.frame(name), self.template(name, lanes)
        own = {part: self._memory(part, form, size) for part, size in sizes.items()}
        frame.put(words, {part: address(memory) for part, memory in own.items()} | self.served_words(code, form))
        if name == "batch":
            frame.put(words, {"states": 1})
        fixed = [np.array(offsets, dtype=np.float64)] if offsets else []
        first = len(self.interface.arguments) - len(fixed)
        names = self.array_names
        for argument, array in zip(names[first:], fixed, strict=False):
            frame.put(words, {argument: address(array)})
        named = names[:first] + self.interface.result_names
        entry.add(form, code, frame, words, named, self.pace.limits, lanes, self, fixed, own)

    def served_words(self, code: jit.Code, form: str) -> dict[str, int]:
        """Further words of a call frame that are the same in every call through one entry."""
        return {}

    def _memory(self, part: str, form: str, size: int) -> Array:
        """The plan's own memory for the scratch of an entry's code, zeros at first."""
        found = self._own.get((part, form))
        if found is None or found.size < size:
            found = self._own[part, form] = aligned(size, 0.0)
        return found
