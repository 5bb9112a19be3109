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


class Single:
    """Takes arrays of float64 in the shapes of one state; says None to anything else, and where a result is not finite.

    Args:
        arguments: the shapes of the arguments.
        results: the shapes of the results.
        prepare: makes the words that the code takes, in this thread's room, without the addresses of arrays.
        places: where these addresses stand in the words, arguments first.
        run: runs the code on its words, which it may change; 0 if all is well.
    """

    def __init__(
        self,
        arguments: Sequence[tuple[int, ...]],
        results: Sequence[tuple[int, ...]],
        prepare: Callable[[], list[int]],
        places: Sequence[int],
        run: Callable[[Words], int],
    ) -> None:
        self.arguments, self.results, self.prepare, self.places, self.run = arguments, results, prepare, places, run
        self._kept: dict[int, tuple[object, Words]] = {}

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            return None
        for value, shape in zip(values, self.arguments, strict=True):
            plain = type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == shape
            if not plain or not value.flags.c_contiguous:
                return None
        results = [np.empty(shape) for shape in self.results]
        words = self._words().copy()  # a signal's handler may call this too, in the middle
        for place, array in zip(self.places, (*values, *results), strict=True):
            words[place] = address(array)
        if self.run(words):
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _words(self) -> Words:
        """The words of this thread, made anew when its room has moved."""
        thread = threading.get_ident()
        kept = self._kept.get(thread)
        if kept is None or kept[0] is not state():
            words = np.array(self.prepare(), dtype=np.int64)
            kept = self._kept[thread] = state(), words
        return kept[1]
