"""NumPy's functions that reduce arrays along axes, or sort them, over traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from linkwork.compiled.arrays import numbers, traced
from linkwork.compiled.scalars import as_numbers, selected, ufuncs
from linkwork.errors import TracingError


def reduced(
    name: str, identity: Any, array: Any, axis: Any = 0, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """A universal function of NumPy over an array of objects along axes; ``identity`` is its identity element."""
    start, keepdims, where = map(_value, (initial, keepdims, where))
    nothing = identity if start is None else numbers(start)
    if where is not None and where is not True:
        array = _chosen(name, array, where, nothing)
    axes = _axes(axis, array.ndim)
    others = [n for k, n in enumerate(array.shape) if k not in axes]
    flat = np.moveaxis(array, axes, range(len(axes))).reshape((-1, *others))
    if not len(flat) and nothing is None:
        raise TracingError(f"np.{name} has nothing to reduce")
    begin = [] if start is None and len(flat) else [numbers(nothing)]
    result = np.empty(others, dtype=object)
    result[...] = reduce(ufuncs[name], [*begin, *flat])
    if not keepdims:
        return traced(result)
    return traced(result.reshape([1 if k in axes else n for k, n in enumerate(array.shape)]))


def _value(option: Any) -> Any:
    return None if option is np._NoValue else option


def _axes(axis: Any, count: int) -> list[int]:
    """The axes that an argument ``axis`` names, as numbers from 0."""
    axes = range(count) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    return sorted({int(one) % count for one in axes}) if count else []


def _chosen(name: str, array: Any, where: Any, nothing: Any) -> Any:
    """An array with ``nothing`` for its elements that are masked out."""
    if nothing is None:
        raise TracingError(f"np.{name}.reduce(where=...) needs a value to begin with, initial=...")
    array, chosen = np.broadcast_arrays(array, numbers(where))
    return selected(chosen, array, nothing)


def accumulated(name: str, array: Any, axis: int = 0) -> Any:
    """The same, with all intermediate results."""
    rows = list(np.moveaxis(array, axis, 0))
    for k in range(1, len(rows)):
        rows[k] = ufuncs[name](rows[k - 1], rows[k])
    return traced(np.moveaxis(np.array(rows, dtype=object).reshape(np.moveaxis(array, axis, 0).shape), 0, axis))


def _extreme(name: str) -> Callable[..., Any]:
    def text(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        return reduced(name, None, numbers(a), axis, keepdims, initial, where)

    return text


def _of_conditions(name: str) -> Callable[..., Any]:
    def text(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        return reduced(name, name == "logical_and", numbers(a), axis, keepdims, where=where)

    return text


def _of_numbers(name: str, identity: float) -> Callable[..., Any]:
    def text(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return reduced(name, identity, as_numbers(numbers(a)), axis, keepdims, initial, where)

    return text


total, all_of, _largest, _smallest = (
    _of_numbers("add", 0.0),
    _of_conditions("logical_and"),
    _extreme("maximum"),
    _extreme("minimum"),
)


def _how_many(a: Any, axis: Any, where: Any) -> Any:
    """The number of elements along axes, of which some may be masked out."""
    counted = traced(np.ones(np.shape(a)).astype(object))
    return total(counted, axis, keepdims=True, where=where)


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    found = total(a, axis, keepdims=True, where=where) / _how_many(a, axis, where)
    return total(found, axis, keepdims=keepdims)


def _var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    off = traced(numbers(a)) - (_mean(a, axis, keepdims=True, where=where) if mean is None else mean)
    degrees = _how_many(a, axis, where) - (ddof if correction is None else correction)
    return total(total(off * off, axis, keepdims=True, where=where) / degrees, axis, keepdims=keepdims)


def _std(*given: Any, **options: Any) -> Any:
    return np.sqrt(_var(*given, **options))


def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    values = traced(numbers(a))
    if weights is None:
        own: Any = np.ones(values.shape)
    else:
        own = traced(numbers(weights))
        if own.shape != values.shape and axis is not None:
            own = np.moveaxis(np.broadcast_to(own, (*np.delete(values.shape, axis), *own.shape)), -1, axis)
    whole = total(own, axis, keepdims=keepdims)
    found = total(values * own, axis, keepdims=keepdims) / whole
    return (found, whole) if returned else found


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return total(traced(selected(numbers(a), 1.0, 0.0)), axis, keepdims=keepdims)


def _spread(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return _largest(a, axis, keepdims=keepdims) - _smallest(a, axis, keepdims=keepdims)


def _sorted(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Odd-even transposition sort: n numbers need n rounds."""
    array = as_numbers(numbers(a))
    rows = list(array.reshape(-1)) if axis is None else list(np.moveaxis(array, axis, 0))
    for k in range(len(rows)):
        for i in range(k % 2, len(rows) - 1, 2):
            rows[i : i + 2] = [ufuncs[name](*rows[i : i + 2]) for name in ("minimum", "maximum")]
    shape = (array.size,) if axis is None else np.moveaxis(array, axis, 0).shape
    found = np.empty(shape, dtype=object)
    for k, row in enumerate(rows):
        found[k] = row
    return traced(found if axis is None else np.moveaxis(found, 0, axis))


def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    if np.ndim(axis):
        raise TracingError("np.median of several axes cannot be traced; reshape the array")
    rows = np.moveaxis(_sorted(a, axis), 0 if axis is None else axis, 0)
    middle = 0.5 * (rows[(len(rows) - 1) // 2] + rows[len(rows) // 2])
    if not keepdims:
        return middle
    return middle.reshape((1,) * np.ndim(a)) if axis is None else np.expand_dims(middle, axis)


_TEXTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("max", "amax", "nanmax"), _largest),
    **dict.fromkeys(("min", "amin", "nanmin"), _smallest),
    "any": _of_conditions("logical_or"),
    "all": all_of,
    **dict.fromkeys(("sum", "nansum"), total),
    **dict.fromkeys(("prod", "nanprod"), _of_numbers("multiply", 1.0)),
    **dict.fromkeys(("mean", "nanmean"), _mean),
    **dict.fromkeys(("var", "nanvar"), _var),
    **dict.fromkeys(("std", "nanstd"), _std),
    **dict.fromkeys(("median", "nanmedian"), _median),
    "average": _average,
    "count_nonzero": _count_nonzero,
    "ptp": _spread,
    "sort": _sorted,
}  # all numbers are finite
REDUCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {getattr(np, name): text for name, text in _TEXTS.items()}
"""The text of each of them, by NumPy's function."""
