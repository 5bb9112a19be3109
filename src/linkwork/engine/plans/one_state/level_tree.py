"""The rolled form of algorithms that assemble a tree pairwise: a loop over levels, in it a parallel loop over parts.

Parts of a level that do the same work form one case, which is traced once: parts made alike, from parts with the same
ports, by a joint of the same kind, with as many loops open and closed. A group has as many parts of one case as there
are lanes; the last part of the last group may be on several lanes. Each lane reads from a table which part it has, its
links, the parts it is made from, and the frames of the holds on it; loops are numbered separately in each part.

Fields are in ``square``: cells for parts, then places for bodies, the world's first, then posts for frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.engine.ir.address import ONE, Address
from linkwork.engine.ir.program import Block
from linkwork.engine.trace.rolled import Known, RolledTree
from linkwork.engine.trace.rolled_fields import StoredField
from linkwork.engine.trace.rolled_symbols import Node
from linkwork.engine.trace.tables import BODIES, Kind, Section, Tables, body_tables, packed
from linkwork.engine.trace.tracer import Tracer
from linkwork.model.assembly import Assembly, Part, assembly_of
from linkwork.model.loop_walks import groups_of
from linkwork.model.model import Frame, Model
from linkwork.model.part_walks import Exit, Joint

LEVELS = Section(("first", "stop"), "level_ints")
"""A row for each level: its first group of parts, and the first that comes after it."""
CASES = Section(("case",), "case_ints")
"""A row for each group of parts: its case."""
BODY_GROUPS = Section(("kind",), "body_group_ints")
"""A row for each group of bodies of one kind: that kind."""
BODY_LANES = Section(("body",), "body_lane_ints")
"""A row for each lane of each group of bodies: its body."""
PART_LANES = Section(("part",), "part_lane_ints")
"""A row for each lane of each group of parts: its part."""
_PART_INTS = "part_ints"

SIZES = (
    *("last_body", "last_frame", "last_level", "last_body_group", "lanes", "next_lane", "places", "posts"),
    *(*(str(section.begin) for section in (LEVELS, CASES, BODY_GROUPS, BODY_LANES, PART_LANES)), _PART_INTS),
)
"""The sizes that the code gets: last body, frame, level and group of bodies; rows of a group's lanes, and the stride
between these; where parts of ``square`` and sections of ``ints`` begin.
"""


def part_rows(joints: int, holds: int) -> Section:
    """A row for each part: its first link, parts, the links of up to so many joints, the frames of so many holds."""
    many = (f"{name}{k}" for name, count in (("joint", joints), ("hold", holds)) for k in range(count))
    return Section(("body", "one", "two", *many), _PART_INTS)


@dataclass(frozen=True)
class Ports:
    """The interface of a part: how many joints are open before it and behind it, and how many loops."""

    entries: int
    exits: int
    loops: int


@dataclass(frozen=True)
class Names:
    """The numbers of open joints in a part: of entries, and exits each with its entry."""

    entries: tuple[int, ...]
    exits: tuple[Exit, ...]


@dataclass(frozen=True)
class Case:
    """Parts that do the same. Joints and loops have their numbers in the part, in ``parts`` those of each of its own,
    with the kind of a bare link; kinds are those of the links that matter, and None for others.
    """

    made: str
    ports: Ports
    names: Names
    whole: bool
    body: int | None
    joints: tuple[tuple[int, int | None], ...]
    parts: tuple[tuple[Ports, Names, tuple[int, ...], int | None], ...]
    holds: tuple[int, ...]
    loops: int
    closed: tuple[int, ...]


@dataclass(frozen=True)
class Levelled:
    """A model that is assembled: its parts, the case of each, the frame of each hold, and the cases in an order in
    which parts of a case come after those they are made from, and in one for the way back.
    """

    assembly: Assembly
    numbers: list[int]
    cases: tuple[Case, ...]
    back: tuple[int, ...]

    @property
    def kept(self) -> int:
        """How many parts there are that are not bare links."""
        return sum(map(len, self.assembly.levels))

    @property
    def most_holds(self) -> int:
        return max((len(case.holds) for case in self.cases), default=0)

    @property
    def most_joints(self) -> int:
        return max((len(case.joints) for case in self.cases), default=0)

    @property
    def size(self) -> int:
        """Roughly the size of its code: blocks of numbers that the parts of each case use."""
        ends = (max(2, case.ports.entries + case.ports.exits) + max(0, len(case.joints) - 1) for case in self.cases)
        return sum((n + case.loops + len(case.closed)) ** 2 for n, case in zip(ends, self.cases, strict=True))


def levelled(model: Model, frames: Sequence[Frame], kinds: Sequence[int]) -> Levelled:
    """How a model is assembled whose bodies are of these kinds and whose loops have these holds."""
    found = assembly_of([0, *(body.parent for body in model.bodies)], groups_of(frames))
    holds = [loop for loop, _ in groups_of(frames)]
    known: dict[Case, int] = {}
    numbers = [-1] * len(found.parts)
    for level in found.levels:
        for part in level:
            case = _case(found, part, holds, [-1, *kinds])
            numbers[part.index] = known.setdefault(case, len(known))
    back = dict.fromkeys(numbers[part.index] for level in reversed(found.levels) for part in level)
    return Levelled(found, numbers, tuple(known), tuple(back))


def _ports(part: Part) -> Ports:
    return Ports(len(part.entries), len(part.exits), len(part.open))


def _case(found: Assembly, part: Part, holds: Sequence[int], kinds: Sequence[int]) -> Case:
    local = {loop: k for k, loop in enumerate(part.loops)}
    own = [found.parts[k] for k in part.parts]
    links = dict.fromkeys((*part.joints, *part.entries, *(link for link, _ in part.exits)))
    number = {link: k for k, link in enumerate(links)}

    def names(part: Part) -> Names:
        exits = tuple(Exit(number[link], number[entry]) for link, entry in part.exits)
        return Names(tuple(number[link] for link in part.entries), exits)

    return Case(
        part.kind,
        _ports(part),
        names(part),
        part is found.parts[-1],
        kinds[part.body] if part.kind == "link" else None,
        tuple((number[link], None if part.kind == "link" else kinds[link]) for link in part.joints),
        tuple(
            (
                _ports(each),
                names(each) if each.entries else Names((), ()),
                tuple(local[loop] for loop in each.open),
                kinds[each.body] if each.bare else None,
            )
            for each in own
        ),
        tuple(local[holds[hold]] for hold in part.holds),
        len(part.loops),
        tuple(local[loop] for loop in part.closed),
    )


class _Part:
    """One of the parts that a part is made from: its number, where its values are, and the links of a bare one."""

    made = ""
    parts: Sequence[_Part] = ()
    holds: Sequence[_Hold] = ()
    loops: Sequence[int] = ()

    def __init__(
        self, tree: LevelledTree, index: int, ports: Ports, names: Names, loops: Sequence[int], bare: int | None
    ) -> None:
        self.tree, self.index = tree, index
        self.kind: tuple[Ports, int | None] = (ports, None)
        self.path, self.open, self.bare = bool(names.entries), loops, bare is not None
        self.entries, self.exits = names.entries, names.exits
        if bare is not None:
            self.made = "link"
            self.body = tree.node(self.integer("body"), bare)
            self.joints = self._joints([(exit.joint, None) for exit in names.exits])

    def _joints(self, joints: Sequence[tuple[int, int | None]]) -> list[Joint]:
        """Joints by their numbers in the part and the kinds of their links."""
        nodes = [self.tree.node(self.integer(f"joint{k}"), kind) for k, (_, kind) in enumerate(joints)]
        return [Joint(number, node) for (number, _), node in zip(joints, nodes, strict=True)]

    def integer(self, column: str) -> int:
        """The value in a column of its row."""
        return self.tree.tracer.emit("index", (), self.tree.part_rows.address(column, self.index))


class _OwnPart(_Part):
    """The part of the current iteration."""

    def __init__(self, tree: LevelledTree, index: int, number: int) -> None:
        case = tree.cases[number]
        self.loops, self.closed = range(case.loops), case.closed
        still = [loop for loop in self.loops if loop not in case.closed]
        super().__init__(tree, index, case.ports, case.names, still, None)
        self.kind = (case.ports, number)
        self.made, self.whole = case.made, case.whole
        self.body = tree.node(self.integer("body"), case.body)
        self.joints = self._joints(case.joints)
        pairs = zip(("one", "two"), case.parts, strict=False)
        self.parts = [_Part(tree, self.integer(column), *part) for column, part in pairs]
        self.holds = [_Hold(loop, tree.frame(self.integer(f"hold{k}"))) for k, loop in enumerate(case.holds)]


@dataclass(frozen=True)
class _Hold:
    loop: int
    frame: Any


@dataclass(frozen=True)
class _Level:
    """Groups of parts from a first up to but without a last, and the cases in order."""

    first: int
    stop: int
    cases: Sequence[int]


_ALL_BODIES = object()


class LevelledTree(RolledTree):
    """A tree whose levels are iterations of loops in the code."""

    field_type = StoredField

    def __init__(
        self,
        tracer: Tracer,
        kinds: Sequence[Kind],
        width: int,
        known: Known | None,
        found: Levelled,
    ) -> None:
        super().__init__(tracer, kinds, width, known)
        self.cases, self.back, self.part_rows = found.cases, found.back, part_rows(found.most_joints, found.most_holds)

    def all_bodies(self) -> Any:
        return _ALL_BODIES

    def levels(self) -> Iterator[_Level]:
        return self._levels("up", range(len(self.cases)))

    def levels_back(self) -> Iterator[_Level]:
        return self._levels("down", self.back)

    def _levels(self, walk: str, cases: Sequence[int]) -> Iterator[_Level]:
        for counter, _ in self._loop(walk, 0, "last_level"):
            first, stop = (self.tracer.emit("index", (), LEVELS.address(name, counter)) for name in LEVELS.columns)
            yield _Level(first, stop, cases)

    def parallel(self, items: Any) -> Iterator[Any]:
        if items is _ALL_BODIES:
            kinds = range(len(self.kinds))
            walk = self._loop("parallel", 0, "last_body_group", kinds, lambda n: BODY_GROUPS.address("kind", n))
            for counter, kind in walk:
                yield self.node(self._on_lanes(BODY_LANES, "body", counter), kind)
            return

        def case(counter: int) -> Address:
            return CASES.address("case", counter)

        for counter, number in self._loop("parallel", 0, 0, items.cases, case, items.first, items.stop):
            yield _OwnPart(self, self._on_lanes(PART_LANES, "part", counter), number)

    def _on_lanes(self, section: Section, column: str, counter: int) -> int:
        """What each lane of a group has in a section of one column."""
        terms = ((ONE, str(section.begin)), (counter, "lanes"))
        return self.tracer.emit("index", (), Address("ints", section.columns.index(column), terms, None, "next_lane"))

    def address(self, field: str, key: Any, slot: int) -> Address:
        if isinstance(key, _Part):
            return Address(field, slot, ((key.index, "cell"),))
        if isinstance(key, Node):
            own = () if key.index is None else ((key.index, "place"),)
            return Address(field, slot, ((ONE, "places"), *own))
        return Address(field, slot, ((ONE, "posts"), (key.index, "post")))

    def store_where_made(self, array: str, lane_stride: str, field: Any) -> bool:
        """Write a result that has the layout of v right after its field is stored."""
        if lane_stride != "lane_v":
            return False
        program = self.tracer.program
        for block, n, body, k in field.stored:
            start = program.instruction(Block(), "index", (), BODIES.address("v", body.index))
            store = program.instruction(Block(), "store", program.operands[n], Address(array, k, ((start, 1),)))
            at = block.order.index(n) + 1
            block.order[at:at] = [start, store]
        return True

    def _differ(self, a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
        """A part and those that it is made from, a link and the next of its path are never the same."""
        return True


def levelled_tables(model: Model, frames: Sequence[Frame], lanes: int) -> tuple[Tables, Levelled]:
    """The tables of a model for so many lanes, with all sizes but those that depend on the code."""
    kinds, data, rows = body_tables(model, judged=[False] * len(model.bodies))
    of_bodies = rows[1:, BODIES.columns.index("kind")].tolist()
    found = levelled(model, frames, of_bodies)
    section, levels = part_rows(found.most_joints, found.most_holds), []
    groups: list[tuple[int, list[Part]]] = []
    for level in found.assembly.levels:
        first = len(groups)
        groups += _groups(level, lambda part: found.numbers[part.index], lanes)
        levels.append((first, len(groups)))
    order = dict.fromkeys(part.index for _, group in groups for part in group)  # those that are kept, as they are met
    order |= dict.fromkeys(range(len(found.assembly.parts)))
    number = {index: k for k, index in enumerate(order)}
    body_groups = list(_groups(range(1, len(model.bodies) + 1), lambda body: of_bodies[body - 1], lanes))
    ints, begins = packed(
        [
            (BODIES, rows),
            (LEVELS, levels),
            (CASES, [number for number, _ in groups]),
            (PART_LANES, [number[part.index] for _, group in groups for part in group]),
            (BODY_GROUPS, [kind for kind, _ in body_groups]),
            (BODY_LANES, [body for _, group in body_groups for body in group]),
            (section, [_row(found.assembly.parts[index], number, found) for index in order]),
        ]
    )
    sizes = {
        **begins,
        "last_body": len(model.bodies),
        "last_frame": len(frames) - 1,
        "last_level": len(levels) - 1,
        "last_body_group": len(body_groups) - 1,
        "lanes": lanes,
        "next_lane": 1,
    }
    beyond = np.zeros(lanes)  # rows are read a vector at a time
    return Tables(kinds, data.shape[1], np.concatenate([data.ravel(), beyond]), ints, sizes), found


def _row(part: Part, number: Mapping[int, int], found: Levelled) -> list[int]:
    parts, joints, holds = [number[k] for k in part.parts], part.joints, part.holds
    columns = (parts, 2), (joints, found.most_joints), (holds, found.most_holds)
    return [part.body, *(x for own, count in columns for x in (*own, *[0] * (count - len(own))))]


def _groups(items: Iterable[Any], key: Callable[[Any], int], lanes: int) -> Iterator[tuple[int, list[Any]]]:
    """Items of one key in groups of as many as there are lanes; the last one fills up the last group."""
    sorts: dict[int, list[Any]] = {}
    for item in items:
        sorts.setdefault(key(item), []).append(item)
    for sort, members in sorted(sorts.items()):
        for start in range(0, len(members), lanes):
            group = members[start : start + lanes]
            yield sort, group + group[-1:] * (lanes - len(group))
