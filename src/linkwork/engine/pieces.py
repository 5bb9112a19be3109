"""The rolled form of algorithms that cut a chain into pieces: pieces are turns of spread loops, several at a time.

Numbers lie in groups, so that what a spread loop reads for all its lanes lies side by side: ``data`` has groups of
the bodies with the same number in ``lanes`` pieces that follow each other; the world and the head's bodies before these
and side branches' behind them are alone in theirs. ``ints`` has, after the rows of bodies, the group of each body and
its place in there, then for each piece its first body, its group among pieces and its place there.

Fields at pieces are in ``square``, a cell for each group; then comes the seam's cell, which is the world's too, and
those of bodies' groups. Fields at bodies of pieces are in ``work``, which every thread has for itself: they live for
one turn of a spread loop, unless they are lasting ones, which are in cells as well. A result is written when it is
stored in its field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linkwork.engine.fields import flatten
from linkwork.engine.ir import ONE, Address, Block, Terms
from linkwork.engine.roll import Field, Node, RolledTree
from linkwork.engine.tables import Kind, Tables, tables_of
from linkwork.engine.trace import Tracer
from linkwork.model.model import Model
from linkwork.model.segments import Cut

SIZES = (
    *("head_end", "pieces", "groups", "tail", "inner", "start", "start_ints", "group", "group_ints"),
    *("length", "place_ints", "piece_ints", "lane_q", "lane_v", "lane_f", "sides", "bodies"),
)
"""The sizes that the code is told: last body of the head, last piece and last group of pieces, last and last but one
number in a piece, first body of the pieces (and first group of theirs) and its row, bodies of a group of pieces and
their rows' length, bodies of a piece, where the tables of places and of pieces begin, how far apart pieces are in
q, v and wrenches, the first body of side branches and the last body."""


class _Body(Node):
    """A body of a chain. ``group`` is where its numbers lie if that is known; in a spread loop it is all of them."""

    def __init__(
        self, tree: PiecesTree, index: int | None, kind: int | None, number: int | None = None, group: int | None = None
    ) -> None:
        super().__init__(tree, index, kind)
        self.number, self.group = number, group

    @property
    def place(self) -> tuple[int, int | None]:
        """Its group, and its place there."""
        if self.group is not None:
            return self.group, None
        group, lane = (Address("ints", k, ((ONE, "place_ints"), (self._index, 2))) for k in range(2))
        return self.tree.tracer.emit("index", (), group), self.tree.tracer.emit("index", (), lane)

    def _number(self, slot: int) -> Address:
        group, lane = self.place
        return Address("data", slot, ((group, self.tree.width),), lane)

    @property
    def parent(self) -> _Body:
        """Of a side branch's body, or of one in a piece but the first."""
        assert isinstance(self.tree, PiecesTree)
        if self.number is None:
            return _Body(self.tree, self._at(1), None)
        back = [None if n is None else self.tree.whole(((n, 1),), -1) for n in (self.index, self.number, self.group)]
        return _Body(self.tree, back[0], None, *back[1:])

    def apart(self, space: str) -> str | None:
        lanes = {"configuration": "lane_q", "velocity": "lane_v", "wrenches": "lane_f"}
        return None if self.group is None else lanes[space]


class _Piece:
    """A piece whose number is known only when the code runs; in a spread loop, a group of pieces."""

    kind = None

    def __init__(self, tree: PiecesTree, index: int, spread: bool) -> None:
        self.tree, self.index, self.spread = tree, index, spread

    def table(self, column: int) -> int:
        """Its first body, its group, its place there."""
        address = Address("ints", column, ((ONE, "piece_ints"), (self.index, 3)))
        return self.tree.tracer.emit("index", (), address)

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[_Body]:
        return self._walk("up", start, stop)

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[_Body]:
        return self._walk("down", start, stop)

    def _walk(self, walk: str, start: int, stop: int | None) -> Iterator[_Body]:
        first: int | str = "tail" if start == -1 else start
        last: int | str = "tail" if stop is None else "inner" if stop == -1 else stop - 1
        rows: Terms = ((ONE, "start_ints"), (self.index, "group_ints")) if self.spread else ((self.table(0), 4),)
        whole = self.tree.whole
        for n, kind in self.tree.turns(walk, first, last, rows):
            if self.spread:
                index = whole(((ONE, "start"), (self.index, "group"), (n, 1)))
                group = whole(((ONE, "start"), (self.index, "length"), (n, 1)))
                yield _Body(self.tree, index, kind, n, group)
            else:
                yield _Body(self.tree, whole(((self.table(0), 1), (n, 1))), kind, n)


class _Field(Field):
    """A field that knows where it was stored."""

    def __init__(self, tree: RolledTree, name: str) -> None:
        super().__init__(tree, name)
        self.stored: list[tuple[Block, int, Any, int]] = []

    def __getitem__(self, key: Any) -> Any:
        short = isinstance(key, _Body) and key.number is not None and key.group is None
        if short and self.name not in self.tree._lasting:  # type: ignore[attr-defined]
            raise TypeError("what is stored at a body of a piece lives for one turn of a loop over pieces")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        block = self.tree.tracer.block
        count = len(flatten(value))
        self.stored += [(block, n, key, k) for k, n in enumerate(block.order[len(block.order) - count :])]


