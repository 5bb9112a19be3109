"""Problems that a solver gave up: noted for whoever explains why a result is not finite.

A solver that repeats until it has converged, at most so many times, returns NaN for what it has not solved, never its
last guess. Code says no more than that; its evaluator and solvers in Python name the problem here as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STRICT: ContextVar[bool] = ContextVar("linkwork_strict", default=False)
_NAMES: ContextVar[list[str] | None] = ContextVar("linkwork_unsolved", default=None)


@contextmanager
def unsolved() -> Iterator[list[str]]:
    """The problems that were not solved inside this context."""
    names: list[str] = []
    before = _NAMES.set(names)
    try:
        yield names
    finally:
        _NAMES.reset(before)


def note_unsolved(name: str, times: int) -> None:
    """Say that a problem was not solved in so many iterations."""
    names = _NAMES.get()
    sentence = f"{name} is not solved after {times} iterations"
    if names is not None and sentence not in names:
        names.append(sentence)


@contextmanager
def strictly() -> Iterator[None]:
    """Inside, what has not settled is an error, not a warning: the next step would be made from it."""
    before = _STRICT.set(True)
    try:
        yield
    finally:
        _STRICT.reset(before)


def is_strict() -> bool:
    """Whether what has not settled is an error."""
    return _STRICT.get()
