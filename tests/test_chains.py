"""Chains of code for one state: straight-line code, code with loops, and programs over one column of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.compiled.tracing import trace
from linkwork.engine.ir.program import constants
from linkwork.engine.plans import Task, TracedTask, code_for_trace, plan_for
from linkwork.engine.plans.chain import Chain, Columns, Link
from strategies import Array

SIZE = 18
"""Long enough for spills."""


def again(A: Any, x: Any, y: Any) -> Any:
    for _ in range(5):
        x = A @ x
    return x + y, -y


def columns(count: int) -> Columns:
    program, _, _ = trace("again", again, {"A": (SIZE, SIZE), "x": (SIZE, 1), "y": (SIZE, 1)})
    return Columns(lambda: program, count, [(SIZE, count)] * 2, [0], None)


def alone(count: int, lanes: int | None = None) -> Chain:
    shape = (SIZE, count)
    task = TracedTask(_untraced, [(SIZE, SIZE), shape, shape], [shape] * 2, "again", 1e-6)
    return Chain(task, [Link(columns(count), [0, 1, 2])], [3, 4], lanes=lanes)


def _untraced() -> Any:
    raise AssertionError("a chain has no program of its own")


def given(states: int, count: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(states, SIZE * n)) for n in (SIZE, count, count)]


@pytest.mark.parametrize("count", [1, 11])
def test_a_column_has_the_same_bits_in_any_lane_and_in_any_batch(count: int) -> None:
    arguments = given(3, count)
    whole, status = alone(count).run(arguments, 3)
    A, x, y = (array.reshape(3, SIZE, -1) for array in arguments)
    expected = again(A, x, y)
    assert not status
    for one, other in zip(whole, expected, strict=True):
        assert np.allclose(one.reshape(3, SIZE, count), other, rtol=1e-12, atol=0.0)
    for lanes in (1, 2):
        narrow, _ = alone(count, lanes).run([array[1:2] for array in arguments], 1)
        assert all(np.array_equal(one[1:2], other) for one, other in zip(whole, narrow, strict=True))


def test_results_that_are_not_finite_are_told_and_zeros_have_no_sign() -> None:
    plan = alone(11)
    A, x, y = given(2, 11)
    y[0] = 0.0
    (_, negative), status = plan.run([A, x, y], 2)
    assert not status and not np.signbit(negative[0]).any()
    A[1] *= 1e70
    assert plan.run([A, x, y], 2)[1] == 2
    x[1] = np.inf
    assert plan.run([A, x, y], 2)[1] == 3


def test_links_of_a_chain_take_arguments_and_earlier_results() -> None:
    def scaled(a: Any, b: Any) -> Any:
        return 2.0 * a, np.stack([b[0], 0.0 * b[0], b[1]])

    shapes = [(SIZE, SIZE), (2,)]
    program, _, results = trace("scaled", scaled, {"a": shapes[0], "b": shapes[1]})
    assert constants(program, "result1") == {1: 0.0}
    first = TracedTask(lambda: program, shapes, results)
    outer = TracedTask(_untraced, [*shapes, (SIZE, 4)], [(SIZE, 4)] * 2, "chain", 1e-6)
    chain = Chain(outer, [Link(code_for_trace(first), [0, 1]), Link(columns(4), [3, 2, 2])], [5, 6])
    rng = np.random.default_rng(1)
    a, b, x = rng.normal(size=(3, SIZE, SIZE)), rng.normal(size=(3, 2)), rng.normal(size=(3, SIZE, 4))
    rows = [array.reshape(3, -1) for array in (a, b, x)]
    found, status = chain.run(rows, 3)
    served = chain.served("one", "batch")
    assert not status and served is not None
    for one, two, expected in zip(found, served(None, a, b, x), again(2.0 * a, x, x), strict=True):
        assert np.array_equal(one.reshape(two.shape), two)
        assert np.allclose(two, expected, rtol=1e-12, atol=0.0)
    single = served(None, a[1], b[1], x[1])
    assert all(np.array_equal(one.reshape(3, SIZE, 4)[1], two) for one, two in zip(found, single, strict=True))
    b[2, 1] = np.inf  # is passed on, though no column depends on it
    assert chain.run([array.reshape(3, -1) for array in (a, b, x)], 3)[1] == 1


def test_a_link_can_be_code_with_loops_over_bodies() -> None:
    """Of trees whose matrices have zeros, which are stored first, and with different numbers of bodies."""
    for model in (lw.mechanisms.star(3), lw.mechanisms.serial_chain(4)):
        nv, shape = model.nv, (model.nv, model.nv)
        program, _, _ = trace("squared", lambda M, x: M @ x, {"M": shape, "x": (nv, 1)})
        task = TracedTask(_untraced, [(model.nq,)], [shape], "squared", 1e-6)
        loops = plan_for(Task(ALGORITHMS["mass_matrix"], model), "rolled")
        squares = Columns(lambda own=program: own, nv, [shape], [0], None)  # type: ignore[misc]
        chain = Chain(task, [Link(loops, [0]), Link(squares, [1, 1])], [2])
        q, _ = lw.random_state(model, 2, shape=5)
        M = lw.mass_matrix(model, q)
        for states in (1, 5):
            (found,), status = chain.run([q[:states]], states)
            assert not status
            assert np.allclose(found.reshape(states, nv, nv), (M @ M)[:states], rtol=1e-12, atol=1e-14)
