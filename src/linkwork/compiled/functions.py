"""NumPy's functions over traced arrays: which of our texts implements each one, and which work on objects unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from linkwork.compiled import linear_algebra, orthogonal
from linkwork.compiled.arrays import TracedArray, check_unmasked, numbers, traced
from linkwork.compiled.reductions import REDUCTIONS, accumulated, all_of, reduced
from linkwork.compiled.scalars import SCALARS, as_numbers, selected, ufuncs
from linkwork.engine.trace.conditions import Condition
from linkwork.engine.trace.tracer import Traced
from linkwork.errors import TracingError


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A universal function of NumPy, or its ``reduce``, ``accumulate`` or ``outer``."""
    name = ufunc.__name__
    options = {key: value for key, value in options.items() if key not in ("dtype", "casting", "subok", "order")}
    if method != "reduce" and options.pop("where", True) is not True:
        raise TracingError(f"np.{name}(where=...) cannot be traced; use np.where(condition, x, y)")
    if name in _OF_VECTORS:
        return _OF_VECTORS[name](*map(traced, map(numbers, inputs)))
    if name == "matmul":
        if options:
            raise TracingError(f"np.matmul cannot be traced with {', '.join(options)}; use np.moveaxis before it")
        return traced(_products(*_counted(name, *inputs)))
    if name not in SCALARS:
        raise _unknown(name)
    return _by_method(ufunc, method, [numbers(x) for x in inputs], options)


