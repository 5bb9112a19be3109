"""How results leave machine code: rows wherever they begin, zeros without a sign, every non-finite number found, and
nothing written beside them.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.engine import optimisations
from linkwork.engine.emit import kernel, streaming
from linkwork.engine.emit.sparing import Spared
from programs import BASELINE, Machine, planned, task_of, traced
from strategies import Array, pool, state_of

LANES = [(None, 8), (None, 4), (BASELINE, 2), (BASELINE, 4)]
Operand = int | float


def products(result: Sequence[Operand], count: int) -> Any:
    """A program whose result holds, for an integer k, argument k times the last of ``count``, and constants."""

    def text(*loads: Any) -> list[Any]:
        values = [load * loads[-1] for load in loads]
        return [values[x] if isinstance(x, int) else x for x in result]

    return traced(text, count)


def batch_of(
    way: str, result: Sequence[Operand], count: int, cpu: tuple[str, str] | None, lanes: int, *spared: Spared
) -> Machine:
    """``products`` as machine code: results in tiles or as rows."""
    return Machine(products(result, count), count, len(result), lanes, cpu, way, spared)


def symmetric(n: int) -> list[Operand]:
    """The positions of a symmetric matrix, with constants off its diagonal blocks."""
    number = {(i, j): i * (i + 1) // 2 + j for i in range(n) for j in range(i + 1)}
    matrix = [number[max(i, j), min(i, j)] for i in range(n) for j in range(n)]
    return [-0.0 if k % 5 == 3 else 2.0 if k % 7 == 4 else x for k, x in enumerate(matrix)]


RESULTS: dict[str, list[Operand]] = {
    "one": [0],
    "few": [2, 1, 0],
    "seven": [*range(7)],
    "eight": [*range(7, -1, -1)],
    "nine": [0, 1, 2, 3, 4, 4, 3, -0.0, 0],
    "constants": [1.0, -0.0, 3.0] * 7,
    "zero": [0.0],
    "zeros": [-0.0] * 20,
    "strips of zeros": [0, *[0.0] * 25, 1, 2],
    "matrix": symmetric(6),
    "large": symmetric(11),
}


BY_TURNS = [(name, LANES[(2 * turn + k) % 4]) for k, name in enumerate(RESULTS) for turn in range(2)]
"""Each of the results with two numbers of lanes, the next one with the other two."""


@pytest.mark.parametrize(
    ("name", "lanes_of"),
    BY_TURNS,
    ids=[f"{name}-{'sse2' if cpu else 'host'}_{lanes}" for name, (cpu, lanes) in BY_TURNS],
)
@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_numbers_come_to_their_places_and_to_no_others(
    way: str, name: str, lanes_of: tuple[tuple[str, str] | None, int]
) -> None:
    result, rng, (cpu, lanes) = RESULTS[name], np.random.default_rng(0), lanes_of
    count = 2 + max((x for x in result if type(x) is int), default=0)
    batch = batch_of(way, result, count, cpu, lanes)
    for states in range(1, 2 * lanes + 3):
        inputs = rng.standard_normal((states, count))
        inputs[rng.random((states, count)) < 0.3] = -0.0
        numbers, status = batch(inputs)
        products = inputs * inputs[:, -1:]
        wanted = np.stack([products[:, x] if type(x) is int else np.full(states, x) for x in result], axis=1)
        assert status == 0
        assert np.array_equal(numbers.view(np.int64), (wanted + 0.0).view(np.int64)), f"{states} states"


@pytest.mark.parametrize(("cpu", "lanes"), LANES[:3], ids=["host_8", "host_4", "sse2_2"])
@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_what_goes_past_the_caches_comes_to_the_same_places(
    way: str, cpu: tuple[str, str] | None, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any offset in a cache line, or even in a number; for full tiles, and for the rest."""
    monkeypatch.setattr(streaming, "MUCH", 0)
    inputs = np.random.default_rng(0).standard_normal((2 * lanes + 1, 20))
    for width in (64, 195):
        result = [k % 19 if k % 7 else -0.0 for k in range(width)]
        batch = batch_of(way, result, 20, cpu, lanes)
        assert ", !nontemporal" in batch.text
        products = inputs * inputs[:, -1:]
        wanted = np.stack([products[:, x] if type(x) is int else np.zeros(len(inputs)) for x in result], axis=1)
        for begin in (*range(0, 64, 8), 4):
            numbers, status = batch(inputs, begin)
            assert status == 0 and np.array_equal(numbers.view(np.int64), wanted.view(np.int64)), f"{width} at {begin}"
        for state, place in ((0, 18), (lanes - 1, 3)):
            bad = inputs.copy()
            bad[state, [place, -1]] = 1e308, 2.0
            assert batch(bad)[1] == 2


