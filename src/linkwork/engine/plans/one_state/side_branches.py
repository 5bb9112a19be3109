"""Side branches of a chain that is cut into segments: those of the same shape are lanes of a parallel loop.

A class of side branches has groups of as many as there are lanes, the last group made of the last ones, so that some
may be in two groups; if there are fewer than lanes, each has a group of its own and is on all lanes. A side branch on
several lanes is computed several times, with the same results written to the same place. So values that come from
outside must be filled in for each of its copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.engine.ir.address import Address, Terms
from linkwork.engine.trace.rolled_symbols import Node
from linkwork.engine.trace.tables import BODIES, Section
from linkwork.model.model import Model
from linkwork.model.segments import Limbs

LIMB_GROUPS = Section(("first", "length", "base", "post", "q", "v", "f"), "limb_group_ints")
"""A row for each group: first body of its first side branch, bodies of each, the group of the first bodies' numbers and
its number among those of side branches; the strides between them in q, v and wrenches.
"""
LIMBS = Section(("first", "group", "lane"), "limb_ints")
"""A row for each side branch: its first body, its group among side branches and its lane there."""
LIMBS_TO_FILL = Section(LIMBS.columns, "limb_to_fill_ints")
"""The same, as often as each is there."""
STEPS = Section(("next", "before"), "step_ints")
"""The number after and before each number."""
LIMB_SECTIONS = (LIMB_GROUPS, LIMBS, LIMBS_TO_FILL, STEPS)


class _Tree(Protocol):
    """What a side branch needs from the tree."""

    tracer: Any
    width: int
    beside: Sequence[int]

    def affine(self, terms: Terms, offset: int = 0) -> int: ...

    def body(self, index: int) -> Node: ...

    def loop(
        self, kinds: Sequence[int], kind: Callable[[int], Address], ends: tuple[int, int], on: Callable[[int], Address]
    ) -> Iterator[tuple[int, int]]: ...


class Limb:
    """A side branch whose number is known only at run time; in a parallel loop, a group of them."""

    kind = None

    def __init__(self, tree: Any, index: int, section: Section) -> None:
        self.tree: _Tree = tree
        self.index, self.section, self.grouped = index, section, section is LIMB_GROUPS
        self.first = self.integer("first")
        self.group, self.lane, self.apart = index, None, {}
        if self.grouped:
            self.length, self.base, self.post = (self.integer(column) for column in ("length", "base", "post"))
            self.apart = {f"lane_{x}": self.integer(x) for x in "qvf"}
        else:
            self.group, self.lane = self.integer("group"), self.integer("lane")

    def integer(self, column: str) -> int:
        found: int = self.tree.tracer.emit("index", (), self.section.address(column, self.index))
        return found

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Node]:
        """From number 0 or 1, to the end or the last but one."""
        affine = self.tree.affine
        return self._walk(affine((), start), affine((), stop) if stop is not None else self.length, "next")

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Node]:
        """The same, the last first; the first body by itself."""
        if stop is not None:
            return self.outward(start, stop)
        affine = self.tree.affine
        return self._walk(affine(((self.length, 1),), -1), affine((), start - 1), "before")

    def _walk(self, start: int, stop: int, on: str) -> Iterator[Node]:
        tree = self.tree
        kind = partial(BODIES.address, "kind", before=((self.first, len(BODIES.columns)),))
        for n, case in tree.loop(tree.beside, kind, (start, stop), partial(STEPS.address, on)):
            yield LimbBody(self, tree.affine(((self.first, 1), (n, 1))), case, n)


class LimbBody(Node):
    """A body of a side branch, by its number there."""

    def __init__(self, limb: Limb, index: int, kind: int | None, position: int) -> None:
        super().__init__(limb.tree, index, kind)  # type: ignore[arg-type]
        self.limb, self.position = limb, position

    def _group(self, of_first: int) -> int:
        return self.limb.tree.affine(((of_first, 1), (self.position, 1)))

    def post(self) -> int:
        """Its number among groups of side branches' bodies."""
        return self._group(self.limb.post)

    def address(self, slot: int) -> Address:
        return Address("data", slot, ((self._group(self.limb.base), self.tree.width),))

    @property
    def parent(self) -> Node:
        """In the side branch; in a walk of single ones, on the chain."""
        index = self.integer("parent")
        if not self.limb.grouped:
            return self.limb.tree.body(index)
        return LimbBody(self.limb, index, None, self.limb.tree.affine(((index, 1), (self.limb.first, -1))))

    def lane_stride(self, size: str) -> str | int | None:
        return self.limb.apart.get(size)


class LimbTables(NamedTuple):
    """Sections of ``ints``, sizes, how many groups of bodies there are in all, and where each side branch is: its first
    body, how many it has, the group of the first and the lane, and whether this is its own place.
    """

    sections: list[tuple[Section, ArrayLike]]
    sizes: dict[str, int]
    end: int
    copies: list[tuple[tuple[int, int, int, int], bool]]


def _starts(count: int, lanes: int) -> Sequence[int]:
    """The first of each group of ``lanes`` side branches; the last group may overlap that before it."""
    return [min(k, count - lanes) for k in range(0, count, lanes)]


def limb_tables(model: Model, rows: NDArray[np.int64], classes: Sequence[Limbs], lanes: int, after: int) -> LimbTables:
    """The tables of side branches; the groups of their bodies begin with number ``after``."""
    groups: list[tuple[int, ...]] = []
    copies: list[tuple[tuple[int, int, int, int], bool]] = []
    base = after
    q, v = (BODIES.columns.index(column) for column in ("q", "v"))
    for first, count, length in ((same.first, same.count, same.length) for same in classes):
        many = count >= lanes
        starts = _starts(count, lanes) if many else range(count)
        following = rows[first + length] if count > 1 else rows[first]
        apart = [int(following[q] - rows[first][q]), int(following[v] - rows[first][v]), 6 * length]
        done = 0
        for start in starts:
            groups.append((first + start * length, length, base, base - after, *(apart if many else [0, 0, 0])))
            for lane in range(lanes):
                limb = start + lane if many else start
                copies.append(((first + limb * length, length, base, lane), limb == done))
                done += limb == done
            base += length
    longest = max((same.length for same in classes), default=0)
    steps = [(k + 1, k - 1) for k in range(longest + 1)]
    every = [(first, k // lanes, lane) for k, ((first, _, _, lane), _) in enumerate(copies)]
    own = [row for row, (_, once) in zip(every, copies, strict=True) if once]
    sizes = {
        "last_limb_group": len(groups) - 1,
        "last_limb": len(own) - 1,
        "last_limb_to_fill": len(every) - 1,
    }
    return LimbTables(
        [(LIMB_GROUPS, groups), (LIMBS, own), (LIMBS_TO_FILL, every), (STEPS, steps)], sizes, base, copies
    )
