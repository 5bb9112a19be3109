"""Elementary functions: errors in units in the last place against mpmath, special values like NumPy's, and the same
bits for floats, arrays, the evaluator and machine code.
"""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.trace.replay import expanded, replay
from linkwork.spatial import OPERATIONS, elementary
from programs import BASELINE, bits, machine, run_program, traced
from strategies import Array

context = mpmath.mp.clone()
context.dps = 40
Sample = Callable[[np.random.Generator], Array]
N = 1000


def uniform(low: float, high: float) -> Sample:
    return lambda rng: rng.uniform(low, high, N)


def sizes(low: float, high: float, *signs: float) -> Sample:
    """Numbers of all sizes between two."""
    return lambda rng: rng.choice(signs or (1.0,), N) * np.exp2(rng.uniform(np.log2(low), np.log2(high), N))


def near(centre: float) -> Sample:
    return lambda rng: centre + rng.choice((-1.0, 1.0), N) * 10.0 ** rng.uniform(-16, -2, N)


SMALL, REAL, POSITIVE = sizes(1e-300, 1.0, -1, 1), sizes(5e-324, 1.7e308, -1, 1), sizes(5e-324, 1.7e308)
BOUNDS: dict[str, tuple[float, list[tuple[Sample, ...]]]] = {
    "sin": (1.5, [(uniform(-1e6, 1e6),), (SMALL,)]),
    "cos": (1.5, [(uniform(-1e6, 1e6),), (SMALL,)]),
    "tan": (3.0, [(uniform(-1.58, 1.58),), (uniform(-1e6, 1e6),), (SMALL,), (near(math.pi / 2),)]),
    "arcsin": (1.5, [(uniform(-1.0, 1.0),), (SMALL,), (uniform(0.49, 0.52),), (uniform(-1.0, -0.99),)]),
    "arccos": (1.5, [(uniform(-1.0, 1.0),), (SMALL,), (uniform(0.49, 0.52),), (uniform(-1.0, -0.99),)]),
    "arctan": (2.5, [(uniform(-3.0, 3.0),), (REAL,)]),
    "arctan2": (2.5, [(uniform(-1.0, 1.0), uniform(-1.0, 1.0))]),
    "exp": (1.0, [(uniform(-1.0, 1.0),), (uniform(-745.2, 709.78),), (uniform(-746.0, -708.0),), (SMALL,)]),
    "exp2": (1.0, [(uniform(-1.0, 1.0),), (uniform(-1075.0, 1024.0),), (SMALL,)]),
    "expm1": (2.0, [(uniform(-2.0, 2.0),), (uniform(-45.0, 709.78),), (SMALL,), (uniform(-0.4, 0.4),)]),
    "log": (1.0, [(uniform(0.5, 2.0),), (near(1.0),), (POSITIVE,), (sizes(5e-324, 1e-300),)]),
    "log1p": (1.0, [(uniform(-1.0, 2.0),), (SMALL,), (POSITIVE,), (near(-0.99),), (near(0.414),), (near(-0.293),)]),
    "log2": (0.51, [(uniform(0.5, 2.0),), (near(1.0),), (POSITIVE,)]),
    "log10": (0.51, [(uniform(0.5, 2.0),), (near(1.0),), (POSITIVE,)]),
    "sinh": (2.5, [(uniform(-3.0, 3.0),), (uniform(-710.4, 710.4),), (SMALL,), (uniform(39.9, 40.1),)]),
    "cosh": (1.5, [(uniform(-3.0, 3.0),), (uniform(-710.4, 710.4),), (SMALL,), (uniform(39.9, 40.1),)]),
    "tanh": (2.5, [(uniform(-3.0, 3.0),), (uniform(-30.0, 30.0),), (SMALL,)]),
    "arcsinh": (2.5, [(uniform(-10.0, 10.0),), (SMALL,), (REAL,), (sizes(1e17, 1e19),)]),
    "arccosh": (2.5, [(uniform(1.0, 10.0),), (sizes(1.0, 1.7e308),), (sizes(1e17, 1e19),)]),
    "arctanh": (2.5, [(uniform(-1.0, 1.0),), (SMALL,)]),
    "power": (
        1.0,
        [
            (uniform(0.0, 10.0), uniform(-10.0, 10.0)),
            (sizes(1e-8, 1e8), uniform(-37.0, 37.0)),
            (near(1.0), sizes(1e-5, 1e17, -1, 1)),
            (POSITIVE, uniform(-1.5, 1.5)),
        ],
    ),
    "cbrt": (0.7, [(uniform(-10.0, 10.0),), (REAL,), (sizes(5e-324, 1e-300),)]),
    "hypot": (1.5, [(uniform(-1.0, 1.0), uniform(-1.0, 1.0)), (sizes(1e-290, 1e300), sizes(1e-290, 1e300))]),
    "floor": (0.0, [(sizes(1e-3, 1e18, -1, 1),), (sizes(2.0**49, 2.0**54, -1, 1),)]),
    "ceil": (0.0, [(sizes(1e-3, 1e18, -1, 1),), (sizes(2.0**49, 2.0**54, -1, 1),)]),
    "rint": (0.0, [(sizes(1e-3, 1e18, -1, 1),), (sizes(2.0**49, 2.0**54, -1, 1),)]),
    "trunc": (0.0, [(sizes(1e-3, 1e18, -1, 1),), (sizes(2.0**49, 2.0**54, -1, 1),)]),
    "remainder": (
        0.5,
        [(uniform(-50.0, 50.0), uniform(-6.3, 6.3)), (sizes(1e-6, 1e6, -1, 1), sizes(1e-6, 1e6, -1, 1))],
    ),
    "fmod": (0.0, [(uniform(-50.0, 50.0), uniform(-6.3, 6.3)), (sizes(1e-6, 1e6, -1, 1), sizes(1e-6, 1e6, -1, 1))]),
    "varying_as": (0.0, [(uniform(-1.0, 1.0), uniform(-1.0, 1.0))]),
}
"""The stated bound of each function, and arguments."""


