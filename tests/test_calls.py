"""Calls with any argument: never a crash, and the interpreter's result or linkwork's error."""

from __future__ import annotations

import array
import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.joints import Prismatic, Revolute, Spherical
from linkwork.model import Model
from programs import planned, task_of
from strategies import Array, random_tree, state_of

MODEL = random_tree(500, (Spherical(), Revolute((1.0, 2.0, 3.0)), Prismatic("x")), 4, name="called")
STATE = state_of(MODEL, 1, (3,))
ONE = state_of(MODEL, 2)


class Sub(np.ndarray):
    """An array of a user's own class."""


def misaligned(x: Array) -> Array:
    """The same numbers, one byte off."""
    raw = bytearray(1 + x.nbytes)
    raw[1:] = x.tobytes()
    return np.frombuffer(raw, dtype=np.float64, offset=1).reshape(x.shape)


def strided(x: Array) -> Array:
    room = np.full((*x.shape, 2), np.nan)
    room[..., 0] = x
    return room[..., 0]


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def with_number(number: float) -> Callable[[Array], Array]:
    def change(x: Array) -> Array:
        x = x.copy()
        x.reshape(-1)[-1] = number
        return x

    return change


class Awkward:
    """An object that claims to be an array and is none."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not today")


GIVEN: dict[str, Callable[[Array], Any]] = {
    "plain": lambda x: x,
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "fortran": np.asfortranarray,
    "reversed": lambda x: np.flip(np.flip(x).copy()),
    "strided": strided,
    "misaligned": misaligned,
    "read_only": read_only,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "ints": lambda x: np.rint(x).astype(np.int32) + 1,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)),
    "subclass": lambda x: x.view(Sub),
    "masked": lambda x: np.ma.masked_array(x),
    "array.array": lambda x: array.array("d", x.ravel().tolist()),
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "one_more_axis": lambda x: x[None],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "tiny": lambda x: x * 1e-320,
    "minus_zero": lambda x: -np.abs(x) * 0.0 + x,
    "huge": lambda x: x * 1e200,
    "longdouble": lambda x: x.astype(np.longdouble),
    "nan": with_number(np.nan),
    "infinity": with_number(-np.inf),
    "bools": lambda x: x > 0.0,
    "complex": lambda x: x + 0j,
    "objects": lambda x: x.astype(object),
    "text": lambda x: x.astype(str),
    "structure": lambda x: np.zeros(x.shape, dtype=[("x", "f8")]),
    "bytes": lambda x: x.tobytes(),
    "ragged": lambda x: [x.tolist(), [1.0]],
    "short": lambda x: x[..., :-1],
    "long": lambda x: np.concatenate([x, x], axis=-1),
    "none_of_a_batch": lambda x: x[None][:0],
    "empty": lambda x: np.empty(0),
    "zero_dimensional": lambda x: x.ravel()[0],
    "number": lambda x: 1.0,
    "None": lambda x: None,
    "word": lambda x: "q",
    "dict": lambda x: {"q": x},
    "function": lambda x: np.sin,
    "class": lambda x: np.ndarray,
    "awkward": lambda x: Awkward(),
    "model": lambda x: MODEL,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda q, v, f: lw.forward_dynamics(MODEL, q, v, v, f),
    "composite_body": lambda q, v, f: lw.forward_dynamics(MODEL, q, v, v, method="composite_body"),
    "inverse_dynamics": lambda q, v, f: lw.inverse_dynamics(MODEL, q, v, v, f),
    "without_force": lambda q, v, f: lw.inverse_dynamics(MODEL, q, v, v),
    "mass_matrix": lambda q, v, f: lw.mass_matrix(MODEL, q),
    "integrate": lambda q, v, f: lw.integrate(MODEL, q, v),
    "energy": lambda q, v, f: lw.energy(MODEL, q, v),
    "jacobian": lambda q, v, f: lw.jacobian(MODEL, q, ["f1", "post"]),
    "point": lambda q, v, f: lw.frame_velocity(MODEL, q, v, lw.Point("f2", (0.1, 0.2, 0.3))),
}


def answer(call: Callable[..., Any], arguments: list[Any]) -> Any:
    """The outcome of a call: bytes and shapes, or linkwork's error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, on the way of odd types
        try:
            results = call(*arguments)
        except lw.LinkworkError as error:
            return type(error).__name__, str(error)
    results = results if isinstance(results, tuple) else (results,)
    return [(result.shape, result.dtype, np.asarray(result).tobytes()) for result in results]


@pytest.fixture(scope="module", autouse=True)
def quick_calls_are_ready() -> None:
    for call in FUNCTIONS.values():
        call(ONE.q, ONE.v, ONE.f_ext)


