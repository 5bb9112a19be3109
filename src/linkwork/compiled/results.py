"""A function's return value as a list of arrays, and back: arrays in tuples, lists and dicts, nested to any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers
from linkwork.engine.trace.conditions import Condition
from linkwork.engine.trace.tracer import Traced
from linkwork.errors import ArgumentError, TracingError

Structure = Any
"""None for an array; (type, structures) of a tuple or list, (dict, keys, structures)."""


def taken_apart(name: str, value: Any) -> tuple[Structure, list[Any]]:
    """The structure of a result, and its arrays of traced numbers."""
    if value is None:
        raise TracingError(f"{name} returns nothing; return an array, or several in a tuple or dict", "")
    if isinstance(value, dict):
        parts = [taken_apart(name, each) for each in value.values()]
        return (dict, list(value), [part for part, _ in parts]), [leaf for _, leaves in parts for leaf in leaves]
    if isinstance(value, tuple | list):
        parts = [taken_apart(name, each) for each in value]
        return (type(value), [part for part, _ in parts]), [leaf for _, leaves in parts for leaf in leaves]
    if not isinstance(value, np.ndarray | np.generic | float | int | Traced | Condition):
        raise TracingError(f"{name} returns {type(value).__name__}, which is no array, tuple, list or dict", "")
    return None, [numbers(value)]


def putting_together(structure: Structure) -> Callable[[tuple[Any, ...]], Any]:
    """Builds a result from its arrays."""
    return _made_of(structure, count())


def _made_of(structure: Structure, places: Iterator[int]) -> Callable[[tuple[Any, ...]], Any]:
    if structure is None:
        return itemgetter(next(places))
    if structure[0] is tuple and len(structure[1]) > 1 and not any(structure[1]):
        return itemgetter(*(next(places) for _ in structure[1]))  # returns a tuple
    kind, *keys, inside = structure
    parts = [_made_of(part, places) for part in inside]
    if kind is dict:
        items = list(zip(keys[0], parts, strict=True))
        return lambda leaves: {key: part(leaves) for key, part in items}
    if hasattr(kind, "_fields"):
        return lambda leaves: kind(*[part(leaves) for part in parts])
    return lambda leaves: kind([part(leaves) for part in parts])


def names_of(structure: Structure, whole: str) -> list[str]:
    """What Python calls each array of a result: of ``x``, ``x[0]``, ``x['q']``, or a named tuple's ``x.q``."""
    if structure is None:
        return [whole]
    kind, *keys, inside = structure
    if hasattr(kind, "_fields"):
        parts = [f"{whole}.{field}" for field in kind._fields]
    else:
        parts = [f"{whole}[{key!r}]" for key in (keys[0] if kind is dict else range(len(inside)))]
    return [name for part, own in zip(parts, inside, strict=True) for name in names_of(own, part)]


def laying_flat(structure: Structure) -> Callable[[Any], tuple[Any, ...]]:
    """Returns the arrays of an ``out`` of this structure."""
    if structure is None:
        return lambda value: (value,)
    kind, *keys, inside = structure
    parts, deep = [None if part is None else laying_flat(part) for part in inside], any(inside)
    wanted: set[Any] = set(*keys)

    def laid_flat(value: Any) -> tuple[Any, ...]:
        if kind is dict:
            if not isinstance(value, dict) or value.keys() != wanted:
                raise ArgumentError(f"out must be a dict with the keys {', '.join(map(repr, keys[0]))}")
            value = tuple([value[key] for key in keys[0]])
        elif not isinstance(value, _SEVERAL) or len(value) != len(parts):
            raise ArgumentError(f"out must be a tuple of {len(parts)} arrays, as the function returns")
        if not deep:
            return tuple(value)
        leaves: list[Any] = []
        for part, each in zip(parts, value, strict=True):
            leaves += (each,) if part is None else part(each)
        return tuple(leaves)

    return laid_flat


_SEVERAL = (tuple, list)  # a union of them would be created in each call
