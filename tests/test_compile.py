"""``lw.compile``: a function over NumPy arrays becomes machine code and gives the same numbers."""

from __future__ import annotations

import itertools
import math
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.cli.count import counted
from linkwork.compiled import compiled_function
from linkwork.inside import costs
from strategies import close

ARM = lw.mechanisms.serial_chain(3)
AREA: Any = getattr(np, "trapezoid", None) or np.trapz  # type: ignore[attr-defined]  # its name until NumPy 2


def both(function: Any, states: int = 5, seed: int = 0, low: float = -2.0, high: float = 2.0, **shapes: Any) -> None:
    """The compiled function agrees with the function itself, one state at a time and in a batch, with the same bits;
    and so does the interpreter.
    """
    compiled = lw.compile(function, **shapes)
    rng = np.random.default_rng(seed)
    sizes = {key: (shape,) if isinstance(shape, int) else shape for key, shape in shapes.items()}
    arrays = {key: rng.uniform(low, high, (states, *shape)) for key, shape in sizes.items()}
    batch = np.asarray(compiled(**arrays))
    for k in range(states):
        one = {key: array[k] for key, array in arrays.items()}
        expected = np.asarray(function(**one), dtype=np.float64)
        found = compiled(**one)
        assert np.shape(found) == expected.shape
        close(np.asarray(found), expected, 1e-12, scale=max(1.0, np.abs(expected).max(initial=0.0)))
        assert np.array_equal(found, batch[k])
    with lw.interpreted():
        assert np.array_equal(compiled(**arrays), batch)
        assert np.array_equal(compiled(**{key: array[0] for key, array in arrays.items()}), batch[0])


