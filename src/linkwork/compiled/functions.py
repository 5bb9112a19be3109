"""NumPy's functions over traced arrays: which text of ours each one is, and which work on objects as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from linkwork.compiled import linear_algebra
from linkwork.compiled.arrays import TracedArray, numbers, traced
from linkwork.compiled.scalars import SCALARS, number, select
from linkwork.engine.trace.conditions import Condition
from linkwork.engine.trace.tracer import Traced
from linkwork.errors import TracingError

_ufuncs = {name: np.frompyfunc(text, text_inputs, 2 if name == "divmod" else 1) for name, text, text_inputs in (
    (name, text, getattr(np, name).nin if hasattr(np, name) and isinstance(getattr(np, name), np.ufunc) else 3)
    for name, text in SCALARS.items()
)}  # fmt: skip
_selected = np.frompyfunc(select, 3, 1)
_as_numbers = np.frompyfunc(number, 1, 1)


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A universal function of NumPy, or its ``reduce``, ``accumulate`` or ``outer``."""
    name = ufunc.__name__
    options = {key: value for key, value in options.items() if key not in ("dtype", "casting", "subok", "order")}
    where = options.pop("where", True)
    if where is not True:
        raise TracingError(f"np.{name}(where=...) cannot be traced; use np.where(condition, x, y)")
    if name == "vecdot":
        a, b = map(traced, map(numbers, inputs))
        return (a * b).sum(axis=-1)
    if name in ("matmul", "matvec", "vecmat"):
        plain = [_as_numbers(numbers(x)) for x in inputs]
        return traced(np.asarray(ufunc(*plain, **options), dtype=object))
    if name not in SCALARS:
        raise _unknown(name)
    plain = [numbers(x) for x in inputs]
    if method == "__call__":
        if options:
            raise TracingError(f"np.{name} cannot be traced with {', '.join(options)}")
        found = _ufuncs[name](*plain)
        return tuple(map(traced, found)) if isinstance(found, tuple) else traced(found)
    if method == "outer":
        a, b = plain
        return traced(_ufuncs[name](a.reshape(a.shape + (1,) * b.ndim), b))
    if method == "reduce":
        return _reduced(name, ufunc.identity, *plain, **options)
    if method == "accumulate":
        return _accumulated(name, *plain, **options)
    raise TracingError(f"np.{name}.{method} cannot be traced")


def _reduced(name: str, identity: Any, array: Any, axis: Any = 0, keepdims: bool = False, initial: Any = None) -> Any:
    axes = range(array.ndim) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    axes = sorted({int(one) % array.ndim for one in axes}) if array.ndim else []
    others = [k for k in range(array.ndim) if k not in axes]
    moved = np.moveaxis(array, axes, range(len(axes))) if axes else array[None]
    flat = moved.reshape((-1, *(array.shape[k] for k in others)))
    text = _ufuncs[name]
    start = [] if initial is None or initial is np._NoValue else [numbers(initial)]
    if not len(flat) and not start:
        if identity is None:
            raise TracingError(f"np.{name} has nothing to reduce")
        start = [numbers(identity)]
    parts = [*start, *flat]
    found = reduce(text, parts) if len(parts) > 1 else parts[0]
    shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape)) if keepdims else flat.shape[1:]
    result = np.empty(flat.shape[1:], dtype=object)
    result[...] = found
    return traced(result.reshape(shape))


def _accumulated(name: str, array: Any, axis: int = 0) -> Any:
    rows = list(np.moveaxis(array, axis, 0))
    for k in range(1, len(rows)):
        rows[k] = _ufuncs[name](rows[k - 1], rows[k])
    return traced(np.moveaxis(np.array(rows, dtype=object).reshape(np.moveaxis(array, axis, 0).shape), 0, axis))


# Functions that are no universal ones


