"""Programs over one column of matrices, and plans one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.compiled.tracing import trace
from linkwork.engine.ir.program import constants
from linkwork.engine.plans import stage_words
from linkwork.engine.plans.chain import Chain, Link
from linkwork.engine.plans.columns import Columns, ColumnsTask
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.plans.traced import Traced, TracedTask
from strategies import Array

SIZE = 18
"""Long enough for spills."""


def again(A: Any, x: Any, y: Any) -> Any:
    for _ in range(5):
        x = A @ x
    return x + y, -y


def task(columns: int) -> ColumnsTask:
    program, _, _ = trace("again", again, {"A": (SIZE, SIZE), "x": (SIZE, 1), "y": (SIZE, 1)})
    shape = (SIZE, columns)
    return ColumnsTask(lambda: program, columns, [(SIZE, SIZE), shape, shape], [shape] * 2, [0], None, 1e-6)


def given(states: int, columns: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(states, SIZE * n)) for n in (SIZE, columns, columns)]


@pytest.mark.parametrize("columns", [1, 11])
def test_a_column_has_the_same_bits_in_any_lane_and_in_any_batch(columns: int) -> None:
    arguments = given(3, columns)
    whole, status = Columns(task(columns)).run(arguments, 3)
    A, x, y = (array.reshape(3, SIZE, -1) for array in arguments)
    expected = again(A, x, y)
    assert not status
    for one, other in zip(whole, expected, strict=True):
        assert np.allclose(one.reshape(3, SIZE, columns), other, rtol=1e-12, atol=0.0)
    for lanes in (1, 2):
        narrow, _ = Columns(task(columns), lanes=lanes).run([array[1:2] for array in arguments], 1)
        assert all(np.array_equal(one[1:2], other) for one, other in zip(whole, narrow, strict=True))


def test_results_that_are_not_finite_are_told_and_zeros_have_no_sign() -> None:
    plan = Columns(task(11))
    A, x, y = given(2, 11)
    y[0] = 0.0
    (_, negative), status = plan.run([A, x, y], 2)
    assert not status and not np.signbit(negative[0]).any()
    y[1, -1] = np.inf
    assert plan.run([A, x, y], 2)[1] == 2


def test_links_of_a_chain_take_arguments_and_earlier_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(a: Any, b: Any) -> Any:
        return 2.0 * a, np.stack([b[0], 0.0 * b[0], b[1]])

    shapes = [(SIZE, SIZE), (2,)]
    program, _, results = trace("scaled", scaled, {"a": shapes[0], "b": shapes[1]})
    assert constants(program, "result1") == {1: 0.0}
    first = TracedTask(lambda: program, shapes, results)
    outer = TracedTask(lambda: program, [*shapes, (SIZE, 4)], [(SIZE, 4)] * 2, "chain", 1e-6)
    chain = Chain(outer, [Link(StraightLine(first, Traced(first)), [0, 1]), Link(Columns(task(4)), [3, 2, 2])], [5, 6])
    rng = np.random.default_rng(1)
    a, b, x = rng.normal(size=(3, SIZE, SIZE)), rng.normal(size=(3, 2)), rng.normal(size=(3, SIZE, 4))
    rows = [array.reshape(3, -1) for array in (a, b, x)]
    found, status = chain.run(rows, 3)
    served = chain.served("one", "batch")
    assert not status and served is not None
    for one, two, expected in zip(found, served(None, a, b, x), again(2.0 * a, x, x), strict=True):
        assert np.array_equal(one.reshape(two.shape), two)
        assert np.allclose(two, expected, rtol=1e-12, atol=0.0)
    alone = served(None, a[1], b[1], x[1])
    assert all(np.array_equal(one.reshape(3, SIZE, 4)[1], two) for one, two in zip(found, alone, strict=True))
    monkeypatch.setattr(stage_words, "_MOST_BETWEEN", 1)
    many, _ = chain.run([np.tile(array, (30, 1)) for array in rows], 90)  # some at a time
    assert all(np.array_equal(np.tile(one, (30, 1)), two) for one, two in zip(found, many, strict=True))
