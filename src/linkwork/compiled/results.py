"""What a function returns as a list of arrays, and back: arrays in tuples, lists and dicts, however deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def put_together(structure: Structure, leaves: Iterator[Any]) -> Any:
    """A result from its arrays."""
    if structure is None:
        return next(leaves)
    if structure[0] is dict:
        return {key: put_together(part, leaves) for key, part in zip(structure[1], structure[2], strict=True)}
    parts = [put_together(part, leaves) for part in structure[1]]
    kind: Any = structure[0]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def laid_flat(structure: Structure, value: Any) -> Sequence[Any]:
    """The arrays of an ``out`` of this structure."""
    if structure is None:
        return [value]
    if structure[0] is dict:
        if not isinstance(value, dict) or list(value) != structure[1]:
            raise ArgumentError(f"out must be a dict with the keys {', '.join(map(repr, structure[1]))}")
        return [
            leaf for key, part in zip(structure[1], structure[2], strict=True) for leaf in laid_flat(part, value[key])
        ]
    if not isinstance(value, tuple | list) or len(value) != len(structure[1]):
        raise ArgumentError(f"out must be a tuple of {len(structure[1])} arrays, as the function returns")
    return [leaf for part, each in zip(structure[1], value, strict=True) for leaf in laid_flat(part, each)]
