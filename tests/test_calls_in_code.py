"""Code with loops over bodies that other code calls for its own tiles: in straight lines, repeats and time loops."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine
from linkwork.inside import costs

Array = Any
N = 60


@cache
def chain() -> lw.Model:
    return lw.mechanisms.serial_chain(N)


def straight(q: Array, v: Array) -> Array:
    """Zeros among results, a point beside a frame, two calls of one algorithm."""
    M = lw.mass_matrix(chain(), q)
    J = lw.jacobian(chain(), q, [lw.Point("tip", offset=(0.1, 0.2, 0.3))])
    a = lw.forward_dynamics(chain(), q, v, np.sin(q))
    return np.concatenate([M @ v, J @ v, a, lw.forward_dynamics(chain(), q, v, a)])


def repeated(q: Array, v: Array) -> Array:
    """Steps towards less gravity, each state as many as it needs."""

    def step(q: Array, v: Array, count: Array) -> tuple[list[Array], Array]:
        tau = lw.gravity_torques(chain(), q)
        return [q - 1e-3 * tau, v + 1e-3 * lw.forward_dynamics(chain(), q, v, tau), count + 1.0], count < 3.0 * q[0]

    q, v, count = repeat(step, [q, v, 0.0 * q[0]], most=9, may_stop=True)
    return np.concatenate([q, v, np.stack([count])])


def as_subroutine(q: Array, v: Array) -> Array:
    move = subroutine(lambda q, v: [lw.forward_dynamics(chain(), q, v, v)])
    return move(q, move(q, v)[0])[0]


@pytest.mark.parametrize("text", [straight, repeated, as_subroutine])
def test_called_code_gives_the_bits_of_the_evaluator(text: Any) -> None:
    """Alone, in tiles of any size, and over threads."""
    q, v = np.random.default_rng(0).normal(size=(2, 19, N))
    q[:, 0] = np.linspace(0.0, 3.0, 19)
    code = lw.compile(text, q=N, v=N)
    with lw.interpreted():
        expected = code(q, v)
    np.testing.assert_array_equal(code(q, v), expected)
    for k in (0, 11, 18):
        np.testing.assert_array_equal(code(q[k], v[k]), expected[k])
    many = [np.tile(array, (60, 1)) for array in (q, v)]
    np.testing.assert_array_equal(code(*many), np.tile(expected, (60, 1)))


def test_a_law_that_calls_code_is_part_of_the_time_loop() -> None:
    """For the robot itself, of many bodies, and for another, beside a small one."""
    law = lw.compile(lambda t, q, v, gain: lw.gravity_torques(chain(), q) - gain * v, t=(), q=N, v=N, gain=())
    q, v = 0.1 * np.random.default_rng(1).normal(size=(2, 11, N))
    gains = np.linspace(0.0, 1.0, 11)[:, None]
    given: dict[str, Any] = {"dt": 1e-3, "steps": 7, "torque": law}
    made = lw.rollout(chain(), q, v, parameters=(gains,), **given)
    with lw.interpreted():
        expected = lw.rollout(chain(), q[:3], v[:3], parameters=(gains[:3],), **given)
    np.testing.assert_array_equal(made.q[:3], expected.q)
    for k in (0, 10):
        alone = lw.rollout(chain(), q[k], v[k], parameters=(gains[k, 0],), **given)
        np.testing.assert_array_equal(made.v[k], alone.v)
    arm = lw.mechanisms.serial_chain(2)
    other = lw.compile(lambda t, q, v: 1e-3 * lw.gravity_torques(chain(), np.tile(q, N // 2))[:2], t=(), q=2, v=2)
    heavy = 2.0 * arm.inertial_parameters
    pushed = lw.rollout(arm, q[:, :2], v[:, :2], dt=1e-3, steps=5, torque=other, inertias=heavy)
    with lw.interpreted():
        again = lw.rollout(arm, q[:, :2], v[:, :2], dt=1e-3, steps=5, torque=other, inertias=heavy)
    np.testing.assert_array_equal(pushed.q, again.q)


SHORT = lw.mechanisms.serial_chain(7, [lw.joints.Revolute("z"), lw.joints.Revolute("y")])
"""A chain whose text is long when it is straight, for a table of costs with short code."""


def test_a_text_that_is_too_long_when_straight_calls_code_with_loops() -> None:
    """Without a warning, its derivatives too; also a copy of it, and one whose trace is not worth ending."""
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=(2, 5, 7))
    point = lw.Point("tip", offset=(0.1, -0.2, 0.3), axes="position")

    def text(q: Array, v: Array) -> Array:
        a = lw.forward_dynamics(SHORT, q, v, np.sin(q))
        return np.concatenate([a, lw.inverse_dynamics(SHORT, q, v, a), lw.jacobian(SHORT, q, point) @ v])

    expected = np.stack([text(*state) for state in zip(q, v, strict=True)])
    with lw.interpreted():
        _, expected_change = lw.jvp(text, q=7, v=7)(q[0], v[0], q[1], v[1])
    with costs(traced=900):
        made = lw.compile(text, q=7, v=7)
        np.testing.assert_allclose(made(q, v), expected, rtol=0, atol=1e-11)
        copy = pickle.loads(pickle.dumps(made))
        assert copy.has_loops
        np.testing.assert_allclose(copy(q[0], v[0]), expected[0], rtol=0, atol=1e-11)
        _, change = lw.jvp(made)(q[0], v[0], q[1], v[1])
        np.testing.assert_allclose(change, expected_change, rtol=0, atol=1e-9)
        with lw.interpreted():
            np.testing.assert_allclose(made(q, v), expected, rtol=0, atol=1e-11)
    with costs(traced=150):
        assert lw.compile(text, q=7, v=7).has_loops
    with costs(traced=200):
        pushed = lw.external_wrench(SHORT, q, {point: np.ones(3)})
    with lw.interpreted():
        np.testing.assert_allclose(pushed, lw.external_wrench(SHORT, q, {point: np.ones(3)}), rtol=0, atol=1e-12)


def test_a_function_that_has_changed_since_it_was_compiled_is_not_traced_again() -> None:
    """Its first trace remains, too long as it may be."""
    gains = [2.0]
    made = lw.compile(lambda q: gains[0] * lw.gravity_torques(SHORT, q), q=7)
    gains[0] = 3.0
    q = np.linspace(-1.0, 1.0, 7)
    with costs(traced=20), pytest.warns(lw.LinkworkWarning, match="by the interpreter"):
        np.testing.assert_allclose(made(q), 2.0 * lw.gravity_torques(SHORT, q), rtol=0, atol=1e-12)