FUNCTIONS = {
    "arithmetic": lambda x, y: (x + 2.0 * y - 1) / (3.0 + x * x) ** 2 - -x,
    "mixed with arrays": lambda x, y: np.arange(3.0) * x + np.eye(3) @ y + [1, 2, 3],
    "elementary": lambda x, y: np.sin(x) + np.cos(y) * np.tan(0.5 * x) + np.exp(y) - np.tanh(x) + np.log(3.0 + y),
    "inverse": lambda x, y: np.arctan2(x, y) + np.arcsin(x / 3) + np.arccos(y / 3) + np.arctan(x),
    "roots and powers": lambda x, y: np.sqrt(x * x + 1) + x**3 + (y * y + 1.0) ** 0.5 + np.hypot(x, y) + 2.0**x,
    "steps": lambda x, y: np.floor(x) + np.ceil(y) + np.rint(3 * x) + np.sign(y) + (5 * x) % 1.5,
    "comparisons": lambda x, y: np.where((x < y) & (x > -1.0) | (y >= 1.0), x, -y) + (x <= y) * 2.0,
    "extremes": lambda x, y: np.minimum(x, y) + np.maximum(x, 0.0) + np.clip(y, -1, 1) + np.abs(x) + x.max() - y.min(),
    "reductions": lambda x, y: np.array([x.sum(), y.prod(), x.mean(), np.var(y), np.std(x), x.dot(y)]),
    "products": lambda x, y: np.cross(x, y) + np.outer(x, y) @ x + np.einsum("i,ij->j", x, np.ones((3, 3))),
    "stacking": lambda x, y: np.concatenate([x[::-1], np.stack([x, y]).T.ravel(), np.hstack([y[1:], [1.0]])]),
    "indices": lambda x, y: np.append(x[[2, 0]], y[np.array([True, False, True])]) * x[-1],
    "assignment": lambda x, y: _assigned(x, y),
    "objects": lambda x, y: np.array([[x[0], -y[1]], [1.0, x[2] * y[0]]]) @ np.array([y[0], 2.0]),
    "shapes": lambda x, y: np.tile(x, (2, 1)).T.reshape(2, 3)[:, None, 1:].squeeze() + np.diag(y)[:2, 1:],
    "cumulative": lambda x, y: np.cumsum(x) + np.cumprod(y) + np.diff(np.append(x, y))[:3] + np.roll(x, 1),
    "python": lambda x, y: sum(x) + max([1.0, 2.0]) * np.ones(3) + np.array([a * b for a, b in zip(x, y, strict=True)]),
    "interpolation": lambda x, y: np.interp(x, [-1.0, 0.0, 1.5], [2.0, -1.0, 3.0]) + y,
    "more": lambda x, y: (
        np.select([x > 0.5, x > 0.0], [y, 2.0 * y], 1.0)
        + np.round(x, 1)
        + np.average(y, weights=[1.0, 2.0, 3.0])
        + np.linspace(x[0], y[0], 3)
        + np.polyval([1.0, -2.0, 3.0], x)
        + np.ptp(x)
        + np.count_nonzero(y > 0)
        + np.trunc(3 * y)
    ),
    "some of them": lambda x, y: np.array(
        [
            np.sum(x, where=x > 0.0),
            x.sum(where=[True, False, True]),
            np.max(y, where=y < 1.0, initial=-3.0),
            np.mean(x, where=[True, True, False]),
            np.var(y, where=np.abs(y) < 3.0, ddof=1),
            np.any(x, where=y > 0.0),
        ]
    ),
    "axes that stay": lambda x, y: (
        np.ptp(np.outer(x, y), axis=0, keepdims=True)
        + np.count_nonzero(np.outer(x, y) > 0.5, axis=1, keepdims=True)
        + np.median(np.outer(y, y), axis=1, keepdims=True)
        + np.average(np.outer(x, x), axis=1, weights=[1.0, 2.0, 3.0])
    ),
    "in order": lambda x, y: np.sort(np.append(x, y)) + np.median(y) + np.amax(x) - np.nanmin(y),
    "signals": lambda x, y: (
        np.convolve(x, y, "same") + np.pad(x[:2], (0, 1), mode="edge") + AREA(x, dx=0.1) + np.sinc(x - x[0])
    ),
    "angles": lambda x, y: np.unwrap(4.0 * x) + np.vdot(x, y) + x.round(1) + round(y[0], 2) + np.isclose(x, 2.0 * x),
    "like": lambda x, y: _held(x, y),
    "bits of numbers": lambda x, y: np.modf(3.0 * x)[0] + np.signbit(y) + np.logaddexp2(x, y) + np.modf(3.0 * y)[1],
    "truth values": lambda x, y: (
        ((x > 0.0) + (y > 0.0)) * 1.0
        + (x > 0.0) * (y > 0.0)
        + (x > 0.0).sum()
        + (y > 0.0).astype(int)
        + (y > 0.0).astype(float)
        + np.cumsum(x > 0.0)
        + x.astype(bool)
        + (y > 0.0).dot(x)
        + np.einsum("i,i", x > 0.0, y)
        + np.outer(x > 0.0, y) @ x
    ),
    "objects among others": lambda x, y: np.concatenate([np.array([x[0], 1.0]), y]) + np.array(x[1]),
    "ranges": lambda x, y: (
        np.linspace(0.0, x, 3)
        + np.linspace(x, y, 3, axis=1)
        + np.linspace(x, 1.0, 3, retstep=True)[1]
        + np.full_like(x, y[0], shape=(3, 3))
        + np.around(x, 1)
    ),
    "a loop": lambda x, y: _newton(x, y),
    "norms": lambda x, y: np.linalg.norm(x) * y / np.linalg.norm(y, 1) + np.linalg.norm(x - y, np.inf),
}


def _assigned(x: Any, y: Any) -> Any:
    z = np.zeros_like(x)
    z[1:] = y[:2]
    z[0] += x[0]
    z *= 2.0
    return z


def _held(x: Any, y: Any) -> Any:
    z = np.zeros((3, 3), like=x)
    z[0] = x
    np.fill_diagonal(z, y)
    return z + np.array([x, y, x + y], like=x)