kinds = st.sampled_from(["plain", "plain", *GIVEN])


@settings(max_examples=300)
@given(st.sampled_from(sorted(FUNCTIONS)), kinds, kinds, kinds, st.booleans())
def test_any_argument_gets_the_interpreters_answer(name: str, q: str, v: str, f: str, batch: bool) -> None:
    state = STATE if batch else ONE
    arguments = [GIVEN[kind](x) for kind, x in ((q, state.q), (v, state.v), (f, state.f_ext))]
    with lw.interpreted():
        expected = answer(FUNCTIONS[name], arguments)
    assert answer(FUNCTIONS[name], arguments) == expected


@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_argument_in_turn(kind: str) -> None:
    for state in (ONE, STATE):
        for place in range(3):
            arguments = [state.q, state.v, state.f_ext]
            arguments[place] = GIVEN[kind](arguments[place])
            with lw.interpreted():
                expected = answer(FUNCTIONS["inverse_dynamics"], arguments)
            assert answer(FUNCTIONS["inverse_dynamics"], arguments) == expected


def test_a_mechanism_without_freedom() -> None:
    builder = lw.Builder("rock")
    builder.add_body("stone", joint=lw.joints.Fixed(), mass=1.0, inertia=np.eye(3))
    rock = builder.build()
    for _ in range(2):
        assert lw.forward_dynamics(rock, [], [], []).shape == (0,)
        assert lw.mass_matrix(rock, np.empty((5, 0))).shape == (5, 0, 0)


# The builtin itself


def served(name: str = "inverse_dynamics") -> Callable[..., Any]:
    made = planned(task_of(ALGORITHMS[name], MODEL, absent=("f_ext",)), "specialised").served("one", "batch")
    assert made is not None
    return partial(made, None)


@pytest.mark.usefixtures("builtins")
def test_the_builtin_gives_none_for_what_it_does_not_take() -> None:
    call, good = served(), [ONE.q, ONE.v, ONE.a]
    assert np.array_equal(call(*good), lw.inverse_dynamics(MODEL, *good))
    assert call() is None and call(*good[:2]) is None and call(*good, ONE.a) is None
    for place in range(3):
        for kind in set(GIVEN) - {"plain", "read_only", "reversed", "transposed", "one_more_axis"}:
            arguments = list(good)
            arguments[place] = GIVEN[kind](good[place])
            if kind not in ("fortran", "tiny", "minus_zero", "huge", "misaligned", "class", "function"):
                assert call(*arguments) is None, kind
            else:
                call(*arguments)


@pytest.mark.usefixtures("builtins")
def test_the_builtin_keeps_no_reference_and_no_buffer() -> None:
    call = served()
    arguments = [x.copy() for x in (ONE.q, ONE.v, ONE.a)]
    bad = object()
    gc.collect()
    counts = [sys.getrefcount(x) for x in (*arguments, bad, None)]
    results = [call(*arguments) for _ in range(50)]
    short = arguments[2][:-1].copy()
    for wrong in ((*arguments[:2], bad), (bad, *arguments[1:]), arguments[:2], (*arguments[:2], short)):
        for _ in range(50):
            assert call(*wrong) is None
    arguments[1][0] = np.nan
    for _ in range(50):
        assert call(*arguments) is None
    del results, wrong
    gc.collect()
    after = [sys.getrefcount(x) for x in (*arguments, bad, None)]
    assert after[:4] == counts[:4] and abs(after[4] - counts[4]) < 50
    view = bytearray(8 * MODEL.nq)
    assert call(view, *arguments[1:]) is None
    view.append(0)  # refused while a buffer is held, and so is this
    while arguments:
        last = arguments.pop()
        last.resize(100)


def test_a_result_is_the_callers_own() -> None:
    call = served()
    first = call(ONE.q, ONE.v, ONE.a)
    assert sys.getrefcount(first) == 2 and first.flags.owndata and first.flags.writeable
    first.resize(1, refcheck=False)


# Threads and processes in the caller


def test_eight_threads_compile_the_same_model_at_once() -> None:
    model = random_tree(501, (Spherical(), Revolute("y")), 4, name="hammered")
    s = state_of(model, 3, (9,))
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau), lw.forward_dynamics(model, s.q[0], s.v[0], s.tau[0])
    wrong: list[Any] = []
    gate = threading.Barrier(8)

    def hammer() -> None:
        try:
            gate.wait()
            for _ in range(20):
                batch = lw.forward_dynamics(model, s.q, s.v, s.tau)
                one = lw.forward_dynamics(model, s.q[0], s.v[0], s.tau[0])
                if not (np.array_equal(batch, expected[0]) and np.array_equal(one, expected[1])):
                    wrong.append("bits")
        except BaseException as error:
            wrong.append(error)

    started = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert wrong == []


