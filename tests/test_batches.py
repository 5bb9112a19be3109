"""A batch is its single states, to the last bit; batch dimensions broadcast; results are float64 of the right shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.joints import Revolute, Spherical
from linkwork.model import Model
from strategies import ARRAYS, ASKED, CALLS, FEW_FRAMES, FORMS, Array, State, few_kinds, pool, random_tree, state_of

pytestmark = pytest.mark.usefixtures("engine")

EVERY = pool()[0]
FRAMES: Sequence[str] = ("f3", "f16", "post", "b18")
in_every_form = pytest.mark.parametrize(
    ("engine", "name"),
    [(form, name) for form in FORMS for name in CALLS if name in ASKED[form]],
    indirect=["engine"],
)
TWO = random_tree(121, (Spherical(), Revolute((1.0, 2.0, 3.0))), 2, name="two_bodies")


def small(engine: str) -> tuple[Model, Sequence[str]]:
    """A mechanism and frames of it for tests that do not depend on joints: two bodies in the interpreter, which takes
    milliseconds for each; in compiled code one that is compiled anyway.
    """
    return (TWO, TWO.frame_names[:3]) if engine == "interpreted" else (EVERY, FRAMES)


@pytest.fixture(autouse=True)
def fewer_kinds_in_compiled_code(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms with many joints of many kinds compile slowly; test_bits and test_laws compile every kind."""
    if engine != "interpreted":
        monkeypatch.setitem(globals(), "EVERY", few_kinds())
        monkeypatch.setitem(globals(), "FRAMES", FEW_FRAMES)


def taken(s: State, where: Any) -> State:
    parts = {name: getattr(s, name)[where] for name in ARRAYS}
    return replace(s, **parts)


@cache
def thousand(model: Model) -> State:
    return state_of(model, 11, (1000,))


def arrays(results: Any) -> tuple[Array, ...]:
    return results if isinstance(results, tuple) else (results,)


def shapes() -> dict[str, tuple[int, ...]]:
    """The shape of one state's result, by its space."""
    n, bodies, frames = EVERY.nv, len(EVERY.bodies), len(FRAMES)
    return {
        "scalar": (),
        "vector": (3,),
        "wrench": (6,),
        "configuration": (EVERY.nq,),
        "velocity": (n,),
        "matrix": (n, n),
        "full_matrix": (n, n),
        "momentum_matrix": (6, n),
        "wrenches": (bodies, 6),
        "poses": (frames, 4, 4),
        "twists": (frames, 6),
        "stacked_twists": (6 * frames,),
        "jacobian": (6 * frames, n),
        "operational": (6 * frames, 6 * frames),
        "responses": (6 * frames, n),
        "regressor": (n, 10 * bodies),
    }


def test_every_algorithm_has_a_public_function() -> None:
    """Those of ``test_assembly``, which go level by level, are not called here."""
    assert CALLS.keys() == {
        name for name, entry in ALGORITHMS.items() if "rolled" in entry.forms and not entry.by_levels
    }


@in_every_form
def test_a_batch_of_1000_states_equals_the_1000_single_results_to_the_last_bit(engine: str, name: str) -> None:
    """All of them in compiled code. The interpreter takes milliseconds for a state and passes each operation of a batch
    to numpy as a whole, where only the position in an array could matter: states at both ends and some in the middle
    are compared.
    """
    (model, frames), looked_at = small(engine), list(range(1000))
    if engine == "interpreted":
        looked_at = [*range(8), *range(17, 983, 97), *range(984, 1000)]
    s = thousand(model)
    together = arrays(CALLS[name](s, frames))
    for k in looked_at:
        for whole, single in zip(together, arrays(CALLS[name](taken(s, k), frames)), strict=True):
            assert np.array_equal(whole[k], single), f"state {k}"


def assert_shapes(name: str, results: tuple[Array, ...], batch: tuple[int, ...]) -> None:
    for space, result in zip(ALGORITHMS[name].results, results, strict=True):
        assert result.dtype == np.float64
        one = shapes()["stacked_twists" if name.startswith("jacobian_drift") else space]
        assert result.shape == (*batch, *one)
        assert np.isfinite(result).all()


@in_every_form
def test_every_joint_kind_has_the_same_bits_in_a_batch_in_float64_of_the_right_shape(engine: str, name: str) -> None:
    s = state_of(EVERY, 12, (2, 3))
    together = arrays(CALLS[name](s, FRAMES))
    assert_shapes(name, together, (2, 3))
    assert_shapes(name, arrays(CALLS[name](taken(s, (0, slice(1))), FRAMES)), (1,))
    for where in [(0, 0), (0, 2), (1, 1)] if engine == "interpreted" else np.ndindex(2, 3):
        alone = arrays(CALLS[name](taken(s, where), FRAMES))
        assert_shapes(name, alone, ())
        for whole, single in zip(together, alone, strict=True):
            assert np.array_equal(whole[where], single), f"state {where}"


def test_no_states_give_no_results_of_the_right_shape() -> None:
    for name, batch in product(CALLS, [(0,), (2, 0), (0, 3)]):
        assert_shapes(name, arrays(CALLS[name](state_of(EVERY, 13, batch), FRAMES)), batch)


