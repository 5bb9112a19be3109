"""The time shown in a view: it runs, pauses, jumps and repeats."""

from __future__ import annotations

from time import perf_counter


class Clock:
    """Time (s) between a first and a last, from a speed and the elapsed real time."""

    def __init__(self, first: float, last: float) -> None:
        self.first, self.last, self.speed, self.playing = first, last, 1.0, last > first
        self._time, self._since = first, perf_counter()

    def now(self) -> float:
        """The time shown now; after the last it starts again from the first."""
        if not self.playing:
            return self._time
        passed = perf_counter()
        self._time += self.speed * (passed - self._since)
        self._since = passed
        if self._time > self.last:
            self._time = self.first
        return self._time

    def go(self, time: float, playing: bool = False) -> None:
        """Show a given time, and continue from there or pause."""
        self._time, self.playing = min(max(time, self.first), self.last), playing
        self._since = perf_counter()
