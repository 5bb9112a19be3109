"""Arrays of traced numbers, which behave like NumPy's.

A ``TracedArray`` is an array of objects: floats, traced scalars, and conditions that are decided at run time. Shapes,
slices, views and assignment are NumPy's own; computation goes through NumPy's protocols to ``functions``, which has one
text over scalars for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linkwork.arguments import masked
from linkwork.engine.trace.conditions import Condition, Undecided
from linkwork.errors import TracingError


class TracedArray(np.ndarray[Any, Any]):
    """An array whose numbers record the operations on them. Those of an argument cannot be assigned to."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        from linkwork.compiled.functions import apply_ufunc

        targets = out or ()
        found = apply_ufunc(ufunc, method, inputs, options)
        if not targets:
            return found
        for target, result in zip(targets, found if isinstance(found, tuple) else (found,), strict=True):
            if not isinstance(target, TracedArray):
                raise TracingError(
                    f"np.{ufunc.__name__} cannot write traced numbers into an array of {target.dtype}; write y = y + x "
                    f"instead of y += x, or make the array by np.zeros_like(x) or np.zeros(n, like=x) of a traced one"
                )
            target[...] = result
        return targets[0] if len(targets) == 1 else targets

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        from linkwork.compiled.functions import apply_function

        return apply_function(func, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return traced(super().__getitem__(_index(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise TracingError("an argument of a compiled function cannot be changed in place; change a copy of it")
        given = numbers(value)
        super().__setitem__(_index(index), given if given.ndim else given.item())

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        if self.size == 1 and isinstance(number := self.item(), bool | float):
            return bool(number)
        raise TracingError(
            "a condition on traced numbers has no truth while a function is traced; choose by value with "
            "np.where(condition, x, y), np.minimum, np.maximum or np.clip, of arrays made by np.stack rather than "
            "np.array"
        )

    def __float__(self) -> float:
        if self.size == 1 and isinstance(number := self.item(), bool | float):
            return float(number)
        raise TracingError(
            "a traced number cannot become a float while a function is traced; keep it an array, use np.sin instead "
            "of math.sin and the like, and make arrays of such numbers by np.stack or np.concatenate"
        )

    def __int__(self) -> int:
        return int(float(self))

    def __index__(self) -> int:
        raise TracingError("a traced number cannot be an index; indices are fixed when a function is traced")

    def __contains__(self, value: object) -> bool:
        raise TracingError("what an array contains is not known while a function is traced; use np.where")

    def __repr__(self) -> str:
        return f"<traced array of shape {self.shape}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        from linkwork.compiled.scalars import as_numbers

        kind = np.dtype(dtype)
        truths = all(isinstance(one, Condition | bool) for one in self.flat)
        if kind.kind == "b":
            return self.copy() if truths else self != 0.0
        if kind not in (np.float64, object) and not (truths and kind.kind in "fiu"):
            raise TracingError(
                f"traced numbers are float64 and cannot become {kind}; np.floor, np.trunc and np.rint round them"
            )
        return traced(np.asarray(as_numbers(self.view(np.ndarray)), dtype=object))

    def round(self, decimals: int = 0, out: Any = None) -> Any:  # type: ignore[override]
        return np.round(self, decimals)

    def __round__(self, digits: int = 0) -> Any:
        return np.round(self, digits)

    def sort(self, *given: Any, **options: Any) -> None:
        self[...] = np.sort(self, *given, **options)

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other)

    def tolist(self) -> Any:
        return [each.tolist() for each in self] if self.ndim else self

    def copy(self, *_: Any, **__: Any) -> Any:
        return np.array(self.view(np.ndarray)).view(TracedArray)

    def __reduce__(self) -> Any:
        raise TracingError("a traced array cannot be pickled; compile the function and pickle that")


def traced(value: Any) -> Any:
    """Objects as a traced array."""
    if isinstance(value, TracedArray):
        return value
    made = np.empty((), dtype=object) if not isinstance(value, np.ndarray) else value
    if made is not value:
        made[()] = value
    return made.view(TracedArray)


def array_of(items: Sequence[Any], shape: tuple[int, ...] | None = None) -> Any:
    """Scalars, traced or not, as a traced array, of one axis if there is no shape."""
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return traced(made if shape is None else made.reshape(shape))


def is_traced(value: Any, depth: int = 8) -> bool:
    """Whether a value has traced numbers; arrays of objects, made by np.array, and lists are searched, too."""
    if isinstance(value, TracedArray | Undecided):
        return True
    if type(value) is np.ndarray and value.dtype == object:
        return any(isinstance(number, TracedArray | Undecided) for number in value.flat)
    if not isinstance(value, list | tuple) or depth == 0 or _PLAIN.issuperset(map(type, value)):
        return False
    return any(is_traced(item, depth - 1) for item in value)


_PLAIN = frozenset((float, int))
"""Types of numbers that are not traced: a list of only these is not searched item by item."""


def numbers(value: Any) -> Any:
    """A value as a plain array of objects: floats, traced scalars and conditions."""
    check_unmasked(value)
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    if isinstance(value, Undecided):
        return traced(value).view(np.ndarray)
    if isinstance(value, list | tuple) and any(isinstance(item, np.ndarray) and item.ndim for item in value):
        return np.stack([numbers(item) for item in value])
    array = np.asarray(value)
    if array.dtype == object:
        return np.asarray(_floats(array), dtype=object)
    if array.dtype.kind == "b":
        return array.astype(object)
    if array.dtype.kind not in "fiu":
        raise TracingError(f"an array of {array.dtype} cannot be computed with traced numbers, which are float64")
    return array.astype(np.float64).astype(object)


def check_unmasked(value: Any) -> None:
    """Masked numbers, which NumPy's functions over objects would use, are refused, in lists, too."""
    if masked(value):
        raise TracingError("masked numbers cannot be computed with; fill them, as with .filled(0.0), or leave them out")


def _number(value: Any) -> Any:
    if isinstance(value, Undecided | float | bool):
        return value if type(value) is not np.float64 else float(value)
    if isinstance(value, np.ndarray) and not value.ndim:
        return _number(value.item())
    if isinstance(value, np.bool_):
        return bool(value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TracingError(f"{type(value).__name__} is no number that can be computed with") from None


_floats = np.frompyfunc(_number, 1, 1)


def _index(index: Any) -> Any:
    """An index as NumPy takes it; a traced one is rejected."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if isinstance(part, TracedArray):
            raise TracingError(
                "traced numbers cannot choose elements: indices are fixed when a function is traced; use np.where"
            )
        check_unmasked(part)
    return index