@in_every_form
def test_batch_dimensions_broadcast(engine: str, name: str) -> None:
    """q (2, 1, nq) with v, a, tau (3, nv) and f_ext of one state."""
    model, frames = small(engine)
    s = state_of(model, 14, (2, 3))
    mixed = replace(s, q=s.q[:, :1], v=s.v[0], a=s.a[0], tau=s.tau[1], f_ext=s.f_ext[0, 0], q1=s.q1[0])
    alone = {argument for argument, _ in ALGORITHMS[name].arguments} <= {"q"}
    results = arrays(CALLS[name](mixed, frames))
    full = replace(
        s,
        q=np.repeat(s.q[:, :1], 3, axis=1),  # copies: a broadcast array would only take the same code path again
        **{n: np.stack([getattr(mixed, n)] * 2) for n in ("v", "a", "tau", "q1")},
        f_ext=np.stack([[s.f_ext[0, 0]] * 3] * 2),
    )
    for result, expected in zip(results, arrays(CALLS[name](full, frames)), strict=True):
        assert np.array_equal(result, expected[:, :1] if alone else expected)


def test_a_zero_length_batch_broadcasts_with_single_states() -> None:
    s = state_of(EVERY, 15)
    none = np.empty((0, EVERY.nq))
    assert lw.forward_dynamics(EVERY, none, s.v, s.tau, s.f_ext).shape == (0, EVERY.nv)
    assert lw.inverse_dynamics(EVERY, s.q, np.empty((4, 0, EVERY.nv)), s.a).shape == (4, 0, EVERY.nv)


@in_every_form
def test_strides_do_not_matter(engine: str, name: str) -> None:
    model, frames = small(engine)
    s = state_of(model, 16, (6,))
    wanted = arrays(CALLS[name](taken(s, slice(None, None, -2)), frames))
    fortran = replace(s, **{n: np.asfortranarray(getattr(s, n)) for n in ARRAYS})
    for result, expected in zip(wanted, arrays(CALLS[name](fortran, frames)), strict=True):
        assert np.array_equal(result, expected[::-2])


def test_other_types_of_numbers_are_taken_as_the_floats_they_are() -> None:
    model = pool()[5]
    s = state_of(model, 17, (4,))
    expected = lw.forward_dynamics(model, s.q.astype(np.float32).astype(float), s.v, s.tau)
    assert np.array_equal(lw.forward_dynamics(model, s.q.astype(np.float32), s.v.tolist(), s.tau), expected)
    swapped = s.v.astype(s.v.dtype.newbyteorder())
    assert np.array_equal(lw.forward_dynamics(model, s.q, swapped, s.tau), lw.forward_dynamics(model, s.q, s.v, s.tau))
    for kind in (np.int8, np.int64, np.uint16):
        ones = np.ones((4, model.nv), dtype=kind)
        assert np.array_equal(
            lw.forward_dynamics(model, s.q, ones, ones), lw.forward_dynamics(model, s.q, 1.0 * ones, 1.0 * ones)
        )
    assert np.array_equal(lw.mass_matrix(model, tuple(s.q[0])), lw.mass_matrix(model, s.q[0]))


@in_every_form
def test_arguments_are_not_changed_and_may_be_read_only(engine: str, name: str) -> None:
    model, frames = small(engine)
    s = state_of(model, 18, (2,))
    before = {n: getattr(s, n).copy() for n in ("q", "v", "a", "tau", "f_ext", "q1")}
    for n in before:
        getattr(s, n).flags.writeable = False
    first = arrays(CALLS[name](s, frames))
    assert all(np.array_equal(getattr(s, n), array) for n, array in before.items())
    for one, two in zip(first, arrays(CALLS[name](s, frames)), strict=True):
        assert np.array_equal(one, two)
        assert one.flags.writeable and not np.shares_memory(one, two)


def test_points_take_their_rows_of_jacobian_and_drift() -> None:
    s = state_of(EVERY, 19, (2,))
    offset = (0.1, 0.2, 0.3)
    points = [lw.Point("b4", offset, axes) for axes in ("position", "pose", "rotation")]
    jacobian = lw.jacobian(EVERY, s.q, points)
    drift = lw.jacobian_drift(EVERY, s.q, s.v, points)
    assert jacobian.shape == (2, 12, EVERY.nv) and drift.shape == (2, 12)
    for result in (jacobian, drift):
        assert np.array_equal(result[:, :3], result[:, 3:6]) and np.array_equal(result[:, 9:], result[:, 6:9])
    assert np.array_equal(jacobian[:, 3:9], lw.jacobian(EVERY, s.q, lw.Point("b4", offset)))
    pose = lw.forward_kinematics(EVERY, s.q, ["b4", lw.Point("b4", offset)])
    moved = np.einsum("bij,j->bi", pose[:, 0, :3, :3], offset) + pose[:, 0, :3, 3]
    np.testing.assert_allclose(pose[:, 1, :3, 3], moved, rtol=0, atol=1e-14)


def test_random_states_and_neutral_are_valid_and_repeatable() -> None:
    q, v = lw.random_state(EVERY, 3, shape=(2, 2))
    again, _ = lw.random_state(EVERY, np.random.default_rng(3), shape=(2, 2))
    assert q.shape == (2, 2, EVERY.nq) and v.shape == (2, 2, EVERY.nv) and np.array_equal(q, again)
    assert np.abs(lw.difference(EVERY, lw.neutral(EVERY), lw.integrate(EVERY, lw.neutral(EVERY), 0.0 * v))).max() == 0.0
    builder = lw.Builder()
    builder.add_body("slider", joint=lw.joints.Prismatic(), mass=1.0, lower=0.2, upper=0.3)
    limited, _ = lw.random_state(builder.build(), 0, shape=200)
    assert limited.min() >= 0.2 and limited.max() <= 0.3 and np.ptp(limited) > 0.05
