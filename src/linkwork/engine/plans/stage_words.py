"""The words that the code of a staged plan is called with: its parts, by their entries, and the arrays between them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.code import jit, loader
from linkwork.engine.emit import staging
from linkwork.engine.emit.call_frame import CallFrame, Words
from linkwork.engine.emit.staging import LINK, MOVE, PLACED, STAGES, STEP
from linkwork.engine.plans.plan import MOST_MEMORY, Array
from linkwork.engine.plans.stages import Moved
from linkwork.engine.run.entries import Entry
from linkwork.engine.run.memory import address, aligned

if TYPE_CHECKING:
    from linkwork.engine.plans.staged import Staged, Step

_MOST_TOGETHER, _NEAR, _TILES = 256, 2**17, 8
"""States that go through all parts at a time: as many as have so many bytes between the parts, in whole tiles."""

_FEWEST, _MOST_BETWEEN = 64, 2**22
"""States at a time if Python goes from part to part, at least, and the bytes between the parts that allow more."""

Move = tuple[int, int, int, int, int]
"""Of a ``MOVE``."""


def code() -> jit.Code:
    """That of all staged plans."""
    return loader.load(loader.key_of(jit.host(), "stages"), staging.text, jit.host(), ["batch"])


class StageWords:
    """The words for one state, or for a batch, of a plan whose parts can all be served so; the arrays between the parts
    are in memory of its own.

    Arrays are numbered: the arguments, the results, and others as they come.
    """

    def __init__(self, plan: Staged, form: str) -> None:
        self.form, self.kept = form, list[Array]()
        self.arguments, self.results = len(plan.task.arguments), len(plan.task.results)
        own = [{"numbers": 0, "stride": 0, "whole": 1} for _ in plan.task.arguments]
        self.arrays = [*own, *({"numbers": 0, "stride": size, "whole": 1} for size in plan.task.results)]
        self.parts: list[Words] = []
        self.moves: list[Move] = []
        self.together = _together(plan, form)
        self._lay_out(plan)

    @property
    def frame(self) -> CallFrame:
        """The words of a call."""
        named = [
            (kind, f"{array}{what}")
            for array in self.array_names
            for (kind, _), what in zip(PLACED.words, ("", "_stride", "_whole"), strict=True)
        ]
        return CallFrame((*STAGES.words, *named))

    @property
    def array_names(self) -> list[str]:
        """Of arguments and results."""
        arguments = [f"argument{k}" for k in range(self.arguments)]
        return [*arguments, *(f"result{k}" for k in range(self.results))]

    @property
    def words(self) -> Words:
        head = {"states": 1, "together": self.together, "arrays": len(self.arrays), "parts": len(self.parts)}
        return np.concatenate([STAGES.pack(head), *map(PLACED.pack, self.arrays), *self.parts])

    def _lay_out(self, plan: Staged) -> None:
        last = plan.steps[-1].same
        known = [*range(self.arguments), -1]  # by the plan's own numbers
        for step in plan.steps:
            stage, given = step.stage, list[int]()
            own = [k for k, each in enumerate(stage.given) if isinstance(each, int)]
            pairs = zip(own, stage.sizes[1:], strict=True)
            found = [self._new(size) if stage.calls else self.arguments + k for k, size in pairs]
            found.insert(0, self._new(stage.sizes[0]))
            if step.straight is not None:
                self._run(step.straight.entry, [known[k] for k in stage.inputs], found)
            if not stage.calls:
                self._finish(step, known)
                return
            for each, k in zip(stage.given, step.same, strict=True):
                if isinstance(each, int):
                    given.append(found[each])
                else:
                    given.append(self._put_together(each, known) if k is None else known[k])
            known[self.arguments] = found[0]
            for part in step.calls:
                sizes, number = part.plan.task.results, len(known)
                targets = [
                    self.arguments + last.index(k) if k in last else self._new(size)
                    for k, size in enumerate(sizes, number)
                ]
                self._run(part.entry, given[: part.count], targets)
                del given[: part.count]
                known += targets

    def _new(self, size: int, constants: Array | None = None, rows: bool = True) -> int:
        """A new array, of ``constants`` at first; of one row for all states unless it has ``rows``."""
        count = self.together if rows else 1
        memory = aligned(size * count, 0.0)
        if constants is not None:
            memory[:] = np.tile(constants, count)
        self.kept.append(memory)
        self.arrays.append({"numbers": address(memory), "stride": size if rows else 0, "whole": 0})
        return len(self.arrays) - 1

    def _put_together(self, made: Moved, known: Sequence[int]) -> int:
        """An array assembled from parts of others, for the next part of code."""
        target = self._new(len(made.constants), made.constants, rows=bool(made.runs))
        self._move(made, known, target)
        return target

    def _move(self, made: Moved, known: Sequence[int], target: int) -> None:
        self.moves += [(known[array], start, target, begin, count) for begin, array, start, count in made.runs]

    def _finish(self, step: Step, known: Sequence[int]) -> None:
        """Results that need no computation."""
        for k, (each, same) in enumerate(zip(step.stage.given, step.same, strict=True)):
            target = self.arguments + k
            if isinstance(each, int) or (same is not None and known[same] == target):
                continue
            if sum(count for *_, count in each.runs) < len(each.constants):
                constants = self._new(len(each.constants), each.constants, rows=False)
                self.moves.append((constants, 0, target, 0, len(each.constants)))
            self._move(each, known, target)
        if self.moves:
            self._add({"code": 0, "words": 0, "states": 0}, ())

    def _run(self, entry: Entry | None, arguments: Sequence[int], results: Sequence[int]) -> None:
        """A part of code, after the pending moves."""
        assert entry is not None
        head, arrays, strides = entry.told(self.form)
        numbers = (*arguments, *results)
        links = [
            LINK.pack({"array": number, "numbers": at, "stride": stride})
            for number, at, stride in zip(numbers, arrays, strides, strict=True)
        ]
        self._add(head, links)

    def _add(self, head: dict[str, int], links: Sequence[Words]) -> None:
        moves = [MOVE.pack(dict(zip((name for _, name in MOVE.words), move, strict=True))) for move in self.moves]
        step = STEP.pack({**head, "moves": len(moves), "links": len(links)})
        self.parts.append(np.concatenate([step, *moves, *links]))
        self.moves = []


def fits(plan: Staged, form: str) -> bool:
    """Whether the arrays between the parts are small enough to be kept."""
    return _together(plan, form) * _bytes_between(plan) <= MOST_MEMORY


def _together(plan: Staged, form: str) -> int:
    """States that go through all parts at a time."""
    if form == "one":
        return 1
    tiles = min(_MOST_TOGETHER, _NEAR // max(1, _bytes_between(plan))) // _TILES
    return _TILES * max(1, tiles)


def most_at_once(plan: Staged) -> int:
    """The same when Python goes from part to part: enough for threads to pay off, but few enough that the arrays
    between the parts reuse their memory.
    """
    return max(_FEWEST, _MOST_BETWEEN // max(1, _bytes_between(plan)) // _TILES * _TILES)


def _bytes_between(plan: Staged) -> int:
    """Of one state."""
    return 8 * sum(_between(step) for step in plan.steps)


def _between(step: Step) -> int:
    """Numbers of a state that a stage passes to later ones."""
    made = [len(each.constants) for each in step.stage.given if isinstance(each, Moved)]
    return sum(step.stage.sizes) + sum(made) + sum(sum(map(prod, part.plan.task.shapes)) for part in step.calls)
