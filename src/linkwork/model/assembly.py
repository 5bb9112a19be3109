"""The pairwise assembly of the links of any tree, in at most O(log n) dependent steps.

A tree is decomposed into heavy paths: from each link, the path continues with the child whose subtree has the most
links. A path is assembled by halves, and so are the branches on a link, where a half has half of the links in it, not
of the path: then a part that is k times smaller than the whole is needed at most O(log k) steps later. This holds for
any tree, whether it is a chain, a star or a comb.

    link      a link, with its branches already included
    joined    two stretches of a path, by the joint between them
    hung      a whole path, by the joint of its first link, as seen by its parent
    gathered  two sets of branches of one link

Loops (defined in ``model.loops``) are closed in the first part that has all their holds. Loops with the world are
closed on paths from the world, whose links and stretches respond with motions to forces; not in a part that is hung on
another body, where a branch fixed to the ground would have no finite inertia.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Part:
    """A part of a mechanism, made of one or two others, which have smaller numbers."""

    index: int
    kind: str
    body: int
    """Its first link; for hung or gathered branches, the link that carries them."""
    parts: tuple[int, ...]
    behind: bool
    """Whether its path continues behind it."""
    on: int
    """For a link, the next one of its path, or 0; for a joined part, the first link of the second."""
    holds: tuple[int, ...]
    """For a link, the holds of loops on it."""
    loops: tuple[int, ...]
    """Loops that are open in it, before those with all their holds in it are closed."""
    closed: tuple[int, ...]

    @property
    def bare(self) -> bool:
        """Whether it is a link without branches and loop holds."""
        return self.kind == "link" and not self.parts and not self.holds

    @property
    def open(self) -> tuple[int, ...]:
        """Loops that remain open in it."""
        return tuple(loop for loop in self.loops if loop not in self.closed)


@dataclass(frozen=True)
class Assembly:
    """Parts in levels, each made of parts in earlier levels and of bare links, which are in none; the last part is the
    whole, as seen by the world.
    """

    levels: list[list[Part]]
    parts: list[Part]


def assembly_of(parents: Sequence[int], holds: Sequence[tuple[int, int]] = ()) -> Assembly:
    """The parts of a tree with loops; a hold is a loop and a body; a loop with one hold is with the world.

    Example:
        >>> chain, star = assembly_of([0, *range(64)]), assembly_of([0, 0, *[1] * 63])
        >>> len(chain.levels), len(star.levels)
        (7, 10)
    """
    return _Assembling(parents, holds).assembly


class _Assembling:
    def __init__(self, parents: Sequence[int], holds: Sequence[tuple[int, int]]) -> None:
        count = len(parents)
        self.children: list[list[int]] = [[] for _ in parents]
        self.sizes = [1] * count
        for body in reversed(range(1, count)):
            self.children[parents[body]].append(body)
            self.sizes[parents[body]] += self.sizes[body]
        self.holds: list[list[int]] = [[] for _ in parents]
        for number, (_, body) in enumerate(holds):
            self.holds[body].append(number)
        self.loops = [loop for loop, _ in holds]
        self.on_bodies, self.grounded = _ends(holds)
        self.parts: list[Part] = []
        self.heights: list[int] = []
        self.has: list[dict[int, int]] = []  # for each part, the number of holds of each open loop
        self.heavy = [max(branches, key=lambda child: self.sizes[child], default=0) for branches in self.children]
        self.heavy[0] = 0  # the world is on no path
        self.whole: dict[int, int] = {}  # for the first link of each path, its part
        for body in reversed(range(count)):
            if body == 0 or self.heavy[parents[body]] != body:
                self.whole[body] = self._path(body, not parents[body]) if body else self._branches(0)
        last = self.parts[-1]
        self.parts[-1] = replace(last, closed=(*last.closed, *last.open))
        levels: list[list[Part]] = [[] for _ in range(max(self.heights, default=-1) + 1)]
        for part, height in zip(self.parts, self.heights, strict=True):
            if height >= 0:
                levels[height].append(part)
        self.assembly = Assembly(levels, self.parts)

    def _path(self, first: int, on_world: bool) -> int:
        """The whole path that begins with a link, as seen by its parent."""
        path = [first]
        while self.heavy[path[-1]]:
            path.append(self.heavy[path[-1]])
        weights = [
            self.sizes[body] - self.sizes[self.heavy[body]] if self.heavy[body] else self.sizes[body] for body in path
        ]

        def link(k: int) -> int:
            branches = self._branches(path[k])
            behind = k + 1 < len(path)
            below = () if branches < 0 else (branches,)
            on, holds = path[k + 1] if behind else 0, self.holds[path[k]]
            return self._part("link", path[k], below, behind, on, holds, on_world)

        def joined(one: int, two: int, k: int) -> int:
            behind = self.parts[two].behind
            return self._part("joined", self.parts[one].body, (one, two), behind, path[k], (), on_world)

        return self._part("hung", first, (_halved(weights, link, joined),), False)

    def _branches(self, body: int) -> int:
        """The branches on a link besides its own path; -1 for none."""
        branches = [child for child in self.children[body] if child != self.heavy[body]]
        if not branches:
            return -1 if body else self._part("gathered", 0, (), False)
        return _halved(
            [self.sizes[child] for child in branches],
            lambda k: self.whole[branches[k]],
            lambda one, two, _: self._part("gathered", body, (one, two), False),
        )

    def _part(
        self,
        kind: str,
        body: int,
        parts: tuple[int, ...],
        behind: bool,
        on: int = 0,
        holds: Sequence[int] = (),
        on_world: bool = False,
    ) -> int:
        """A new part; ``on_world`` for a link or a stretch of a path from the world."""
        has = Counter(self.loops[hold] for hold in holds)
        for part in parts:
            has.update(self.has[part])
        closed = tuple(
            loop
            for loop, number in has.items()
            if number == self.on_bodies[loop] and (on_world or loop not in self.grounded)
        )
        index = len(self.parts)
        self.parts.append(Part(index, kind, body, parts, behind, on, tuple(holds), tuple(has), closed))
        height = 1 + max((self.heights[part] for part in parts), default=-1)
        self.heights.append(-1 if self.parts[-1].bare else height)
        self.has.append({loop: number for loop, number in has.items() if loop not in closed})
        return index


def _ends(holds: Sequence[tuple[int, int]]) -> tuple[Counter[int], set[int]]:
    """The number of holds of each loop on bodies, and the loops with the world."""
    total, on_bodies = Counter(loop for loop, _ in holds), Counter(loop for loop, body in holds if body)
    return on_bodies, {loop for loop, body in holds if not body or total[loop] == 1}


def _halved(weights: Sequence[int], leaf: Callable[[int], int], node: Callable[[int, int, int], int]) -> int:
    """A binary tree over these weights in their order, each split as near to the middle of their sum as possible."""
    before = [0]
    for weight in weights:
        before.append(before[-1] + weight)
    nodes: dict[tuple[int, int], int] = {}
    ahead = [(0, len(weights), False)]
    while ahead:
        start, stop, ready = ahead.pop()
        if stop - start == 1:
            nodes[start, stop] = leaf(start)
            continue
        middle = (before[start] + before[stop]) / 2
        after = bisect_left(before, middle, start + 1, stop - 1)
        split = min((k for k in (after - 1, after) if k > start), key=lambda k: abs(before[k] - middle))
        if ready:
            nodes[start, stop] = node(nodes[start, split], nodes[split, stop], split)
        else:
            ahead += [(start, stop, True), (split, stop, False), (start, split, False)]
    return nodes[0, len(weights)]
