"""One state of plain arrays through rolled code, with little around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.emit.call_frame import Words
from linkwork.engine.run.memory import address, state

_FLOAT = np.dtype(np.float64)


class _Workspace:
    """What one thread has for it: arrays that the code reads and writes, and the words that tell where they are."""

    __slots__ = ("arguments", "busy", "results", "state", "where", "words")

    def __init__(self, one: OneState) -> None:
        self.arguments, self.results = ([np.empty(s) for s in shapes] for shapes in (one.arguments, one.results))
        self.words = one.prepare()
        for index, array in zip(one.indices, (*self.arguments, *self.results), strict=True):
            self.words[index] = address(array)
        self.where, self.state, self.busy = address(self.words), state(), False


class OneState:
    """Takes arrays of float64 in the shapes of one state; says None to anything else, and where a result is not finite.

    Args:
        arguments: the shapes of the arguments.
        results: the shapes of the results.
        prepare: makes the words that the code takes, in this thread's memory, without the addresses of arrays.
        indices: where these addresses stand in the words, arguments first.
        run: runs the code on its words, given with their address; 0 if all is well.
    """

    def __init__(
        self,
        arguments: Sequence[tuple[int, ...]],
        results: Sequence[tuple[int, ...]],
        prepare: Callable[[], Words],
        indices: Sequence[int],
        run: Callable[[Words, int], int],
    ) -> None:
        self.arguments, self.results, self.prepare, self.indices, self.run = arguments, results, prepare, indices, run
        self._workspaces: dict[int, _Workspace] = {}

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            return None
        for value, shape in zip(values, self.arguments, strict=True):
            if type(value) is not np.ndarray or value.dtype is not _FLOAT or value.shape != shape:
                return None
        own = self._workspaces.get(threading.get_ident())
        if own is None or own.state is not state():
            own = self._workspaces[threading.get_ident()] = _Workspace(self)
        if own.busy:  # called by a signal handler, say, in the middle of a call
            return None
        own.busy = True
        try:
            for array, value in zip(own.arguments, values, strict=True):
                array[...] = value
            if self.run(own.words, own.where):
                return None
            results = [array.copy() for array in own.results]
        finally:
            own.busy = False
        return results[0] if len(results) == 1 else tuple(results)
