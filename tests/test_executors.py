"""Rollouts spread over threads, processes and a real Dask cluster, whose workers may die."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.jobs import compute
from linkwork.simulation.rollouts import executors
from workers import Deadly

MODEL = lw.mechanisms.double_pendulum()


def asked() -> dict[str, Any]:
    """Arguments of every kind: for all, for each trajectory, for each step."""
    rng = np.random.default_rng(0)
    q, v = lw.random_state(MODEL, rng, shape=(2, 60))
    tau, kd = rng.normal(size=(2, 60, 100, 2)), rng.uniform(size=(60, 2))
    targets = rng.normal(size=(100, 2))
    return {"q": q, "v": v, "tau": tau, "q_target": targets, "kp": 3.0, "kd": kd, "dt": 1e-3, "record": 30}


@cache
def expected() -> lw.Rollout:
    return lw.rollout(MODEL, **asked())


def assert_complete_and_the_same(found: lw.Rollout) -> None:
    for array, wanted in zip(found, expected(), strict=True):
        assert np.array_equal(array.view(np.int64), wanted.view(np.int64))


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(2), processes], ids=["threads", "processes"])
def test_threads_and_processes(make: Callable[[], Executor]) -> None:
    with make() as executor:
        assert_complete_and_the_same(lw.rollout(MODEL, **asked(), executor=executor))
        assert_complete_and_the_same(lw.rollout(MODEL, **asked(), executor=executor, chunk=7))


def test_a_process_is_killed_while_it_works(tmp_path: Path) -> None:
    """This breaks a pool of processes: the rest is computed here."""
    with processes() as executor, pytest.warns(lw.LinkworkWarning, match=r"of 18 jobs were lost with their workers"):
        found = lw.rollout(MODEL, **asked(), executor=Deadly(executor, tmp_path / "killed"), chunk=7)
    assert int((tmp_path / "killed").read_text()) != os.getpid()
    assert_complete_and_the_same(found)


def test_a_dask_cluster_and_a_worker_of_it_that_is_killed_while_it_works(
    tmp_path: Path,
) -> None:
    """The cluster starts another worker and repeats the job; a job that it gives up is computed here."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        executor = client.get_executor()
        assert_complete_and_the_same(lw.rollout(MODEL, **asked(), executor=executor))
        with warnings.catch_warnings():
            warnings.simplefilter("error", lw.LinkworkWarning)  # nothing is lost
            found = lw.rollout(MODEL, **asked(), executor=Deadly(executor, tmp_path / "killed"), chunk=7)
        assert int((tmp_path / "killed").read_text()) != os.getpid()
        assert_complete_and_the_same(found)
        cluster.scheduler.allowed_failures = 0
        with pytest.warns(lw.LinkworkWarning, match=r"^\d+ of 18 jobs were lost with their workers \(KilledWorker"):
            found = lw.rollout(MODEL, **asked(), executor=Deadly(executor, tmp_path / "again"), chunk=7)
        assert_complete_and_the_same(found)


class Unwilling(Executor):
    """An executor whose jobs are cancelled or fail, instead of being done."""

    def __init__(self, error: Exception, after: int) -> None:
        self.error, self.after, self.futures = error, after, []  # type: ignore[var-annotated]

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if len(self.futures) < self.after:
            future.set_result(function(*arguments))
        elif len(self.futures) == self.after:
            future.set_exception(self.error)
        self.futures.append(future)
        return future


def test_a_cancelled_job_is_computed_here() -> None:
    with pytest.warns(lw.LinkworkWarning, match="1 of 2 jobs were lost .* the result is complete"):
        found = lw.rollout(MODEL, **asked(), executor=Unwilling(CancelledError(), 1), chunk=60)
    assert_complete_and_the_same(found)


def test_an_executor_that_is_shut_down_is_refused() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(lw.ArgumentError, match=r"takes no jobs: cannot schedule new futures after shutdown; pass one"):
        lw.rollout(MODEL, **asked(), executor=executor)


class Later:
    """An executor that begins a job only when its result is requested, as a queue may."""

    def submit(self, function: Callable[[Any], Any], job: Any) -> Any:
        return SimpleNamespace(result=lambda: function(job), cancel=lambda: None)


@pytest.mark.parametrize("executor", [None, Later()])
def test_starts_and_torques_may_lie_in_the_records_that_are_written(executor: Any) -> None:
    model = lw.mechanisms.double_pendulum()
    q, v = lw.random_state(model, 0, shape=8)
    room = lw.rollout(model, q, v, dt=0.01, steps=3)
    inside: Any = [room.q[::-1, -1], room.v[::-1, -1], room.v[::-1, 1:]]
    wanted = lw.rollout(model, *(array.copy() for array in inside), dt=0.01)
    found = lw.rollout(model, *inside, dt=0.01, out=room, executor=executor, chunk=2)
    assert found.q is room.q and (found.q == wanted.q).all() and (found.v == wanted.v).all()
    one = lw.rollout(model, q[0], v[0], dt=0.01, steps=3)
    wanted = lw.rollout(model, q[0], v[0], one.v[1:].copy(), dt=0.01)
    assert (lw.rollout(model, q[0], v[0], one.v[1:], dt=0.01, out=one).q == wanted.q).all()


