"""Processes that measure beside this one: each answers a line with a line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

Worker: TypeAlias = "subprocess.Popen[str]"


@contextmanager
def workers(module: str, argument: str, environments: Sequence[Mapping[str, str]]) -> Iterator[list[Worker]]:
    """A process for each environment that runs ``main`` of a module, until the end of the context."""
    command = [sys.executable, "-c", f"import {module} as there; there.main()", argument]
    with ExitStack() as stack:
        processes = []
        for more in environments:
            pipe, environment = subprocess.PIPE, {**os.environ, **more}
            processes.append(subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True))
            stack.callback(processes[-1].communicate)
            stack.callback(processes[-1].kill)
        yield processes


def send(worker: Worker, line: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{line}\n")
    worker.stdin.flush()


def receive(worker: Worker) -> str:
    """Its next line; an error if it has ended."""
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"a process beside the measurement has ended with code {worker.wait()}")
    return line


def answer(line: str) -> None:
    """In such a process: a line to the one that started it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
