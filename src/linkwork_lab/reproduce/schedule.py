"""An algorithm on a machine of many processors that exchange messages: recorded once, then simulated.

The recorded tasks are the iterations of the algorithm's parallel loops and the code between these loops, each with its
operations as written and the numbers that it reads from other tasks. A task runs on the processor of its body: a chain
is distributed over the processors in segments of equal length. It starts when its processor has finished earlier tasks
and all messages have arrived; a number computed by another processor arrives after a latency and its share of the
bandwidth. So there is no barrier after a step, and computation overlaps communication.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from linkwork import Model
from linkwork.algorithms import Algorithm
from linkwork.inside import Field, Seam, Segment, Tree, flatten
from linkwork_lab.reproduce.counting import CountingScalar, traverse

Item = TypeVar("Item")

BYTES = 8
"""The size of a number."""


@dataclass(frozen=True)
class Machine:
    """Processors of ``rate`` operations per second; a message takes ``latency`` seconds and its bytes over
    ``bandwidth`` (bytes per second), which is each processor's own, or that of all processors together if it is
    ``shared``.
    """

    name: str
    most: int
    """The number of processors."""
    rate: float
    latency: float = 0.0
    bandwidth: float = float("inf")
    shared: bool = False
    sources: tuple[str, ...] = ()

    def message(self, numbers: int, processors: int) -> float:
        """Seconds for a message of ``numbers`` numbers."""
        bandwidth = self.bandwidth / processors if self.shared else self.bandwidth
        return self.latency + BYTES * numbers / bandwidth


FREE = Machine("no communication", 1 << 30, 2.0e9)
GPU = Machine(
    "GPU (H100)", 132 * 64, 1.98e9, 2 * 200 / 1.98e9, 8.986e12, True,
    (
        "132 multiprocessors at 1.98 GHz: https://glennklockwood.com/garden/processors/h100",
        "64 double-precision units on each, one operation a clock; L2 cache: 200 clocks, 8,986 GB/s for all, a number "
        "goes there and comes back: https://doi.org/10.1016/j.ultsonch.2023.106546, Table 3",
    ),
)  # fmt: skip
CLUSTER = Machine(
    "cluster (MPI)", 1 << 30, 6.0e9, 1.2e-6, 25.0e9, False,
    (
        "one core of a node, two operations a clock at 3 GHz: assumed",
        "1.20 µs for 8 bytes, OSU latency test on a Cray XC: "
        "https://gist.github.com/hppritcha/6a3acd0c192fcfd082bd543fc98e6fe6",
        "200 Gb/s for each node, Slingshot-11: https://glennklockwood.com/garden/slingshot",
    ),
)  # fmt: skip
MACHINES = (FREE, GPU, CLUSTER)


@dataclass
class Task:
    """The place of a task on the chain (0 to 1; None if only one processor is at work), its operations, and how many
    numbers it reads from each earlier task.
    """

    place: float | None
    operations: int = 0
    reads: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Seconds of a run, and the share of messages in its critical path."""

    seconds: float
    waiting: float


def record(algorithm: Algorithm, model: Model) -> list[Task]:
    """The tasks of an algorithm for a chain, for one state without external forces, in an order in which they can run.

    Example:
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork import mechanisms
        >>> tasks = record(ALGORITHMS["constraint_force"], mechanisms.serial_chain(8))
        >>> one, eight = (run(tasks, FREE, count).seconds for count in (1, 8))
        >>> round(one / eight, 1)
        3.8
    """
    tree = _Recording(model)
    traverse(algorithm, model, CountingScalar(tree.counts), tree=tree)
    tree.begin(None)
    return tree.tasks[:-1]


def run(tasks: list[Task], machine: Machine, processors: int) -> Outcome:
    """The time of a machine with this number of its processors: of each, when it is idle again, and the messages
    on the path to that.
    """
    at, messages_at = (
        [0.0] * processors,
        [0.0] * processors,
    )
    ends: list[tuple[int, float, float]] = []
    arrived: dict[tuple[int, int], float] = {}
    for task in tasks:
        where = 0 if task.place is None else int(task.place * processors)
        start, messages = at[where], messages_at[where]
        for number, count in task.reads.items():
            sender, ready, before = ends[number]
            if sender != where:
                there = arrived.get((number, where))
                if there is None:
                    there = arrived[number, where] = ready + machine.message(count, processors)
                before += there - ready
                ready = there
            if ready > start:
                start, messages = ready, before
        at[where], messages_at[where] = start + task.operations / machine.rate, messages
        ends.append((where, at[where], messages))
    seconds, messages = max(zip(at, messages_at, strict=True))
    return Outcome(seconds, messages / seconds if seconds else 0.0)


class _RecordingField(Field):
    """A field that records which task stored a value."""

    __slots__ = ("tree", "stored")

    def __init__(self, tree: _Recording) -> None:
        super().__init__()
        self.tree = tree
        self.stored: dict[Any, tuple[int, int]] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.stored[_name(key)] = len(self.tree.tasks) - 1, len(flatten(value))

    def __getitem__(self, key: Any) -> Any:
        task, count = self.stored.get(_name(key), (-1, 0))
        if 0 <= task < len(self.tree.tasks) - 1:
            reads = self.tree.tasks[-1].reads
            reads[task] = reads.get(task, 0) + count
        return super().__getitem__(key)


def _name(key: Any) -> Any:
    return tuple(map(_name, key)) if isinstance(key, tuple) else (type(key) is Segment, key.index)


class _Recording(Tree):
    """A tree that records the tasks of an algorithm."""

    def __init__(self, model: Model) -> None:
        self.counts: Counter[str] = Counter()
        self.tasks: list[Task] = [Task(None)]
        self._before, self._links = 0, len(model.bodies)
        super().__init__(model, (), lambda _: CountingScalar(self.counts))

    def begin(self, place: float | None) -> None:
        """End the current task, and begin another."""
        total = self.counts.total()
        self.tasks[-1].operations = total - self._before
        self._before = total
        if self.tasks[-1].place is None and not self.tasks[-1].operations and not self.tasks[-1].reads:
            self.tasks[-1] = Task(place)  # there was nothing between two loops
        else:
            self.tasks.append(Task(place))

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.begin(self._place(item))
            yield item
        self.begin(None)

    def field(self) -> Field:
        return _RecordingField(self)

    persistent_field = field

    def _place(self, item: Any) -> float:
        if isinstance(item, tuple):
            return self._place(item[0])
        if isinstance(item, Segment | Seam):
            return (item.index + 0.5) / (len(self.seams) - isinstance(item, Segment))
        return (item + 0.5 if isinstance(item, int) else item.index - 0.5) / self._links
