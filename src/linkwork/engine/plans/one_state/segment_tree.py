"""The rolled form of algorithms that cut a chain into segments: segments are iterations of parallel loops.

Numbers lie in groups, so that what a parallel loop reads for all its lanes lies side by side: ``data`` has groups of
the bodies with the same number in ``lanes`` consecutive segments, before these the world and the head's bodies, each
alone in its group, and behind them groups of ``lanes`` side branches of the same shape (``limbs`` has them). ``ints``
has, after the rows of bodies, the group and the lane of each body, then for each segment its first body, its group
among segments and its lane there.

Fields at segments are in ``square``, a cell for each group; then comes the cell of values that go along the chain,
which is the world's too, and those of the head's bodies. Behind all cells there are places, one for each group of the
chain's bodies, for values that persist there, posts for values that persist at bodies of side branches, knots for
values kept at side branches, and the rows of seams (``seams``), which are in no groups. Other fields at
bodies of segments and side branches are in ``work``, which is private to each thread: they live for one iteration of a
parallel loop. A result is written when it is stored in its field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.engine.ir.program import Block
from linkwork.engine.plans.one_state.seams import FEWEST, SEAM_SECTIONS, SEAM_SIZES, Seam, SeamWalks, seam_tables
from linkwork.engine.plans.one_state.side_branches import (
    LIMB_GROUPS,
    LIMB_SECTIONS,
    LIMBS,
    LIMBS_TO_FILL,
    Limb,
    LimbBody,
    limb_tables,
)
from linkwork.engine.trace.rolled import Known, RolledTree
from linkwork.engine.trace.rolled_fields import Field, StoredField
from linkwork.engine.trace.rolled_symbols import Node
from linkwork.engine.trace.tables import BODIES, Kind, Section, Tables, body_tables, packed
from linkwork.engine.trace.tracer import Tracer
from linkwork.joints import Joint
from linkwork.joints.one_of import OneOf
from linkwork.model.model import Model
from linkwork.model.segments import Cut, judged_limbs, limbs

GROUPS = Section(("group", "lane"), "group_ints")
"""A row for each body: the group of its numbers, and its lane there."""
SEGMENTS = Section(("first", "group", "lane"), "segment_ints")
"""A row for each segment: its first body, its group among segments, and its lane there."""

_PLACES = "place_ints"

SIZES = (
    *("last_of_head", "last_segment", "last_group", "last_in_segment", "last_but_one", "start", "start_row"),
    *("bodies_in_group", "rows_in_group", "length", "lane_q", "lane_v", "lane_f"),
    *("last_limb_group", "last_limb", "last_limb_to_fill", "lane_places", _PLACES, *SEAM_SIZES),
    *(str(section.begin) for section in (GROUPS, SEGMENTS, *LIMB_SECTIONS, *SEAM_SECTIONS)),
)
"""The sizes that the code gets: last body of the head, last segment and last group of segments, last and last but one
number in a segment; first body of the segments (and first group of theirs) and its row; bodies of a group of segments
and the length of their rows; bodies of a segment; strides between segments in q, v and wrenches; last group of side
branches, last side branch, and last of those to fill; the stride between segments in the rows of places; where sections
of ``ints`` begin.
"""
PARTS = ("places", "posts", "knots", "seams")
"""More of them, which depend on the code: where parts of ``square`` begin."""


def place_rows(joint: Joint) -> Section:
    """A row for each body: the positions of the numbers of a joint that is one of several kinds in q and v. Those that
    it does not have are its last: the value read there is unused, and of results its own are written after the others.
    """
    return Section((*(f"q{k}" for k in range(joint.nq)), *(f"v{k}" for k in range(joint.nv))), _PLACES)


class Body(Node):
    """A body of a chain. ``group`` is where its numbers lie if that is known; in a parallel loop it is all of them.
    ``position`` is its number in its segment.
    """

    tree: SegmentedTree

    def __init__(
        self,
        tree: SegmentedTree,
        index: int | None,
        kind: int | None,
        position: int | None = None,
        group: int | None = None,
    ) -> None:
        super().__init__(tree, index, kind)
        self.position, self.group = position, group

    def group_and_lane(self) -> tuple[int, int | None]:
        if self.group is not None:
            return self.group, None
        emit = self.tree.tracer.emit
        return (
            emit("index", (), GROUPS.address("group", self.number)),
            emit("index", (), GROUPS.address("lane", self.number)),
        )

    def address(self, slot: int) -> Address:
        group, lane = self.group_and_lane()
        return Address("data", slot, ((group, self.tree.width),), lane)

    @property
    def parent(self) -> Body:
        """Of a side branch's body, or of one in a segment except the first."""
        if self.position is None:
            return Body(self.tree, self.integer("parent"), None)
        back = [None if n is None else self.tree.affine(((n, 1),), -1) for n in (self.index, self.position, self.group)]
        return Body(self.tree, back[0], None, *back[1:])

    def lane_stride(self, size: str) -> str | None:
        return None if self.group is None else size

    def place_addresses(self, letter: str, count: int) -> list[Address] | None:
        if not isinstance(self._kind.joint, OneOf):
            return None
        rows, apart = place_rows(self._kind.joint), self.lane_stride("lane_places")
        return [rows.address(f"{letter}{k}", self.number)._replace(lane_stride=apart) for k in range(count)]


