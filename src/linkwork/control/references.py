"""References of controllers: a value with its velocity and acceleration at any time.

A value is a vector (n,), a rotation (3, 3) or a pose (4, 4). Rotations are interpolated in exponential coordinates
about the first one, so that between two rotations the axis is constant, and a spline through several is as smooth as
one of vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from math import inf, isnan, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import finite, finite_array, memory_for, real, seconds
from linkwork.compiled.arrays import TracedArray, traced
from linkwork.control.rotations import angular_motion, array_of, exp, log, scalars
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown

_RATES = {(3, 3): 3, (4, 4): 6}
"""The size of the velocity of a rotation or a pose."""


class Sample(NamedTuple):
    """A reference at one time.

    ``value`` is (n,), (3, 3) or (4, 4); ``velocity`` and ``acceleration`` are (n,), (3,) for a rotation and (6,),
    linear then angular, for a pose, in world axes (m/s, rad/s, m/s², rad/s²).
    """

    value: Array
    velocity: Array
    acceleration: Array


class Reference(ABC):
    """A value over time. ``shape`` is (n,) for vectors, (3, 3) for rotations and (4, 4) for poses.

    To define your own reference, derive from this class and define ``shape`` and ``at``.
    """

    shape: tuple[int, ...]

    @abstractmethod
    def at(self, t: float) -> Sample:
        """The reference at time t (s)."""

    # The interface to compiled code: the numbers for a time, and a traceable function that computes a sample from them.

    def _piece(self, t: float) -> Array:
        """The numbers from which a sample at this time is computed."""
        value, velocity, acceleration = self.at(t)
        return np.concatenate([np.ravel(value), np.ravel(velocity), np.ravel(acceleration)], dtype=np.float64)

    def _holds(self, t: float) -> tuple[float, float]:
        """The interval (end not included) in which these numbers are valid; empty if that is not known."""
        return inf, -inf

    def _stretches(self, t: Array) -> NDArray[np.intp] | None:
        """An index for each of the times (n,), equal for times with the same numbers; None if all have the same."""
        return np.unique(t, return_inverse=True)[1]

    def _sample(self, t: Any, piece: Array) -> Sample:
        """The sample at a time (), from such numbers; written over arrays, traced or not."""
        size, rates = prod(self.shape), _RATES[self.shape] if len(self.shape) == 2 else self.shape[0]
        return Sample(piece[:size].reshape(self.shape), piece[size : size + rates], piece[size + rates :])

    def _size(self) -> int:
        """The size of these numbers."""
        rates = _RATES[self.shape] if len(self.shape) == 2 else self.shape[0]
        return prod(self.shape) + 2 * rates

    def _kind(self) -> tuple[object, ...]:
        """All that the traced code of ``_sample`` depends on."""
        return Reference.__name__, self.shape


class Constant(Reference):
    """A constant reference: a vector (n,), a rotation (3, 3) or a pose (4, 4).

    Example:
        >>> import linkwork as lw
        >>> lw.control.Constant([0.5, 0.0, 0.3]).at(2.0).value
        array([0.5, 0. , 0.3])
    """

    def __init__(self, value: ArrayLike) -> None:
        given = _checked("value", value)
        still = np.zeros({1: len(given), 3: 3, 4: 6}[1 if given.ndim == 1 else len(given)])
        given.flags.writeable = still.flags.writeable = False  # they are returned every time
        self.shape, self._value = given.shape, Sample(given, still, still)
        self._numbers = given.ravel()

    def at(self, t: float) -> Sample:
        return self._value

    def _piece(self, t: float) -> Array:
        return self._numbers

    def _holds(self, t: float) -> tuple[float, float]:
        return -inf, inf

    def _stretches(self, t: Array) -> NDArray[np.intp] | None:
        return None

    def _sample(self, t: Any, piece: Array) -> Sample:
        return Sample(piece.reshape(self.shape), self._value.velocity, self._value.acceleration)

    def _size(self) -> int:
        return self._numbers.size

    def _kind(self) -> tuple[object, ...]:
        return Constant.__name__, self.shape


class _Path(Reference):
    """A curve of vectors, taken directly or as the coordinates of rotations or poses; at rest before and after."""

    def __init__(self, values: list[Array], begin: float, end: float) -> None:
        self.shape, self._begin, self._end = values[0].shape, begin, end
        self._first = values[0][:3, :3] if len(self.shape) == 2 else None
        self._knots = self._coordinates(values)

        self._rows = np.empty((0, 0))
        """The numbers of each interval of time: its beginning and length, the curve, and where rotations begin."""

    @abstractmethod
    def _curve(self, t: Any, piece: Array) -> tuple[Array, Array, Array]:
        """The coordinates and their derivatives at a time between begin and end, from the numbers of its interval."""

    def _stretch(self, t: float) -> int:
        return 0

    def at(self, t: float) -> Sample:
        t = real(t) if type(t) is not float else t
        if isnan(t):
            raise ArgumentError("t must be a time (s)")
        return self._sample(t, self._piece(t))

    def _piece(self, t: float) -> Array:
        return self._rows[self._stretch(t)]

    def _holds(self, t: float) -> tuple[float, float]:
        return -inf, inf

    def _stretches(self, t: Array) -> NDArray[np.intp] | None:
        return None

    def _sample(self, t: Any, piece: Array) -> Sample:
        begin, end = piece[0], piece[1]
        x, rate, second = self._curve(np.minimum(np.maximum(t, begin), end), piece[2:])
        rests = (t < begin) | (end < t)
        rate, second = np.where(rests, 0.0, rate), np.where(rests, 0.0, second)
        if self._first is None:
            return Sample(x, rate, second)
        c = scalars(x[-3:])
        omega, change = angular_motion(c, scalars(rate[-3:]), scalars(second[-3:]))
        turn = exp(c) @ piece[-9:].reshape(3, 3)
        if self.shape == (3, 3):
            return Sample(turn, array_of(omega), array_of(change))
        pose: Any = np.eye(4) if not isinstance(turn, TracedArray) else traced(np.eye(4).astype(object))
        pose[:3, :3], pose[:3, 3] = turn, x[:3]
        turning = array_of(omega), array_of(change)
        return Sample(pose, np.concatenate([rate[:3], turning[0]]), np.concatenate([second[:3], turning[1]]))

    def _size(self) -> int:
        return int(self._rows.shape[1])

    def _kind(self) -> tuple[object, ...]:
        return type(self)._curve.__qualname__, self.shape

    def _kept_rows(self, curves: list[list[Any]]) -> None:
        """Store the numbers of each interval of time."""
        ends = [self._begin, self._end]
        turn: Any = [] if self._first is None else self._first.ravel()
        self._rows = np.array([np.concatenate([ends, *map(np.atleast_1d, curve), turn]) for curve in curves])

    def _coordinates(self, values: list[Array]) -> Array:
        if self._first is None:
            return np.array(values)
        rows, last = [], np.zeros(3)
        for value in values:
            turn = np.array(log(value[:3, :3] @ self._first.T))
            angle = np.linalg.norm(turn)
            if angle > 0.0:  # of the many rotation vectors of one rotation, the nearest to the previous one
                whole = 2.0 * np.pi * turn / angle
                turn = turn + whole * np.rint((last - turn) @ whole / (whole @ whole))
            rows.append(np.concatenate([value[:3, 3:].ravel(), turn]))
            last = turn
        return np.array(rows)


class CubicSpline(_Path):
    """A cubic spline through values at given times, with continuous acceleration, at rest at both ends and beyond them.

    Args:
        times: (k,), s, increasing, at least two.
        values: (k, n), or k rotations (k, 3, 3), or k poses (k, 4, 4).

    Example:
        >>> import linkwork as lw
        >>> path = lw.control.CubicSpline([0.0, 2.0], [[0.0], [1.0]])
        >>> [float(number[0]) for number in path.at(1.0)]  # half of the way, at 1.5 times the mean speed
        [0.5, 0.75, 0.0]
    """

    def __init__(self, times: ArrayLike, values: ArrayLike) -> None:
        moments = finite_array("times", times)
        if moments.ndim != 1 or len(moments) < 2 or not (np.diff(moments) > 0.0).all():
            raise ArgumentError(f"times must be at least two increasing numbers, not {shown(times)}")
        given = _listed("values", values)
        if len(given) != len(moments):
            raise ArgumentError(f"values must hold one for each of the {len(moments)} times, not {len(given)}")
        super().__init__(given, float(moments[0]), float(moments[-1]))
        self._times: list[float] = moments.tolist()
        with np.errstate(all="ignore"):
            self._rates = _knot_rates(moments, self._knots)
            spans = np.diff(moments)
            _check_speed(spans**2, self._knots, self._knots / spans.min() ** 2, self._rates / spans.min())

        knots, rates = self._knots, self._rates
        self._kept_rows(
            [
                [self._times[k], h, knots[k], knots[k + 1], h * rates[k], h * rates[k + 1]]
                for k, h in enumerate(spans.tolist())
            ]
        )

    def _stretch(self, t: float) -> int:
        return max(0, min(bisect_right(self._times, t), len(self._times) - 1) - 1)

    def _holds(self, t: float) -> tuple[float, float]:
        k = self._stretch(t)
        return self._times[k] if k else -inf, self._times[k + 1] if k + 2 < len(self._times) else inf

    def _stretches(self, t: Array) -> NDArray[np.intp] | None:
        return np.searchsorted(self._times[1:-1], t, "right")

    def _curve(self, t: Any, piece: Array) -> tuple[Array, Array, Array]:
        first, h = piece[0], piece[1]
        n = self._knots.shape[1]
        s = (t - first) / h
        x0, x1, m0, m1 = (piece[2 + k * n : 2 + (k + 1) * n] for k in range(4))
        c2, c3 = 3.0 * (x1 - x0) - 2.0 * m0 - m1, 2.0 * (x0 - x1) + m0 + m1
        return (
            x0 + s * (m0 + s * (c2 + s * c3)),
            (m0 + s * (2.0 * c2 + 3.0 * s * c3)) / h,
            (2.0 * c2 + 6.0 * s * c3) / (h * h),
        )


class MinimumJerk(_Path):
    """A minimum-jerk motion from one value to another: velocity and acceleration are zero at both ends.

    Args:
        start: (n,), a rotation (3, 3) or a pose (4, 4).
        end: likewise.
        duration: s.
        begin: the time (s) at which the motion begins; it is at rest before and after.

    Example:
        >>> import linkwork as lw
        >>> path = lw.control.MinimumJerk([0.0], [1.0], duration=2.0)
        >>> [float(number[0]) for number in path.at(1.0)]
        [0.5, 0.9375, 0.0]
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, duration: float, begin: float = 0.0) -> None:
        self._duration, begin = seconds("duration", duration), finite("begin", begin)
        ends = [_checked("start", start), _checked("end", end)]
        if ends[0].shape != ends[1].shape:
            raise ArgumentError(f"start and end must have one shape, not {ends[0].shape} and {ends[1].shape}")
        super().__init__(ends, begin, begin + self._duration)
        with np.errstate(all="ignore"):
            square = np.square([self._duration])
            _check_speed(square, 60.0 * (self._knots[1] - self._knots[0]) / square)

        self._kept_rows([[self._begin, self._duration, self._knots[0], self._knots[1] - self._knots[0]]])

    def _curve(self, t: Any, piece: Array) -> tuple[Array, Array, Array]:
        T, n = piece[1], self._knots.shape[1]
        s, start, way = (t - piece[0]) / T, piece[2 : 2 + n], piece[2 + n : 2 + 2 * n]
        return (
            start + way * (s**3 * (10.0 - 15.0 * s + 6.0 * s * s)),
            way * (30.0 * s * s * (1.0 - s) ** 2 / T),
            way * (60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (T * T)),
        )


