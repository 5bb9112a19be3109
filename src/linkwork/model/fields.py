"""Values stored at the nodes of a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Field:
    """Values at nodes, frames, junctions, stations or segments, or at pairs of them."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._values[_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_key(key)] = value

    def get(self, index: Any) -> Any:
        """The value at a number; None if nothing was stored."""
        return self._values.get(index)

    def put(self, index: Any, value: Any) -> None:
        """Store a value at a number."""
        self._values[index] = value


def _key(key: Any) -> Any:
    return (key[0].index, key[1].index) if isinstance(key, tuple) else key.index


class Constant:
    """A field with a computed value at every node: ``make(node)``."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __getitem__(self, node: Any) -> Any:
        return self._make(node)
