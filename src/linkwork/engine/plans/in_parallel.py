"""Code with parallel loops: one state over the lanes of a vector and over threads; a batch has states on the lanes, as
everywhere.
"""

from __future__ import annotations

from abc import abstractmethod
from weakref import finalize

import numpy as np

from linkwork.engine.code import jit
from linkwork.engine.emit import parallel
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.plan import Compiled
from linkwork.engine.plans.task import Task
from linkwork.engine.run import threads
from linkwork.engine.run.helper_threads import Helper, ask, hired, yield_function
from linkwork.engine.run.memory import address, aligned

_LARGEST_CREW = 256


class InParallel(Compiled):
    task: Task
    threads: int | None = None
    """The number of threads for one state; None for as many as there are, if there are bodies enough."""

    def __init__(self, task: Task, cpu: tuple[str, str] | None = None, lanes: int | None = None) -> None:
        super().__init__(task, cpu, lanes)
        self._crew: Words | None = None
        self._members: list[Helper] = []
        self._at_hand: list[object] = []

    @property
    @abstractmethod
    def most_threads(self) -> int:
        """Threads that can work at once."""

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
        return not within("one_thread", len(self.task.model.bodies))

    def call_one(self, words: Words) -> int:
        code, batch = self.code(1)
        worth = threads.get_threads() if self.worth_a_team else 1
        wanted = min(worth if self.threads is None else self.threads, self.most_threads)
        if wanted < 2:
            return batch(address(words))
        team_at, work = self.interface.one_state.indices(("team", "work"))
        store, team = self._team(code)
        words = words.copy()
        words[team_at] = address(team)
        try:
            ask(wanted - 1, code.addresses["help"], words, work, self.own_work(code), store, code)
            self._enlist(code)
            return batch(address(words))
        finally:  # also if Ctrl-C ends a call before it has begun: helpers must not wait for it
            team[parallel.BEGUN] = parallel.OVER

    def _team(self, code: jit.Code) -> tuple[Words, Words]:
        """A team, and what keeps it alive."""
        store = np.zeros(parallel.team_size(self.loops(code)) + parallel.CACHE_LINE, dtype=np.int64)
        team = store[-address(store) % 64 // 8 :]
        team[parallel.YIELD] = yield_function()
        return store, team

    # By the builtins, which call on helpers without Python

    def served_words(self, code: jit.Code, form: str) -> dict[str, int]:
        if form == "batch" or not self.worth_a_team or self.threads is not None:
            return {}
        with jit.lock:
            crew = self._crew if self._crew is not None else self._new_crew(code)
        self._enlist(code)
        return {"crew": address(crew)}

    def _new_crew(self, code: jit.Code) -> Words:
        store, team = self._team(code)
        head = {
            "members": 0,
            "most": self.most_threads,
            "threads": address(threads.wanted),
            "team": address(team),
            "size": parallel.team_size(self.loops(code)),
            "yield": yield_function(),
        }
        room = np.zeros(min(self.most_threads, _LARGEST_CREW) * len(parallel.MEMBER.words), dtype=np.int64)
        self._crew = crew = np.concatenate([parallel.CREW.pack(head), room])
        self._at_hand += [code, store, crew]
        finalize(self, _part, self._members, self._at_hand).atexit = False
        return crew

    def _enlist(self, code: jit.Code) -> None:
        """All helpers become members of the crew, if there is one."""
        crew = self._crew
        if crew is None or self.busy[0]:
            return
        with jit.lock:
            rows = crew[len(parallel.CREW.words) :].reshape(-1, len(parallel.MEMBER.words))
            for helper in hired()[len(self._members) : len(rows)]:
                words = np.zeros(len(self.interface.one_state.words), dtype=np.int64)
                work = aligned(self.own_work(code))
                known = {"mailbox": helper.mailbox, "words": address(words), "work": address(work), "claimed": 0}
                parallel.MEMBER.put(rows[len(self._members)], known)
                self._members.append(helper)
                self._at_hand += [words, work]
                parallel.CREW.put(crew, {"members": len(self._members)})


def _part(members: list[Helper], at_hand: list[object]) -> None:
    """A plan is gone: what its members may still be using lives as long as they do."""
    for helper in members:
        helper.keep(at_hand)
