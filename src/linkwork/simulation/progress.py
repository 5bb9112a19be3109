"""A progress bar for long simulations."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

_PATIENCE = 1.0  # s before a bar appears
_PAUSE = 0.1  # s between two updates


class Bar:
    """A progress bar on stderr that appears only if the work takes more than a second, and is removed at the end."""

    def __init__(self, what: str, steps: int) -> None:
        self._what, self._steps = what, steps
        self._next = perf_counter() + _PATIENCE
        self._shown: Any = None

    @staticmethod
    def wanted(progress: bool | None) -> bool:
        """Whether to show one: as asked for, or by default where stderr is a terminal."""
        return sys.stderr.isatty() if progress is None else bool(progress)

    def __call__(self, step: int) -> None:
        """Show that ``step`` steps are done."""
        now = perf_counter()
        if now < self._next:
            return
        self._next = now + _PAUSE
        if self._shown is None:
            from rich.console import Console
            from rich.progress import Progress

            console = Console(stderr=True)
            self._shown = Progress(console=console, transient=True, disable=not console.is_terminal)
            self._shown.start()
            self._task = self._shown.add_task(self._what, total=self._steps)
        self._shown.update(self._task, completed=step)

    def close(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()
