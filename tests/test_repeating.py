"""A traced loop that runs until each state has converged, and a subroutine that is called several times: the same bits
alone, in any batch, by the evaluator and over plain arrays.
"""

from __future__ import annotations

import pickle
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.spatial.elementary import varying_as
from programs import run_program

MOST = 12


def collatz(n: Any, steps: Any, stop: Any) -> tuple[list[Any], Any]:
    """A sequence whose length varies strongly from number to number; exact in floats."""
    odd = n - 2.0 * np.floor(n / 2.0)
    following = np.where(odd > 0.5, 3.0 * n + 1.0, n / 2.0)
    return [following, steps + 1.0], following > stop


def lengths(n: Any, stop: Any) -> Any:
    zero = 0.0 * n
    return repeat(collatz, [n, zero], [stop], most=500)[1]


def both(n: Any, angle: Any) -> tuple[Any, Any]:
    """Two of them, one inside another, and code before and after."""

    def outer(x: Any, count: Any, stop: Any) -> tuple[list[Any], Any]:
        inner = repeat(collatz, [x, 0.0 * x], [stop + 3.0], most=MOST, may_stop=True)
        return [inner[0] - 1.0, count + inner[1]], inner[0] > 8.0

    stop = np.cos(angle) ** 2 + np.sin(angle) ** 2 + 0.5
    return lengths(n, stop), repeat(outer, [n + 2.0, np.zeros(())], [stop], most=20, may_stop=True)[1] * np.sin(angle)


def plainly(n: float, stop: float = 1.5) -> int:
    steps = 0
    while True:
        n = 3.0 * n + 1.0 if n % 2 else n / 2.0
        steps += 1
        if n <= stop:
            return steps


def test_each_state_goes_on_for_itself() -> None:
    code = lw.compile(both, n=(), angle=())
    n, angle = np.arange(1.0, 104.0), np.linspace(0.0, 3.0, 103)
    found = code(n, angle)
    assert found[0].tolist() == [plainly(each) for each in n]
    turned = code(n[::-1].copy(), angle[::-1].copy())
    for whole, back in zip(found, turned, strict=True):
        np.testing.assert_array_equal(whole, back[::-1])
    with lw.interpreted():
        np.testing.assert_array_equal(found, code(n, angle))
        np.testing.assert_array_equal([each[26] for each in found], code(n[26], angle[26]))
    for k in (0, 26, 102):
        np.testing.assert_array_equal([each[k] for each in found], code(n[k], angle[k]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(code))(n, angle), found)
    inside = lw.compile(lambda n: code(n, 0.25 * n)[0] + 1.0, n=())  # inlined in another function
    np.testing.assert_array_equal(inside(n[:9]), found[0][:9] + 1.0)
    assert code.count()["mul"] and "repeat at most 500 times" in code.text()


@pytest.mark.parametrize("states", [2, 3, 4, 5, 9, 103])
def test_lanes_that_are_done_take_the_next_state(states: int) -> None:
    code = _lengths()
    n = np.arange(1.0, states + 1.0)[::-1]
    expected = [plainly(each) for each in n]
    assert code(n, 1.5).tolist() == expected
    assert code(np.tile(n, (3, 1)), np.full(states, 1.5)).tolist() == [expected] * 3
    assert code(n, np.where(n == 1.0, 1e9, 1.5)).tolist() == [1.0 if each == 1.0 else plainly(each) for each in n]
    with pytest.raises(lw.ArgumentError, match=rf"n\[{states - 1}\]"):
        code(np.where(n == 1.0, np.inf, n), 1.5)


@cache
def _lengths() -> lw.CompiledFunction:
    code = lw.compile(lambda n, stop: lengths(n, stop) + 0.0 * stop, n=(), stop=())
    assert is_refilled(code)
    return code


def is_refilled(code: Any) -> bool:
    """Whether a lane whose state is done takes the next one."""
    return "@take_lane(" in code.plan.text(2)


def test_a_result_that_is_not_finite_is_named() -> None:
    def text(x: Any) -> Any:
        def body(y: Any, x: Any) -> tuple[list[Any], Any]:
            return [y * 3.0 * x + np.sin(y) - np.cos(x * y)], y < 1e300

        (end,) = repeat(body, [x], [x], most=5000, may_stop=True)
        return end * end

    code = lw.compile(text, x=())
    assert is_refilled(code)
    with pytest.raises(lw.SingularError, match=r"state \[4\]"):
        code([0.25, 0.25, 0.25, 0.25, 2.0, 0.25])


