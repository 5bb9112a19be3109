"""The pairwise assembly of the links of any tree, in at most O(log n) dependent steps, and of its loops with few open.

A tree is decomposed into heavy paths: from each link, the path continues with the child whose subtree has the most
links. A path is assembled by halves, and so are the branches on a link, where a half has half of the links in it, not
of the path: then a part that is k times smaller than the whole is needed at most O(log k) steps later. This holds for
any tree, whether it is a chain, a star or a comb.

    link      a link, with its branches already included
    joined    two stretches of a braid, by the joints between them: one on a path, none if they are side by side
    hung      a whole braid, by the joints of its first links, as seen by the link that carries them
    gathered  two sets of branches of one link

Loops (defined in ``model.loops``) are closed in the first part that has all their holds. Loops with the world are
closed in braids from the world, whose links and stretches respond with motions to forces; not in a part that is hung
on another body, where a branch fixed to the ground would have no finite inertia.

A braid is one path, or several with many loops between them, as the two ropes of a rope ladder: a joint is carried by
a part as an open loop is, so paths are assembled together if more loops would stay open than their stretches have ends.
Its links are in an order in which links between which there is a loop come soon after each other, and a part has those
between two places in that order: stretches of all of its paths, and the loops between these are closed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations


@dataclass(frozen=True)
class Part:
    """A part of a mechanism, made of one or two others, which have smaller numbers."""

    index: int
    kind: str
    body: int
    """Its first link; for hung or gathered branches, the link that carries them."""
    parts: tuple[int, ...]
    entries: tuple[int, ...]
    """For a link or a joined part: its links whose joints to their parents, outside of it, are open."""
    exits: tuple[tuple[int, int], ...]
    """Links outside of it whose joints to their parents, in it, are open, each with the entry before that parent."""
    joints: tuple[int, ...]
    """The links whose joints are closed in it; for a link, those of its exits."""
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
        self.braids: list[list[list[int]]] = [[] for _ in parents]  # for each link, the first links of those hung on it
        self.next: list[list[int]] = [[self.heavy[body]] if self.heavy[body] else [] for body in range(count)]
        self._draw()
        braids = [(min(firsts), firsts, body) for body in range(count) for firsts in self.braids[body]]
        self.whole: dict[int, int] = {}  # for the first link of each braid, its part
        for first, firsts, body in sorted(braids, reverse=True):
            self.whole[first] = self._braid(firsts, not body)
        self._branches(0)
        last = self.parts[-1]
        self.parts[-1] = replace(last, closed=(*last.closed, *last.open))
        self.assembly = Assembly(self._levels(), self.parts)

    def _levels(self) -> list[list[Part]]:
        levels: list[list[Part]] = [[] for _ in range(max(self.heights, default=-1) + 1)]
        for part, height in zip(self.parts, self.heights, strict=True):
            if height >= 0:
                levels[height].append(part)
        return levels

    def _draw(self) -> None:
        """Which branches on each link become part of the braid that the link is in, and which are braids together."""
        behind: list[Counter[int]] = [Counter() for _ in self.heavy]  # holds of loops that are open behind a joint
        for body in reversed(range(len(behind))):
            own, behind[self.heavy[body]] = behind[self.heavy[body]] if body else Counter(), Counter()
            branches = [child for child in self.children[body] if child != self.heavy[body]]
            beside: Counter[int] = Counter()
            for child in branches:
                beside.update(behind[child])
            self._draw_on(body, {child: behind[child] for child in branches}, beside)
            for child in branches:
                behind[child] = Counter()
            beside.update(self.loops[hold] for hold in self.holds[body])
            own.update(beside)
            for loop in beside:
                if self._whole(loop, own):
                    del own[loop]
            behind[body] = own

    def _draw_on(self, body: int, behind: dict[int, Counter[int]], beside: Counter[int]) -> None:
        """The same on one link, whose branches but the heavy one have these holds, together ``beside``."""
        loops = []
        for loop in beside:
            elsewhere = {0} if body and not self._whole(loop, beside) else set()
            loops.append(elsewhere | {child for child, holds in behind.items() if loop in holds})
        for braid in _braids(list(behind), loops):
            if 0 in braid:
                self.next[body] += braid[1:]
            else:
                self.braids[body].append(braid)

    def _whole(self, loop: int, holds: Counter[int]) -> bool:
        """Whether a loop is not with the world, and has all its holds among these."""
        return holds[loop] == self.on_bodies[loop] and loop not in self.grounded

    def _braid(self, firsts: Sequence[int], on_world: bool) -> int:
        """The whole braid that begins with some links, as seen by their parent."""
        order: list[int] = []
        links: dict[int, int] = {}
        inside: Counter[int] = Counter()

        def opened(body: int) -> tuple[int, int]:
            """By how many more loops are open after a link, which else is that with the most links behind it."""
            more = [
                (not inside[loop]) - (number + inside[loop] == self.on_bodies[loop]) for loop, number in holds(body)
            ]
            return sum(more), -self.sizes[body]

        def holds(body: int) -> Iterable[tuple[int, int]]:
            return self.has[links[body]].items()

        ahead: list[int] = []
        new = list(firsts)
        while ahead or new:
            for body in new:
                branches = self._branches(body)
                exits = tuple((each, body) for each in self.next[body])
                below = () if branches < 0 else (branches,)
                ends = (body,), exits, tuple(self.next[body])
                links[body] = self._part("link", body, below, ends, self.holds[body], on_world)
            ahead += new
            order.append(min(ahead, key=opened))
            ahead.remove(order[-1])
            inside.update(dict(holds(order[-1])))
            new = self.next[order[-1]]

        def joined(one: int, two: int, _: int) -> int:
            body, ends = self.parts[one].body, _joined_ends(self.parts[one], self.parts[two])
            return self._part("joined", body, (one, two), ends, (), on_world)

        weights = [self.sizes[body] - sum(self.sizes[each] for each in self.next[body]) for body in order]
        inner = _halved(weights, lambda k: links[order[k]], joined)
        return self._part("hung", order[0], (inner,), ((), (), tuple(firsts)))

    def _branches(self, body: int) -> int:
        """The braids that are hung on a link; -1 for none."""
        braids = self.braids[body]
        if not braids:
            return -1 if body else self._part("gathered", 0, ())
        return _halved(
            [sum(self.sizes[child] for child in firsts) for firsts in braids],
            lambda k: self.whole[min(braids[k])],
            lambda one, two, _: self._part("gathered", body, (one, two)),
        )

    def _part(
        self,
        kind: str,
        body: int,
        parts: tuple[int, ...],
        ends: Ends = ((), (), ()),
        holds: Sequence[int] = (),
        on_world: bool = False,
    ) -> int:
        """A new part; ``on_world`` for a link or a stretch of a braid from the world."""
        has = Counter(self.loops[hold] for hold in holds)
        for part in parts:
            has.update(self.has[part])
        closed = tuple(
            loop
            for loop, number in has.items()
            if number == self.on_bodies[loop] and (on_world or loop not in self.grounded)
        )
        index = len(self.parts)
        self.parts.append(Part(index, kind, body, parts, *ends, tuple(holds), tuple(has), closed))
        height = 1 + max((self.heights[part] for part in parts), default=-1)
        self.heights.append(-1 if self.parts[-1].bare else height)
        self.has.append({loop: number for loop, number in has.items() if loop not in closed})
        return index


Ends = tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...]]
"""Entries, exits and joints of a part."""


def _joined_ends(one: Part, two: Part) -> Ends:
    before = dict(one.exits)
    joints = tuple(link for link in two.entries if link in before)
    entries = tuple(link for link in two.entries if link not in before)
    exits = tuple((link, entry) for link, entry in one.exits if link not in joints)
    behind = tuple((link, before.get(entry, entry)) for link, entry in two.exits)
    return (*one.entries, *entries), (*exits, *behind), joints


def _braids(branches: Sequence[int], loops: Iterable[set[int]]) -> list[list[int]]:
    """Which branches on a link are assembled together: two sets of them are one if more loops are open between them
    than their paths have ends. A loop is the set of branches with its holds, and 0 for all that is not a branch.
    """
    braids, ends = {branch: [branch] for branch in (0, *branches)}, list(loops)
    while True:
        between = Counter(pair for loop in ends for pair in combinations(sorted(loop), 2))
        many = [(n, pair) for pair, n in between.items() if n > 2 * sum(len(braids[each]) for each in pair)]
        if not many:
            return [braid for braid in braids.values() if braid != [0]]
        _, (one, two) = max(many)
        braids[one] += braids.pop(two)
        ends = [loop - {two} | ({one} if two in loop else set()) for loop in ends]


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
