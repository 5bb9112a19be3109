"""Processes that make the same call at the same time, one on each of the other cores: the limit set by the machine
itself.

Threads of one process can be no faster than processes that share only the machine: its caches, its memory, and cores
that a virtual machine may have to share with others.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

from linkwork import set_threads
from linkwork.inside import cores
from linkwork_lab.bench.cases import CASES, Case, States
from linkwork_lab.bench.contest import ours
from linkwork_lab.bench.subjects import Subject


@contextmanager
def neighbours(subject: Subject) -> Iterator[list[subprocess.Popen[str]]]:
    """Idle processes with the subject's model, one fewer than there are cores."""
    command = [sys.executable, "-c", f"import {__name__} as there; there.main()", json.dumps(asdict(subject))]
    with ExitStack() as stack:
        found = []
        for _ in range(cores() - 1):
            found.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(_end, found[-1])
        yield found


@contextmanager
def busy(processes: list[subprocess.Popen[str]], case: Case, states: int) -> Iterator[None]:
    """A context in which each of them repeats this call, on one thread."""
    for process in processes:
        _tell(process, f"{states} {case.name}")
    for process in processes:
        _hear(process)
    try:
        yield
    finally:
        for process in processes:
            _tell(process, "")
        for process in processes:
            _hear(process)


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def _hear(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError("a process that was to be busy beside the measurement has ended")


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def main() -> None:
    """The main function of such a process: each line names a call, which is repeated until the next line arrives."""
    subject = Subject(**json.loads(sys.argv[1]))
    set_threads(1)
    few = States.random(subject.model, 512)
    for line in sys.stdin:
        count, name = line.rstrip("\n").split(" ", 1)
        case = next(case for case in CASES if case.name == name)
        mine = ours(case, subject.model, few.repeated(int(count)), single=False, in_place=True)
        mine.sample()
        stop = threading.Thread(target=sys.stdin.readline, daemon=True)
        stop.start()
        _say("busy")
        while stop.is_alive():
            mine.sample()
        _say("idle")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
