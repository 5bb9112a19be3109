"""What a user gives made into checked numbers, arrays, names and paths, or a clear error: one rule for all modules.

A number is a finite real one: an int or float of Python or NumPy, or anything else that ``float`` takes, but no text,
no truth value and nothing complex. An array holds such numbers and nothing that is masked. Each function takes what the
thing is called in a message, and the error to raise: ``ArgumentError``, or ``ModelError`` for a part of a mechanism.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from math import inf, isfinite, isnan, nan, prod
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ArgumentError, LinkworkError, LinkworkWarning, near_names, shown

Array = NDArray[np.float64]
Kind = type[LinkworkError]
Given = ParamSpec("Given")
Result = TypeVar("Result")
_LONGEST_PATH = 4096

# Names that have changed


def old_name(old: str, new: str, above: int = 3) -> None:
    """Warn of a name that goes with the next release, at the call that is so many frames above."""
    message = f"{old} is called {new} now; the old name goes with the next release"
    warnings.warn(message, LinkworkWarning, stacklevel=above)


def with_old_names(**names: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A function that takes arguments by their old names, too, with a warning: old=new."""

    def made(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(function)
        def with_old(*arguments: Given.args, **named: Given.kwargs) -> Result:
            for old in names.keys() & named.keys():
                if names[old] in named:
                    raise ArgumentError(f"{old} is called {names[old]} now; pass the new name alone")
                old_name(old, names[old], 3)
                named[names[old]] = named.pop(old)
            return function(*arguments, **named)

        return with_old

    return made


# Single numbers


def finite(what: str, value: Any, error: Kind = ArgumentError) -> float:
    """A finite number."""
    number = real(value)
    if not isfinite(number):
        raise error(f"{what} must be a finite number, not {shown(value)}")
    return number


def positive(what: str, value: Any, unit: str = "", most: float = inf) -> float:
    """A number that is positive and finite, and at most ``most``."""
    number = real(value)
    if not 0.0 < number < inf:
        raise ArgumentError(f"{what} must be a positive number{unit and f' of {unit}'}, not {shown(value)}")
    if number > most:
        raise ArgumentError(f"{what} must be at most {most:g}, not {shown(value)}")
    return number


def seconds(what: str, value: Any) -> float:
    """A time that is positive and finite."""
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
    """Whether it is an integer of Python or NumPy; a truth value and a time are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def switch(what: str, value: Any, hint: str = "") -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{what} must be True or False, not {shown(value)}{hint}")
    return bool(value)


def real(value: Any) -> float:
    """The value as a float; NaN if it is no real number, or one beyond all floats."""
    if type(value) is float:
        return value
    if isinstance(value, str | bytes | bytearray | bool | complex):
        return nan
    if isinstance(value, np.ndarray | np.generic) and (value.ndim or value.dtype.kind not in "fiu" or masked(value)):
        return nan
    try:
        return float(value)
    except Exception:  # whatever an object's own conversion raises
        return nan


# Several numbers


def all_floats(values: Sequence[Any]) -> bool:
    """Whether they are Python's own floats, which need no conversion."""
    return set(map(type, values)) == {float}


def several(what: str, values: Any, count: int, error: Kind = ArgumentError) -> list[float]:
    """So many finite numbers."""
    if type(values) in (list, tuple) and len(values) == count and all_floats(values) and all(map(isfinite, values)):
        return list(values)  # the short way for most
    numbers = _each(values, count)
    if numbers is None:
        raise error(f"{what} must be {count} number(s), not {shown(values)}")
    if len(numbers) != count:
        raise error(f"{what} must be {count} number(s), not {_how_many(values, count)}")
    if not all(map(isfinite, numbers)):
        raise error(f"{what} must be finite, not {shown(values)}")
    return numbers


def one_or_each(what: str, value: Any, count: int, error: Kind = ArgumentError) -> tuple[float, ...]:
    """So many numbers from one for all, or one each; infinite is allowed, not a number is not."""
    if type(value) is float and not isnan(value):
        return (value,) * count
    number = real(value)
    single = _is_nan(value) or not isnan(number)
    numbers = [number] * max(count, 1) if single else _each(value, count)
    if numbers is None:
        raise error(f"{what} must be one number or {count}, not {shown(value)}")
    if not single and len(numbers) != count:
        raise error(f"{what} must be one number or {count}, not {_how_many(value, count)}")
    if any(map(isnan, numbers)):
        raise error(f"{what} must not be NaN, but is {shown(value)}")
    return tuple(numbers[:count])


def _each(values: Any, count: int) -> list[float] | None:
    """Each of some values as a number, up to one more than wanted; None if there is one that is none, not even NaN."""
    if isinstance(values, str | bytes | bytearray | dict | set | frozenset) or masked(values):
        return None
    try:
        listed = list(islice(values, count + 1))
    except Exception:  # whatever an object's own iterator raises
        return None
    numbers = [real(value) for value in listed]
    nonsense = (isnan(number) and not _is_nan(value) for number, value in zip(numbers, listed, strict=True))
    return None if any(nonsense) else numbers


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _how_many(values: Any, count: int) -> str:
    return f"{len(values)}" if isinstance(values, list | tuple | np.ndarray) else f"fewer or more than {count}"


# Arrays


def array(what: str, value: Any, last: tuple[int, ...] | None = None) -> Array:
    """A float64 array of real numbers, which may be the one that was given; messages name its last axes."""
    if masked(value):
        raise ArgumentError(f"{what} has masked numbers; fill them, as with .filled(0.0), or leave them out")
    try:
        given = np.asarray(value)
    except Exception as error:  # whatever an object's own conversion raises
        raise ArgumentError(f"{what} cannot be made an array{_shape(' of', last)}: {error}") from None
    if given.dtype.kind not in "fiu" and not (given.dtype.kind == "b" and given.size == 0):
        raise ArgumentError(
            f"{what} must hold real numbers{_shape(' in', last)}, but has dtype {given.dtype}; "
            f"pass a float64 array or a list of floats"
        )
    if given.dtype.itemsize > 8 and given.dtype.kind == "f":
        raise ArgumentError(
            f"{what} has dtype {given.dtype}, which float64 cannot hold; convert it with .astype(float)"
        )
    return given.astype(np.float64, copy=False)


def _shape(word: str, last: tuple[int, ...] | None) -> str:
    return "" if last is None else f"{word} shape (..., {', '.join(map(str, last))})"


def finite_array(what: str, value: Any) -> Array:
    """A float64 array of finite numbers."""
    numbers = array(what, value)
    if not all_finite(numbers):
        raise ArgumentError(f"{what} must be finite, not {shown(value)}")
    return numbers


def all_finite(numbers: Array) -> bool:
    """Whether all numbers are finite; those that a broadcast repeats are looked at once. Traced numbers, which are
    objects, pass: what comes of them is looked at when it is computed.
    """
    return numbers.dtype == object or bool(np.isfinite(once(numbers)).all())


def once(numbers: Array) -> Array:
    """The array without the repetitions of a broadcast, which would take memory."""
    return numbers[tuple(slice(None) if stride else slice(1) for stride in numbers.strides)]


def masked(value: Any) -> bool:
    """Whether a masked array hides some of its numbers, or a list has a masked one."""
    ma = sys.modules.get("numpy.ma")  # NumPy imports it where it is used first
    if ma is None:
        return False
    if isinstance(value, list | tuple):
        return id(ma.masked) in map(id, value)
    if not isinstance(value, ma.MaskedArray):
        return False
    mask = ma.getmaskarray(value)
    return bool(mask.dtype == bool and mask.any())


def go_together(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether leading (batch) dimensions broadcast."""
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


@contextmanager
def memory_for(what: str, shape: Iterable[int]) -> Iterator[None]:
    """Where memory runs out, say what was to be kept in it."""
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
        known = ", ".join(map(repr, options))
        raise error(f"{what} must be one of {known}, not {shown(value)}{near_names(value, options)}")
    return value


def text(what: str, value: Any, error: Kind = ArgumentError) -> str:
    """A name: text that can be written to any file."""
    if not isinstance(value, str):
        raise error(f"{what} must be text, not {shown(value)}")
    return value


def file_path(what: str, value: Any) -> Path:
    """A path of a file."""
    try:
        path = Path(os.fsdecode(value))
        os.fsencode(path)
    except (
        Exception
    ):  # no path at all, characters that no file's name can have, or whatever an object's own path raises
        path = Path("\0")
    if "\0" in str(path) or not path.name or len(str(path)) > _LONGEST_PATH:
        raise ArgumentError(f"{what} must be the path of a file, not {shown(value)}")
    return path
