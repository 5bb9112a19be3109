"""What is kept for a model from call to call: found once, no part of what the model is.

A model is immutable and has no state of a computation; its memo is never compared, hashed or pickled, and goes when the
model goes, so that no table elsewhere keeps a model alive. All of it can be found again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Found = TypeVar("Found")


class Served:
    """An object whose memo's tables ``quick`` and ``frames`` are in slots once they were asked for: there the builtins
    read them without looking up an attribute.
    """

    __slots__ = ("_table", "_table_of_frames")
    _table: dict[str, Any]
    _table_of_frames: dict[Any, Any]


class Memo:
    """Six tables.

    quick: what serves plain arrays without a line of Python, by the name of an algorithm (``engine.run.entries``).
    plans: how tasks are computed, by algorithm, absent arguments, frames and form.
    frames: frames that have been asked about, as the call took them.
    held: constraints that have been asked about, and what code serves them, as the call took them.
    laws: kernels of texts over arrays about points, by the text's name and what it follows from.
    derived: what follows from the model alone, by the function that finds it (``kept_with_model``).
    """

    __slots__ = ("derived", "frames", "held", "laws", "plans", "quick")

    def __init__(self) -> None:
        self.quick: dict[str, Any] = {}
        self.plans: dict[Any, Any] = {}
        self.frames: dict[Any, Any] = {}
        self.held: dict[Any, Any] = {}
        self.laws: dict[Any, Any] = {}
        self.derived: dict[Any, Any] = {}


def kept_with_model(find: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """A function of a model alone, whose result is found once and kept in the model's memo."""

    @wraps(find)
    def found(model: Any) -> Found:
        derived: dict[Any, Found] = model._memo.derived
        if find not in derived:
            derived[find] = find(model)
        return derived[find]

    return found
