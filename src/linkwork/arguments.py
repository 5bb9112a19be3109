"""Conversion of user input to checked numbers, arrays, names and paths, with clear errors: one rule for all modules.

A number is finite and real: an int or float of Python or NumPy, or anything else that ``float`` accepts, except
strings, booleans and complex numbers. An array holds such numbers and is not masked. Each function takes the name of
the value for messages, and the error to raise: ``ArgumentError``, or ``ModelError`` for a part of a mechanism.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from itertools import islice
from math import inf, isfinite, isnan, nan, prod
from pathlib import Path
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ArgumentError, LinkworkError, excuse, near_names, shown, warn_caller

Array = NDArray[np.float64]
Kind = type[LinkworkError]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_LONGEST_PATH = 4096
_DEEPEST = 64
"""Lists in lists that NumPy makes an array of, at most."""

# Deprecated names


def old_name(old: str, new: str) -> None:
    """Warn of a name that the next release removes."""
    warn_caller(f"{old} is called {new} now; the old name goes with the next release")


def with_old_names(**names: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorator: accept arguments also by their old names, with a warning: old=new."""

    def decorator(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def with_old(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
            for old in names.keys() & options.keys():
                if names[old] in options:
                    raise ArgumentError(f"{old} is called {names[old]} now; pass the new name alone")
                old_name(old, names[old])
                options[names[old]] = options.pop(old)
            return function(*arguments, **options)

        return with_old

    return decorator


# The environment


def variable(name: str, *values: str) -> str | None:
    """The value of a variable of the environment, one of those known; None if it is not set, or empty. Any other is
    ignored with a warning, one in each process.
    """
    value = os.environ.get(name)
    if value and value not in values:
        _warn_of_variable(name, value, values)
    return value if value in values else None


@cache
def _warn_of_variable(name: str, value: str, values: tuple[str, ...]) -> None:
    expected = " or ".join([", ".join(map(repr, values[:-1])), repr(values[-1])] if values[1:] else map(repr, values))
    warn_caller(f"{name} in the environment is {shown(value)}, which is ignored; it must be {expected}, or not set")


# Single numbers


def finite(what: str, value: Any, error: Kind = ArgumentError) -> float:
    """A finite number."""
    number = real(value)
    if not isfinite(number):
        raise error(f"{what} must be a finite number, not {shown(value)}")
    return number


def positive(what: str, value: Any, unit: str = "", most: float = inf) -> float:
    """A positive, finite number of at most ``most``."""
    number = real(value)
    if not 0.0 < number < inf:
        raise ArgumentError(f"{what} must be a positive number{unit and f' of {unit}'}, not {shown(value)}")
    if number > most:
        raise ArgumentError(f"{what} must be at most {most:g}, not {shown(value)}")
    return number


def seconds(what: str, value: Any) -> float:
    """A positive, finite time (s)."""
    return positive(what, value, "seconds")


def not_negative(what: str, value: Any) -> float:
    """A finite number of 0 or more."""
    number = real(value)
    if not 0.0 <= number < inf:
        raise ArgumentError(f"{what} must be a number of 0 or more, not {shown(value)}")
    return number


def integer(what: str, value: Any, least: int, most: int | None = None) -> int:
    """An integer of at least ``least``, and at most ``most``."""
    if not is_integer(value) or value < least:
        raise ArgumentError(f"{what} must be an integer of {least} or more, not {shown(value)}")
    if most is not None and value > most:
        raise ArgumentError(f"{what} must be an integer of at most {most:,}, not {shown(value)}")
    return int(value)


def is_integer(value: Any) -> bool:
    """Whether it is an integer of Python or NumPy; booleans and times are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def switch(what: str, value: Any, hint: str = "") -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{what} must be True or False, not {shown(value)}{hint}")
    return bool(value)


def real(value: Any) -> float:
    """The value as a float; NaN if it is not a real number, or beyond the range of floats."""
    if type(value) is float:
        return value
    if isinstance(value, str | bytes | bytearray | bool | complex):
        return nan
    if isinstance(value, np.ndarray | np.generic) and (value.ndim or value.dtype.kind not in "fiu" or masked(value)):
        return nan
    try:
        return float(value)
    except Exception as error:  # anything that an object's own conversion raises
        excuse(error)
        return nan


# Several numbers


def all_floats(values: Sequence[Any]) -> bool:
    """Whether they are Python floats, which need no conversion."""
    return set(map(type, values)) == {float}


def several(what: str, values: Any, count: int, error: Kind = ArgumentError) -> list[float]:
    """``count`` finite numbers."""
    if type(values) in (list, tuple) and len(values) == count and all_floats(values) and all(map(isfinite, values)):
        return list(values)  # the fast path
    numbers = _numbers_of(values, count)
    if numbers is None:
        raise error(f"{what} must be {count} number(s), not {shown(values)}")
    if len(numbers) != count:
        raise error(f"{what} must be {count} number(s), not {_how_many(values, count)}")
    if not all(map(isfinite, numbers)):
        raise error(f"{what} must be finite, not {shown(values)}")
    return numbers


def one_or_each(what: str, value: Any, count: int, error: Kind = ArgumentError) -> tuple[float, ...]:
    """``count`` numbers, from one for all or one each; infinite values are allowed, NaN is not."""
    if type(value) is float and not isnan(value):
        return (value,) * count
    number = real(value)
    single = _is_nan(value) or not isnan(number)
    numbers = [number] * max(count, 1) if single else _numbers_of(value, count)
    if numbers is None:
        raise error(f"{what} must be one number or {count}, not {shown(value)}")
    if not single and len(numbers) != count:
        raise error(f"{what} must be one number or {count}, not {_how_many(value, count)}")
    if any(map(isnan, numbers)):
        raise error(f"{what} must not be NaN, but is {shown(value)}")
    return tuple(numbers[:count])


def _numbers_of(values: Any, count: int) -> list[float] | None:
    """The values as numbers, at most one more than ``count``; None if any is not a number; NaN is one."""
    if isinstance(values, str | bytes | bytearray | dict | set | frozenset) or masked(values):
        return None
    try:
        items = list(islice(values, count + 1))
    except Exception as error:  # anything that an object's own iterator raises
        excuse(error)
        return None
    numbers = [real(value) for value in items]
    nonsense = (isnan(number) and not _is_nan(value) for number, value in zip(numbers, items, strict=True))
    return None if any(nonsense) else numbers


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _how_many(values: Any, count: int) -> str:
    return f"{len(values)}" if isinstance(values, list | tuple | np.ndarray) else f"fewer or more than {count}"


def is_listed(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list, a tuple or another sequence of objects. Text is none, nor is memory: its items are numbers,
    and cannot even be read one by one if it has several dimensions.
    """
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


# Arrays


def array(what: str, value: Any, last: tuple[int, ...] | None = None) -> Array:
    """A float64 array of real numbers, possibly the given one; messages name its last axes."""
    if masked(value):
        raise ArgumentError(f"{what} has masked numbers; fill them, as with .filled(0.0), or leave them out")
    try:
        numbers = np.asarray(value)
    except Exception as error:  # anything that an object's own conversion raises
        excuse(error)
        raise ArgumentError(f"{what} cannot be made an array{_shape(' of', last)}: {error}") from None
    if numbers.dtype.kind not in "fiu" and not (numbers.dtype.kind == "b" and numbers.size == 0):
        raise ArgumentError(
            f"{what} must hold real numbers{_shape(' in', last)}, but has dtype {numbers.dtype}; "
            f"pass a float64 array or a list of floats"
        )
    if numbers.dtype.itemsize > 8 and numbers.dtype.kind == "f":
        raise ArgumentError(
            f"{what} has dtype {numbers.dtype}, which float64 cannot hold; convert it with .astype(float)"
        )
    return numbers.astype(np.float64, copy=False)


def _shape(word: str, last: tuple[int, ...] | None) -> str:
    return "" if last is None else f"{word} shape (..., {', '.join(map(str, last))})"


def finite_array(what: str, value: Any) -> Array:
    """A float64 array of finite numbers."""
    numbers = array(what, value)
    if not all_finite(numbers):
        raise ArgumentError(f"{what} must be finite, not {shown(value)}")
    return numbers


def all_finite(numbers: Array) -> bool:
    """Whether all numbers are finite; the repetitions of a broadcast are checked once. Traced numbers, which are
    objects, pass: their values are checked when they are computed.
    """
    return numbers.dtype == object or bool(np.isfinite(once(numbers)).all())


def once(numbers: Array) -> Array:
    """The array without the repetitions of a broadcast, which would take memory."""
    return numbers[tuple(slice(None) if stride else slice(1) for stride in numbers.strides)]


def masked(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether a masked array hides some of its numbers, be it in a list, or in lists of lists."""
    ma = sys.modules.get("numpy.ma")  # NumPy imports it on first use
    if ma is None:
        return False
    if isinstance(value, list | tuple):
        kinds = set(map(type, value)) - {float, int} if depth else ()
        hiding = tuple(kind for kind in kinds if issubclass(kind, list | tuple | ma.MaskedArray))
        return bool(hiding) and any(masked(item, depth - 1) for item in value if isinstance(item, hiding))
    if not isinstance(value, ma.MaskedArray):
        return False
    mask = ma.getmaskarray(value)
    return bool(mask.dtype == bool and mask.any())


def go_together(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether leading (batch) dimensions broadcast with each other."""
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


@contextmanager
def memory_for(what: str, shape: Iterable[int]) -> Iterator[None]:
    """If memory runs out, raise an error that says what it was for."""
    try:
        yield
    except MemoryError:
        sizes = tuple(shape)
        gigabytes = 8e-9 * prod(float(min(size, 10**300)) for size in sizes)
        message = f"not enough memory for {what} of shape {shown(sizes)}, which take {gigabytes:.3g} GB"
        raise ArgumentError(message) from None


# Names and paths


def choice(what: str, value: Any, options: Sequence[str], error: Kind = ArgumentError) -> str:
    """One of the options, or an error that lists them."""
    if not isinstance(value, str) or value not in options:
        choices = ", ".join(map(repr, options))
        raise error(f"{what} must be one of {choices}, not {shown(value)}{near_names(value, options)}")
    return value


def text(what: str, value: Any, error: Kind = ArgumentError) -> str:
    """A name: text that can be encoded in any file."""
    if not isinstance(value, str):
        raise error(f"{what} must be text, not {shown(value)}")
    return value


def file_path(what: str, value: Any) -> Path:
    """The path of a file."""
    try:
        path = Path(os.fsdecode(value))
        os.fsencode(path)
    except Exception as error:  # not a path, characters that no file name can have, or an error of an object's own path
        excuse(error)
        path = Path("\0")
    if "\0" in str(path) or not path.name or len(str(path)) > _LONGEST_PATH:
        raise ArgumentError(f"{what} must be the path of a file, not {shown(value)}")
    return path