def test_numbers_on_the_way_need_not_be_finite() -> None:
    x = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 2.0]])
    y = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0]])

    def function(x: Any, y: Any) -> Any:
        assert np.isfinite(x).all()  # of arguments
        with np.errstate(all="ignore"):
            ratio = x / y
        chosen = np.where(np.isnan(ratio), 5.0, np.minimum(ratio, 1.0)) + np.where(np.isinf(ratio), 1.0, 2.0)
        masked = np.where(np.isfinite(ratio), ratio, 7.0)
        return np.stack([np.maximum(chosen, -9.0), masked, np.nan_to_num(ratio, nan=2.0, posinf=3.0, neginf=4.0)])

    compiled = lw.compile(function, x=3, y=3)
    expected = np.stack([function(*state) for state in zip(x, y, strict=True)])
    assert np.array_equal(compiled(x, y), expected)
    assert np.array_equal(compiled(x[0], y[0]), expected[0])
    with lw.interpreted():
        assert np.array_equal(compiled(x, y), expected)


def _newton(x: Any, y: Any) -> Any:
    root = 1.0 + x * x
    for _ in range(5):
        root = 0.5 * (root + (1.0 + y * y) / root)
    return root


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_over_numpy_arrays_gives_the_same_numbers(name: str) -> None:
    both(FUNCTIONS[name], x=3, y=3)


def test_linear_algebra() -> None:
    def text(a: Any, b: Any, x: Any) -> Any:
        spd = a @ a.T + 0.5 * np.eye(4)
        L = np.linalg.cholesky(spd)
        y = np.linalg.solve(L.T, np.linalg.solve(L, x))
        z = np.linalg.solve(b, x) + np.linalg.inv(b) @ y
        norms = [np.linalg.norm(b, "fro"), np.linalg.norm(b, 1), np.linalg.norm(b, -np.inf), np.linalg.norm(x, 3)]
        sizes = [np.linalg.det(b), np.linalg.slogdet(b)[1], *norms]
        return np.concatenate([y, z, sizes, np.linalg.matrix_power(b, 3)[0], np.linalg.norm(b, 1, axis=0)])

    both(text, states=8, a=(4, 4), b=(4, 4), x=4)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 4)])
def test_reflections(shape: tuple[int, int]) -> None:
    def text(a: Any, b: Any) -> Any:
        Q, R = np.linalg.qr(a)
        x, residual, _, _ = np.linalg.lstsq(a, b, rcond=None)
        return np.concatenate([Q.ravel(), R.ravel(), np.linalg.pinv(a).ravel(), x, residual])

    both(text, a=shape, b=shape[0])


def test_a_pseudoinverse_is_of_full_rank() -> None:
    inverse = lw.compile(lambda a: np.linalg.pinv(a), a=(3, 2))
    for a in ([[1, 0], [0, 1], [0, 0]], [[0, 1], [0, 0], [2, 0]]):
        close(inverse(a), np.linalg.pinv(np.array(a)), 1e-15)
    with pytest.raises(lw.SingularError):
        inverse([[1, 2], [2, 4], [3, 6]])


def test_pivots_are_chosen_by_value() -> None:
    solve = lw.compile(np.linalg.solve, a=(2, 2), b=2)
    close(solve([[0.0, 1.0], [1.0, 0.0]], [3.0, 4.0]), np.array([4.0, 3.0]), 1e-15)
    many = solve(np.array([[[1e-20, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]]), [1.0, 2.0])
    close(many, np.array([[1.0, 1.0], [1.0, 1.0]]), 1e-15)


# Random functions: each step takes earlier values and makes a new one.

UNARY = (
    np.sin,
    np.cos,
    np.tanh,
    np.abs,
    np.negative,
    np.arctan,
    lambda x: np.exp(-x * x),
    lambda x: np.sqrt(1 + x * x),
)
BINARY = (np.add, np.subtract, np.multiply, np.minimum, np.maximum, np.arctan2, np.hypot, lambda x, y: x / (1 + y * y))
STEP = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, len(UNARY) + len(BINARY) + 3))


@settings(max_examples=15, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=12))
def test_functions_made_at_random_give_the_same_numbers(steps: list[tuple[int, int, int]]) -> None:
    def text(x: Any, y: Any) -> Any:
        values = [x, y]
        for first, second, which in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            if which < len(UNARY):
                values.append(UNARY[which](a))
            elif which < len(UNARY) + len(BINARY):
                values.append(BINARY[which - len(UNARY)](a, b))
            elif which == len(UNARY) + len(BINARY):
                values.append(np.where(a < b, a, 2.0 * b))
            elif which == len(UNARY) + len(BINARY) + 1:
                values.append(a[::-1] + b.sum())
            else:
                values.append(np.stack([a, b]).mean(axis=0))
        return values[-1]

    with lw.interpreted():
        both_interpreted(text)