def _by_method(ufunc: np.ufunc, method: str, inputs: list[Any], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    if method in ("reduce", "accumulate"):
        if name in ("add", "multiply"):
            inputs = [as_numbers(x) for x in inputs]  # truth values are counted
        if method == "accumulate":
            return accumulated(name, *inputs, **options)
        return reduced(name, ufunc.identity, *inputs, **options)
    if method == "outer":
        a, b = inputs
        return traced(ufuncs[name](a.reshape(a.shape + (1,) * b.ndim), b))
    if method != "__call__":
        raise TracingError(f"np.{name}.{method} cannot be traced")
    if options:
        raise TracingError(f"np.{name} cannot be traced with {', '.join(options)}")
    result = ufuncs[name](*inputs)
    return tuple(map(traced, result)) if isinstance(result, tuple) else traced(result)


_OF_VECTORS: dict[str, Callable[..., Any]] = {
    "vecdot": lambda a, b: (a * b).sum(axis=-1),
    "vecmat": lambda a, b: (a[..., None, :] @ b)[..., 0, :],
    "matvec": lambda a, b: (a @ b[..., None])[..., 0],
}


def _products(a: Any, b: Any) -> Any:
    """Products of stacks of matrices, one by one: NumPy's loop over a stack of objects goes on after an exception."""
    if max(a.ndim, b.ndim) <= 2:
        return np.asarray(np.matmul(a, b), dtype=object)
    matrices = [x if x.ndim > 1 else x[:, None] if x is b else x[None] for x in (a, b)]
    stack = np.broadcast_shapes(*(x.shape[:-2] for x in matrices))
    first, second = (np.broadcast_to(x, stack + x.shape[-2:]) for x in matrices)
    found = np.empty((*stack, first.shape[-2], second.shape[-1]), dtype=object)
    for k in np.ndindex(stack):
        found[k] = np.matmul(first[k], second[k])
    return found[..., 0] if b.ndim == 1 else found[..., 0, :] if a.ndim == 1 else found


def _counted(name: str, *arrays: Any) -> list[Any]:
    """Arrays that are added and multiplied, as numbers: conditions among numbers are 1 or 0."""
    given = [numbers(x) for x in arrays]
    items = [x for array in given for x in array.flat]
    if items and len(given) > 1 and all(isinstance(x, Condition | bool) for x in items):
        raise TracingError(f"np.{name} of conditions alone is a condition; use condition.astype(float) to count them")
    return [np.asarray(as_numbers(x), dtype=object) for x in given]


# Functions that are not universal functions


def _where(c: Any, *values: Any) -> Any:
    if len(values) != 2:
        raise TracingError("np.where(condition) depends on values; use np.where(condition, x, y)")
    return traced(selected(numbers(c), *map(numbers, values)))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low, high = options.get("min", a_min), options.get("max", a_max)
    inside = numbers(a) if low is None else ufuncs["maximum"](numbers(a), numbers(low))
    return traced(inside if high is None else ufuncs["minimum"](inside, numbers(high)))


def _full_like(a: Any, fill_value: Any, *_: Any, shape: Any = None, **__: Any) -> Any:
    made = np.empty(np.shape(a) if shape is None else shape, dtype=object)
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
    pairs = reversed(list(zip(conditions, choices, strict=True)))
    return reduce(lambda others, pair: _where(*pair, others), pairs, default)


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    parts = max(1, num - 1 if endpoint else num)
    first, last = traced(numbers(start)), traced(numbers(stop))
    whole = last - first
    found = first + (np.arange(num) / parts).reshape((-1,) + (1,) * whole.ndim) * whole
    found = np.moveaxis(found, 0, axis)
    return (found, whole / parts) if retstep else found


def _polyval(p: Any, x: Any) -> Any:
    return reduce(lambda value, coefficient: value * x + coefficient, traced(numbers(p)), 0.0 * traced(numbers(x)))


def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    found = numbers(x)
    largest = sys.float_info.max
    above, below = largest if posinf is None else posinf, -largest if neginf is None else neginf
    infinite = _where(ufuncs["less"](found, 0.0), below, above)
    return _where(ufuncs["isnan"](found), nan, _where(ufuncs["isinf"](found), infinite, found))


def _close(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    first, second = traced(numbers(a)), traced(numbers(b))
    return np.abs(first - second) <= atol + rtol * np.abs(second)


def _equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    return all_of(traced(numbers(a1)) == traced(numbers(a2))) if np.shape(a1) == np.shape(a2) else False


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    return np.rint(traced(numbers(a)) * 10.0**decimals) / 10.0**decimals


def _sinc(x: Any) -> Any:
    turned = np.pi * traced(numbers(x))
    small = np.abs(turned) < 1e-20
    safe = _where(small, 1.0, turned)
    return _where(small, 1.0, np.sin(safe) / safe)


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2.0 * np.pi) -> Any:
    phase = np.moveaxis(traced(numbers(p)), axis, -1)
    step, half = np.diff(phase, axis=-1), 0.5 * period
    turned = np.remainder(step + half, period) - half
    turned = _where((turned == -half) & (step > 0.0), half, turned)
    jump = _where(np.abs(step) < (half if discont is None else discont), 0.0, turned - step)
    whole = np.concatenate([phase[..., :1], phase[..., 1:] + np.cumsum(jump, axis=-1)], axis=-1)
    return np.moveaxis(whole, -1, axis)


def _made(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that creates arrays, called with ``like=`` a traced one."""

    def text(*given: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
        return traced(numbers(make(*map(_plain, given), **options)).copy())

    return text


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    **REDUCTIONS,
    **dict.fromkeys((np.zeros_like, np.empty_like), lambda a, *_, **options: _full_like(a, 0.0, **options)),
    np.ones_like: lambda a, *_, **options: _full_like(a, 1.0, **options),
    np.full_like: _full_like,
    np.interp: _interp,
    np.select: _select,
    np.round: _round,
    np.around: _round,
    np.fix: lambda x, **_: np.trunc(x),
    np.linspace: _linspace,
    np.polyval: _polyval,
    np.sinc: _sinc,
    np.unwrap: _unwrap,
    np.real: lambda x: traced(numbers(x)),
    np.isreal: lambda x: np.ones(np.shape(x), dtype=bool),
    np.iscomplexobj: lambda x: False,
    np.nan_to_num: _nan_to_num,
    np.isclose: _close,
    np.allclose: lambda *given, **options: all_of(_close(*given, **options)),
    np.array_equal: _equal,
    **{make: _made(make) for make in (np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange, np.array)},
    np.asarray: _made(np.array),
    np.vdot: lambda a, b: np.dot(traced(numbers(a)).ravel(), traced(numbers(b)).ravel()),
    **{
        getattr(np.linalg, name): getattr(texts, name)
        for texts, names in (
            (linear_algebra, ("solve", "inv", "cholesky", "det", "slogdet", "norm", "matrix_power")),
            (orthogonal, ("qr", "pinv", "lstsq")),
        )
        for name in names
    },
    np.linalg.multi_dot: lambda arrays, **_: reduce(lambda a, b: a @ b, [traced(numbers(a)) for a in arrays]),
}
"""Functions of NumPy with a text of ours."""
_SINCE_NUMPY_2: dict[str, Callable[..., Any]] = {
    "vecdot": lambda x1, x2, axis=-1: np.sum(traced(numbers(x1)) * traced(numbers(x2)), axis=axis),
    "vector_norm": linear_algebra.vector_norm,
    "matrix_norm": linear_algebra.matrix_norm,
}
if hasattr(np, "astype"):
    FUNCTIONS[np.astype] = lambda x, dtype, **_: traced(numbers(x)).astype(dtype)
FUNCTIONS |= {getattr(np.linalg, name): text for name, text in _SINCE_NUMPY_2.items() if hasattr(np.linalg, name)}

_AS_THEY_ARE = (
    "stack concatenate hstack vstack dstack column_stack block transpose swapaxes moveaxis rollaxis reshape ravel "
    "expand_dims squeeze broadcast_to broadcast_arrays tile repeat roll flip fliplr flipud rot90 split array_split "
    "hsplit vsplit dsplit diag diagonal diagflat trace triu tril take take_along_axis append insert delete atleast_1d "
    "atleast_2d atleast_3d cumsum cumprod dot inner outer tensordot kron cross einsum diff copy shape ndim size "
    "resize trim_zeros ix_ matrix_transpose permute_dims unstack cumulative_sum cumulative_prod concat pad "
    "convolve correlate trapezoid trapz ediff1d vander meshgrid compress extract choose fill_diagonal copyto put"
).split()
"""NumPy functions that move numbers, or add and multiply them, and so work on objects as they do on floats."""


def _plain(value: Any) -> Any:
    """The argument for a function of NumPy: traced arrays as arrays of objects, or as one object."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, np.ndarray) and value.dtype == object and not isinstance(value, TracedArray):
        return numbers(value)
    if not isinstance(value, TracedArray):
        return value
    return value.view(np.ndarray) if value.ndim else value.item()


def _traced(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_traced, value))
    if isinstance(value, Traced | Condition) or (isinstance(value, np.ndarray) and value.dtype == object):
        return traced(value)
    return value


_ARITHMETIC = (
    "cumsum cumprod cumulative_sum cumulative_prod dot inner outer tensordot kron cross einsum convolve correlate"
).split()
"""Those of them that add and multiply: conditions are 1 or 0 there."""


def _as_it_is(func: Callable[..., Any]) -> Callable[..., Any]:
    def text(*args: Any, **options: Any) -> Any:
        if func.__name__ in _ARITHMETIC:
            arrays = [x for x in args if isinstance(x, np.ndarray)]
            found = iter(_counted(func.__name__, *arrays))
            args = tuple(traced(next(found)) if isinstance(x, np.ndarray) else x for x in args)
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
    check_unmasked([*args, *options.values()])
    return text(*args, **options)


_INSTEAD = {
    "argmin": "np.where",
    "argmax": "np.where",
    "argsort": "np.sort",
    "linalg.eigh": "a compiled function for what comes before, and np.linalg.eigh of its result",
    "linalg.svd": "a compiled function for what comes before, and np.linalg.svd of its result",
    "nonzero": "np.where(condition, x, y)",
    "piecewise": "np.where",
}


def _unknown(name: str) -> TracingError:
    instead = f"; use {_INSTEAD[name]}" if name in _INSTEAD else "; see docs/compile.md for those that can"
    return TracingError(f"np.{name} cannot be traced{instead}")