class _Segment:
    """A segment whose number is known only at run time; in a parallel loop, a group of segments."""

    kind = None

    def __init__(self, tree: SegmentedTree, index: int, grouped: bool) -> None:
        self.tree, self.index, self.grouped = tree, index, grouped

    def integer(self, column: str) -> int:
        return self.tree.tracer.emit("index", (), SEGMENTS.address(column, self.index))

    @property
    def before(self) -> Seam:
        return self.tree.seam_on_lanes(self.index)

    @property
    def behind(self) -> Seam:
        return Seam(self.tree.affine(((self.before.index, 1),), 1))

    def outward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        return self._walk("up", start, stop)

    def inward(self, start: int = 0, stop: int | None = None) -> Iterator[Body]:
        return self._walk("down", start, stop)

    def _walk(self, walk: str, start: int, stop: int | None) -> Iterator[Body]:
        first: int | str = "last_in_segment" if start == -1 else start
        last: int | str = "last_in_segment" if stop is None else "last_but_one" if stop == -1 else stop - 1
        before: Terms
        if self.grouped:
            before = ((ONE, "start_row"), (self.index, "rows_in_group"))
        else:
            before = ((self.integer("first"), len(BODIES.columns)),)
        affine = self.tree.affine
        for n, kind in self.tree.bodies_between(walk, first, last, self.tree.on_chain, before):
            if self.grouped:
                index = affine(((ONE, "start"), (self.index, "bodies_in_group"), (n, 1)))
                group = affine(((ONE, "start"), (self.index, "length"), (n, 1)))
                yield Body(self.tree, index, kind, n, group)
            else:
                yield Body(self.tree, affine(((self.integer("first"), 1), (n, 1))), kind, n)


class _Field(StoredField):
    """A field that keeps values that outlive an iteration apart from the others."""

    tree: SegmentedTree

    def __getitem__(self, key: Any) -> Any:
        short_lived = isinstance(key, Body) and key.position is not None and key.group is None
        if short_lived and self.name not in self.tree.persistent:
            raise TypeError("what is stored at a body of a segment lives for one iteration of a loop over segments")
        return super().__getitem__(key)

    def _constants(self, kind: Any, count: int) -> list[float | None]:
        """At seams only zero, which stands for missing neighbours."""
        found = super()._constants(kind, count)
        return [None if constant else constant for constant in found] if kind == Seam.kind else found