def both_interpreted(text: Any) -> None:
    compiled = lw.compile(text, x=3, y=3)
    x, y = np.random.default_rng(1).uniform(-2, 2, (2, 4, 3))
    found = compiled(x, y)
    for k in range(4):
        expected = text(x[k], y[k])
        close(found[k], expected, 1e-12, scale=max(1.0, np.abs(expected).max()))


# Dynamics inside


def test_dynamics_inside_a_function() -> None:
    def law(q: Any, v: Any, target: Any) -> Any:
        place = lw.forward_kinematics(ARM, q, ["tip"])[0]
        J = lw.jacobian(ARM, q, [lw.Point("tip", axes="position")], reference="local_world_aligned")
        error = target - place[:3, 3]
        return J.T @ (100.0 * error - 20.0 * J @ v) + lw.nonlinear_effects(ARM, q, v)

    both(law, q=ARM.nq, v=ARM.nv, target=3)


def test_dynamics_of_objects() -> None:
    double = lw.compile(lambda z: 2.0 * z, z=3)
    both(
        lambda q: double(lw.gravity_torques(ARM, np.array([q[0], 0.5, q[1]]))) + double(np.array([q[0], 1.0, 2.0])), q=3
    )


def test_a_compiled_function_inside_another() -> None:
    inner = lw.compile(lambda q: {"g": lw.gravity_torques(ARM, q), "e": q @ q}, q=3)
    both(lambda q, v: inner(q)["g"] - inner(v)["e"] * v, q=3, v=3)


def test_a_compiled_function_may_be_compiled_again() -> None:
    once = lw.compile(lambda x, y: x @ y, x=(2, 3), y=3)
    again = lw.compile(once, x=(2, 3), y=3)
    assert again.text() == once.text() and again.name == once.name
    with pytest.raises(lw.ArgumentError, match=r"y of <lambda> must have shape \(\.\.\., 3\)"):
        lw.compile(once, x=(2, 3), y=4)


def test_a_compiled_function_inside_another_takes_leading_axes() -> None:
    inner = lw.compile(lambda q, v, s: (s * np.outer(q, v), q @ v), q=3, v=3, s=())

    def outer(q: Any, v: Any) -> Any:
        many = np.stack([q, 2.0 * q, -v])
        products, lengths = inner(many[:, None], np.stack([v, q]), q[:2])
        assert products.shape == (3, 2, 3, 3) and lengths.shape == (3, 2)
        return products.sum(axis=0), lengths, inner(many[:0], v, 1.0)[0].sum(), inner(q, v, v[0])[0]

    q, v = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.5, -2.0])
    with lw.interpreted():
        made = lw.compile(outer, q=3, v=3)
        for found, wanted in zip(made(q, v), outer(q, v), strict=True):
            assert np.allclose(found, wanted, rtol=1e-15)
        with pytest.raises(lw.ArgumentError, match=r"v of <lambda> must have shape \(\.\.\., 3\), but .* \(2,\)"):
            lw.compile(lambda q: inner(q, q[:2], 1.0), q=3)
        with pytest.raises(lw.ArgumentError, match=r"do not broadcast: q \(2,\), v \(3,\)"):
            lw.compile(lambda q: inner(np.stack([q, q]), np.stack([q, q, q]), 1.0), q=3)


def test_states_inside_may_have_axes_of_their_own() -> None:
    both(lambda q: lw.mass_matrix(ARM, np.stack([q, 2.0 * q])), q=3)
    both(lambda q: lw.energy(ARM, q, [1.0, 2.0, 3.0])[0], q=(2, 3))


# Calls


