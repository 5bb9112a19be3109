"""Progress bars for long work: on stderr in a terminal or a notebook, none elsewhere.

A bar appears only if the work takes more than a second, and is removed at the end. ``LINKWORK_PROGRESS=0`` in the
environment disables all of them; worker processes have none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import perf_counter
from typing import Any

from linkwork.arguments import variable

_PATIENCE = 1.0  # s before a bar appears
_PAUSE = 0.1  # s between two updates
_only = Lock()
"""Held by the visible bar: long work inside other long work has no bar of its own."""


class Bar:
    """A bar for work of so many steps, or an indeterminate one if their number is unknown."""

    def __init__(self, what: str, steps: int | None = None) -> None:
        self._what, self._steps = what, steps
        self._next = perf_counter() + _PATIENCE
        self._lock = Lock()
        self._shown: Any = None
        self._closed = False

    @staticmethod
    def wanted(progress: bool | None = None) -> bool:
        """Whether to show a bar: as requested, or by default if stderr is visible to a user."""
        if progress is not None:
            return bool(progress)
        if variable("LINKWORK_PROGRESS", "0", "1") == "0":
            return False
        return ("ipykernel" in sys.modules or _terminal()) and not _worker()

    def __call__(self, step: int) -> None:
        """Report that ``step`` steps are done."""
        now = perf_counter()
        if now < self._next:
            return
        self._next = now + _PAUSE
        self.show()
        if self._shown is not None:
            self._shown.update(self._task, completed=step, refresh=True)

    def say(self, what: str) -> None:
        """Show the current activity."""
        self._what = what
        if self._shown is not None:
            self._shown.update(self._task, description=what, refresh=True)
        else:
            self(0)

    def show(self, by_itself: bool = False) -> None:
        """Make the bar visible, if no other is. It is updated by calls, or ``by_itself``, which takes time."""
        with self._lock:
            if self._shown is not None or self._closed or not _only.acquire(blocking=False):
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            console = Console(stderr=True)
            last = TimeElapsedColumn() if self._steps is None else TimeRemainingColumn()
            self._shown = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(), last, console=console,
                transient=True, auto_refresh=by_itself, redirect_stdout=False, redirect_stderr=False,
                disable=not (console.is_terminal or console.is_jupyter),
            )  # fmt: skip
            self._shown.start()
            self._task = self._shown.add_task(self._what, total=self._steps)

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            self._closed = True
            if self._shown is not None:
                self._shown.stop()
                self._shown = None
                _only.release()


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _worker() -> bool:
    """Whether this is a worker process, whose parent has a bar of its own."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A bar for work of unknown duration that cannot report progress."""
    if not Bar.wanted():
        yield
        return
    bar = Bar(what)
    timer = Timer(_PATIENCE, bar.show, (True,))
    timer.daemon = True
    try:
        timer.start()
        yield
    finally:
        timer.cancel()
        bar.close()


@contextmanager
def saying() -> Iterator[Callable[[str], None]]:
    """A function to call with the current activity during the work."""
    bar = Bar("") if Bar.wanted() else None
    try:
        yield bar.say if bar is not None else lambda what: None
    finally:
        if bar is not None:
            bar.close()
