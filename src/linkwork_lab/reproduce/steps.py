"""The parallelism of an algorithm: its sequential steps, and the total operations.

A step is one loop ``tree.parallel(items)``, whose iterations are independent: on as many processors as items it takes
the time of its longest iteration. Operations are counted as written, as in ``counting``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from linkwork import Model
from linkwork.algorithms import Algorithm
from linkwork.inside import Tree
from linkwork_lab.reproduce.counting import CountingScalar, traverse

Item = TypeVar("Item")


@dataclass(frozen=True)
class Steps:
    """For each step its number of items, its operations, and those of its longest iteration."""

    items: tuple[int, ...]
    operations: tuple[int, ...]
    longest: tuple[int, ...]
    alone: int
    """Sequential operations outside all steps."""

    @property
    def depth(self) -> int:
        """The number of sequential steps."""
        return len(self.items)

    @property
    def work(self) -> int:
        """Operations in total."""
        return sum(self.operations) + self.alone

    @property
    def span(self) -> int:
        """Sequential operations, on as many processors as there are items."""
        return sum(self.longest) + self.alone

    def time(self, processors: int) -> int:
        """Sequential operations if the items of a step are distributed over a number of processors."""
        rounds = (
            max(longest, -(-items // processors) * -(-operations // items))
            for items, operations, longest in zip(self.items, self.operations, self.longest, strict=True)
        )
        return sum(rounds) + self.alone


def steps(algorithm: Algorithm, model: Model) -> Steps:
    """The steps of an algorithm on a mechanism, for one state without external forces.

    Example:
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork import mechanisms
        >>> chains = [mechanisms.serial_chain(n) for n in (16, 256)]
        >>> [steps(ALGORITHMS["constraint_force"], chain).depth for chain in chains]
        [25, 41]
    """
    counts: Counter[str] = Counter()
    tree = _Counting(model, counts)
    traverse(algorithm, model, CountingScalar(counts), tree=tree)
    per_step = [(len(turns), sum(turns), max(turns)) for turns in tree.turns]
    items, operations, longest = zip(*per_step, strict=True) if per_step else ((), (), ())
    return Steps(items, operations, longest, sum(counts.values()) - sum(operations))


class _Counting(Tree):
    """A tree that records the cost of the iterations of parallel loops."""

    def __init__(self, model: Model, counts: Counter[str]) -> None:
        super().__init__(model, (), lambda _: CountingScalar(counts))
        self.counts = counts
        self.turns: list[list[int]] = []

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        turns: list[int] = []
        for item in items:
            before = self.counts.total()
            yield item
            turns.append(self.counts.total() - before)
        if turns:
            self.turns.append(turns)