def _where(c: Any, *values: Any) -> Any:
    if len(values) != 2:
        raise TracingError("np.where(condition) depends on values; use np.where(condition, x, y)")
    return traced(_selected(numbers(c), *map(numbers, values)))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low, high = options.get("min", a_min), options.get("max", a_max)
    found = numbers(a)
    found = found if low is None else _ufuncs["maximum"](found, numbers(low))
    return traced(found if high is None else _ufuncs["minimum"](found, numbers(high)))


def _extreme(name: str) -> Callable[..., Any]:
    def text(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, **_: Any) -> Any:
        return _reduced(name, None, numbers(a), axis, keepdims is True, initial)

    return text


def _any(name: str) -> Callable[..., Any]:
    def text(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
        return _reduced(name, name == "logical_and", numbers(a), axis, keepdims is True)

    return text


def _sum(name: str, identity: float) -> Callable[..., Any]:
    def text(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        **_: Any,
    ) -> Any:
        return _reduced(name, identity, _as_numbers(numbers(a)), axis, keepdims is True, initial)

    return text


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
    total = _sum("add", 0.0)(a, axis, keepdims=keepdims)
    return total / (numbers(a).size / max(1, total.size))


def _var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **_: Any
) -> Any:
    off = traced(numbers(a)) - _mean(a, axis, keepdims=True)
    total = _sum("add", 0.0)(off * off, axis, keepdims=keepdims)
    return total / (numbers(a).size / max(1, total.size) - ddof)


def _full(value: float) -> Callable[..., Any]:
    def text(a: Any, *_: Any, shape: Any = None, **__: Any) -> Any:
        made = np.empty(np.shape(a) if shape is None else shape, dtype=object)
        made[...] = value
        return traced(made)

    return text


def _full_like(a: Any, fill_value: Any, *_: Any, **__: Any) -> Any:
    made = np.empty(np.shape(a), dtype=object)
    made[...] = numbers(fill_value)
    return traced(made)


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise TracingError("np.interp(period=...) cannot be traced")
    x, places, values = traced(numbers(x)), traced(numbers(xp)), traced(numbers(fp))
    found = values[0] if left is None else traced(numbers(left))
    for k in range(len(places) - 1):
        slope = (values[k + 1] - values[k]) / (places[k + 1] - places[k])
        found = _where(x < places[k], found, values[k] + slope * (x - places[k]))
    return _where(places[-1] < x, values[-1] if right is None else right, _where(x < places[-1], found, values[-1]))


def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0.0) -> Any:
    found = default
    for c, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = _where(c, choice, found)
    return found


def _average(a: Any, axis: Any = None, weights: Any = None, **_: Any) -> Any:
    if weights is None:
        return _mean(a, axis)
    weighted, of = traced(numbers(a)), np.broadcast_to(np.asarray(weights), np.shape(a))
    return (weighted * of).sum(axis=axis) / of.sum(axis=axis)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    return np.rint(traced(numbers(a)) * 10.0**decimals) / 10.0**decimals


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **_: Any) -> Any:
    part = np.arange(num) / max(1, num - 1 if endpoint else num)
    first, last = traced(numbers(start)), traced(numbers(stop))
    return first + part.reshape((-1,) + (1,) * first.ndim) * (last - first)


def _polyval(p: Any, x: Any) -> Any:
    coefficients, found = traced(numbers(p)), 0.0 * traced(numbers(x))
    for k in range(len(coefficients)):
        found = found * x + coefficients[k]
    return found


def _nan_to_num(x: Any, *_: Any, **__: Any) -> Any:
    return traced(numbers(x).copy())