def test_over_plain_arrays() -> None:
    n = np.arange(1.0, 31.0).reshape(5, 6)
    ends = repeat(collatz, [n, np.zeros(())], [1.5], most=500, batch=2)
    assert ends[1].shape == n.shape and ends[1].ravel().tolist() == [plainly(each) for each in n.ravel()]
    assert repeat(collatz, [27.0, 0.0], [1.5], most=MOST, may_stop=True)[1] == MOST


def test_what_is_not_done_in_the_end_is_no_number() -> None:
    """In code for one state, for tiles, and for lanes that take the next state, inside other code, and interpreted."""

    def text(n: Any) -> Any:
        return repeat(collatz, [n, 0.0 * n], [1.5], most=20, name="the sequence")[1]

    alone = lw.compile(text, n=())
    beside = lw.compile(lambda n: np.sin(text(n)) + text(2.0 * n), n=())
    assert is_refilled(alone)
    assert not is_refilled(beside)
    n = np.arange(1.0, 40.0)
    steps = np.array([plainly(each) for each in n])
    for code, done in ((alone, steps <= 20), (beside, steps < 20)):
        fine = n[done]
        expected = steps[done] if code is alone else np.sin(steps[done]) + [plainly(2.0 * each) for each in fine]
        np.testing.assert_allclose(code(fine), expected, rtol=1e-15)
        leaves, _, found = code.attempt([n])
        np.testing.assert_array_equal(found, done)
        assert np.isnan(leaves[0][~done]).all()
        first = int(np.argmin(done))
        with pytest.raises(lw.SingularError, match=r"the sequence is not solved after 20 iterations"):
            code(n[first])
        with pytest.raises(lw.SingularError, match=rf"state \[{first}\] .* the sequence is not solved after 20 iter"):
            code(n)
        with lw.interpreted(), pytest.raises(lw.SingularError, match="the sequence is not solved"):
            code(n)
    assert np.isnan(repeat(collatz, [np.array([27.0, 4.0]), np.zeros(2)], [1.5], most=20, batch=1)[1]).tolist() == [
        1,
        0,
    ]


def test_what_cannot_be_repeated_is_said() -> None:
    with pytest.raises(lw.TracingError, match="next one has shapes"):
        lw.compile(lambda x: repeat(lambda x: ([x[:1]], x[0] > 0.0), [x], most=3)[0], x=2)
    with pytest.raises(lw.TracingError, match="pass it as an argument"):
        lw.compile(lambda x: repeat(lambda y: ([x + y], y > 0.0), [2.0 * x], most=3)[0], x=())
    with pytest.raises(lw.TracingError, match=r"repeated until it has converged, .* is not differentiated: say by"):
        lw.jacobian_of(lw.compile(lengths, n=(), stop=()))


def test_the_result_of_a_search_varies_as_its_equation_does() -> None:
    def root(x: Any) -> Any:
        (found,) = repeat(lambda y, x: ([0.5 * (y + x / y)], (y * y - x) ** 2 > 1e-20), [1.0 + x], [x], most=MOST)
        y, a = numbers(found).item(), numbers(x).item()
        at = varying_as(y, 0.0)
        return array_of([varying_as(y, (a - at * at) / (2.0 * at))])[0]

    code = lw.compile(root, x=())
    x = np.array([0.5, 2.0, 7.0])
    assert code(x) == pytest.approx(np.sqrt(x), rel=1e-15)
    with lw.interpreted():
        assert lw.jacobian_of(code)(x) == pytest.approx(0.5 / np.sqrt(x), rel=1e-14)
        assert lw.vjp(code)(x, w0=2.0)[1][0] == pytest.approx(1.0 / np.sqrt(x), rel=1e-14)


def test_a_constant_state_is_folded() -> None:
    code = lw.compile(lambda x: x + repeat(collatz, [np.array(27.0) + 0.0 * x, 0.0 * x], [1.5], most=500)[1], x=())
    assert code(1.0) == 112.0 and not code.count()["div"]