class SegmentedTree(SeamWalks, RolledTree):
    """A chain whose segments are iterations of loops in the code."""

    field_type = _Field

    def __init__(
        self,
        tracer: Tracer,
        kinds: Sequence[Kind],
        width: int,
        known: Known | None,
        on_chain: Sequence[int],
        beside: Sequence[int],
    ) -> None:
        """``on_chain`` and ``beside`` are the kinds on the chain and in side branches."""
        super().__init__(tracer, kinds, width, known)
        self.on_chain, self.beside, self.branched = on_chain, beside, bool(beside)
        found = [kinds[number] for number in on_chain]
        self.most_constraints = max(6 if kind.rotor else kind.joint.most_held for kind in found)
        self.along = _Segment(self, ONE, False)
        self.persistent: set[str] = set()

    def persistent_field(self) -> Field:
        field = self.field()
        self.persistent.add(field.name)
        return field

    def body(self, index: int) -> Body:
        """By the instruction that is its number."""
        return Body(self, index, None)

    def head(self) -> Iterator[Body]:
        return self._bodies_of("up", 1, "last_of_head", self.on_chain)

    def head_inward(self) -> Iterator[Body]:
        return self._bodies_of("down", 1, "last_of_head", self.on_chain)

    def limbs(self) -> Iterator[Limb]:
        for counter, _ in self._loop("parallel", 0, "last_limb_group"):
            yield Limb(self, counter, LIMB_GROUPS)

    def limbs_in_turn(self) -> Iterator[Limb]:
        for counter, _ in self._loop("up", 0, "last_limb"):
            yield Limb(self, counter, LIMBS)

    def limbs_to_fill(self) -> Iterator[Limb]:
        for counter, _ in self._loop("up", 0, "last_limb_to_fill"):
            yield Limb(self, counter, LIMBS_TO_FILL)

    def loop(
        self, kinds: Sequence[int], kind: Callable[[int], Address], ends: tuple[int, int], on: Callable[[int], Address]
    ) -> Iterator[tuple[int, int]]:
        """A loop over consecutive items of ``on``, from a first up to but without a last."""
        return self._loop("climb", 1, 1, kinds, kind, *ends, successor=on)

    def _bodies_of(self, walk: str, first: int | str, last: int | str, kinds: Sequence[int]) -> Iterator[Body]:
        for counter, kind in self.bodies_between(walk, first, last, kinds):
            yield Body(self, counter, kind)

    def segments(self, brief: bool = False) -> Iterator[_Segment]:
        for counter, _ in self._loop("parallel", 0, "last_group", fewest=FEWEST if brief else 1):
            yield _Segment(self, counter, True)

    def segments_outward(self) -> Iterator[_Segment]:
        for counter, _ in self._loop("up", 0, "last_segment"):
            yield _Segment(self, counter, False)

    def bodies_between(
        self, walk: str, first: int | str, last: int | str, kinds: Sequence[int], before: Terms = ()
    ) -> Iterator[tuple[int, int]]:
        """A loop over bodies with a case for each kind; ``before`` is where the row of body 0 is."""

        def kind(counter: int) -> Address:
            return BODIES.address("kind", counter, before)

        return self._loop(walk, first, last, kinds, kind)

    def address(self, field: str, key: Any, slot: int) -> Address:
        if isinstance(key, Seam):
            return key.address(field, slot)
        if isinstance(key, Limb):
            return Address(field, slot, ((ONE, "knots"), (key.group, "knot")), key.lane)
        if field in self.persistent and not isinstance(key, _Segment):
            return self._persistent(field, slot, key)
        if isinstance(key, _Segment) and key is not self.along:
            group, lane = (key.index, None) if key.grouped else (key.integer("group"), key.integer("lane"))
            return Address(field, slot, ((group, "cell"),), lane)
        if key is self.along or key is self.world:
            return Address(field, slot, ((self.affine(((ONE, "last_group"),), 1), "cell"),))
        if key.position is None:
            group, lane = key.group_and_lane()
            return Address(field, slot, ((self.affine(((ONE, "last_group"), (group, 1)), 1), "cell"),), lane)
        return Address(field, slot, ((key.position, "row"),))

    def _persistent(self, field: str, slot: int, body: Any) -> Address:
        """The address of a number that persists at a body."""
        if body is self.world:
            return Address(field, slot, ((ONE, "places"),))
        if isinstance(body, LimbBody):
            return Address(field, slot, ((ONE, "posts"), (body.post(), "post")))
        group, lane = body.group_and_lane()
        return Address(field, slot, ((ONE, "places"), (group, "place")), lane)

    def store_where_made(self, array: str, lane_stride: str, field: _Field) -> bool:
        """Write a result, of a space with the layout of v, right after its field is stored."""
        program = self.tracer.program
        for _, group in groupby(field.stored, lambda stored: (id(stored[0]), id(stored[2]))):
            stored = list(group)
            block, last, body, _ = stored[-1]
            apart, written = body.place_addresses("v", len(stored)), []
            for _, n, _, k in reversed(stored):  # from the last on: see place_rows
                place = apart[k] if apart else BODIES.address("v", body.index)
                index = program.instruction(Block(), "index", (), place)
                address = Address(array, 0, ((index, 1),))
                if not apart:
                    address = address._replace(offset=k, lane_stride=body.lane_stride(lane_stride))
                written += [index, program.instruction(Block(), "store", program.operands[n], address)]
            at = block.order.index(last) + 1
            block.order[at:at] = written
        return True

    def _differ(self, a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
        """Certainly two places: a body of a segment and its parent, or values that go along the chain and a segment."""
        ((x, y),) = zip(a, b, strict=True)
        if x is None or y is None:
            return False
        return ONE in (x, y) or any(self._is_before(*pair) for pair in ((x, y), (y, x)))

    def _is_before(self, x: int, y: int) -> bool:
        return self.tracer.program.details[y] == Address("", -1, ((x, 1),))


def segmented_tables(model: Model, given: Model, cut: Cut, lanes: int) -> Tables:
    """The tables of a chain for groups of so many lanes, with all sizes; q and v are those of the ``given`` mechanism,
    whose joints may be described as one of several kinds in ``model``.
    """
    kinds, plain, rows = body_tables(model, judged=judged_limbs(model))
    rows[1:, [BODIES.columns.index(letter) for letter in "qv"]] = np.stack([given.q_start, given.v_start], axis=1)
    places, place_table = _places(model, given)
    bodies, start = len(model.bodies), cut.head + 1
    segment, position = np.divmod(np.arange(cut.chain - cut.head), cut.length)
    inside, after = slice(start, cut.chain + 1), start + cut.count // lanes * cut.length
    group, lane = np.arange(bodies + 1, dtype=np.int64), np.zeros(bodies + 1, dtype=np.int64)
    group[inside] = start + segment // lanes * cut.length + position
    lane[inside] = segment % lanes
    beside = limb_tables(model, rows, limbs(model), lanes, after)
    for (first, length, base, where), once in beside.copies:
        if once:
            own = slice(first, first + length)
            group[own], lane[own] = base + np.arange(length), where
    data = np.zeros((beside.end, plain.shape[1], lanes))
    data[group, :, lane] = plain
    for (first, length, base, where), once in beside.copies:
        if not once:
            data[base : base + length, :, where] = plain[first : first + length]
    numbers = np.arange(cut.count)
    table = np.stack([start + numbers * cut.length, numbers // lanes, numbers % lanes], axis=1)
    sections: list[tuple[Section, ArrayLike]] = [
        (BODIES, rows),
        (GROUPS, np.stack([group, lane], axis=1)),
        (SEGMENTS, table),
        (places, place_table),
        *beside.sections,
    ]
    seams = seam_tables(cut.count, lanes)
    ints, begins = packed([*sections, *seams.sections])
    one = [body.joint for body in model.bodies[cut.head : cut.head + cut.length]]
    sizes = {
        "last_of_head": cut.head,
        "last_segment": cut.count - 1,
        "last_group": cut.count // lanes - 1,
        "last_in_segment": cut.length - 1,
        "last_but_one": cut.length - 2,
        "start": start,
        "start_row": len(BODIES.columns) * start,
        "bodies_in_group": lanes * cut.length,
        "rows_in_group": len(BODIES.columns) * lanes * cut.length,
        "length": cut.length,
        "lane_q": sum(joint.nq for joint in one),
        "lane_v": sum(joint.nv for joint in one),
        "lane_f": 6 * cut.length,
        "lane_places": len(places.columns) * cut.length,
        **beside.sizes,
        **seams.sizes,
        **begins,
    }
    return Tables(kinds, plain.shape[1], data.ravel(), ints, sizes)


def _places(model: Model, given: Model) -> tuple[Section, list[list[int]]]:
    """The section of ``place_rows``, and its rows, the world's first; none if the joints are unchanged."""
    if model is given:
        return Section(("none",), _PLACES), []
    first = model.bodies[0].joint
    table = [[0] * (first.nq + first.nv)]
    for body, q, v in zip(given.bodies, given.q_start, given.v_start, strict=True):
        joint = body.joint
        at_q, at_v = (
            [start + min(k, own - 1) for k in range(most)]
            for start, own, most in ((q, joint.nq, first.nq), (v, joint.nv, first.nv))
        )
        table.append([*at_q, *at_v])
    return place_rows(first), table