def _allclose(*_: Any, **__: Any) -> Any:
    raise TracingError("np.allclose has no truth while a function is traced; compare with np.abs(a - b) < tolerance")


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.max: _extreme("maximum"),
    np.min: _extreme("minimum"),
    np.any: _any("logical_or"),
    np.all: _any("logical_and"),
    np.sum: _sum("add", 0.0),
    np.prod: _sum("multiply", 1.0),
    np.mean: _mean,
    np.var: _var,
    np.std: lambda *args, **options: np.sqrt(_var(*args, **options)),
    np.zeros_like: _full(0.0),
    np.empty_like: _full(0.0),
    np.ones_like: _full(1.0),
    np.full_like: _full_like,
    np.interp: _interp,
    np.select: _select,
    np.average: _average,
    np.round: _round,
    np.fix: lambda x, **_: np.trunc(x),
    np.linspace: _linspace,
    np.polyval: _polyval,
    np.ptp: lambda a, axis=None, **_: _extreme("maximum")(a, axis) - _extreme("minimum")(a, axis),
    np.count_nonzero: lambda a, axis=None, **_: _sum("add", 0.0)(_where(a, 1.0, 0.0), axis),
    np.nan_to_num: _nan_to_num,
    np.allclose: _allclose,
    np.isclose: _allclose,
    np.array_equal: _allclose,
    np.linalg.solve: linear_algebra.solve,
    np.linalg.inv: linear_algebra.inv,
    np.linalg.cholesky: linear_algebra.cholesky,
    np.linalg.det: linear_algebra.det,
    np.linalg.norm: linear_algebra.norm,
    np.linalg.multi_dot: lambda arrays, **_: reduce(lambda a, b: a @ b, [traced(numbers(a)) for a in arrays]),
    np.linalg.matrix_power: linear_algebra.matrix_power,
}
"""Functions of NumPy with a text of ours."""

_AS_THEY_ARE = (
    "stack concatenate hstack vstack dstack column_stack block transpose swapaxes moveaxis rollaxis reshape ravel "
    "expand_dims squeeze broadcast_to broadcast_arrays tile repeat roll flip fliplr flipud rot90 split array_split "
    "hsplit vsplit dsplit diag diagonal diagflat trace triu tril take take_along_axis append insert delete atleast_1d "
    "atleast_2d atleast_3d cumsum cumprod dot vdot inner outer tensordot kron cross einsum diff copy shape ndim size "
    "resize trim_zeros ix_ matrix_transpose permute_dims astype unstack cumulative_sum"
).split()
"""Functions of NumPy that move numbers, or add and multiply them, and so do with objects as they do with floats."""


def _plain(value: Any) -> Any:
    """What a function of NumPy is called with: traced arrays as arrays of objects, or as one."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if not isinstance(value, TracedArray):
        return value
    return value.view(np.ndarray) if value.ndim else value.item()


def _traced(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_traced, value))
    if isinstance(value, Traced | Condition) or (isinstance(value, np.ndarray) and value.dtype == object):
        return traced(value)
    return value


def _as_it_is(func: Callable[..., Any]) -> Callable[..., Any]:
    def text(*args: Any, **options: Any) -> Any:
        found = func(*map(_plain, args), **{key: _plain(value) for key, value in options.items()})
        return _traced(found)

    return text


for _name in _AS_THEY_ARE:
    for _module in (np, np.linalg):
        if callable(_func := getattr(_module, _name, None)):
            FUNCTIONS.setdefault(_func, _as_it_is(_func))


def apply_function(func: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
    """A function of NumPy."""
    text = FUNCTIONS.get(func)
    if text is None:
        raise _unknown(f"{func.__module__.replace('numpy', 'np', 1)}.{func.__name__}".removeprefix("np."))
    if options.get("out") is not None:
        raise TracingError(f"np.{func.__name__}(out=...) cannot be traced; assign the result")
    return text(*args, **options)


_INSTEAD = {
    "linalg.lstsq": "np.linalg.solve(A.T @ A, A.T @ b)",
    "linalg.pinv": "np.linalg.solve(A @ A.T + damping * np.eye(n), ...)",
    "argmin": "np.where",
    "argmax": "np.where",
    "sort": "np.minimum and np.maximum",
    "nonzero": "np.where(condition, x, y)",
    "piecewise": "np.where",
}


def _unknown(name: str) -> TracingError:
    instead = f"; use {_INSTEAD[name]}" if name in _INSTEAD else "; see docs/compile.md for those that can"
    return TracingError(f"np.{name} cannot be traced{instead}")
