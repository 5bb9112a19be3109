"""Batches over threads: the pieces that threads take, and the size from which threads pay off."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.emit.python_calls import LIMITS
from linkwork.engine.run import threads
from linkwork.joints import Free, Revolute
from strategies import Array, random_tree, state_of
from test_served import calls_in_python, is_direct

COUNT = 4001


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads for a batch of a few states, in pieces of one tile."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(threads, "_PIECE", 1e-9)
    monkeypatch.setattr(threads, "_LONG_ENOUGH", 0.0)
    lw.set_threads(2)
    yield
    lw.set_threads(None)


def model(seed: int) -> lw.Model:
    """A model that no other test uses."""
    return random_tree(seed, (Free(), Revolute("z"), Revolute("x")), 4, name=f"threads{seed}")


def on_threads(call: Callable[[], Any]) -> Any:
    """The result of a call for many states, which threads share."""
    for _ in range(3):
        found = call()
    assert "pieces" in calls_in_python(call) and threads._workers
    return found


@pytest.mark.usefixtures("two")
def test_large_batches_have_the_same_bits_on_threads() -> None:
    s = state_of(model(900), 1, (COUNT,))
    with lw.interpreted():
        wanted = lw.forward_dynamics(s.model, s.q, s.v, s.tau)
    found = on_threads(lambda: lw.forward_dynamics(s.model, s.q, s.v, s.tau))
    assert np.array_equal(found, wanted)
    out = np.empty_like(wanted)
    for count in (2, 3, 1):
        lw.set_threads(count)
        out[:] = 7.0
        lw.forward_dynamics(s.model, s.q, s.v, s.tau, out=out)
        assert np.array_equal(out, wanted)


def test_pieces_are_whole_tiles_and_all_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_PIECE", 20e-6)
    pace = threads.Pace(1e-6)
    assert list(pace.pieces(5, 1000, 8, 1)) == [(5, 1000)]
    for states, count in ((1, 2), (7, 2), (1001, 2), (4096, 3)):
        pieces = list(pace.pieces(5, states, 8, count))
        assert pieces[0][0] == 5 and sum(few for _, few in pieces) == states
        assert all(first + few == following for (first, few), (following, _) in pairwise(pieces))
        assert all(few % 8 == 0 and few >= 24 for _, few in pieces[:-1])


@pytest.mark.usefixtures("two")
def test_one_argument_for_all_states_and_several_results() -> None:
    s = state_of(model(901), 2, (COUNT,))
    with lw.interpreted():
        wanted = lw.energy(s.model, s.q[0], s.v)
    for found, other in zip(on_threads(lambda: lw.energy(s.model, s.q[0], s.v)), wanted, strict=True):
        assert np.array_equal(found, other)


@pytest.mark.usefixtures("two")
def test_a_number_that_is_not_finite_is_said_of_any_piece() -> None:
    s = state_of(model(902), 3, (COUNT,))
    on_threads(lambda: lw.gravity_torques(s.model, s.q))
    for state in (0, COUNT // 2, COUNT - 1):
        q = s.q.copy()
        q[state, -1] = np.nan
        with pytest.raises(lw.ArgumentError, match=rf"q\[{state}, .*is nan"):
            lw.gravity_torques(s.model, q)


@pytest.mark.usefixtures("two")
def test_threads_of_the_user_share_workers() -> None:
    states = [state_of(model(903 + k), k, (COUNT,)) for k in range(3)]
    with lw.interpreted():
        wanted = [lw.momentum(s.model, s.q, s.v) for s in states]
    wrong: list[int] = []

    def work(k: int) -> None:
        s = states[k]
        for _ in range(30):
            if not np.array_equal(lw.momentum(s.model, s.q, s.v), wanted[k]):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k % 3,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert threads._workers


def limits(pace: threads.Pace) -> dict[str, int]:
    return {name: int(pace.limits[index]) for index, (_, name) in enumerate(LIMITS.words)}


def test_a_pace_is_measured() -> None:
    pace = threads.Pace(1e-6)
    assert limits(pace) == {"most": 999, "brief": 20}
    assert pace.longest(8) == 200_000
    pace.measured(4e-5, 4, 1)  # too short to tell of a state that takes longer
    assert pace.seconds == 1e-6
    pace.measured(1e-3, 100, 1)
    assert pace.seconds == 1e-5 and limits(pace)["most"] == 99
    pace.measured(1e-3, 100, 2)  # on two threads: not faster
    assert pace.seconds == 1e-5
    pace.measured(1e-3, 200, 1)
    assert pace.seconds == 5e-6


def results(found: Any) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else tuple(found.values())


@pytest.mark.parametrize("form", [tuple, dict])
def test_a_compiled_function_of_several_results_is_served_in_place(form: Any) -> None:
    def both(x: Any) -> Any:
        return (2.0 * x, x @ x) if form is tuple else {"twice": 2.0 * x, "square": x @ x}

    made = lw.compile(both, x=3)
    x = np.arange(12.0).reshape(4, 3)
    wanted = made(x)
    out = (np.empty((4, 3)), np.empty(4)) if form is tuple else {"twice": np.empty((4, 3)), "square": np.empty(4)}
    assert made(x, out=out) is out
    assert "attempt" not in calls_in_python(lambda: made(x, out=out))
    for one, other in zip(results(out), results(wanted), strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(lw.ArgumentError, match="must not overlap"):
        made(x, out=(x, np.empty(4)) if form is tuple else {"twice": x, "square": np.empty(4)})


def test_a_long_batch_is_left_to_python_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it can be interrupted, on one thread and on two."""
    s = state_of(model(907), 1, (COUNT,))
    whole = lw.forward_dynamics(s.model, s.q, s.v, s.tau)
    monkeypatch.setattr(threads, "UNINTERRUPTED", 1e-9)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1e-9)
    slowly = state_of(model(907).renamed(prefix="slowly_"), 1, (COUNT,))
    for count in (1, 2):
        lw.set_threads(count)
        for _ in range(3):
            found = lw.forward_dynamics(slowly.model, s.q, s.v, s.tau)
            assert np.array_equal(found, whole)
        assert not is_direct(lambda: lw.forward_dynamics(slowly.model, s.q, s.v, s.tau))
    lw.set_threads(None)