@pytest.mark.parametrize(("cpu", "lanes"), LANES[:3], ids=["host_8", "host_4", "sse2_2"])
@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_a_tile_spares_what_is_usual_in_all_lanes(way: str, cpu: tuple[str, str] | None, lanes: int) -> None:
    """The reduced program has other results here, which show where it ran."""
    usual = {1: 0.0, 17: -2.5, 20: 0.5}
    result = [0, 1, 2]
    spared = Spared(products([5.0, 6.0, 0], 22), {"argument0": usual})
    batch = batch_of(way, result, 22, cpu, lanes, spared)
    inputs = np.random.default_rng(0).normal(size=(2 * lanes + 2, 22))
    inputs[:lanes, list(usual)] = inputs[-1, list(usual)] = list(usual.values())
    inputs[1, 1] = -0.0
    full = inputs[:, result] * inputs[:, 21:]
    numbers, status = batch(inputs)
    assert status == 0
    assert (numbers[:lanes, :2] == [5.0, 6.0]).all() and (numbers[:lanes, 2] == full[:lanes, 0]).all()
    assert (numbers[lanes:] == full[lanes:]).all()  # one that is not is enough
    inputs[lanes:, list(usual)] = list(usual.values())
    assert (batch(inputs)[0][:, :2] == [5.0, 6.0]).all()  # a tile that is not full too
    for place, near in {1: 5e-324, 17: 2.5, 20: np.nextafter(0.5, 1.0)}.items():
        for lane in range(lanes):
            other = inputs.copy()
            other[lane, place] = near
            numbers, _ = batch(other)
            assert (numbers[:lanes] == other[:lanes, result] * other[:lanes, 21:]).all()
            assert (numbers[lanes:, :2] == [5.0, 6.0]).all()
    for place in range(22):  # not finite: among those that are packed, or no usual one
        bad = inputs.copy()
        bad[lanes - 1, place] = np.inf
        assert batch(bad)[1] & 1


@pytest.mark.parametrize(("cpu", "lanes"), LANES[:3], ids=["host_8", "host_4", "sse2_2"])
@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_every_number_that_is_not_finite_is_found(way: str, cpu: tuple[str, str] | None, lanes: int) -> None:
    """In each position and lane, of a full tile and of a partial one; numbers that could overflow in a sum are fine."""
    result = RESULTS["matrix"]
    batch = batch_of(way, result, 22, cpu, lanes)
    inputs = np.full((2 * lanes + 1, 22), 1.7e308)
    inputs[:, -1] = 1.0
    assert batch(inputs)[1] == 0
    places = {x for x in result if type(x) is int}
    for state in range(len(inputs)):
        for place in range(21):
            bad = inputs.copy()
            bad[state] = 1e300
            bad[state, [place, -1]] = 1e308, 2.0
            assert batch(bad)[1] == (2 if place in places else 0)
            bad[state, place] = np.nan
            assert batch(bad)[1] == (3 if place in places else 1)


@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_a_constant_that_is_not_finite_is_found(way: str) -> None:
    for number in (np.inf, -np.inf, np.nan):
        assert batch_of(way, [0, float(number), 1], 3, None, 4)(np.ones((5, 3)))[1] == 2


