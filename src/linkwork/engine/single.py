"""One state of plain arrays through rolled code, with little around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.memory import address, state

_FLOAT = np.dtype(np.float64)

Words = NDArray[np.int64]


class _Desk:
    """What one thread has for it: arrays that the code reads and writes, and the words that tell where they are."""

    __slots__ = ("arguments", "busy", "results", "state", "where", "words")

    def __init__(self, single: Single) -> None:
        self.arguments, self.results = ([np.empty(s) for s in shapes] for shapes in (single.arguments, single.results))
        self.words: Words = np.array(single.prepare(), dtype=np.int64)
        for place, array in zip(single.places, (*self.arguments, *self.results), strict=True):
            self.words[place] = address(array)
        self.where, self.state, self.busy = address(self.words), state(), False


class Single:
    """Takes arrays of float64 in the shapes of one state; says None to anything else, and where a result is not finite.

    Args:
        arguments: the shapes of the arguments.
        results: the shapes of the results.
        prepare: makes the words that the code takes, in this thread's room, without the addresses of arrays.
        places: where these addresses stand in the words, arguments first.
        run: runs the code on its words, given with their address; 0 if all is well.
    """

    def __init__(
        self,
        arguments: Sequence[tuple[int, ...]],
        results: Sequence[tuple[int, ...]],
        prepare: Callable[[], list[int]],
        places: Sequence[int],
        run: Callable[[Words, int], int],
    ) -> None:
        self.arguments, self.results, self.prepare, self.places, self.run = arguments, results, prepare, places, run
        self._desks: dict[int, _Desk] = {}

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            return None
        for value, shape in zip(values, self.arguments, strict=True):
            if type(value) is not np.ndarray or value.dtype is not _FLOAT or value.shape != shape:
                return None
        desk = self._desks.get(threading.get_ident())
        if desk is None or desk.state is not state():
            desk = self._desks[threading.get_ident()] = _Desk(self)
        if desk.busy:  # called by a signal handler, say, in the middle of a call
            return None
        desk.busy = True
        try:
            for array, value in zip(desk.arguments, values, strict=True):
                array[...] = value
            if self.run(desk.words, desk.where):
                return None
            results = [array.copy() for array in desk.results]
        finally:
            desk.busy = False
        return results[0] if len(results) == 1 else tuple(results)
