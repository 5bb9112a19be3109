"""Rows that a traced function keeps where a condition holds: the same in every form, in any batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.compiled.repeating import repeat
from linkwork.errors import TracingError
from linkwork.spatial import where_less
from programs import run_program


def text(x: Any, packed: bool = True) -> Any:
    """The sum, and the alternating sum, of the sines of positive numbers, three times over."""
    scalars = numbers(x).tolist()
    kept = KeptRows("positive", 2, len(scalars), packed)
    for k, value in enumerate(scalars):
        kept.keep(where_less(0.0, value, 1.0, 0.0), [value, float(k)])
    sines = kept.mapped(
        "sines", lambda row, given: [np.sin(array_of(row[:1]))[0].item() * given[0], row[1]], 2, scalars[:1]
    )

    def again(total: Any, swapped: Any, count: Any, first: Any) -> Any:
        state = [numbers(total).item(), numbers(swapped).item()]
        # the state changes places, so that code in place must read before it writes
        found = sines.fold(
            lambda s, row, given: [s[1] + row[0] + given[0], s[0] - row[0]], state, [numbers(first).item()]
        )
        found = sines.fold(lambda s, row, given: [s[0] + row[1], s[1]], found, [])  # in the memory of the last
        return [array_of(found[:1])[0], array_of(found[1:])[0], count + 1.0], count < 2.5

    zero = x[0] * 0.0
    a, b, count = repeat(again, [zero, zero, zero], [x[0]], most=10)
    return np.stack([a, b, count])


def by_hand(x: np.ndarray[Any, Any]) -> list[float]:
    state = [0.0, 0.0]
    for _ in range(4):
        for value in x:
            if value > 0.0:
                state = [state[1] + np.sin(value) * x[0] + x[0], state[0] - np.sin(value) * x[0]]
        state[0] += sum(np.flatnonzero(x > 0.0))
    return [*state, 4.0]


@pytest.mark.parametrize("packed", [True, False])
def test_rows_in_every_form(packed: bool) -> None:
    x = np.random.default_rng(0).normal(size=(23, 5))
    x[3] = -1.0  # none
    x[7] = 1.0  # all
    fast = lw.compile(lambda x: text(x, packed), x=5)
    (alone,) = run_program(fast.program, [3], [x[0]])
    assert np.array_equal(alone, fast(x[0]))
    with lw.interpreted():
        plain = fast(x)
        alone = np.array([fast(one) for one in x])
    assert np.array_equal(fast(x), plain) and np.array_equal(plain, alone)
    assert np.array_equal(np.array([fast(one) for one in x]), plain)
    assert np.array_equal(fast(x[::-1])[::-1], plain)
    assert np.allclose(plain, [by_hand(one) for one in x], rtol=1e-14)
    nested = lw.compile(lambda x: fast(2.0 * fast(x)[:1] * np.ones(5)) + fast(x), x=5)
    with lw.interpreted():
        plain = nested(x)
    assert np.array_equal(nested(x), plain)


def test_rows_are_told() -> None:
    fast = lw.compile(text, x=5)
    assert "keep first in positive (5 x 2)" in fast.text() and "fold sines (5 x 2)" in fast.text()
    with pytest.raises(TracingError, match="kept where a condition holds"):
        lw.jvp(fast)
    with pytest.raises(ValueError, match="needs no rows"):
        KeptRows("none", 1, 1).keep(1.0, [0.0])
    with pytest.raises(ValueError, match="are packed"):
        KeptRows("none", 1, 1).keep_in(KeptRows("others", 1, 1, packed=False), lambda row, given: row, [])