def test_any_other_error_of_a_job_comes_out_and_the_rest_is_cancelled() -> None:
    executor = Unwilling(OSError("no space left"), 2)
    with pytest.raises(OSError, match="no space left"):
        lw.rollout(MODEL, **asked(), executor=executor, chunk=20)
    assert [future.cancelled() for future in executor.futures] == [False, False, False, True, True, True]


@pytest.mark.parametrize("size", [1, 64, 65, 5000])
def test_a_batch_falls_into_jobs_of_a_sensible_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counting(job: Any) -> Any:
        sizes.append(len(job))
        return compute(job)

    monkeypatch.setattr(executors, "compute", counting)
    with ThreadPoolExecutor(1) as executor:
        found = lw.rollout(MODEL, np.zeros((size, 2)), [0.1, 0.2], dt=1e-3, steps=1, executor=executor)
    assert found.q.shape == (size, 2, 2) and sum(sizes) == size
    assert len(sizes) <= 64 and (len(sizes) == 1 or min(sizes[:-1]) >= 64)


def test_errors_cross_processes() -> None:
    """Errors in a model or a trajectory are found there and raised here."""
    builder = lw.Builder("light")
    builder.add_body("tip", joint=lw.joints.Revolute("z"))
    v = np.zeros((3, 2))
    v[1] = 1e9
    with processes() as executor:
        with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
            lw.rollout(builder.build(), [0.0], [0.0], dt=1e-3, steps=2, executor=executor)
        with pytest.raises(lw.SimulationError, match=r"trajectory \[1\] becomes non-finite"):
            lw.rollout(MODEL, [0.3, 0.3], v, dt=0.01, steps=40, executor=executor, chunk=1)
        with pytest.raises(lw.ArgumentError, match=r"tau\[1, 0, 0\] \(joint 'joint1'\) is nan"):
            tau = [[[0.0, 0.0]], [[np.nan, 0.0]]]
            lw.rollout(MODEL, [0.3, 0.3], [0.0, 0.0], tau, dt=0.01, steps=4, executor=executor, chunk=1)
        with lw.interpreted():
            found = lw.rollout(MODEL, **asked(), executor=executor)
        assert_complete_and_the_same(found)


class Odd:
    """An executor that returns futures of any kind."""

    def __init__(self, future: Callable[[Callable[[], Any]], Any]) -> None:
        self.future = future

    def submit(self, function: Callable[[Any], Any], job: Any) -> Any:
        return self.future(lambda: function(job))


def future_of(result: Any) -> SimpleNamespace:
    return SimpleNamespace(result=lambda: result, cancel=lambda: 1 / 0)


ODD: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "nothing": lambda work: future_of(None),
    "no status": lambda work: future_of(work()[:-1]),
    "too much": lambda work: future_of((*work(), 0)),
    "no arrays": lambda work: future_of((None, None, None, 0)),
    "one trajectory for all": lambda work: future_of([part[:1] for part in work()[:-1]] + [0]),
    "float32": lambda work: future_of((*(part.astype(np.float32) for part in work()[:-1]), 0)),
    "another status": lambda work: future_of((*work()[:-1], "fine")),
    "a generator": lambda work: iter(work()),
    "no future": lambda work: None,
}


@pytest.mark.parametrize("name", ODD)
def test_futures_that_do_not_have_the_jobs_result_are_refused(name: str) -> None:
    """What they raise when they are cancelled afterwards is not looked at."""
    with pytest.raises(lw.ArgumentError, match=r"(a future|submit) of executor <.*Odd.* must return"):
        lw.rollout(MODEL, **asked(), executor=Odd(ODD[name]), chunk=60)


def ended(work: Callable[[], Any]) -> Future[Any]:
    """The future of a worker that ends itself."""
    future: Future[Any] = Future()
    future.set_exception(SystemExit(3))
    return future


def test_a_worker_that_ends_itself_does_not_end_this_process() -> None:
    with pytest.warns(lw.LinkworkWarning, match=r"2 of 2 jobs were lost with their workers \(SystemExit: 3\)"):
        assert_complete_and_the_same(lw.rollout(MODEL, **asked(), executor=Odd(ended), chunk=60))
    with pytest.raises(SystemExit):  # raised here, as by a signal handler
        lw.rollout(MODEL, **asked(), executor=Odd(lambda work: SimpleNamespace(result=lambda: sys.exit(3))), chunk=60)
