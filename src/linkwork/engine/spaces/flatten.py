"""Spatial objects as flat lists of scalars, as a field stores them, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def flatten(value: Any) -> list[Any]:
    """All scalars of a spatial object, a number, or lists of these."""
    if isinstance(value, list | tuple):
        return [number for item in value for number in flatten(item)]
    return list(value.numbers()) if hasattr(value, "numbers") else [value]


def rebuild(template: Any, numbers: Iterator[Any]) -> Any:
    """The same structure with other scalars."""
    if isinstance(template, list | tuple):
        items = [rebuild(item, numbers) for item in template]
        return template._make(items) if hasattr(template, "_make") else items  # a NamedTuple keeps its names
    if hasattr(template, "of"):
        return template.of([next(numbers) for _ in template.numbers()])
    return next(numbers)
