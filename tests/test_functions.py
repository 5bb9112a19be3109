"""Sine, cosine and arc tangent in units in the last place, and rotations at small angles, against 60 digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from linkwork.spatial import (
    LARGEST_ANGLE,
    Quaternion,
    Vec3,
    atan2,
    quaternion_exp,
    quaternion_log,
    rint,
    screw_matrix,
    screw_matrix_inverse,
    sin_cos,
)
from strategies import Array

context = mpmath.mp.clone()
context.dps = 60
QUARTER = np.pi / 2


def worst_ulps(values: Sequence[float], exact: Sequence[mpmath.mpf]) -> float:
    """The largest distance to the exact values, in units of the last place of each."""
    return max(float(abs(context.mpf(v) - e) / math.ulp(float(e))) for v, e in zip(values, exact, strict=True))


def log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> Array:
    return rng.choice([-1.0, 1.0], count) * np.exp(rng.uniform(np.log(low), np.log(high), count))


def multiples(rng: np.random.Generator, largest: float, count: int) -> Array:
    """Floats at, beside and near multiples of a quarter turn, where a sine or cosine nearly vanishes."""
    top = int(largest / QUARTER) - 1
    at = rng.integers(-top, top, count) * QUARTER
    near = at * (1.0 + rng.normal(size=count) * 10.0 ** rng.uniform(-16, -9, count))
    return np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), near])


ANGLES: dict[str, tuple[Callable[[np.random.Generator], Array], float]] = {
    "first_octant": (lambda rng: rng.uniform(-QUARTER / 2, QUARTER / 2, 6000), 0.8),
    "tiny": (lambda rng: log_uniform(rng, 1e-300, 1.0, 3000), 0.8),
    "a_few_turns": (lambda rng: rng.uniform(-20.0, 20.0, 8000), 1.5),
    "octant_edges": (lambda rng: np.arange(-1499.5, 1500.0) * QUARTER, 1.5),
    "thousand": (lambda rng: rng.uniform(-1e3, 1e3, 6000), 1.5),
    "million": (lambda rng: rng.uniform(-1e6, 1e6, 8000), 1.5),
    "multiples_to_million": (lambda rng: multiples(rng, 1e6, 2000), 1.5),
    "largest": (lambda rng: log_uniform(rng, 1e6, 0.999 * LARGEST_ANGLE, 5000), 2.5),
    "multiples_to_largest": (lambda rng: multiples(rng, 0.999 * LARGEST_ANGLE, 1500), 2.5),
}


@pytest.mark.parametrize("name", ANGLES)
def test_sine_and_cosine_are_within_their_stated_accuracy(name: str) -> None:
    make, bound = ANGLES[name]
    x = make(np.random.default_rng(1))
    sine, cosine = sin_cos(x)
    exact = [context.mpf(number) for number in x]
    assert worst_ulps(sine, [context.sin(number) for number in exact]) <= bound
    assert worst_ulps(cosine, [context.cos(number) for number in exact]) <= bound


SLOPES: dict[str, Callable[[np.random.Generator], tuple[Array, Array]]] = {
    "plane": lambda rng: (rng.normal(size=8000), rng.normal(size=8000)),
    "all_sizes": lambda rng: (log_uniform(rng, 1e-130, 1e130, 4000), log_uniform(rng, 1e-130, 1e130, 4000)),
    "where_the_branches_meet": lambda rng: (rng.uniform(0.40, 0.43, 4000), np.ones(4000)),
    "near_45_degrees": lambda rng: (rng.uniform(0.99, 1.01, 3000), rng.choice([-1.0, 1.0], 3000)),
    "near_180_degrees": lambda rng: (log_uniform(rng, 1e-17, 1e-2, 3000), -np.ones(3000)),
    "near_90_degrees": lambda rng: (rng.choice([-1.0, 1.0], 3000), log_uniform(rng, 1e-17, 1e-2, 3000)),
}


@pytest.mark.parametrize("name", SLOPES)
def test_arc_tangent_is_within_its_stated_accuracy(name: str) -> None:
    y, x = SLOPES[name](np.random.default_rng(2))
    exact = [context.atan2(context.mpf(a), context.mpf(b)) for a, b in zip(y, x, strict=True)]
    assert worst_ulps(atan2(y, x), exact) <= 2.5


def test_arc_tangent_on_the_axes_and_at_the_origin() -> None:
    cases = [(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (-1.0, -1.0)]
    assert [atan2(y, x) for y, x in cases] == [math.atan2(y, x) for y, x in cases]
    assert atan2(0.0, 0.0) == 0.0
    assert atan2(context.mpf(0), context.mpf(0)) == 0


def test_floats_and_arrays_give_the_same_bits() -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([make(rng)[:300] for make, _ in ANGLES.values()])
    sine, cosine = sin_cos(x)
    singles = np.array([sin_cos(float(number)) for number in x])
    assert np.array_equal(singles, np.stack([sine, cosine], axis=1))
    for make in SLOPES.values():
        y, x = (side[:300] for side in make(rng))
        assert np.array_equal(atan2(y, x), [atan2(float(a), float(b)) for a, b in zip(y, x, strict=True)])
    halves = np.arange(-20, 20) / 4.0
    assert np.array_equal(rint(halves), np.rint(halves))
    assert [rint(float(number)) for number in halves] == np.rint(halves).tolist()


@pytest.mark.parametrize("x", [1.01 * LARGEST_ANGLE, 1e9, -1e12, 1e18, 1e100, 1e300, math.inf, math.nan])
def test_an_angle_too_large_gives_no_number_rather_than_a_wrong_one(x: float) -> None:
    assert not any(map(math.isfinite, sin_cos(x)))
    with np.errstate(all="ignore"):
        assert not np.isfinite(sin_cos(np.array([x]))).any()


# Rotations across the angle at which a series takes over from a closed form: its square is 0.01.

SIZES = [
    0.0,
    1e-200,
    1e-12,
    1e-6,
    1e-3,
    0.05,
    *np.linspace(0.0999, 0.1001, 7),
    0.19999,
    0.2,
    0.20001,
    0.5,
    1.0,
    2.0,
    3.1,
]


def turns() -> list[list[float]]:
    rng = np.random.default_rng(4)
    directions = rng.normal(size=(4, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return [(size * direction).tolist() for size in SIZES for direction in directions]


def exact_skew(turn: Sequence[float]) -> mpmath.matrix:
    x, y, z = (context.mpf(number) for number in turn)
    return context.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def exact_screw(turn: Sequence[float]) -> mpmath.matrix:
    """∫₀¹ exp(s K) ds = Σ Kⁿ/(n+1)!, summed until terms vanish."""
    skew, term, total = exact_skew(turn), context.eye(3), context.eye(3)
    for n in range(1, 80):
        term = term * skew / (n + 1)
        total += term
    return total


def distance(numbers: Sequence[float], exact: Sequence[mpmath.mpf]) -> float:
    """The largest error, relative to the largest number."""
    size = max(abs(e) for e in exact)
    error = max(abs(context.mpf(n) - e) for n, e in zip(numbers, exact, strict=True))
    return float(error / size) if size else float(error)


def test_quaternion_exponential() -> None:
    for turn in turns():
        x = [context.mpf(number) for number in turn]
        angle = context.sqrt(sum(number**2 for number in x))
        factor = context.sin(angle / 2) / angle if angle else context.mpf(0.5)
        q = quaternion_exp(Vec3(*turn)).numbers()
        assert distance(q, [*(number * factor for number in x), context.cos(angle / 2)]) < 4e-16
        assert distance(q[:3], [number * factor for number in x]) < 8e-16


def test_quaternion_logarithm_gives_back_the_rotation_vector() -> None:
    for turn in turns():
        q = quaternion_exp(Vec3(*turn))
        for same in (q, Quaternion(*(-number for number in q.numbers())), Quaternion(*(7.5 * n for n in q.numbers()))):
            assert distance(quaternion_log(same).numbers(), [context.mpf(number) for number in turn]) < 4e-15
    half_turn = quaternion_log(Quaternion(0.0, -1.0, 0.0, 0.0))
    assert [abs(number) for number in half_turn.numbers()] == [0.0, math.pi, 0.0]
    assert quaternion_log(Quaternion(0.0, 0.0, 0.0, -2.0)).numbers() == [0.0, 0.0, 0.0]


def test_screw_matrix_and_its_inverse() -> None:
    for turn in turns():
        exact = exact_screw(turn)
        assert distance(screw_matrix(Vec3(*turn)).numbers(), list(exact)) < 1e-15
        assert distance(screw_matrix_inverse(Vec3(*turn)).numbers(), list(exact**-1)) < 4e-15


@pytest.mark.parametrize("function", [screw_matrix, screw_matrix_inverse, quaternion_exp])
def test_rotations_over_arrays_and_mpmath_agree_with_floats(function: Callable[[Vec3], Any]) -> None:
    turn = np.array(turns())
    batch = np.stack(np.broadcast_arrays(*function(Vec3(*turn.T)).numbers()), axis=1)
    singles = [function(Vec3(*t)).numbers() for t in turn.tolist()]
    assert np.array_equal(batch, singles)
    for single, t in zip(singles, turn.tolist(), strict=True):
        exact = [context.mpf(n) for n in function(Vec3(*(context.mpf(x) for x in t))).numbers()]
        assert distance(single, exact) < 4e-15


def test_series_carry_more_than_float_precision_in_mpmath() -> None:
    """Angles between the two thresholds would otherwise expose the float coefficients of the series."""
    for size in (1e-14, 1e-9, 1e-4, 0.05):
        turn = [0.6 * size, 0.0, 0.8 * size]
        exact = exact_screw(turn)
        computed = screw_matrix(Vec3(*(context.mpf(number) for number in turn))).numbers()
        assert distance(computed, list(exact)) < 1e-30
        x = [context.mpf(number) for number in turn]
        assert distance(quaternion_log(quaternion_exp(Vec3(*x))).numbers(), x) < 1e-30
