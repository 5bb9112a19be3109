"""Code with parallel loops: one state over the lanes of a vector and over threads; a batch with states on the lanes, as
everywhere.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from linkwork.engine.code import jit
from linkwork.engine.emit import parallel
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.plans.plan import Compiled, Offsets
from linkwork.engine.plans.task import Task
from linkwork.engine.run import threads
from linkwork.engine.run.entries import Entry
from linkwork.engine.run.helper_threads import ask, yield_function
from linkwork.engine.run.memory import address

_WORTH_A_TEAM = 1500
"""Bodies from which on helpers pay."""


class InParallel(Compiled):
    task: Task
    threads: int | None = None
    """Over how many one state is spread; None for as many as there are, if there are bodies enough."""

    @property
    @abstractmethod
    def most_threads(self) -> int:
        """Threads that can be at work at once."""

    @abstractmethod
    def own_work(self, code: jit.Code) -> int:
        """How many numbers of ``work`` each thread needs for itself."""

    @abstractmethod
    def loops(self, code: jit.Code) -> int:
        """How often parallel loops are run."""

    def symbols(self, lanes: int) -> list[str]:
        return ["batch", "integer"] if lanes > 1 else ["batch", "help", "integer"]

    one_state_frame = "one_state"

    def one_state_words(self) -> Words:
        return self.words("one_state", 1)

    @property
    def worth_a_team(self) -> bool:
        return len(self.task.model.bodies) >= _WORTH_A_TEAM

    def call_one(self, words: Words) -> int:
        code, batch = self.code(1)
        worth = threads.get_threads() if self.worth_a_team else 1
        wanted = min(worth if self.threads is None else self.threads, self.most_threads)
        if wanted < 2:
            return batch(address(words))
        team_at, work = self.interface.one_state.indices(("team", "work"))
        store = np.zeros(parallel.team_size(self.loops(code)) + parallel.CACHE_LINE, dtype=np.int64)
        team = store[-address(store) % 64 // 8 :]
        team[parallel.YIELD] = yield_function()
        words = words.copy()
        words[team_at] = address(team)
        try:
            ask(wanted - 1, code.addresses["help"], words, work, self.own_work(code), store, code)
            return batch(address(words))
        finally:  # of a call that Ctrl-C ends before it has begun, too: helpers must not wait for it
            team[parallel.BEGUN] = parallel.OVER

    def serve(self, entry: Entry, form: str, offsets: Offsets = ()) -> None:
        if form == "batch" or not self.worth_a_team:
            super().serve(entry, form, offsets)