def samples(name: str) -> list[list[Array]]:
    rng = np.random.default_rng(sum(map(ord, name)))
    return [[sample(rng) for sample in several] for several in BOUNDS[name][1]]


@pytest.mark.parametrize("name", BOUNDS)
def test_errors_are_within_their_stated_bounds(name: str) -> None:
    function = getattr(elementary, name)
    for arguments in samples(name):
        values = function(*arguments).tolist()
        worst = 0.0
        for value, *numbers in zip(values, *(a.tolist() for a in arguments), strict=True):
            exact = function(*map(context.mpf, numbers))
            if math.isfinite(float(exact)):
                worst = max(worst, float(abs(exact - value) / math.ulp(float(exact))))
            else:
                assert not math.isfinite(value), numbers
        assert worst <= BOUNDS[name][0]


def test_every_operation_has_a_bound() -> None:
    assert {{"atan2": "arctan2", "pow": "power"}.get(name, name) for name in OPERATIONS} == {*BOUNDS} - {"arctan"}


# Special values

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, 1e-20, -1e-20]
EDGES += [math.inf, -math.inf, math.nan, 1.7976931348623157e308, -1.7976931348623157e308, 709.7, 709.8, 710.4, 710.5]
EDGES += [-708.4, -745.1, -745.2, -746.0, 1e5, -1e5, 40.0, 22.5, 2.0**52, 2.0**52 + 1, 2.0**53, -(2.0**52) + 0.5, 3.5]
EDGES += [
    1e8,
    1024.0,
    1023.5,
    -1074.0,
    -1075.5,
    -1022.5,
    1000.0,
    1e22,
    math.nextafter(1.0, 2.0),
    math.nextafter(1.0, 0.0),
]


def same_kind(ours: Array, numpys: Array) -> Array:
    """Where both are the same infinity, or both NaN, or nearly equal finite numbers."""
    with np.errstate(all="ignore"):
        close = np.abs(ours - numpys) <= 1e-14 * np.abs(numpys) + 5e-324
    return (ours == numpys) | (np.isnan(ours) & np.isnan(numpys)) | close


@pytest.mark.parametrize("name", [name for name in BOUNDS if len(BOUNDS[name][1][0]) == 1])
def test_special_values_of_one_number_are_numpys(name: str) -> None:
    x = np.array(EDGES)
    if name in ("sin", "cos", "tan"):
        x = x[~(np.abs(x) > 1e8)]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = getattr(elementary, name)(x)
    assert same_kind(found, expected).all(), x[~same_kind(found, expected)]


PAIRS = np.array([(a, b) for a in EDGES for b in EDGES]).T


