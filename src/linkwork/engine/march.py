"""A step made into a march through time: machine code that runs in slices short enough to be interrupted, or the
interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from linkwork.algorithms import Algorithm
from linkwork.engine import function, llvm, loop, threads
from linkwork.engine.function import Array, Function, Rolled, Specialised
from linkwork.engine.interpreter import evaluate
from linkwork.engine.memory import address, scratch
from linkwork.model.model import Model
from linkwork.model.tree import Tree

_SLICE = 0.1
"""Seconds of work after which Python looks up, for instance to see Ctrl-C."""


def records(steps: int, every: int) -> int:
    """How many states are recorded: the first, every so many steps, and the last."""
    return -(-steps // every) + 1


class SpecialisedMarch(Specialised):
    """Code for one model alone."""

    def names(self, lanes: int) -> list[str]:
        return ["march"]

    def text(self, lanes: int) -> str:
        return llvm.module(self.program, self.interface, lanes, loop.march(self.interface, lanes))


class RolledMarch(Rolled):
    """Code for all models of the same joint kinds."""

    def names(self, lanes: int) -> list[str]:
        return ["march", "constant"]

    def text(self, lanes: int) -> str:
        program, *widths = self.program
        more = loop.march(self.interface, lanes) + llvm.constants(widths)
        return llvm.module(program, self.interface, lanes, more)


class March(Function):
    """A step, of ``stepping``, repeated in machine code."""

    specialised, rolled = SpecialisedMarch, RolledMarch

    def march(
        self, state: Sequence[Array], given: Sequence[Array], into: Sequence[Array], steps: int, every: int, most: int
    ) -> int:
        """Go ``steps`` steps on from the states, which are changed; 0, or bit 1 set if something given is not finite,
        which ends it, and bit 2 if a record is not.

        Every array must have been checked: this is the door to machine code.

        Args:
            state: the arrays of the state (trajectories, numbers), contiguous.
            given: the step's other arguments (trajectories, steps, numbers), their last axis contiguous.
            into: for each array of the state its records (trajectories, records, numbers), contiguous.
            steps: how many.
            every: after how many a state is recorded.
            most: threads to use at most.
        """
        count = len(state[0])
        lanes = 1 if count == 1 else self.lanes
        code, run = self.code(lanes)
        room = lanes * (sum(self.counts) + sum(self.task.results))

        def part(first: int, number: int, done: int, span: int) -> Callable[[], int]:
            words = [number, 0, done, span, steps, every]
            words += [address(array) + first * array.strides[0] for array in state]
            for array in given:
                lane, pace, _ = array.strides
                words += [address(array) + first * lane + done * pace, lane // 8, pace // 8]
            for array in into:
                words += [address(array) + first * array.strides[0], array.strides[0] // 8]

            def task(kept: object = (state, given, into)) -> int:  # an interrupted caller must not take them away
                words[1] = scratch("tile", room)
                table = np.array(words + self.plan.words(code, lanes), dtype=np.int64)
                return run(address(table))

            return task

        status = 0
        for parts in self._slices(count, lanes, steps, most):
            status |= threads.run([part(*which) for which in parts])
            if status & 1:
                break
        return status

    def _slices(self, count: int, lanes: int, steps: int, most: int) -> Iterator[list[tuple[int, int, int, int]]]:
        """Work for all threads at a time: of each the first trajectory, their number, the steps done and to do."""
        tiles = -(-count // lanes)
        cost = function._SECONDS * max(1, len(self.task.model.bodies))  # of a tile's step, roughly
        wanted = max(1, min(most, tiles, int(tiles * steps * cost / function._WORTH_A_THREAD)))
        budget = max(1, int(_SLICE / cost))
        group = max(1, min(-(-tiles // wanted), budget // max(steps, 1)))
        span = max(1, budget // group)
        for first in range(0, count, wanted * group * lanes):
            stop = min(count, first + wanted * group * lanes)
            starts = range(first, stop, group * lanes)
            for done in range(0, steps, span):
                yield [(at, min(group * lanes, stop - at), done, min(span, steps - done)) for at in starts]


def interpreted_march(
    algorithm: Algorithm,
    model: Model,
    state: Sequence[Array],
    given: Sequence[Array],
    into: Sequence[Array],
    steps: int,
    every: int,
) -> int:
    """The same by the interpreter, all trajectories at once, for finite numbers."""
    tree = Tree(model)
    now: list[Sequence[Array]] = [list(np.ascontiguousarray(array.T)) for array in state]
    for done in range(steps):
        row = [list(np.ascontiguousarray(array[:, done].T)) for array in given]
        with np.errstate(all="ignore"):
            now = evaluate(algorithm, model, [*now, *row], tree=tree)  # type: ignore[assignment]
        if (done + 1) % every == 0 or done + 1 == steps:
            for array, numbers in zip(into, now, strict=True):
                for k, number in enumerate(numbers):
                    array[:, -(-(done + 1) // every), k] = number + 0.0  # a zero has no sign
    return 0 if all(np.isfinite(array[:, -1]).all() for array in into) else 2
