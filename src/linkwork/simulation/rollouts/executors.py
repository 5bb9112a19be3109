"""A job spread over the workers of any executor with the interface of ``concurrent.futures``; workers may die."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from typing import Any

import numpy as np

from linkwork.arguments import is_integer
from linkwork.dynamics.arguments import Array
from linkwork.engine.run.threads import get_threads
from linkwork.errors import ArgumentError, LinkworkWarning, excuse, shown
from linkwork.progress import Bar
from linkwork.simulation.jobs import Job, compute

MOST_JOBS, FEWEST = 64, 64
"""The largest number of jobs a batch is split into, and the smallest number of trajectories in each, by default."""


def spread(job: Job, into: Sequence[Array], executor: Any, chunk: int | None) -> int:
    """Compute in jobs of ``chunk`` trajectories; returns the status of all together.

    A job that is lost with its worker is computed here; any other error of a job is raised.
    """
    size = chunk or max(FEWEST, -(-len(job) // MOST_JOBS))
    starts = range(0, len(job), size)
    jobs = [job.some(first, size) for first in starts]
    futures: list[Any] = []
    lost: list[BaseException] = []
    status = 0
    bar = Bar(f"rolling out {job.model.name}", len(jobs)) if Bar.wanted() else None
    try:
        for one in jobs:
            futures.append(_submitted(executor, one))
        for k, first in enumerate(starts):
            target = [array[first : first + size] for array in into]
            future, futures[k] = futures[k], None  # its result is needed in this iteration only
            try:
                status |= _taken(future, target, executor)
            except BaseException as error:
                if not _is_lost(error, future):
                    raise
                lost.append(error)
                status |= jobs[k].run(target, get_threads())
            if bar is not None:
                bar(k + 1)
    finally:
        if bar is not None:
            bar.close()
        for future in futures:
            if hasattr(future, "cancel"):
                try:
                    future.cancel()
                except Exception as error:  # the result, or an error, is there already
                    excuse(error)
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(jobs)} jobs were lost with their workers ({type(lost[0]).__name__}: {lost[0]}) and "
            f"computed here; the result is complete",
            LinkworkWarning,
            stacklevel=3,
        )
    return status


def _taken(future: Any, target: Sequence[Array], executor: Any) -> int:
    """The status of a job whose future has its records and costs, which are copied to the arrays ``target``."""
    if isinstance(future, BaseException):
        raise future
    if not callable(getattr(future, "result", None)):
        raise ArgumentError(f"submit of executor {executor!r} must return a future, not {shown(future)}")
    answer = future.result()
    parts = answer if isinstance(answer, tuple | list) else ()
    arrays = [part for part in parts[:-1] if isinstance(part, np.ndarray) and part.dtype == np.float64]
    fits = [part.shape for part in arrays] == [array.shape for array in target] and len(parts) == len(target) + 1
    if not fits or not is_integer(parts[-1]):
        raise ArgumentError(
            f"a future of executor {executor!r} must return what the function that was submitted returns, its records "
            f"and a status, not {shown(answer)}"
        )
    for array, part in zip(target, arrays, strict=True):
        array[...] = part
    return int(parts[-1])


def _is_lost(error: BaseException, future: Any) -> bool:
    """Whether an error says that a worker has died: it was killed, or ended by itself, as sys.exit does it, which must
    not end this process, too.
    """
    if isinstance(error, BrokenExecutor | CancelledError | _killed()):
        return True
    if isinstance(error, Exception | KeyboardInterrupt) or not isinstance(future, Future):
        return False
    return future.done() and not future.cancelled() and future.exception() is error


def _submitted(executor: Any, job: Job) -> Any:
    """The future of a job, or the error of an executor whose workers died on earlier jobs."""
    try:
        return executor.submit(compute, job)
    except BrokenExecutor as error:
        return error
    except RuntimeError as error:  # what concurrent.futures raises once it is shut down
        raise ArgumentError(f"executor {executor!r} takes no jobs: {error}; pass one that is open") from error


def _killed() -> type[BaseException]:
    """The exception of Dask for a job that has killed several workers; it can only be raised if Dask is loaded."""
    return getattr(sys.modules.get("distributed"), "KilledWorker", BrokenExecutor)