@pytest.mark.parametrize("batch", [(2,), (70,), (3, 5), (4096,)])
def test_results_of_a_batch_are_arrays_like_any_other(batch: tuple[int, ...]) -> None:
    model = pool()[7]
    s = state_of(model, 3, batch)
    moved = lw.rollout(model, *(array.reshape(-1, array.shape[-1]) for array in (s.q, s.v)), steps=1, dt=1e-3)
    results = [
        lw.mass_matrix(model, s.q),
        lw.forward_dynamics(model, s.q, s.v, s.tau),
        lw.operational_inertia_inverse(model, s.q, model.frame_names[:2]),
        moved.q,
        moved.v,
    ]
    for result in results:
        assert result.flags.c_contiguous and result.flags.writeable and result.flags.aligned
        assert np.array_equal(pickle.loads(pickle.dumps(result)), result)


def test_a_mechanism_that_cannot_move_has_empty_results() -> None:
    model = lw.Builder("rigid").build()
    assert lw.mass_matrix(model, np.empty((9, 0))).shape == (9, 0, 0)
    assert lw.forward_dynamics(model, *[np.empty((9, 0))] * 3).shape == (9, 0)


@pytest.mark.parametrize("way", ["tiles", "rows"])
def test_a_long_program_is_cut_into_basic_blocks_and_keeps_its_bits(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 40
    inputs = np.random.default_rng(3).normal(size=(9, count))
    inputs[4, 7] = np.inf
    result = [*range(count), 2.5]
    whole = batch_of(way, result, count, None, 4)
    monkeypatch.setattr(kernel, "_LONG", 20)
    monkeypatch.setattr(kernel, "_LONGEST_BLOCK", 7)
    parted = batch_of(way, result, count, None, 4)
    assert "never" not in whole.text and parted.text.count("label %never") > 10
    (expected, status), (found, same) = whole(inputs), parted(inputs)
    assert status == same and expected.tobytes() == found.tobytes()


@pytest.mark.parametrize("name", optimisations.OPTIMISATIONS)
def test_what_is_turned_off_leaves_the_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[Array]:
        model = lw.mechanisms.binary_tree(3)
        s = state_of(model, 3, (19,))
        damped = {"damping": 0.1, "friction": 0.1, "joint_limits": True, "dt": 1e-3, "steps": 3}
        found = [lw.forward_dynamics(model, s.q, s.v, s.tau), lw.mass_matrix(model, s.q[0]), lw.mass_matrix(model, s.q)]
        found.append(lw.rollout(model, s.q, s.v, **damped).q)
        found.append(lw.inverse_kinematics(model, lw.forward_kinematics(model, s.q, "body7"), "body7").q)
        with lw.form("looped"):
            found += [lw.mass_matrix_inverse(model, s.q[0]), lw.inverse_dynamics_derivatives(model, s.q, s.v, s.a)[0]]
        return found

    task = task_of(ALGORITHMS["mass_matrix"], lw.mechanisms.binary_tree(3))
    key, expected = planned(task).key(1), results()
    monkeypatch.setattr(optimisations, "without", lambda: frozenset({name}))
    assert planned(task).key(1) != key, "other code"
    for result, wanted in zip(results(), expected, strict=True):
        assert result.tobytes() == wanted.tobytes()


def test_an_unknown_optimisation_is_ignored_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(optimisations.WITHOUT, "rows, haste")
    with pytest.warns(lw.LinkworkWarning, match="'haste', which is ignored; it may name rows, "):
        assert optimisations.without.__wrapped__() == {"rows"}


def test_the_page_of_times_says_what_each_optimisation_brings() -> None:
    page = (Path(__file__).parents[1] / "docs" / "performance.md").read_text(encoding="utf-8")
    for name, what in optimisations.OPTIMISATIONS.items():
        assert f"| `{name}` | {what} |" in page
