"""Contestants that compute the same thing: checked against each other, then timed alternately.

Other work on the machine can only make a time longer, so the best of many samples is taken. Contestants alternate, so
that a slow phase of the machine affects all of them.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Model
from linkwork_lab.bench.cases import Case, States

Array = NDArray[np.float64]

TOLERANCE = 1e-8
"""Relative to the largest number of a result: with larger differences two contestants do not compute the same thing."""


_LONG, _ENOUGH = 0.15, 2
"""After this many seconds, this many rounds are enough."""


_UNDISTURBED = 0.95
"""The fraction of a core that a contestant must have had in its best sample."""


class UnavailableError(Exception):
    """A peer that cannot take part; the message says why."""


def flat(result: Any, _first: int = 0) -> Array:
    """A result, of one state or many, as a copy in one row of numbers."""
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.array(part, dtype=np.float64).ravel() for part in parts])


@dataclass
class Contestant:
    """A function with its inputs: each a single state, or one of them a whole batch.

    Attributes:
        how: the function called, for the table.
        answer: (raw result, index of its input) -> the row of numbers that is compared.
        share: CPU time over elapsed time in its best sample; less than 1 if it had to wait for a core.
    """

    how: str
    function: Callable[..., Any]
    inputs: Sequence[tuple[Any, ...]]
    states: int
    answer: Callable[[Any, int], Array] = flat
    passes: int = 1
    best: float = math.inf
    share: float = 1.0
    compared: int = 0
    """The number of states, from the first, whose results are in an answer; 0 for all."""
    _last: Any = field(default=None, repr=False)

    def answers(self) -> list[Array]:
        return [self.answer(self.function(*arguments), k) for k, arguments in enumerate(self.inputs)]

    def last_answer(self) -> Array:
        """The answer of the last timed call."""
        return self.answer(self._last, len(self.inputs) - 1)

    def calibrate(self, seconds: float) -> None:
        """Choose the number of passes over the inputs that fills a sample, after a warm-up pass."""
        self.sample()
        elapsed = self.sample() * self.states
        self.passes = max(1, round(seconds / max(elapsed, 1e-7)))
        self.best = math.inf

    def sample(self) -> float:
        """The time of one state in this sample, in seconds; the best is kept."""
        function, inputs, passes = self.function, self.inputs, range(self.passes)
        result = None
        computing = time.process_time()
        start = time.perf_counter()
        for _ in passes:
            for arguments in inputs:
                result = function(*arguments)
        total = time.perf_counter() - start
        elapsed = total / (self.passes * self.states)
        self._last = result
        if elapsed < self.best:
            self.best, self.share = elapsed, (time.process_time() - computing) / total
        return elapsed


def ours(case: Case, model: Model, states: States, *, single: bool, in_place: bool = False) -> Contestant:
    """The public function, called as a user would; with ``in_place``, results of a batch are written in place."""
    frames = (states.frames(case),) if case.frames else ()
    if single:
        inputs = [(model, *arguments, *frames) for arguments in states.one_by_one(case)]
        return Contestant(f"lw.{case.base}", case.function, inputs, len(states))

    def by_state(raw: Any, _: int) -> Array:
        parts = raw if isinstance(raw, tuple) else (raw,)
        rows = [np.array(part[:SOME], dtype=np.float64).reshape(min(len(states), SOME), -1) for part in parts]
        return np.concatenate(rows, axis=1).ravel()

    inputs = [(model, *states.arguments(case), *frames)]
    function = partial(case.function, out=case.function(*inputs[0])) if in_place else case.function
    return Contestant(f"lw.{case.base}", function, inputs, len(states), by_state, compared=min(len(states), SOME))


SOME = 256
"""The number of states of a batch whose results are compared, and of a loop over single calls: more take as long each,
or longer.
"""


def looped(one: Contestant) -> Contestant:
    """A batch for a library that has none: a Python loop over its single calls, which keeps every result."""
    function, inputs = one.function, one.inputs
    shape = np.shape(function(*inputs[0]))
    out = np.empty((len(inputs), *shape))

    def loop() -> Array:
        for k, arguments in enumerate(inputs):
            out[k] = function(*arguments)
        return out

    def answer(raw: Any, _: int) -> Array:
        return np.concatenate([one.answer(row, k) for k, row in enumerate(raw)])

    return Contestant(f"loop over {one.how}", loop, [()], len(inputs), answer)


def library(module: str, name: str, package: str) -> Any:
    """Another library's module; ``UnavailableError`` if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise UnavailableError(f"{name} is not installed; it comes with pip install {package}") from None


def by_loop(single: Callable[[Case, States], Contestant | None], case: Case, states: States, threads: int) -> Any:
    """The batch of a library that has none for a case; None on several threads, where a loop would be no faster."""
    one = single(case, states.first(SOME)) if threads == 1 else None
    return one and looped(one)


def difference(mine: Sequence[Array], theirs: Sequence[Array]) -> float:
    """The largest, relative to its answer's largest number; infinite if shapes differ or one is not finite."""
    worst = 0.0
    for a, b in zip(mine, theirs, strict=True):
        if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
            return math.inf
        if a.size:
            worst = max(worst, float(abs(a - b).max() / max(abs(a).max(), 1e-300)))
    return worst


def _common(
    mine: Contestant, expected: Sequence[Array], peer: Contestant, answers: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """The answers for the states that both have."""
    ours, theirs = mine.compared or mine.states, peer.compared or peer.states
    both = min(ours, theirs)
    return [a[: a.size * both // ours] for a in expected], [a[: a.size * both // theirs] for a in answers]


def contest(
    mine: Contestant, peers: dict[str, Contestant], rounds: int, seconds: float
) -> tuple[float, dict[str, Any]]:
    """Our seconds for one state, and for each peer: how, error, agrees, seconds, ratio (its time over ours).

    A peer that does not agree with us is not timed. One with fewer states gets the first of ours.
    """
    expected = mine.answers()
    rows: dict[str, Any] = {}
    timed = [mine]
    for name, peer in peers.items():
        error = difference(*_common(mine, expected, peer, peer.answers()))
        agrees = error <= TOLERANCE
        rows[name] = {"how": peer.how, "error": error if math.isfinite(error) else None, "agrees": agrees}
        if agrees:
            timed.append(peer)
    for contestant in timed:
        contestant.calibrate(seconds)
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        for done in range(rounds):
            if done >= _ENOUGH and time.perf_counter() - start > _LONG:
                break
            for contestant in timed:
                contestant.sample()
    finally:
        if collecting:
            gc.enable()
    for name, peer in peers.items():
        if rows[name]["agrees"]:
            last = _common(mine, expected[-1:], peer, [peer.last_answer()])
            rows[name]["agrees"] = difference(*last) <= TOLERANCE
            rows[name] |= {"seconds": peer.best, "ratio": peer.best / mine.best, "disturbed": peer.share < _UNDISTURBED}
    if difference(expected[-1:], [mine.last_answer()]) != 0.0:
        raise AssertionError(f"{mine.how} did not give the same numbers again while it was timed")
    return mine.best, rows
