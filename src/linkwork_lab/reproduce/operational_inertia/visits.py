"""Figure 4 of the paper: which links a recursion visits, according to the operations that it does there, as written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from linkwork import Frame, Model
from linkwork.algorithms import Algorithm
from linkwork.inside import Tree
from linkwork_lab.reproduce.counting import CountingScalar, traverse
from linkwork_lab.reproduce.operational_inertia.growth import METHODS, tree

STEPS = {"outward": "a", "inward": "b", "paths": "c", "behind": "d", "after": "d"}
"""The recursions of Table 1, by the panels of Fig. 4."""


class VisitedTree(Tree):
    """A tree that records the current link and recursion."""

    def __init__(self, model: Model, frames: Sequence[Frame], counts: Counter[tuple[str, int]]) -> None:
        self.counts, self.here = counts, ("", 0)
        super().__init__(model, frames, lambda _: LinkScalar(self))

    def outward(self) -> Iterator[Any]:
        return self._noted("outward", super().outward())

    def inward(self) -> Iterator[Any]:
        return self._noted("inward", super().inward())

    def paths(self) -> Iterator[Any]:
        return self._noted("paths", super().paths())

    def behind(self, station: Any) -> Iterator[Any]:
        return self._noted("behind", super().behind(station))

    def after(self, station: Any) -> Iterator[Any]:
        return self._noted("after", super().after(station))

    def path(self, body: Any, until: Any = None) -> Iterator[Any]:
        return self._noted("path", super().path(body, until))

    def _noted(self, walk: str, bodies: Iterator[Any]) -> Iterator[Any]:
        around = self.here
        for body in bodies:
            self.here = walk, body.index
            yield body
        self.here = around


class LinkScalar(CountingScalar):
    """A scalar that counts operations at the current link; those at points and pairs of them count for the world."""

    __slots__ = ("tree",)

    def __init__(self, tree: VisitedTree) -> None:
        super().__init__(Counter())
        self.tree = tree

    def _one(self, kind: str) -> CountingScalar:
        self.tree.counts[self.tree.here] += 1
        return self


def located(algorithm: Algorithm, model: Model, frames: Sequence[Frame]) -> Counter[tuple[str, int]]:
    """Operations as written, by recursion and link."""
    counts: Counter[tuple[str, int]] = Counter()
    mechanism = VisitedTree(model, frames, counts)
    traverse(algorithm, model, LinkScalar(mechanism), frames, mechanism)
    return counts


def visited(levels: int, points: Sequence[int]) -> dict[str, Any]:
    """On a binary tree, for some numbers of points on leaves: the operations at each link in each step of Table 1, and
    those that the points add to each link by each method, and at no link.
    """
    model, _ = tree(levels, 1)
    links = range(1, len(model.bodies) + 1)
    steps, added = [], []
    for count in points:
        _, frames = tree(levels, count)
        by_step = {panel: [0] * len(links) for panel in STEPS.values()}
        for (walk, link), operations in located(METHODS["chang_khatib"], model, frames).items():
            if walk:
                by_step[STEPS[walk]][link - 1] += operations
        steps.append(by_step)
        added.append({name: _added(algorithm, model, frames) for name, algorithm in METHODS.items()})
    at_links = [{name: numbers[1:] for name, numbers in row.items()} for row in added]
    at_points = [{name: numbers[0] for name, numbers in row.items()} for row in added]
    return {
        "parents": [body.parent for body in model.bodies], "points": list(points),
        "bodies": [[frame.body for frame in tree(levels, count)[1]] for count in points],
        "steps": steps, "added": at_links, "at_points": at_points,
    }  # fmt: skip


def _added(algorithm: Algorithm, model: Model, frames: Sequence[Frame]) -> list[int]:
    """The operations that points add at each link; the first number is of those at points and pairs of them."""
    totals = []
    for points in (frames, ()):
        at = Counter[int]()
        for (_, link), operations in located(algorithm, model, points).items():
            at[link] += operations
        totals.append([at[link] for link in range(len(model.bodies) + 1)])
    return [there - without for there, without in zip(*totals, strict=True)]