class PiecesTree(RolledTree):
    """A chain whose pieces are turns of loops in the code."""

    store = _Field

    def __init__(
        self,
        tracer: Tracer,
        kinds: Sequence[Kind],
        width: int,
        constants: dict[tuple[str, int], float],
        on_chain: Sequence[int],
        beside: Sequence[int],
    ) -> None:
        """``on_chain`` and ``beside`` tell which kinds there are on the chain and in side branches."""
        super().__init__(tracer, kinds, width, constants)
        self.on_chain, self.beside, self.branched = on_chain, beside, bool(beside)
        found = [kinds[number] for number in on_chain]
        self.most_constraints = max(6 if kind.rotor else 6 - kind.joint.nv for kind in found)
        self.seam = _Piece(self, ONE, False)
        self._lasting: set[str] = set()

    def persistent_field(self) -> Field:
        field = self.field()
        self._lasting.add(field.name)
        return field

    def side_branches(self) -> Iterator[_Body]:
        return self._sides("up")

    def side_branches_inward(self) -> Iterator[_Body]:
        return self._sides("down")

    def _sides(self, walk: str) -> Iterator[_Body]:
        for counter, kind in self.turns(walk, "sides", "bodies", (), self.beside):
            yield _Body(self, counter, kind)

    def whole(self, terms: Terms, offset: int = 0) -> int:
        return self.tracer.emit("whole", (), Address("", offset, terms))

    def head(self) -> Iterator[_Body]:
        return self._head("up")

    def head_inward(self) -> Iterator[_Body]:
        return self._head("down")

    def _head(self, walk: str) -> Iterator[_Body]:
        for counter, kind in self.turns(walk, 1, "head_end", ()):
            yield _Body(self, counter, kind)

    def segments(self) -> Iterator[_Piece]:
        for counter, _ in self._loop("spread", 0, "groups", None, 1):
            yield _Piece(self, counter, True)

    def segments_outward(self) -> Iterator[_Piece]:
        for counter, _ in self._loop("up", 0, "pieces", None, 1):
            yield _Piece(self, counter, False)

    def segments_inward(self) -> Iterator[_Piece]:
        for counter, _ in self._loop("down", 0, "pieces", None, 1):
            yield _Piece(self, counter, False)

    def turns(
        self, walk: str, first: int | str, last: int | str, rows: Terms, kinds: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """A loop over bodies with a case for each kind; ``rows`` tells where the row of body 0 is."""

        def kind(counter: int) -> Address:
            return Address("ints", 0, (*rows, (counter, 4)))

        return self._loop(walk, first, last, None, self.on_chain if kinds is None else kinds, None, kind)

    def place(self, field: str, key: Any, slot: int) -> Address:
        if isinstance(key, _Piece):
            if key is self.seam:
                return Address(field, slot, ((self.whole(((ONE, "groups"),), 1), "cell"),))
            group, lane = (key.index, None) if key.spread else (key.table(1), key.table(2))
            return Address(field, slot, ((group, "cell"),), lane)
        if key is self.world:
            return Address(field, slot, ((self.whole(((ONE, "groups"),), 1), "cell"),))
        if key.number is None or field in self._lasting:
            group, lane = key.place
            return Address(field, slot, ((self.whole(((ONE, "groups"), (group, 1)), 1), "cell"),), lane)
        return Address(field, slot, ((key.number, "row"),))

    def deliver(self, array: str, space: str, field: _Field) -> bool:
        """Write a result where its field is stored."""
        program = self.tracer.program
        for block, n, body, k in field.stored:
            start = program.instruction(Block(), "index", (), Address("ints", 3, ((body.index, 4),)))
            place = Address(array, k, ((start, 1),), apart=body.apart(space))
            store = program.instruction(Block(), "store", program.operands[n], place)
            at = block.order.index(n) + 1
            block.order[at:at] = [start, store]
        return True

    def _differ(self, a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
        """Surely two places: a body of a piece and its parent, or the seam and a piece."""
        ((x, y),) = zip(a, b, strict=True)
        if x is None or y is None:
            return False
        return ONE in (x, y) or any(self._is_before(*pair) for pair in ((x, y), (y, x)))

    def _is_before(self, x: int, y: int) -> bool:
        return self.tracer.program.details[y] == Address("", -1, ((x, 1),))


def grouped(model: Model, cut: Cut, lanes: int) -> tuple[Tables, list[int]]:
    """The tables of a chain for groups of so many lanes, and the sizes, in the order of ``SIZES``."""
    plain = tables_of(model)
    bodies, width = len(model.bodies), plain.width
    piece, number = np.divmod(np.arange(cut.chain - cut.head), cut.length)
    inside, after = slice(cut.head + 1, cut.chain + 1), cut.head + 1 + cut.count // lanes * cut.length
    group, lane = np.arange(bodies + 1, dtype=np.int64), np.zeros(bodies + 1, dtype=np.int64)
    group[inside] = cut.head + 1 + piece // lanes * cut.length + number
    group[cut.chain + 1 :] = after + np.arange(bodies - cut.chain)
    lane[inside] = piece % lanes
    data = np.zeros((after + bodies - cut.chain, width, lanes))
    data[group, :, lane] = plain.data.reshape(bodies + 1, width)
    pieces = np.arange(cut.count)
    first = cut.head + 1 + pieces * cut.length
    table = np.stack([first, pieces // lanes, pieces % lanes], axis=1)
    ints = np.concatenate([plain.ints, np.stack([group, lane], axis=1).ravel(), table.ravel()])
    start = cut.head + 1
    one_piece = model.bodies[cut.head : cut.head + cut.length]
    sizes = [
        cut.head, cut.count - 1, cut.count // lanes - 1, cut.length - 1, cut.length - 2, start, 4 * start,
        lanes * cut.length, 4 * lanes * cut.length, cut.length, 4 * (bodies + 1), 6 * (bodies + 1),
        sum(body.joint.nq for body in one_piece), sum(body.joint.nv for body in one_piece), 6 * cut.length,
        cut.chain + 1, bodies,
    ]  # fmt: skip
    return Tables(plain.kinds, width, data.ravel(), ints), sizes