def test_a_process_ends_while_daemon_threads_are_at_work() -> None:
    text = """
import threading, time
import numpy as np
import linkwork as lw
arm = lw.mechanisms.serial_chain(6)
q, v = lw.random_state(arm, 0, shape=400)
def work():
    while True:
        lw.forward_dynamics(arm, q, v, v)
work_once = lw.forward_dynamics(arm, q, v, v)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", text], check=True, timeout=900, capture_output=True)


def test_a_process_ends_while_code_waits_for_python() -> None:
    """A daemon thread returns to generated code, to be ended there, after all modules were torn down."""
    text = """
import sys, threading, time
import linkwork as lw
arm = lw.mechanisms.serial_chain(6)
q, v = lw.random_state(arm, 0)
class Slow:
    def __array__(self, *args, sleep=time.sleep, **kwargs):
        sleep(0.3)
        return q
class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.6)
sys.last = Last()
lw.forward_dynamics(arm, q, v, v)
threading.Thread(target=lw.forward_dynamics, args=(arm, Slow(), v, v), daemon=True).start()
time.sleep(0.1)
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=900, capture_output=True)


def test_threads_use_names_for_the_first_time_at_once_and_a_fork_waits_for_imports() -> None:
    text = """
import importlib, os, sys, threading, time, types
import linkwork as lw
sys.setswitchinterval(1e-6)
class Slow:
    def find_spec(self, name, *_):
        time.sleep(0.002 * name.startswith("linkwork."))
sys.meta_path.insert(0, Slow())
plain = ["linkwork.model.queries", "linkwork.dynamics.diagnosis"]  # which ask a package for names
names = "simulate rollout Trajectory Rollout control compile forward_dynamics linearise load mechanisms draw".split()
ready, failed = threading.Barrier(len(names + plain)), []
def use(name):
    ready.wait()
    try:
        importlib.import_module(name) if name in plain else getattr(lw, name)
    except ImportError as error:
        failed.append(error)
users = [threading.Thread(target=use, args=(name,)) for name in names + plain]
for user in users: user.start()
for user in users: user.join()
assert not failed, failed

half = types.ModuleType("linkwork.half")
half.__spec__ = types.SimpleNamespace(_initializing=True)
sys.modules[half.__name__] = half
threading.Timer(0.2, setattr, (half.__spec__, "_initializing", False)).start()
child = os.fork() if hasattr(os, "fork") else 0
if child == 0:
    os._exit(hasattr(os, "fork") and half.__spec__._initializing)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=900, capture_output=True)
