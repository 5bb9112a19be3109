"""Threads that run one state together: each takes iterations of parallel loops (``parallel.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import finalize

import numpy as np

from linkwork.engine.code import jit
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.ir.layout import WIDTHS
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.one_state import parallel
from linkwork.engine.run import threads
from linkwork.engine.run.helper_threads import Helper, ask, hired, yield_function
from linkwork.engine.run.memory import address, aligned

if TYPE_CHECKING:
    from linkwork.engine.plans.one_state.parallel_loops import ParallelLoops

_LARGEST_CREW = 256


class Team:
    """The threads of one plan's calls.

    Attributes:
        threads: how many there are for one state; None for as many as there are, if there are bodies enough.
        members: the helpers that builtins call on, without Python.
    """

    threads: int | None = None

    def __init__(self, loops: ParallelLoops, busy: Words) -> None:
        self.loops, self.busy = loops, busy
        self.members: list[Helper] = []
        self._crew: Words | None = None
        self._at_hand: list[object] = []

    @property
    def worth_it(self) -> bool:
        return not within("one_thread", self.loops.task.model)

    def call(self, code: jit.Code, batch: Callable[[int], int], words: Words) -> int:
        """One state, by its words; the status."""
        worth = threads.get_threads() if self.worth_it else 1
        wanted = min(worth if self.threads is None else self.threads, self.loops.most_threads)
        if wanted < 2:
            return batch(address(words))
        team_at, work = self.loops.interface.one_state.indices(("team", "work"))
        store, team = self._team(code)
        words = words.copy()
        words[team_at] = address(team)
        try:
            ask(wanted - 1, code.addresses["help"], words, work, self._own_work(code), store, code)
            self._enlist(code)
            return batch(address(words))
        finally:  # also if Ctrl-C ends a call before it has begun: helpers must not wait for it
            team[parallel.BEGUN] = parallel.OVER

    def _team(self, code: jit.Code) -> tuple[Words, Words]:
        """The integers of a team, and what keeps them alive."""
        store = np.zeros(self._size(code) + parallel.CACHE_LINE, dtype=np.int64)
        team = store[-address(store) % 64 // 8 :]
        team[parallel.YIELD] = yield_function()
        return store, team

    def _size(self, code: jit.Code) -> int:
        once, inside = code.integers[len(WIDTHS) :]
        return parallel.team_size(once + inside * self.loops.rounds)

    def _own_work(self, code: jit.Code) -> int:
        """How many numbers of ``work`` each thread needs for itself."""
        return self.loops.memory(dict(zip(WIDTHS, code.integers, strict=False)), True)["work"]

    # By the builtins, which call on helpers without Python

    def crew_words(self, code: jit.Code) -> dict[str, int]:
        """The word of a call frame for helpers that the code may call on."""
        if not self.worth_it or self.threads is not None:
            return {}
        with jit.lock:
            crew = self._crew if self._crew is not None else self._new_crew(code)
        self._enlist(code)
        return {"crew": address(crew)}

    def _new_crew(self, code: jit.Code) -> Words:
        store, team = self._team(code)
        head = {
            "members": 0,
            "most": self.loops.most_threads,
            "threads": address(threads.wanted),
            "team": address(team),
            "size": self._size(code),
            "yield": yield_function(),
        }
        room = np.zeros(min(self.loops.most_threads, _LARGEST_CREW) * len(parallel.MEMBER.words), dtype=np.int64)
        self._crew = crew = np.concatenate([parallel.CREW.pack(head), room])
        self._at_hand += [code, store, crew]
        finalize(self, _part, self.members, self._at_hand).atexit = False
        return crew

    def _enlist(self, code: jit.Code) -> None:
        """All helpers become members of the crew, if there is one."""
        crew = self._crew
        if crew is None or self.busy[0]:
            return
        with jit.lock:
            rows = crew[len(parallel.CREW.words) :].reshape(-1, len(parallel.MEMBER.words))
            for helper in hired()[len(self.members) : len(rows)]:
                words = np.zeros(len(self.loops.interface.one_state.words), dtype=np.int64)
                work = aligned(self._own_work(code))
                known = {"mailbox": helper.mailbox, "words": address(words), "work": address(work), "claimed": 0}
                parallel.MEMBER.put(rows[len(self.members)], known)
                self.members.append(helper)
                self._at_hand += [words, work]
                parallel.CREW.put(crew, {"members": len(self.members)})


def _part(members: list[Helper], at_hand: list[object]) -> None:
    """A plan is gone: what its members may still be using lives as long as they do."""
    for helper in members:
        helper.keep(at_hand)
