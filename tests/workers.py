"""Functions that the tests of executors run in other processes."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any


class Deadly(Executor):
    """Another executor, one of whose workers is killed while it computes its first job."""

    def __init__(self, executor: Executor, marker: Path) -> None:
        self.executor, self.marker = executor, marker

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        return self.executor.submit(killed_once, str(self.marker), function, *arguments, **options)


def killed_once(marker: str, function: Any, *arguments: Any) -> Any:
    """The function's result, unless this is the first call that finds no marker: then its process is killed."""
    try:
        with open(marker, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return function(*arguments)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while True:  # the worker is at work when it is killed, however fast the machine is
        function(*arguments)
