"""The same bits for a state alone, in any batch, lane and thread, for every vector width, and in the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.inside import evaluate
from linkwork.model import Model
from programs import BASELINE, arguments_of, bits, is_about_frames, planned, task_of
from strategies import FAMILIES, Array, State, pool_to_compile, random_tree, state_of

STATES = 70
WIDTHS = {"sse2": (BASELINE, 2), "host": (None, None), "four": (None, 4), "sse2_four": (BASELINE, 4)}
NAMES = "inverse_dynamics articulated_body composite_body mass_matrix jacobian/world integrate energy".split()


@cache
def mechanism() -> Model:
    """Sines and quaternions on a branching tree, with and without rotors."""
    kinds = (lw.joints.Free(), lw.joints.Revolute((1.0, 2.0, 3.0)), lw.joints.Spherical())
    return random_tree(420, kinds, 4, name="bits")


@cache
def expected(name: str) -> tuple[State, tuple[Array, ...]]:
    """The interpreter's results with floats, state by state."""
    model = mechanism()
    state = state_of(model, 5, (STATES,))
    task = bits_task(name)
    rows = []
    for k in range(STATES):
        arguments = [array[k].ravel().tolist() for array in arguments_of(task, state)]
        rows.append(evaluate(task.algorithm, model, arguments, task.frames))
    return state, tuple(np.array(result) for result in zip(*rows, strict=True))


def bits_task(name: str) -> Any:
    return task_of(ALGORITHMS[name], mechanism(), ("f2", "post") if "jacobian" in name else ())


@cache
def made(name: str, form: str, width: str) -> Any:
    cpu, lanes = WIDTHS[width]
    return planned(bits_task(name), form, cpu, lanes)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest, worth_threads: None) -> Iterator[int]:
    """Use this number of threads, however small the batch."""
    lw.set_threads(request.param)
    yield request.param
    lw.set_threads(None)


def assert_same(results: Sequence[Array], wanted: Sequence[Array], first: int, count: int) -> None:
    for result, numbers in zip(results, wanted, strict=True):
        assert np.array_equal(bits(result), bits(numbers[first : first + count])), f"{count} states from {first}"


ON_EVERY_WIDTH = [(name, form, width) for name in NAMES[:2] for form in ("specialised", "rolled") for width in WIDTHS]
ON_EVERY_WIDTH += [(name, "specialised", width) for name in NAMES[2:] for width in ("host", "sse2_four")]
ON_EVERY_WIDTH += [(name, "rolled", "host") for name in NAMES[2:]]  # loops within loops compile slowly


@pytest.mark.parametrize(("name", "form", "width"), ON_EVERY_WIDTH)
def test_batches_of_1_to_70_states_have_the_interpreters_bits(name: str, form: str, width: str, threads: int) -> None:
    state, wanted = expected(name)
    run = made(name, form, width)
    assert run.pace.threads(STATES) == threads
    rows = [np.ascontiguousarray(a.reshape(STATES, -1)) for a in arguments_of(run.task, state)]
    counts = range(1, STATES + 1) if width == "host" else (*range(1, 18), *range(63, STATES + 1))  # two tiles and more
    for count in counts:
        results, status = run.run([row[:count] for row in rows], count)
        assert status == 0
        assert_same(results, wanted, 0, count)


@pytest.mark.parametrize("form", ["specialised", "rolled"])
@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_the_same_bits_in_every_lane(name: str, form: str) -> None:
    state, wanted = expected(name)
    run = made(name, form, "host")
    rows = [a.reshape(STATES, -1) for a in arguments_of(run.task, state)]
    for first in range(2 * run.lanes):
        results, _ = run.run([np.ascontiguousarray(row[first:]) for row in rows], STATES - first)
        assert_same(results, wanted, first, STATES - first)


@pytest.mark.parametrize("form", ["specialised", "rolled"])
def test_one_argument_for_all_states_has_the_same_bits(form: str, threads: int) -> None:
    """A stride of zero reads the same numbers again and again."""
    state, _ = expected("inverse_dynamics")
    model = mechanism()
    with lw.interpreted():
        wanted = lw.inverse_dynamics(model, state.q[3], state.v, state.a[5])
    with lw.form(form):
        assert np.array_equal(lw.inverse_dynamics(model, state.q[3], state.v, state.a[5]), wanted)
        for k in range(5):
            assert np.array_equal(lw.inverse_dynamics(model, state.q[3], state.v[k], state.a[5]), wanted[k])


@pytest.mark.usefixtures("builtins")
@pytest.mark.parametrize("name", NAMES)
def test_the_builtin_has_the_same_bits(name: str) -> None:
    """For one state, and for batches with any leading axes."""
    state, wanted = expected(name)
    run = planned(bits_task(name), "specialised")  # that has measured no state: builtins leave slow ones to Python
    served = run.served("one", "batch")
    assert served is not None
    arguments = [np.ascontiguousarray(a) for a in arguments_of(run.task, state)]
    parts: list[int | slice] = [*range(0, STATES, 7), *(slice(k, k + n) for k in (0, 3) for n in (1, 2, 5))]
    for part in parts:
        given = [a[part] for a in arguments]
        if isinstance(part, slice):
            given = [a[None] for a in given]
        answer = served(None, *given)
        results = answer if isinstance(answer, tuple) else (answer,)
        for result, numbers in zip(results, wanted, strict=True):
            assert np.array_equal(bits(result).ravel(), bits(numbers[part]).ravel())


ROLLED = sorted(name for name, entry in ALGORITHMS.items() if "rolled" in entry.forms and not entry.by_levels)
"""``test_assembly`` has the algorithms that go level by level."""


@pytest.mark.parametrize("name", ROLLED)
def test_every_algorithm_has_the_same_bits_in_every_form(name: str) -> None:
    """On two trees of different joint kinds, each form on one, in turn; a batch of five, so that a tile is not full.
    Algorithms that share a source, with another reference or other arguments, have one tree and form.
    """
    turn = sorted(ALGORITHMS).index(name)
    trees = list(enumerate(pool_to_compile()[:5:4]))
    for number, model in trees if name in FAMILIES else trees[turn % 2 :][:1]:
        frames = model.frame_names[1::5] if is_about_frames(ALGORITHMS[name], model) else ()
        task = task_of(ALGORITHMS[name], model, frames)
        state = state_of(model, number, (5,))
        given = arguments_of(task, state)
        rows = [np.ascontiguousarray(a.reshape(5, -1)) for a in given]
        flat = [[a[k].ravel().tolist() for a in given] for k in range(5)]
        wanted = [evaluate(task.algorithm, model, each, task.frames) for each in flat]
        form = ("specialised", "rolled")[(turn + number) // (1 if name in FAMILIES else 2) % 2]
        results, _ = planned(task, form).run(rows, 5)
        for k in range(5):
            for result, numbers in zip(results, wanted[k], strict=True):
                assert np.array_equal(bits(result[k]), bits(numbers)), f"{form} {model.name}"