@pytest.mark.parametrize("name", ["power", "remainder", "fmod", "hypot"])
def test_special_values_of_two_numbers_are_numpys(name: str) -> None:
    x, y = PAIRS
    if name == "hypot":  # infinity and not a number
        x, y = PAIRS[:, ~np.isnan(PAIRS).any(axis=0)]
    elif name == "power":  # C gives 1 for 1 and not a number, and numbers for -infinity and a fraction
        x, y = PAIRS[:, ~((x == 1.0) & np.isnan(y)) & ~((x == -math.inf) & (y != np.rint(y)))]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
        quotient = np.abs(x / y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = getattr(elementary, name)(x, y)
    fine = same_kind(found, expected)
    if name in ("remainder", "fmod"):  # right, or not a number
        fine |= np.isnan(found) & ((quotient > 2.0**53) | (np.abs(y) > 1e299))
    if name == "power":  # the sign of an infinity from -0
        fine |= (x == 0.0) & (np.abs(found) == np.abs(expected))
    assert fine.all(), np.stack([x, y, found, expected])[:, ~fine]


def test_powers_with_a_constant_exponent() -> None:
    x = np.array([-2.5, -1.0, 0.0, 0.3, 1.0, 7.0, math.inf])
    with np.errstate(all="ignore"):
        for y in (0, 1, 2, 3, -1, -2, -3, 5.0, 8, 31, 0.5, -0.5, 1.5, 2.5, 0.3, -1.7, 40, 41, -33.0, math.inf):
            assert same_kind(elementary.power(x, y), np.power(x, float(y))).all(), y
            each = [elementary.power(float(number), y) for number in x]
            assert same_kind(np.array(each), np.power(x, float(y))).all(), y
    assert np.array_equal(elementary.power(x, math.nan), [math.nan] * len(x), equal_nan=True)
    assert elementary.power(-8.0, 3) == -512.0 and elementary.power(-8.0, 41) < 0.0
    assert lw.compile(lambda x: x**8, x=()).count() == {"mul": 3}


def test_logarithms_of_powers_are_exact() -> None:
    assert [elementary.log10(10.0**k) for k in range(23)] == [*map(float, range(23))]
    assert [elementary.log2(2.0**k) for k in range(-1074, 1024)] == [*map(float, range(-1074, 1024))]
    assert [elementary.cbrt(float(k**3)) for k in range(-200, 200)] == [*map(float, range(-200, 200))]
    assert [elementary.exp2(float(k)) for k in range(-1074, 1024)] == [2.0**k for k in range(-1074, 1024)]


def test_choosing_and_short_forms() -> None:
    x, y = np.array([-2.0, 0.0, 3.0, math.inf]), np.array([1.0, -1.0, 3.0, 0.5])
    for name in ("sign", "absolute", "square"):
        assert np.array_equal(getattr(elementary, name)(x), getattr(np, name)(x))
    for name in ("minimum", "maximum"):
        assert np.array_equal(getattr(elementary, name)(x, y), getattr(np, name)(x, y))
    assert elementary.reciprocal(4.0) == 0.25 and elementary.reciprocal(0.0) == math.inf
    assert math.isnan(elementary.sign(math.nan))


def test_integers_and_numpys_numbers_are_taken() -> None:
    assert elementary.exp(0) == 1.0 and elementary.exp(np.float64(0.0)) == 1.0
    assert np.array_equal(elementary.floor(np.array([1, 2])), [1.0, 2.0])
    assert elementary.arctan2(np.array(1.0), 1.0) == math.atan2(1.0, 1.0)
    assert elementary.log(np.array([[1.0, math.e]])).shape == (1, 2)


# Bits


def trace(names: Sequence[str], expand: bool) -> Any:
    """A program of two arguments with a result for each function."""

    def text(*arguments: Any) -> list[Any]:
        return [getattr(elementary, name)(*arguments[: len(BOUNDS[name][1][0])]) for name in names]

    return traced(text, 2, expand)


def same_bits(a: Any, b: Any) -> bool:
    one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    number = ~(np.isnan(one) & np.isnan(other))
    return np.array_equal(bits(one)[number], bits(other)[number])


@pytest.fixture(scope="module")
def inputs() -> Array:
    rng = np.random.default_rng(0)
    drawn = [np.stack([*a, *a][:2], axis=1)[rng.integers(0, N, 60)] for name in BOUNDS for a in samples(name)]
    return np.concatenate([PAIRS.T[::3], *drawn])


@pytest.mark.parametrize(("lanes", "cpu"), [(1, None), (4, None), (2, BASELINE)], ids=["one", "four", "sse2"])
def test_machine_code_has_the_arrays_bits(lanes: int, cpu: tuple[str, str] | None, inputs: Array) -> None:
    x, y = np.ascontiguousarray(inputs.T)
    expected = [getattr(elementary, name)(*(x, y)[: len(BOUNDS[name][1][0])]) for name in BOUNDS]
    found = machine(trace([*BOUNDS], True), inputs, len(BOUNDS), lanes, cpu)
    for k, name in enumerate(BOUNDS):
        assert same_bits(found[:, k], expected[k]), name


def test_floats_and_the_evaluator_have_the_arrays_bits(inputs: Array) -> None:
    few = inputs[::7]
    x, y = np.ascontiguousarray(few.T)
    expected = [getattr(elementary, name)(*(x, y)[: len(BOUNDS[name][1][0])]) for name in BOUNDS]
    programs = [trace([*BOUNDS], False), trace([*BOUNDS], True)]
    for program in programs:
        assert same_bits(replay(program, [[x, y]])[0], expected)
        for k in range(0, len(few), 10):
            (one,) = run_program(program, [len(BOUNDS)], [few[k]])
            assert same_bits(one, [values[k] + 0.0 for values in expected])
    for k, pair in enumerate(few[::5].tolist()):
        for program in programs:
            assert same_bits(replay(program, [pair])[0], [values[5 * k] for values in expected])
        if not any(map(math.isnan, pair)):
            for name, values in zip(BOUNDS, expected, strict=True):
                if name != "power":  # whose exponent would be a constant
                    value = getattr(elementary, name)(*pair[: len(BOUNDS[name][1][0])])
                    assert same_bits([value], [values[5 * k]]), name


@pytest.mark.parametrize("lanes", [1, 4])
def test_constants_and_equal_arguments_keep_the_bits(lanes: int, inputs: Array) -> None:
    """Constant folding and common subexpressions change no bit."""
    two = [name for name in BOUNDS if len(BOUNDS[name][1][0]) == 2]
    few = inputs[::4]
    x = np.ascontiguousarray(few[:, 0])

    def text(x: Any, _: Any = None) -> list[Any]:
        pairs = ((x, x), (x, 2.7), (-3.0, x), (0.0, x), (x, 1e300), (x, -0.0), (1.0, x))
        return [getattr(elementary, name)(*pair) for name in two for pair in pairs]

    expected = text(x)
    found = machine(traced(text, 2), few, len(expected), lanes)
    for k, values in enumerate(expected):
        assert same_bits(found[:, k], np.broadcast_to(values, len(few))), (two[k // 7], k % 7)


def test_mpmath_numbers_of_a_program() -> None:
    program = trace(["exp", "log", "tanh", "power"], False)
    found = replay(program, [[context.mpf(2), context.mpf("0.3")]])[0]
    exact = [context.exp(2), context.log(2), context.tanh(2), context.mpf(2) ** context.mpf("0.3")]
    assert all(abs(a - b) < 1e-35 for a, b in zip(found, exact, strict=True))


# Traces


def test_a_function_counts_once_and_is_printed() -> None:
    names = [name for name in BOUNDS if name not in ("arctan", "varying_as")]

    def text(x: Any, y: Any) -> Any:
        return [getattr(np, name)(*(x, y)[: len(BOUNDS[name][1][0])]) for name in names]

    code = lw.compile(text, x=(), y=())
    assert code.count() == dict.fromkeys(OPERATIONS.keys() - {"varying_as"}, 1)
    assert "= exp %0\n" in lw.compile(lambda x, y: (np.sin(x) * y, np.exp(x)), x=(), y=()).text()
    again = pickle.loads(pickle.dumps(code))
    assert again.text() == code.text()


def test_a_trace_is_written_out_as_if_it_had_been_traced_so() -> None:
    written, whole = expanded(trace([*BOUNDS], False)), trace([*BOUNDS], True)
    for program in (written, expanded(whole)):
        assert (program.operations, program.operands) == (whole.operations, whole.operands)


def test_a_function_is_inlined_in_another() -> None:
    inner = lw.compile(lambda x, y: (np.exp(x), np.hypot(x, y)), x=(), y=())

    def text(x: Any) -> Any:
        first, second = inner(x + 1.0, 3.0)
        return first - second

    outer = lw.compile(text, x=())
    assert outer.count() == {"add": 1, "exp": 1, "hypot": 1, "sub": 1}
    assert outer(0.5) == elementary.exp(1.5) - elementary.hypot(1.5, 3.0)