def form_of(reference: Reference) -> type[Reference]:
    """The class whose code samples a reference: its own, or, for a user-defined class, one that calls ``at``."""
    return type(reference) if type(reference).__module__ == __name__ else Reference


def as_reference(what: str, value: Reference | ArrayLike) -> Reference:
    """A reference; a value becomes a constant one."""
    return value if isinstance(value, Reference) else Constant(_checked(what, value))


def _check_speed(*arrays: Array) -> None:
    if not all(np.isfinite(10.0 * array).all() for array in arrays):
        raise ArgumentError("the reference is so far, so slow or so fast that its acceleration cannot be computed")


def _knot_rates(times: Array, knots: Array) -> Array:
    """The velocities at the knots that make the second derivative continuous, zero at the ends."""
    h = np.diff(times)
    count = len(times)
    matrix, right = np.eye(count), np.zeros_like(knots)
    slopes = np.diff(knots, axis=0) / h[:, None]
    for i in range(1, count - 1):
        matrix[i, i - 1 : i + 2] = h[i], 2.0 * (h[i - 1] + h[i]), h[i - 1]
        right[i] = 3.0 * (h[i] * slopes[i - 1] + h[i - 1] * slopes[i])
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _listed(what: str, values: ArrayLike) -> list[Array]:
    array = finite_array(what, values)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"{what} must be vectors (k, n), rotations (k, 3, 3) or poses (k, 4, 4), not {array.shape}")
    return [_checked(f"{what}[{k}]", one) for k, one in enumerate(array)]


def _checked(what: str, value: ArrayLike) -> Array:
    """A copy of a vector, rotation or pose as an array, checked."""
    given = finite_array(what, value)
    vector = given.ndim == 1 and given.size
    if not vector and given.shape not in ((3, 3), (4, 4)):
        raise ArgumentError(f"{what} must be a vector (n,), a rotation (3, 3) or a pose (4, 4), not {given.shape}")
    with memory_for(what, given.shape):
        array = given.copy()
    if vector:
        return array
    turn = array[:3, :3]
    if abs(turn).max() > 2.0 or abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
        raise ArgumentError(f"{what} must be a rotation, with RᵀR = 1 and determinant 1, but is {turn.tolist()}")
    if len(array) == 4 and array[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise ArgumentError(f"{what} must be a pose, with a last row of 0, 0, 0, 1, but that is {array[3].tolist()}")
    return array