def test_results_may_be_nested() -> None:
    made = lw.compile(lambda x: {"a": (x, [x.sum(), 2.0]), "b": x[0] > 0}, x=3)
    found = made([[1.0, 2.0, 3.0], [-1.0, 0.0, 0.0]])
    assert sorted(found) == ["a", "b"] and found["a"][0].shape == (2, 3)
    assert np.array_equal(found["a"][1][0], [6.0, -1.0]) and np.array_equal(found["a"][1][1], [2.0, 2.0])
    assert np.array_equal(found["b"], [1.0, 0.0])
    into = {"a": (np.empty(3), [np.empty(()), np.empty(())]), "b": np.empty(())}
    assert made([1.0, 2.0, 3.0], out=into) is into and into["a"][1][0] == 6.0
    into = {"b": np.empty(()), "a": (np.empty(3), [np.empty(()), np.empty(())])}  # keys in any order
    assert made([1.0, 2.0, 3.0], out=into) is into and into["a"][1][0] == 6.0 and into["b"] == 1.0
    with pytest.raises(lw.ArgumentError, match="out must be a dict with the keys 'a', 'b'"):
        made([1.0, 2.0, 3.0], out={**into, "c": np.empty(())})
    x = np.array([[1.0, 2.0, 3.0]] * 2)
    for text in (lambda x: {"a": 2.0 * x}, lambda x: (2.0 * x,), lambda x: [{"a": 2.0 * x}]):  # one array, and nested
        one = lw.compile(text, x=3)
        for _ in range(2):  # by checks, and by the builtin
            assert repr(one(x)) == repr(text(x)) and one(x, out=(out := text(0.0 * x))) is out
            assert repr(out) == repr(text(x))
    with pytest.raises(lw.ArgumentError, match=r"out must have a float64 array .* not None"):
        one(x, out=[{"a": None}])