def fresh() -> Array:
    """A model that this process has not compiled yet, on two threads, and one that it has."""
    model = random_tree(502, (Spherical(), Revolute("x")), 3, name="fresh")
    s = state_of(model, 4, (40,))
    return np.concatenate([lw.mass_matrix(model, s.q).ravel(), lw.mass_matrix(MODEL, STATE.q).ravel()])


def of_pickle(data: bytes) -> Array:
    return lw.mass_matrix(pickle.loads(data), STATE.q)


@pytest.fixture
def split(worth_threads: None) -> Iterator[None]:
    """Use two threads even for the smallest batch."""
    MODEL._memo.quick.clear()  # what was made for builtins knows batches that are worth none
    lw.set_threads(2)
    yield
    lw.set_threads(None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes_the_same(split: None) -> None:
    lw.mass_matrix(MODEL, STATE.q)  # the pool of threads is there
    with lw.interpreted():
        expected = fresh()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"same" if np.array_equal(fresh(), expected) else b"differs")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 10) == b"same"
    assert os.waitpid(child, 0)[1] == 0
    os.close(read)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_compiles(split: None) -> None:
    """The child must not find a lock held by a thread that it does not have."""
    stop = threading.Event()

    def compile_on() -> None:
        seed = 600
        while not stop.is_set():
            model = random_tree(seed, (Revolute("z"),), 3, name="compiled")
            lw.mass_matrix(model, np.zeros(3))
            seed += 1

    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        for k in range(5):
            child = os.fork()
            if child == 0:
                model = random_tree(700 + k, (Revolute("z"),), 3, name="in_child")
                good = np.isfinite(lw.mass_matrix(model, np.zeros(3))).all()
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_of_a_pool_compute_the_same(method: str) -> None:
    expected = lw.mass_matrix(MODEL, STATE.q)
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map(of_pickle, [pickle.dumps(MODEL)] * 3)
    assert all(np.array_equal(result, expected) for result in results)


def test_a_pickled_model_carries_no_code() -> None:
    lw.mass_matrix(MODEL, ONE.q)
    copy: Model = pickle.loads(pickle.dumps(MODEL))
    assert copy == MODEL and "_own_memo" not in copy.__dict__
    assert np.array_equal(lw.mass_matrix(copy, ONE.q), lw.mass_matrix(MODEL, ONE.q))


def test_each_model_has_builtins_of_its_own() -> None:
    """Copies, pickled ones and those of derived classes have tables of their own, and the same results."""

    class Derived(Model):
        pass

    model = lw.mechanisms.serial_chain(2)
    q = np.array([0.3, -0.4])
    found, pose = lw.mass_matrix(model, q), lw.forward_kinematics(model, q, "tip")
    assert np.array_equal(lw.mass_matrix(model, q), found)
    assert np.array_equal(lw.forward_kinematics(model, q, "tip"), pose)
    assert "tip" in model._memo.frames
    parts = {name: getattr(model, name) for name in model.__dataclass_fields__}
    copies = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), Derived(**parts)]
    for other in copies:
        for _ in range(3):
            assert np.array_equal(lw.mass_matrix(other, q), found)
            assert np.array_equal(lw.forward_kinematics(other, q, "tip"), pose)
        assert other._memo.quick is not model._memo.quick and other._memo.frames is not model._memo.frames
    heavier = lw.with_inertial_parameters(model, 2.0 * model.inertial_parameters)
    for _ in range(3):
        assert np.array_equal(lw.mass_matrix(heavier, q), 2.0 * found)


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True, [2]])
def test_a_number_of_threads_that_cannot_be(count: Any) -> None:
    before = lw.get_threads()
    with pytest.raises(lw.ArgumentError, match="threads must be"):
        lw.set_threads(count)
    assert lw.get_threads() == before


# Where something is missing


ALONE = """
import sys, numpy as np, linkwork as lw
print(lw.mass_matrix(lw.mechanisms.double_pendulum(), [0.1, 0.2]).tobytes().hex(), "llvmlite" in sys.modules)
"""


def test_the_environment_can_ask_for_the_interpreter() -> None:
    environment = {**os.environ, "LINKWORK_ENGINE": "interpreter"}
    command = [sys.executable, "-W", "error", "-c", ALONE]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    expected = lw.mass_matrix(lw.mechanisms.double_pendulum(), [0.1, 0.2])
    assert found == [expected.tobytes().hex(), "False"]
