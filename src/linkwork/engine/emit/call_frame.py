"""The arguments of generated code: a list of 8-byte words, declared by name.

The same declaration packs the words in Python, and emits the code that reads them; nothing counts them by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.emit.writer import Writer
from linkwork.properties import cached_property

Words = NDArray[np.int64]

TABLES = ("work", "square", "data", "ints")
"""The arrays that a kernel takes besides arguments and results."""


@dataclass(frozen=True)
class CallFrame:
    """Words by name, each a pointer ("ptr") or an integer ("i64")."""

    words: tuple[tuple[str, str], ...]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, (_, name) in enumerate(self.words)}

    def indices(self, names: Iterable[str]) -> list[int]:
        """The positions of words by name."""
        return [self._index[name] for name in names]

    def pack(self, values: Mapping[str, int]) -> Words:
        """The words, given all of them by name."""
        if len(values) != len(self.words):
            raise KeyError(f"words that are missing or unknown: {sorted(values.keys() ^ self._index.keys())}")
        return np.array([values[name] for _, name in self.words], dtype=np.int64)

    def put(self, words: Words, values: Mapping[str, int]) -> Words:
        """Set words by name in a list of them."""
        index = self._index
        for name, value in values.items():
            words[index[name]] = value
        return words

    def pointer(self, w: Writer, words: str, name: str) -> str:
        """Code for the address of a word in a list of words."""
        return w.at(words, self._index[name], "i64")

    def get(self, w: Writer, words: str, name: str) -> str:
        """Code that reads a word of a list of words."""
        return w.load(self.pointer(w, words, name), self.words[self._index[name]][0])

    def read(self, w: Writer) -> None:
        """Code that reads every word into a value of its name, from the pointer %words."""
        for index, (kind, name) in enumerate(self.words):
            w.load(w.at("%words", index, "i64"), kind, name=f"%{name}")


@dataclass(frozen=True)
class Called:
    """Code with loops that a program calls, by the numbers that its own code depends on: how many numbers a state has
    in each argument and result, the sizes that it takes for one state and for tiles, how much of ``work`` and
    ``square`` it needs for a lane, and whether its results have to be zeros before. ``callee`` is what a "call" has as
    its detail.
    """

    callee: object = field(compare=False, repr=False)
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    of_one: tuple[int, ...]
    of_tiles: tuple[int, ...]
    work: int
    square: int
    zeroed: bool

    def sizes(self, lanes: int) -> tuple[int, ...]:
        return self.of_one if lanes == 1 else self.of_tiles


_ALIGNED = 8
"""Numbers of the widest vector: code for one state may use them all."""


class Room:
    """Memory for calls inside a program, in numbers for one lane: first what all called code works in, then arguments
    and results of each call.
    """

    def __init__(self, called: Sequence[Called]) -> None:
        self.square = -(-max((each.work for each in called), default=0) // _ALIGNED) * _ALIGNED
        self.size = self.square + max((each.square for each in called), default=0)

    def take(self, count: int) -> int:
        """Where so many numbers are."""
        self.size += count
        return self.size - count


@dataclass(frozen=True)
class Interface:
    """The arrays of a program: how many numbers a state has in each, as an integer or the name of a size; the names of
    all sizes; for a time loop, how many arrays of the state are recorded, the first ones, all if None, and how many
    results are observations of the state in which a step begins, the last ones; and arguments, by their places, with
    the size of a number beyond which the status says so. ``called`` is code with loops that it calls: ``data`` is
    memory for that then, and ``ints`` has the addresses of each: of its code, data and ints. ``problems`` are the names
    of those that may be left unsolved, if the kernel says so: ``work`` has one number then, 0 or that of a problem.
    """

    arguments: tuple[int | str, ...]
    results: tuple[int | str, ...]
    sizes: tuple[str, ...] = ()
    recorded: int | None = None
    observed: int = 0
    most: tuple[tuple[int, float], ...] = ()
    called: tuple[Called, ...] = ()
    problems: tuple[str, ...] = ()
    room: Room | None = field(default=None, compare=False, repr=False)

    def inside(self, arguments: tuple[int | str, ...], results: tuple[int | str, ...]) -> Interface:
        """That of a program inside this one, which may call the same code."""
        return Interface(arguments, results, called=self.called, problems=self.problems, room=self.room)

    @property
    def room_size(self) -> int:
        """How many numbers calls take for one lane."""
        return 0 if self.room is None else self.room.size

    def with_room(self) -> Interface:
        """The same, with memory for calls."""
        return replace(self, room=Room(self.called)) if self.called else self

    @cached_property
    def argument_names(self) -> list[str]:
        return [f"argument{k}" for k in range(len(self.arguments))]

    @cached_property
    def stride_names(self) -> list[str]:
        """Of the strides between states in arguments."""
        return [f"{name}_stride" for name in self.argument_names]

    @cached_property
    def result_names(self) -> list[str]:
        return [f"result{k}" for k in range(len(self.results))]

    @property
    def counts(self) -> list[str]:
        """The numbers of arguments and results, as values."""
        return [str(n) if isinstance(n, int) else f"%{n}" for n in (*self.arguments, *self.results)]

    @property
    def tables(self) -> list[tuple[str, str]]:
        """What a kernel takes after arguments and results."""
        return [*(("ptr", name) for name in TABLES), *(("i64", name) for name in self.sizes)]

    @property
    def kernel(self) -> list[tuple[str, str]]:
        """All that a kernel takes."""
        return [*(("ptr", name) for name in (*self.argument_names, *self.result_names)), *self.tables]

    def kernel_call(self, arrays: Sequence[str]) -> str:
        """The arguments of a call of a kernel, given pointers to arguments and results."""
        return listed([*(("ptr", name) for name in arrays), *((kind, f"%{name}") for kind, name in self.tables)])

    @cached_property
    def batch(self) -> CallFrame:
        """A batch: number of states, and of those of the whole if it is a piece (or 0), a buffer for tiles, arguments
        with the stride between their states, results.
        """
        pairs = zip(self.argument_names, self.stride_names, strict=True)
        arguments = [word for name, stride in pairs for word in (("ptr", name), ("i64", stride))]
        results = [("ptr", name) for name in self.result_names]
        head = ("i64", "states"), ("i64", "whole"), ("ptr", "buffer")
        return CallFrame((*head, *arguments, *results, *self.tables))

    @cached_property
    def one_state(self) -> CallFrame:
        """One state of parallel loops: a team of threads, a crew that may be called on (or 0 for them), arrays."""
        return CallFrame((("ptr", "team"), ("ptr", "crew"), *self.kernel))

    @property
    def state(self) -> range:
        """The results of a step that are its state."""
        return range(len(self.results) - self.observed)

    @property
    def records(self) -> list[int]:
        """The results of a step that are recorded."""
        return [*self.state[: self.recorded], *range(len(self.state), len(self.results))]

    @cached_property
    def time_loop(self) -> CallFrame:
        """A time loop around a step whose first arguments are the state, as its first results are.

        Number of trajectories, a buffer for tiles; steps done before, to do and in all, and after how many a state is
        recorded; each array of the state; each other argument with the strides between trajectories and between steps;
        the records of each result that has some, with the stride between trajectories there.
        """
        words = [("i64", "trajectories"), ("ptr", "buffer")]
        words += [("i64", name) for name in ("done", "steps", "total", "every")]
        state = self.state
        words += [("ptr", f"state{k}") for k in state]
        for k in range(len(state), len(self.arguments)):
            words += [("ptr", f"given{k}"), ("i64", f"given{k}_stride"), ("i64", f"given{k}_pace")]
        for k in self.records:
            words += [("ptr", f"records{k}"), ("i64", f"records{k}_stride")]
        return CallFrame((*words, *self.tables))


def listed(values: Iterable[tuple[str, str]]) -> str:
    """Types and values as a list of arguments."""
    return ", ".join(f"{kind} {value}" for kind, value in values)


def parameters(names: Sequence[tuple[str, str]]) -> str:
    """The parameter list of a function: no two pointers alias."""
    return ", ".join(f"{kind} {'noalias nocapture ' if kind == 'ptr' else ''}%{name}" for kind, name in names)
