"""Processes that make the same call at the same time, one on each of the other cores: the limit set by the machine
itself.

Threads of one process can be no faster than processes that share only the machine: its caches, its memory, and cores
that a virtual machine may have to share with others.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict

from linkwork import set_threads
from linkwork.inside import cores
from linkwork_lab.bench.cases import CASES, Case, States
from linkwork_lab.bench.contest import ours
from linkwork_lab.bench.subjects import Subject
from linkwork_lab.bench.workers import Worker, answer, receive, send, workers


def neighbours(subject: Subject) -> AbstractContextManager[list[Worker]]:
    """Idle processes with the subject's model, one fewer than there are cores."""
    return workers(__name__, json.dumps(asdict(subject)), [{}] * (cores() - 1))


@contextmanager
def busy(processes: Sequence[Worker], case: Case, states: int) -> Iterator[None]:
    """A context in which each of them repeats this call, on one thread."""
    _tell_all(processes, f"{states} {case.name}")
    try:
        yield
    finally:
        _tell_all(processes, "")


def _tell_all(processes: Sequence[Worker], line: str) -> None:
    for process in processes:
        send(process, line)
    for process in processes:
        receive(process)


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
        answer("busy")
        while stop.is_alive():
            mine.sample()
        answer("idle")