def test_threads_that_meet_in_a_first_call_go_by_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second plan would share memory with an entry whose busy flag is not its own."""
    gate, made = threading.Barrier(2), compiled_function.plan_for_trace

    def together(*given: Any) -> Any:
        gate.wait()
        return made(*given)

    monkeypatch.setattr(compiled_function, "plan_for_trace", together)
    twice = lw.compile(lambda x: 2.0 * x, x=3)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(twice._plan, ["auto", "auto"])
    assert first is second is twice._plan("auto")


def test_arguments_broadcast_and_results_are_written_in_place() -> None:
    made = lw.compile(lambda x, y: (x * y, x + y), x=2, y=())
    x, y = np.ones((4, 1, 2)), np.arange(3.0)
    product, total = made(x, y)
    assert product.shape == total.shape == (4, 3, 2) and np.array_equal(product, np.broadcast_to(y[:, None], (4, 3, 2)))
    into = (np.empty((4, 3, 2)), np.empty((4, 3, 2)))
    assert made(x, y=y, out=into) is into and np.array_equal(into[1], total)
    for _ in range(3):  # the second call of each kind is served by the builtin
        assert np.array_equal(made(x[0, 0], y[1])[0], product[0, 1])
        assert np.array_equal(made(np.ones((5, 2)), np.float64(2.0))[0], np.full((5, 2), 2.0))
    assert made(np.ones((0, 2)), 1.0)[0].shape == (0, 2)


def test_a_default_is_a_constant() -> None:
    made = lw.compile(lambda x, gain=3.0: gain * x, x=2)
    assert np.array_equal(made([1.0, 2.0]), [3.0, 6.0])


def test_a_space_of_a_model_is_a_shape() -> None:
    humanoid = lw.mechanisms.humanoid(floating_base=True)
    made = lw.compile(lambda q, v: q[:3] + v[0], q=(humanoid, "configuration"), v=("velocity", humanoid))
    assert made.shapes == {"q": (humanoid.nq,), "v": (humanoid.nv,)}


def test_it_counts_prints_and_pickles() -> None:
    made = lw.compile(lambda x: np.sin(x) * 2.0 + np.exp(x[0]), x=3)
    assert made.count() == {"sin": 3, "mul": 3, "add": 3, "exp": 1}
    assert "exp" in made.text() and "result0[2]" in made.text() and "x (3,)" in repr(made)
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again([1.0, 2.0, 3.0]), made([1.0, 2.0, 3.0]))


def test_code_with_loops_is_counted() -> None:
    chain = lw.mechanisms.serial_chain(51)
    alone = counted(ALGORITHMS["gravity_torques"], chain, ())["total"]
    twice = lw.compile(lambda q: 2.0 * lw.gravity_torques(chain, q), q=51)
    assert sum(twice.count().values()) == alone + 51
    assert lw.jvp(twice).count()["call"] == 1


def test_code_is_kept_by_what_was_traced() -> None:
    one, other = (lw.compile(f, x=2) for f in (lambda x: 2.0 * x, lambda x: x + x * 1.0 + 0.0))
    same = lw.compile(lambda x: np.multiply(x, 2.0), x=2)
    keys = [made._plan("auto").key(1) for made in (one, other, same)]  # type: ignore[attr-defined]
    assert keys[0] == keys[2] != keys[1]


def test_many_states_are_spread_over_threads_with_the_same_bits() -> None:
    made = lw.compile(lambda x: np.sin(x) / (1.0 + x * x), x=3)
    x = np.random.default_rng(0).normal(size=(200_000, 3))
    lw.set_threads(1)
    alone = made(x)
    lw.set_threads(3)
    try:
        assert np.array_equal(made(x), alone)
    finally:
        lw.set_threads(None)


def test_a_state_has_the_same_bits_in_every_lane() -> None:
    made = lw.compile(lambda x: np.exp(-x * x) * np.sin(x[::-1]) + np.linalg.norm(x), x=3)
    x = np.random.default_rng(0).normal(size=(23, 3))
    alone = np.array([made(row) for row in x])
    for first in range(9):
        assert np.array_equal(made(x[first:]), alone[first:])


# What cannot be


def _branch(x: Any) -> Any:
    return x if x[0] > 0 else -x  # this line


_kept: list[Any] = []


def _keep(x: Any) -> Any:
    if _kept:
        return x + _kept[0]
    _kept.append(x)
    return x


def _assign_to_floats(x: Any) -> Any:
    z = np.zeros(3)
    z[0] = x[0]
    return z


def _add_to_floats(x: Any) -> Any:
    z = np.zeros(3)
    z += x
    return z


def _in_place(x: Any) -> Any:
    x += 1.0
    return x


REFUSED: dict[str, tuple[Any, str]] = {
    "a branch": (_branch, r"test_compile.py, line \d+: return x if .* this line.*np.where"),
    "a float": (lambda x: math.sin(x[0]), r"test_compile.py, line \d+.*use np.sin instead of math.sin"),
    "an index": (lambda x: np.arange(3)[x[0]], "cannot be an index"),
    "an index array": (lambda x: np.arange(3.0)[x], "."),
    "choosing": (lambda x: x[x > 0], "cannot choose elements"),
    "a loop on values": (lambda x: [y for y in x if y > 0], "np.where"),
    "where alone": (lambda x: np.where(x > 0), "np.where"),
    "an unknown function": (lambda x: np.linalg.svd(np.outer(x, x)), "np.linalg.svd cannot be traced"),
    "another": (lambda x: np.argmax(x), "argmax cannot be traced; use np.where"),
    "a sort": (lambda x: np.argsort(x), "argsort cannot be traced; use np.sort"),
    "single precision": (lambda x: x.astype(np.float32), "cannot become float32"),
    "a conversion": (lambda x: np.asarray(x, dtype=float), r"use np.asarray\(x\) instead"),
    "singular values": (lambda x: np.linalg.pinv(np.outer(x, x), rcond=1e-3), "damp them instead"),
    "an option": (lambda x: np.sum(x, spam=1), "cannot be traced: TypeError"),
    "some of nothing": (lambda x: np.max(x, where=x > 0.0), "needs a value to begin with"),
    "a truth of many": (lambda x: 1.0 * x if np.allclose(x, 0.0) else x, "has no truth"),
    "truth": (lambda x: x.any() and 1.0, "np.where"),
    "membership": (lambda x: 1.0 in x, "np.where"),
    "nothing": (lambda x: None, "returns nothing"),
    "no array": (lambda x: "text", "returns str"),
    "no arrays": (lambda x: (), "returns no array"),
    "a random number": (lambda x: x + np.random.default_rng().normal(), "does not do the same each time"),
    "kept for later": (_keep, "kept after its function had returned"),
    "assignment to floats": (_assign_to_floats, "np.stack or np.concatenate"),
    "adding to floats": (_add_to_floats, r"z \+= x.*write y = y \+ x instead"),
    "counting": (lambda x: (x > 0.0) @ (x > 1.0), r"use condition.astype\(float\)"),
    "a check of what is computed": (lambda x: 1.0 / x if np.isfinite(1.0 / x).all() else x, "has no truth"),
    "a comparison of objects": (lambda x: np.array([x[0], 1.0]) > 0.0, r"made by np.stack rather than np.array"),
    "another library": (lambda x: Rotation.from_rotvec(x).as_matrix(), r"test_compile.py, line \d+: .*from_rotvec"),
    "a change of an argument": (_in_place, "cannot be changed in place"),
    "complex numbers": (lambda x: x * 1j, "complex128 cannot be computed with"),
    "integers": (lambda x: x.astype(int), "cannot become int64"),
    "out": (lambda x: np.sum(x, out=np.zeros(())), "out=.*cannot be traced"),
    "shapes": (lambda x: x @ np.zeros(4), "cannot be traced: ValueError"),
    "a simulation": (lambda x: lw.simulate(ARM, x, x, 1.0, 0.1).q[-1], r"lw\.simulate cannot be traced; call it"),
    "a rollout": (lambda x: lw.rollout(ARM, x, x, dt=0.1, steps=1).q[-1], r"lw\.rollout cannot be traced; call it"),
    "an error of its own": (lambda x: {}["missing"], "cannot be traced: KeyError"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_said(name: str) -> None:
    function, message = REFUSED[name]
    _kept.clear()
    with pytest.raises(lw.TracingError, match=message):
        lw.compile(function, x=3)


def test_an_array_of_another_trace_is_refused() -> None:
    _kept.clear()

    def keeping(x: Any) -> Any:
        _kept[:] = [x]
        return 2.0 * x

    lw.compile(keeping, x=3)
    with pytest.raises(lw.TracingError, match="kept after its function had returned"):
        lw.compile(lambda y: y * _kept[0], y=3)


def test_wrong_shapes_and_arguments_are_said() -> None:
    for call, message in {
        lambda: lw.compile(3): "function must be a function",
        lambda: lw.compile(lambda x: x): "takes 'x', whose shape is missing",
        lambda: lw.compile(lambda x: x, x=3, y=2): "has no argument 'y'",
        lambda: lw.compile(lambda x: x, x="configuration"): "the shape of x must be an int",
        lambda: lw.compile(lambda x: x, x=-1): "the shape of x must be an int",
        lambda: lw.compile(lambda x: x, x=(ARM, "poses")): "no space 'poses'",
        lambda: lw.compile(lambda x: x, x=(1000, 10**6)): "x has 1,000,000,000 numbers",
        lambda: lw.compile(lambda *x: x, x=3): r"takes any number of arguments",
    }.items():
        with pytest.raises(lw.ArgumentError, match=message):
            call()  # type: ignore[no-untyped-call]
    made = lw.compile(lambda x, y: x + y, x=3, y=3)
    x = np.ones(3)
    for call, message in {
        lambda: made(x): r"takes 2 argument\(s\) \(x, y\), not 1",
        lambda: made(x, x, x): r"takes 2 argument\(s\) \(x, y\), not 3",
        lambda: made(x, z=x): "'z' is no argument",
        lambda: made(x, x, x=x): "'x' is given twice",
        lambda: made(y=x): "'x' is missing",
        lambda: made(x, np.ones(4)): r"y of <lambda> must have shape \(\.\.\., 3\), but has shape \(4,\)",
        lambda: made(np.ones((2, 3)), np.ones((4, 3))): "do not broadcast",
        lambda: made(x, ["a", "b", "c"]): "must hold real numbers",
        lambda: made(x, [1.0, np.nan, 2.0]): r"y\[1\] of <lambda> is nan",
        lambda: made(x, x, out=np.ones(4)): "out must be a float64 array of shape",
        lambda: made(x, x, out=x): "must not overlap x",
    }.items():
        with pytest.raises(lw.ArgumentError, match=message):
            call()
    root = lw.compile(lambda x: np.sqrt(x), x=2)
    with pytest.raises(lw.SingularError, match=r"the result\[1\] is nan at state \[1\] of the batch"):
        root([[1.0, 2.0], [1.0, -1.0]])


@pytest.mark.parametrize("links", [3, 60])
def test_a_result_that_is_not_finite_is_named(links: int) -> None:
    """The same error as in Python; also where calls of code with loops are between stages of straight code."""
    arm = lw.mechanisms.serial_chain(links)
    q = np.full(links, 0.1)

    def law(q: Any, x: Any) -> Any:
        push = lw.gravity_torques(arm, q / x[1])
        return {"push": push, "size": (np.log(x[0]), np.where(x[1] > 0.0, push.sum(), 0.0))}

    made = lw.compile(law, q=links, x=2)
    message = r"law: the result\['size'\]\[0\] is -inf"
    with pytest.raises(lw.SingularError, match=message + "; it must be finite"):
        made(q, [0.0, 1.0])
    with pytest.raises(lw.SingularError, match=message + r" at state \[1\] of the batch"):
        made(q, [[1.0, 1.0], [0.0, 1.0]])
    chosen = lw.compile(lambda q, x: law(q, x)["size"][1], q=links, x=2)  # what is not chosen may be no number
    assert np.array_equal(chosen(q, [[1.0, 0.0], [1.0, 1.0]]), [0.0, chosen(q, [1.0, 1.0])])


def test_a_law_for_another_model_is_refused() -> None:
    with pytest.raises(lw.ArgumentError, match=r"q must have shape \(\.\.\., 3\)"):
        lw.compile(lambda q: lw.gravity_torques(ARM, q), q=7)


def test_a_trace_too_large_runs_by_the_interpreter() -> None:
    made = lw.compile(lambda x: np.cumsum(x * x + 1.0), x=20)
    match = r"has \d+ instructions, more than .* by the interpreter"
    with costs(traced=10), pytest.warns(lw.LinkworkWarning, match=match) as warned:
        found = made(np.ones((3, 20)))
    assert [each.filename for each in warned] == [__file__]
    assert np.array_equal(found[0], 2.0 * np.arange(1, 21))


@costs(traced=20)
def test_a_trace_that_grows_too_large_says_so_before_it_ends() -> None:
    lengths: list[int] = []

    def law(x: Any) -> Any:
        for _ in range(20):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                x = np.linalg.solve(np.outer(x, x) + np.eye(2), x)
            lengths.append(len(said))
            assert all("has 100 instructions so far" in str(each.message) for each in said)
        return x

    lw.compile(law, x=2)
    assert sum(lengths[:20]) == 1 and lengths[19] == 0


def test_a_program_that_is_too_long_as_it_stands_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.engine.trace.replay.expanded", None)
    monkeypatch.setattr("linkwork.engine.code.fingerprint.of_program", None)
    made = lw.compile(lambda x: np.cumsum(np.sin(x)), x=20)
    with costs(traced=10), pytest.warns(lw.LinkworkWarning, match="has 79 instructions"):
        assert np.array_equal(made(np.zeros(20)), np.zeros(20))


def test_a_text_must_do_the_same_each_time() -> None:
    """What it does not return may differ; a constant is another operand than the instruction of that number."""

    def by_turns(*texts: Any) -> Any:
        left = itertools.cycle(texts)
        return lw.compile(lambda x: next(left)(x), x=3)

    by_turns(lambda x: x * 2.0 + x[0], lambda x: x * 2.0 + x[0])
    by_turns(lambda x: x + 0.0 * np.sin(x), lambda x: x + 0.0 * np.cos(x))
    for one, other in (
        (lambda x: x * 2.0 + x[0], lambda x: x * 3.0 + x[0]),
        (lambda x: x[0] + x[2], lambda x: x[0] + 2.0),
    ):
        with pytest.raises(lw.TracingError, match="does not do the same each time"):
            by_turns(one, other)
