"""Code with loops over bodies that other code calls for its own tiles: in straight lines, repeats and time loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiled.repeating import repeat
from linkwork.compiled.subroutine import subroutine

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
