"""Threads that run one state together: each takes iterations of parallel loops (``parallel.py``)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet, finalize

import numpy as np

from linkwork.engine.code import jit
from linkwork.engine.emit.call_frame import Words
from linkwork.engine.emit.mailbox import NOBODY
from linkwork.engine.ir.layout import WIDTHS
from linkwork.engine.plans.costs import within
from linkwork.engine.plans.one_state import parallel
from linkwork.engine.run import threads
from linkwork.engine.run.helper_threads import Helper, hire, hired, yield_function
from linkwork.engine.run.memory import address, aligned

if TYPE_CHECKING:
    from linkwork.engine.plans.one_state.parallel_loops import ParallelLoops

_LARGEST_CREW = 256
_teams: WeakSet[Team] = WeakSet()


class Team:
    """The threads of one plan's calls.

    Attributes:
        threads: how many there are for one state; None for as many as there are, if there are bodies enough.
        members: the helpers that code calls on, without Python.
    """

    threads: int | None = None

    def __init__(self, loops: ParallelLoops, busy: Words) -> None:
        self.loops, self.busy = loops, busy
        self.members: list[Helper] = []
        self._crew: Words | None = None
        self._own_threads: Words = np.ones(1, dtype=np.int64)
        self._at_hand: list[object] = []
        _teams.add(self)

    def call(self, code: jit.Code, batch: Callable[[int], int], words: Words) -> int:
        """One state, by its words; the status."""
        frame = self.loops.interface.one_state
        status = batch(address(frame.put(words, self.crew_words(code))))
        return status if status != NOBODY else batch(address(frame.put(words, {"crew": 0})))

    def crew_words(self, code: jit.Code) -> dict[str, int]:
        """The word of a call frame for helpers that the code may call on."""
        if self.threads is None and within("one_thread", self.loops.task.model):
            return {}
        with jit.lock:
            crew = self._crew if self._crew is not None else self._new_crew(code)
            self._own_threads[0] = self.threads or 1
            wanted = threads.wanted if self.threads is None else self._own_threads
            if not self.busy[0]:
                parallel.CREW.put(crew, {"threads": address(wanted)})
                hire(min(int(wanted[0]), self._most) - 1)
                self._enlist(code, crew)
        return {"crew": address(crew)}

    def forget(self) -> None:
        """A forked child has none of its parent's threads."""
        self.members.clear()
        if self._crew is not None:
            parallel.CREW.put(self._crew, {"members": 0, "taken": 0})

    @property
    def _most(self) -> int:
        return min(self.loops.most_threads, _LARGEST_CREW)

    def _own_work(self, code: jit.Code) -> int:
        """How many numbers of ``work`` each thread needs for itself."""
        return self.loops.memory(dict(zip(WIDTHS, code.integers, strict=False)), True)["work"]

    def _new_crew(self, code: jit.Code) -> Words:
        once, inside = code.integers[len(WIDTHS) :]
        size = parallel.team_size(once + inside * self.loops.rounds)
        store = np.zeros(size + parallel.CACHE_LINE, dtype=np.int64)
        head = {
            "members": 0,
            "most": self._most,
            "threads": 0,
            "team": address(store) + -address(store) % 64,
            "size": size,
            "yield": yield_function(),
            "taken": 0,
        }
        room = np.zeros(self._most * len(parallel.MEMBER.words), dtype=np.int64)
        self._crew = crew = np.concatenate([parallel.CREW.pack(head), room])
        self._at_hand += [code, store, crew]
        finalize(self, _part, self.members, self._at_hand).atexit = False
        return crew

    def _enlist(self, code: jit.Code, crew: Words) -> None:
        """All helpers become members of the crew."""
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


def _forget() -> None:
    for team in list(_teams):
        team.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
