"""Batches: broadcasting of arguments with leading axes, and results written to the caller's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.arguments import Array, masked
from linkwork.errors import ArgumentError, excuse

FLOAT64 = np.dtype(np.float64)
_SMALL = 2**20
"""The largest number of elements of an argument that may be copied before it is checked."""

Given = tuple[Array, int]
"""An argument as an array, and the number of its axes that belong to one state."""


def broadcast(names: Sequence[str], leading: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The broadcast leading (batch) dimensions of arguments, or an error that names them."""
    different = set(leading) - {()}
    try:
        return np.broadcast_shapes(*different) if len(different) > 1 else next(iter(different), ())
    except ValueError:
        texts = ", ".join(f"{name} {dims}" for name, dims in zip(names, leading, strict=False))
        raise ArgumentError(f"the leading (batch) dimensions do not broadcast: {texts}") from None


def spread(array: Array, axes: int, batch: tuple[int, ...]) -> Array:
    """The array broadcast to all leading dimensions; its last ``axes`` belong to one state."""
    shape = (*batch, *array.shape[array.ndim - axes :])
    try:
        return array if array.shape == shape else np.broadcast_to(array, shape)
    except ValueError:  # beyond the size that NumPy can index
        raise ArgumentError(f"a batch of {batch} states is larger than any array can be") from None


def as_out(
    out: Any,
    shapes: Sequence[tuple[int, ...]],
    names: Sequence[str],
    arguments: Sequence[Given | None],
    values: Sequence[Any] = (),
) -> list[Array]:
    """The arrays to which results of these shapes are written, or an error that says why they cannot be.

    They must not overlap ``arguments`` of these names, nor the user's ``values`` for them.
    """
    if len(shapes) > 1 and not (isinstance(out, tuple) and len(out) == len(shapes)):
        came = f"a tuple of {len(out)}" if isinstance(out, tuple) else type(out).__name__
        raise ArgumentError(f"out must be a tuple of {len(shapes)} arrays, one for each result, not {came}")
    targets = list(out) if len(shapes) > 1 else [out]
    others: list[tuple[str, Array]] = []
    for name, argument in zip(names, arguments, strict=bool(arguments)):
        others += [] if argument is None else [(name, argument[0])]
    others += [pair for pair in zip(names, values, strict=bool(values)) if isinstance(pair[1], np.ndarray)]
    for k, (target, shape) in enumerate(zip(targets, shapes, strict=True)):
        name = f"out[{k}]" if len(shapes) > 1 else "out"
        _check_out(name, target, shape)
        for other, its in others:
            if np.may_share_memory(target, its):
                raise ArgumentError(f"{name} must not overlap {other} in memory")
        others.append((name, target))
    return targets


def _check_out(name: str, target: Any, shape: tuple[int, ...]) -> None:
    """Code can write rows of a result to this array."""
    if type(target) is not np.ndarray or target.dtype != FLOAT64 or target.shape != shape:
        came = f"{target.dtype} {target.shape}" if isinstance(target, np.ndarray) else type(target).__name__
        raise ArgumentError(f"{name} must be a float64 array of shape {shape}, not {came}")
    if not target.flags.c_contiguous:
        raise ArgumentError(f"{name} must be C-contiguous; this array has strides {target.strides}")
    if not target.flags.writeable:
        raise ArgumentError(f"{name} must be writeable, but is read-only")


def put_into(out: Any, *results: Array, apart: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Copy results to ``out`` and return it; if it is None, return the results themselves, one or a tuple. ``out`` must
    not overlap the arguments in ``apart``.
    """
    if out is None:
        return results[0] if len(results) == 1 else results
    shapes = [result.shape for result in results]
    for target, result in zip(as_out(out, shapes, list(apart), (), list(apart.values())), results, strict=True):
        target[...] = result
    return out


def all_converted(values: Sequence[Any], out: Any) -> list[Any]:
    """Each value converted, except those that share memory with ``out``, which the checks report."""
    if out is None:
        return [converted(value) for value in values]
    targets = [one for one in (out if isinstance(out, tuple) else (out,)) if isinstance(one, np.ndarray)]
    results = []
    for value in values:
        new = converted(value)
        if new is not value and isinstance(value, np.ndarray):
            for target in targets:
                if np.may_share_memory(value, target):
                    new = value
        results.append(new)
    return results


def converted(value: Any) -> Any:
    """Real numbers as a contiguous float64 array; anything else unchanged, for the checks to report."""
    kind = type(value)
    if kind is list or kind is tuple:
        if masked(value):
            return value
        try:
            array = np.asarray(value)
        except Exception as error:  # anything that an object's own conversion raises
            excuse(error)
            return value
    elif kind is np.ndarray:
        array = value
    elif kind is float or kind is int:
        array = np.asarray(value)
    else:
        return value
    dtype = array.dtype
    if dtype is FLOAT64 and array.flags.c_contiguous:
        return array
    plain = dtype.kind in "fiu" and dtype.itemsize <= 8 and array.size <= _SMALL
    return np.asarray(array, np.float64, order="C") if plain else value


def is_plain(value: Any) -> bool:
    """Whether a builtin accepts it without conversion."""
    return type(value) is np.ndarray and value.dtype is FLOAT64 and value.flags.c_contiguous


def leading_axes(name: str, array: Array, shape: tuple[int, ...], why: str = "", hint: str = "") -> tuple[int, ...]:
    """The leading axes of an array that must have a shape in each state."""
    axes = array.ndim - len(shape)
    if axes < 0 or array.shape[axes:] != shape:
        expected = ", ".join(("...", *map(str, shape)))
        raise ArgumentError(f"{name} must have shape ({expected}){why}, but has shape {array.shape}{hint}")
    return array.shape[:axes]


def plain(array: Array, axes: int, batch: tuple[int, ...]) -> Array:
    """The array, contiguous, with all leading axes or none."""
    if array.ndim > axes:
        array = spread(array, axes, batch)
        if not any(array.strides[: len(batch)]):  # all states are equal
            array = array[(0,) * len(batch)]
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def rows_of(array: Array, axes: int, states: int) -> Array:
    """The array as (states, numbers of one state): contiguous, or one row for all states."""
    if array.ndim > axes:
        return array.reshape(states, -1)
    one = array.reshape(1, -1)
    return one if states == 1 else np.broadcast_to(one, (states, one.shape[1]))


def first_not_finite(results: Sequence[Array], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The first state of a batch with a result that is not finite."""
    finite = np.ones(prod(batch), dtype=bool)
    for result in results:
        finite &= np.isfinite(result).all(axis=1)
    return tuple(int(k) for k in np.unravel_index(int(np.argmin(finite)), batch)) if batch else ()
