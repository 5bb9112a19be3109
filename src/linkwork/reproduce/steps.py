"""How parallel an algorithm is: the steps of its text that must follow each other, and the operations in all.

A step is one loop ``tree.parallel(items)``, whose turns need nothing of each other: on as many processors as items it
takes the time of its longest turn. Operations are counted as written, as in ``counting``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from linkwork.algorithms import Algorithm
from linkwork.engine.spaces import size
from linkwork.engine.trace.interpreter import evaluate
from linkwork.model import Model
from linkwork.model.segment_walks import Item
from linkwork.model.tree import Tree
from linkwork.reproduce.counting import Counted


@dataclass(frozen=True)
class Steps:
    """What each step in turn has: its number of items, its operations, and those of its longest turn."""

    items: tuple[int, ...]
    operations: tuple[int, ...]
    longest: tuple[int, ...]
    alone: int
    """Operations outside of all steps, one after the other."""

    @property
    def depth(self) -> int:
        """Steps that must follow each other."""
        return len(self.items)

    @property
    def work(self) -> int:
        """Operations in all."""
        return sum(self.operations) + self.alone

    @property
    def span(self) -> int:
        """Operations that must follow each other, on as many processors as there are items."""
        return sum(self.longest) + self.alone

    def time(self, processors: int) -> int:
        """Operations that must follow each other if the items of a step go round a number of processors."""
        rounds = (
            max(longest, -(-items // processors) * -(-operations // items))
            for items, operations, longest in zip(self.items, self.operations, self.longest, strict=True)
        )
        return sum(rounds) + self.alone


def steps(algorithm: Algorithm, model: Model) -> Steps:
    """The steps of an algorithm on a mechanism, for one state without external forces.

    Example:
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork.model import mechanisms
        >>> chains = [mechanisms.serial_chain(n) for n in (16, 256)]
        >>> [steps(ALGORITHMS["constraint_force"], chain).depth for chain in chains]
        [25, 41]
    """
    found: Counter[str] = Counter()
    tree = _Counting(model, found)
    arguments = [
        None if name == "f_ext" else [Counted(found)] * size(space, model, 0) for name, space in algorithm.arguments
    ]
    evaluate(algorithm, model, arguments, tree=tree)
    per_step = [(len(turns), sum(turns), max(turns)) for turns in tree.turns]
    items, operations, longest = zip(*per_step, strict=True) if per_step else ((), (), ())
    return Steps(items, operations, longest, sum(found.values()) - sum(operations))


class _Counting(Tree):
    """A tree that writes down what the turns of parallel loops cost."""

    def __init__(self, model: Model, found: Counter[str]) -> None:
        super().__init__(model, (), lambda _: Counted(found))
        self.found = found
        self.turns: list[list[int]] = []

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        turns: list[int] = []
        for item in items:
            before = self.found.total()
            yield item
            turns.append(self.found.total() - before)
        if turns:
            self.turns.append(turns)
