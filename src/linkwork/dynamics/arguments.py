"""Conversion of arguments to checked arrays, with clear errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array as Array
from linkwork.arguments import all_finite, array, is_listed, once
from linkwork.batches import FLOAT64, Given, broadcast, leading_axes, spread
from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, excuse, shown
from linkwork.model.model import Frame, Model, Point
from linkwork.properties import cached_property

Frames = str | Point | Sequence[str | Point]


def check_model(model: object) -> None:
    if not isinstance(model, Model):
        raise ArgumentError(
            f"model must be a linkwork Model (from lw.load, lw.Builder or lw.mechanisms), not {shown(model)}"
        )


def as_array(model: Model, name: str, space: str, value: ArrayLike, frames: int = 0) -> Array:
    """A float64 array whose last axes are the shape of one state."""
    check_model(model)
    return _as_array(model, name, space, value, SPACES[space].shape(model, frames))


def _as_array(model: Model, name: str, space: str, value: ArrayLike, expected: tuple[int, ...]) -> Array:
    if type(value) is np.ndarray and value.dtype is FLOAT64 and value.shape == expected:
        return value
    array_of_states: Array = traced(numbers(value)) if is_traced(value) else array(name, value, expected)
    axes = array_of_states.ndim - len(expected)
    if axes < 0 or array_of_states.shape[axes:] != expected:
        leading_axes(name, array_of_states, expected, f" for model {model.name!r} ({SPACES[space].describe(model)})")
    return array_of_states


def check_finite(model: Model, name: str, space: str, numbers: Array) -> Array:
    """The array, if all its numbers are finite."""
    if all_finite(numbers):
        return numbers
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(once(numbers)))[0])
    kind = SPACES[space]
    which = kind.coordinate(model, where[numbers.ndim - len(kind.shape(model, 0)) :])
    raise ArgumentError(f"{name}[{', '.join(map(str, where))}] ({which}) is {numbers[where]}; it must be finite")


def as_given(
    model: Model,
    spaces: Sequence[tuple[str, str]],
    values: Sequence[ArrayLike | None],
    frames: int = 0,
    finite: bool = True,
) -> tuple[list[Given | None], tuple[int, ...]]:
    """All arguments of a call as arrays, and the leading (batch) dimensions to which they broadcast; None stays None.

    Compiled code checks finiteness itself, and needs no check here.
    """
    check_model(model)
    arrays: list[Given | None] = []
    axes: list[tuple[int, ...]] = []
    for (name, space), value in zip(spaces, values, strict=True):
        if value is None and space == "wrenches":
            arrays.append(None)
            continue
        shape = SPACES[space].shape(model, frames)
        value_array = _as_array(model, name, space, value, shape)  # type: ignore[arg-type]
        arrays.append((value_array, len(shape)))
        axes.append(value_array.shape[: value_array.ndim - len(shape)])
    batch = broadcast([name for name, _ in spaces], axes)
    for (name, space), one in zip(spaces, arrays, strict=True):
        if finite and one is not None:
            check_finite(model, name, space, one[0])
    return arrays, batch


def as_batch(
    model: Model, spaces: Sequence[tuple[str, str]], values: Sequence[ArrayLike | None]
) -> tuple[list[Array | None], tuple[int, ...]]:
    """The same, all finite, with the arrays broadcast to these dimensions."""
    arrays, batch = as_given(model, spaces, values)
    return [None if each is None else spread(*each, batch) for each in arrays], batch


@dataclass(frozen=True)
class PointSet:
    """Frames of a model given as an argument: the named frames, the offsets that shift them (three numbers each; empty
    if there are none), and their points.
    """

    model: Model
    frames: tuple[Frame, ...]
    offsets: tuple[float, ...]
    points: tuple[Point, ...]
    quick: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Entries that serve plain arrays directly for these frames, by algorithm."""
    whole: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The same where some rows of the results are dropped afterwards."""
    answers: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Cached answers about these points (``dynamics.at_points``)."""

    def __reduce__(self) -> tuple[object, ...]:  # caches hold code, which stays here
        return PointSet, (self.model, self.frames, self.offsets, self.points)

    @cached_property
    def method(self) -> str:
        """The method for Λ⁻¹ with the fewest operations."""
        from linkwork.algorithms.fewest_operations import fewest_operations

        return fewest_operations(self.model, tuple(frame.body for frame in self.frames))

    @cached_property
    def kept(self) -> tuple[int, ...] | None:
        """The rows, of six for each frame, that its point asks for; None if all are."""
        if all(point.axes == "pose" for point in self.points):
            return None
        wanted = {"pose": range(6), "position": range(3), "rotation": range(3, 6)}
        return tuple(6 * i + k for i, point in enumerate(self.points) for k in wanted[point.axes])

    @cached_property
    def fixed(self) -> tuple[Array, ...]:
        """The offsets as an argument of kernels; none if no frame is shifted."""
        return (np.array(self.offsets),) if self.offsets else ()

    def rows(self, result: Array, axis: int) -> Array:
        """Of six rows for each frame, those that its point asks for."""
        if self.kept is None:
            return result
        return np.take(result, self.kept, axis=axis)


def as_frames(model: Model, frames: Frames) -> PointSet:
    """The frames of an argument, cached with the model."""
    try:
        point_set: PointSet = model._memo.frames[tuple(frames) if type(frames) is list else frames]
        return point_set
    except KeyError:  # not cached
        pass
    except Exception as error:  # unhashable, not a model, or an error in an object's own hash
        excuse(error)
    return _new_frames(model, frames)


def _new_frames(model: Model, frames: Frames) -> PointSet:
    check_model(model)
    listed: Any = (frames,) if isinstance(frames, str | Point) else frames
    if not is_listed(listed):
        raise ArgumentError(f"frames must be a frame's name, an lw.Point or a list of these, not {shown(frames)}")
    for item in listed:
        if not isinstance(item, str | Point):
            raise ArgumentError(f"frames must hold names or lw.Point objects, not {shown(item)}")
    memo, key = model._memo.frames, tuple(listed)
    point_set: PointSet | None = memo.get(key)
    if point_set is None:
        points = tuple(Point(item) if isinstance(item, str) else item for item in key)
        offsets = tuple(number for point in points for number in point.offset)
        named = tuple(model.frame(point.frame) for point in points)
        point_set = PointSet(model, named, offsets if any(offsets) else (), points)
        if len(memo) >= 1000:  # points that move from call to call
            memo.clear()
        memo[key] = point_set
    if len(key) == 1:
        memo[key[0]] = point_set
    return point_set
