"""The cache of a model: results kept from call to call, which are no part of the model's value.

A model is immutable and has no state of a computation. Its memo is never compared, hashed or pickled, and is freed with
the model, so that no other table keeps a model alive. All of it can be recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

Result = TypeVar("Result")
requested: ContextVar[str] = ContextVar("linkwork_requested", default="")
"""The form of code that is requested (``engine.mode.form``), which has a memo of its own; empty if none is."""


@contextmanager
def requesting(form: str) -> Iterator[None]:
    """Code is requested in this form inside."""
    token = requested.set(form)
    try:
        yield
    finally:
        requested.reset(token)


class Memo:
    """Six tables, and the memos of forms that were requested.

    quick: builtins that serve plain arrays, by the name of an algorithm (``engine.run.entries``).
    plans: how tasks are computed, by algorithm, absent arguments, frames and form.
    frames: frames of earlier calls, keyed as they were given.
    held: constraints of earlier calls, with their compiled code, keyed as they were given.
    laws: kernels of functions over arrays, by the function's name and the data that determine it.
    derived: results that depend on the model alone, by the function that computes them (``kept_with_model``).
    """

    __slots__ = ("derived", "forms", "frames", "held", "laws", "plans", "quick")

    def __init__(self) -> None:
        self.quick: dict[str, Any] = {}
        self.plans: dict[Any, Any] = {}
        self.frames: dict[Any, Any] = {}
        self.held: dict[Any, Any] = {}
        self.laws: dict[Any, Any] = {}
        self.derived: dict[Any, Any] = {}
        self.forms: dict[str, Memo] = {}


def kept_with_model(find: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Decorator: a function of a model alone, whose result is computed once and kept in the model's memo."""

    @wraps(find)
    def memoised(model: Any) -> Result:
        derived: dict[Any, Result] = model._memo.derived
        if find not in derived:
            derived[find] = find(model)
        return derived[find]

    return memoised
