"""A job spread over the workers of any executor with the interface of ``concurrent.futures``; workers may die."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any

from linkwork.dynamics.arguments import Array
from linkwork.engine.run.threads import get_threads
from linkwork.errors import ArgumentError, LinkworkWarning
from linkwork.progress import Bar
from linkwork.simulation.rollouts.jobs import Job, compute

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
                if isinstance(future, BaseException):
                    raise future
                *found, flags = future.result()
                for array, part in zip(target, found, strict=True):
                    array[...] = part
            except (BrokenExecutor, CancelledError, _killed()) as error:
                lost.append(error)
                flags = jobs[k].run(target, get_threads())
            status |= flags
            if bar is not None:
                bar(k + 1)
    finally:
        if bar is not None:
            bar.close()
        for future in futures:
            if hasattr(future, "cancel"):
                future.cancel()
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(jobs)} jobs were lost with their workers ({type(lost[0]).__name__}: {lost[0]}) and "
            f"computed here; the result is complete",
            LinkworkWarning,
            stacklevel=3,
        )
    return status


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