def wave(x: Any, y: Any, missing: Any = None) -> list[Any]:
    """Two results, with a loop inside; one may be missing."""
    (half,) = repeat(lambda z: ([0.5 * z], z > 1.0), [np.sum(x * x)], most=9)
    return [np.sin(x) * y + half if missing is None else x, np.exp(-y)]


def used(x: Any, y: Any) -> tuple[Any, Any]:
    """Three calls, the last with known numbers."""
    own = subroutine(wave)
    x, y = own(x, y, None)
    x, y = own(2.0 * x, y, None)
    return x, own(x, np.full((), 0.5), None)[1] + y


def test_a_subroutine_stands_in_code_once() -> None:
    code = lw.compile(used, x=2, y=())
    x, y = np.random.default_rng(0).normal(size=(2, 21, 2))
    found = code(x, y[:, 0])
    plain = [used(*each) for each in zip(x, y[:, 0], strict=True)]
    for k, whole in enumerate(found):
        np.testing.assert_allclose(whole, [each[k] for each in plain], rtol=1e-14)
        np.testing.assert_array_equal([code(*each)[k] for each in zip(x, y[:, 0], strict=True)], whole)
    with lw.interpreted():
        np.testing.assert_array_equal(code(x, y[:, 0])[0], found[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(code))(x, y[:, 0])[1], found[1])
    inside = lw.compile(lambda x: code(x, 0.25)[0] + 1.0, x=2)
    np.testing.assert_array_equal(inside(x), code(x, 0.25)[0] + 1.0)
    for k, result in enumerate(run_program(code.program, [2, 1], [x[0], y[0, :1]])):
        np.testing.assert_array_equal(result.reshape(found[k][0].shape), found[k][0])
    assert code.count()["exp"] == 3 and code.text().count("= exp ") == 1


def test_what_is_zero_in_all_lanes_is_spared_and_leaves_the_bits() -> None:
    def product(x: Any) -> list[Any]:
        return [np.stack([x[0] * x[1] + x[2] * x[3] + x[4] * x[5], x[0] - x[2] * x[1]])]

    def text(x: Any) -> Any:
        return subroutine(product, [[2, 4], [4]])(x)[0]

    code = lw.compile(text, x=6)
    assert code.count()["mul"] == 4
    plan: Any = code.plan
    assert len(re.findall(r"%v\d+ = fmul", plan.text(4))) == 4 + 1 + 3  # whole, and without either
    x = np.random.default_rng(1).normal(size=(64, 6))
    x[8:16, 2], x[:40, 4] = -0.0, 0.0  # tiles that have all, one or no zeros, and some with other lanes
    x[20:23, 2] = 0.0
    plain = np.stack([product(row)[0] for row in x])
    np.testing.assert_array_equal(code(x), plain)
    np.testing.assert_array_equal(np.stack([code(row) for row in x]), plain)


def test_a_subroutine_is_differentiated() -> None:
    def text(x: Any) -> Any:
        own = subroutine(lambda x, scale: [np.sin(scale * x)])
        return own(own(x, np.full((), 0.5))[0], np.full((), 2.0))[0]

    x = np.linspace(-1.0, 1.0, 5)
    inner = np.sin(0.5 * x)
    expected = np.cos(2.0 * inner) * 2.0 * np.cos(0.5 * x) * 0.5
    np.testing.assert_allclose(lw.jvp(text, x=())(x, d_x=np.ones(5))[1], expected, rtol=1e-13)
    np.testing.assert_allclose(lw.vjp(text, x=())(x, w0=np.ones(5))[1][0], expected, rtol=1e-13)


def test_what_no_subroutine_can_do_is_said() -> None:
    with pytest.raises(lw.TracingError, match="pass it as an argument"):
        lw.compile(lambda x: subroutine(lambda y: [x + y])(2.0 * x)[0], x=())
    chain = lw.mechanisms.serial_chain(60)  # whose code has loops
    code = lw.compile(lambda q: subroutine(lambda q: [lw.gravity_torques(chain, q)])(q)[0], q=60)
    q = np.linspace(0.0, 1.0, 60)
    np.testing.assert_allclose(code(q), lw.gravity_torques(chain, q), rtol=1e-12)
