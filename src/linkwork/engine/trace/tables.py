"""A model as tables, which describe its bodies to rolled code.

``ints`` holds sections of integers, each with named columns and a row for each body, frame, junction, ...; ``data``
holds gravity in the world's row, for each body its placement, inertia, rotor and joint parameters, then the placement
of each frame. Numbers that are 0, 1 or -1 for all bodies of a kind belong to the kind, so that axis-aligned mechanisms
get cheaper code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.engine.ir.address import ONE, Address, Terms
from linkwork.engine.ir.lists import MOST_LANES
from linkwork.joints import Joint
from linkwork.model.doubtful import doubtful_joints
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.loop_walks import groups_of, pairs_of
from linkwork.model.loops import Attached, Closed, Crossing, Loops, loops_of
from linkwork.model.model import Frame, Model
from linkwork.model.paths import paths_of
from linkwork.model.tree import DepthFirst, alone, depth_first

PLACEMENT, INERTIA = 12, 10
"""How many numbers these have."""


@dataclass(frozen=True)
class Section:
    """Rows of integers in ``ints``: the names of their columns, and of the size that says where they begin (the first
    section begins at 0).
    """

    columns: tuple[str, ...]
    begin: str | None = None

    def address(self, column: str, row: int | None, before: Terms = ()) -> Address:
        """The address of a column's integer in a row, given by the instruction that is its number, or in row 0;
        ``before`` is the distance of row 0 from the section's start.
        """
        begin: Terms = () if self.begin is None else ((ONE, self.begin),)
        own: Terms = () if row is None else ((row, len(self.columns)),)
        return Address("ints", self.columns.index(column), (*begin, *before, *own))


BODIES = Section(("kind", "parent", "q", "v"))
"""A row for each body, the world's first: its kind, its parent, where its numbers begin in q and in v."""
FRAMES = Section(("body",), "frame_ints")
JUNCTIONS = Section(("body", "next"), "junction_ints")
FRAME_JUNCTIONS = Section(("junction",), "frame_junction_ints")
ANCESTORS = Section(("body",), "ancestor_ints")
"""A row for each pair of frames: their common ancestor."""
PATHS = Section(("body", "kind", "next"), "path_ints")
"""A row for each body on the frames' paths, in the order of the walk from row 1 on. A stretch of rows is given by its
first one and its stop, ``next`` is the row after this one; what is behind ends where what is after begins.
"""
STATIONS = Section(
    ("body", "above", "behind", "after", "after_stop", "stations", "stations_stop", "points", "points_stop", "next"),
    "station_ints",
)
POINTS = Section(("frame", "next"), "point_ints")
PLACES = Section(("behind", "after", "after_stop", "outermost"), "place_ints")
"""A row for each frame."""
JOININGS = Section(
    ("attached", "attached_stop", "closed", "closed_stop", "behind", "behind_stop", "crossings", "crossings_stop"),
    "joining_ints",
)
"""A row for each body, the world's first: the stretches of ``LOOP_ENDS`` and ``CROSSINGS`` of its joining."""
LOOP_ENDS = Section(
    ("loop", "body", "onward", "frame", "others", "others_stop", "pairs", "place", "next", "previous"), "loop_end_ints"
)
"""Where a loop is attached or closed, from row 1 on; and the stretch of ``CROSSINGS`` of the others that are open."""
CROSSINGS = Section(("loop", "strand", "onward", "stop", "pairs", "place", "next"), "crossing_ints")
"""Loops that are open at a step, from row 1 on. ``pairs`` is where its row of ``PAIRS`` begins, ``place`` a column."""
PAIRS = Section(("coupling",), "pair_ints")
"""The coupling of two loops of a step, for each step a square."""
ENDS = Section(("condition", "one", "other"), "end_ints")
"""A row for each loop between two ends: its kind of condition, and its frames."""
FAMILIES = Section(("newest", "older"), "family_ints")
"""A row for each body, the world's first: its last child, and the child of its parent before it; 0 where there is none.
"""
DEPTH_FIRST = Section(("before", "after", "stop", "depth"), "depth_first_ints")
"""A row for each body, the world's first: its place in depth-first order (``DepthFirst``)."""
RUN = MOST_LANES
"""Bodies with one degree of freedom, one after another in depth-first order, whose rows of a matrix are found together.
"""
RUNS = Section(("kind", "before"), "run_ints")
"""A row for each body that a run begins with, or that is in none, and the world's first: the body's own kind, or for a
run one more than bodies have; and the first body of what comes before it in depth-first order, for the world the last.
"""
TOLD = (
    *(FRAMES, JUNCTIONS, FRAME_JUNCTIONS, ANCESTORS, FAMILIES, DEPTH_FIRST, RUNS),
    *(PATHS, STATIONS, POINTS, PLACES, JOININGS, LOOP_ENDS, CROSSINGS, PAIRS, ENDS),
)
"""The sections whose starts rolled code gets."""
LASTS = ("frame", "junction", "path", "station", "loop", "strand", "coupling", "pair")
"""What rolled code gets the last number of, besides bodies."""


SIZES = (
    *("last_body", *(f"last_{row}" for row in LASTS)),
    *("square_row", "matrices", "nv_square", "frame_data", "frame_count"),
    *(str(section.begin) for section in TOLD),
    *(f"nv{k}" for k in range(1, 13)),
    *(f"wide{k}" for k in range(1, 7)),
    *(f"parameters{k}" for k in range(1, 7)),
)
"""The sizes that rolled code gets: the last of bodies and of what ``LASTS`` has; rows of ``work``; numbers in a row of
the square; where matrices begin there, and how many numbers one has; where the frames' placements begin in ``data``;
how many frames there are; where sections of ``ints`` begin; multiples of nv, of six numbers for each frame and of ten
for each body.
"""


def packed(sections: Sequence[tuple[Section, ArrayLike]]) -> tuple[NDArray[np.int64], dict[str, int]]:
    """``ints`` with the rows of these sections, the first without a size; and the sizes that say where they begin."""
    parts, begins, begin = [], {}, 0
    for section, rows in sections:
        part = np.asarray(rows, dtype=np.int64).reshape(-1, len(section.columns))
        if section.begin is not None:
            begins[section.begin] = begin
        parts.append(part.ravel())
        begin += part.size
    return np.concatenate(parts), begins


@dataclass(frozen=True)
class Kind:
    """Bodies with the same code: the joint as a template, whether it has a rotor and is doubtful, which numbers are
    fixed (NaN if not), if algorithms need it, whether they are only children, and whether all of them are roots, which
    stand on the world.
    """

    joint: Joint
    rotor: bool
    doubtful: bool
    fixed: tuple[float, ...]
    alone: bool | None = None
    root: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        fixed = tuple("x" if x != x else x for x in self.fixed)
        return (self.joint.kind(), self.rotor, self.doubtful, fixed, self.alone, self.root)


@dataclass(frozen=True)
class Tables:
    """A model as rolled code sees it: ``data`` has rows of ``width`` numbers, ``sizes`` are those that say where
    sections begin and how many frames and junctions (besides the ground) there are.
    """

    kinds: tuple[Kind, ...]
    width: int
    data: NDArray[np.float64]
    ints: NDArray[np.int64]
    sizes: dict[str, int]
    rows: int = 0
    """How many items of each sort loops have."""
    longest: int = 0
    """How many rows the longest section has."""


def kinds_of(
    model: Model, families: bool = False, judged: Sequence[bool] | None = None
) -> tuple[tuple[Kind, ...], list[int], list[list[float]]]:
    """The kinds of a model, the kind of each body, and each body's numbers; with ``families``, only children are of
    other kinds than bodies with siblings. Doubtful joints and roots are distinguished; but if the ``judged`` joints are
    given, those instead, and no roots.
    """
    rows = [
        [*body.placement.numbers(), *body.inertia.numbers(), *body.armature, *body.joint.numbers()]
        for body in model.bodies
    ]
    groups: dict[Any, list[int]] = {}
    lone = alone([body.parent for body in model.bodies]) if families else [None] * len(rows)
    doubts = doubtful_joints(model) if judged is None else judged
    for i, (body, doubtful) in enumerate(zip(model.bodies, doubts, strict=True)):
        groups.setdefault((body.joint.kind(), bool(body.armature), doubtful, lone[i]), []).append(i)
    kinds, number = [], [0] * len(rows)
    for k, ((_, rotor, doubtful, by_itself), members) in enumerate(groups.items()):
        table = np.array([rows[i] for i in members])
        same = (table == table[0]).all(axis=0) & np.isin(table[0], (0.0, 1.0, -1.0))
        body = model.bodies[members[0]]
        fixed = tuple(float(x) if keep else float("nan") for x, keep in zip(table[0], same, strict=True))
        root = judged is None and not any(model.bodies[i].parent for i in members)
        kinds.append(Kind(body.joint, rotor, doubtful, fixed, by_itself, root))
        for i in members:
            number[i] = k
    return tuple(kinds), number, rows


def body_tables(
    model: Model, families: bool = False, judged: Sequence[bool] | None = None
) -> tuple[tuple[Kind, ...], NDArray[np.float64], NDArray[np.int64]]:
    """The kinds of a model, and rows of ``data`` and of ``BODIES`` for the world and each body."""
    kinds, number, rows = kinds_of(model, families, judged)
    data = np.zeros((len(rows) + 1, max([3, *(len(row) for row in rows)])))
    data[0, :3] = model.gravity
    for i, row in enumerate(rows, 1):
        data[i, : len(row)] = row
    ints = np.zeros((len(rows) + 1, len(BODIES.columns)), dtype=np.int64)
    for i, body in enumerate(model.bodies, 1):
        ints[i] = number[i - 1], body.parent, model.q_start[i - 1], model.v_start[i - 1]
    return kinds, data, ints


def _meeting(
    parents: Sequence[int], points: Sequence[int], bodies: NDArray[np.int64]
) -> Mapping[Section, Sequence[Any]]:
    """The sections of where the paths of points on bodies meet, and of a walk over these paths."""
    junctions, of_points = junctions_of(parents, points)
    ancestors = [common_ancestor(parents, a, b) for a in points for b in points]
    found = paths_of(parents, points)
    kind = BODIES.columns.index("kind")
    stations = [(s.body, s.above, s.behind[0], *s.after, *s.stations_behind, *s.points) for s in found.stations]
    return {
        JUNCTIONS: junctions,
        FRAME_JUNCTIONS: of_points,
        ANCESTORS: ancestors,
        PATHS: [(0, 0, 1), *((body, int(bodies[body, kind]), k + 1) for k, body in enumerate(found.bodies, 1))],
        STATIONS: [(0,) * 9 + (1,), *((*station, k + 1) for k, station in enumerate(stations, 1))],
        POINTS: [(0, 1), *((index, k + 1) for k, index in enumerate(found.points, 1))],
        PLACES: [(place.behind[0], *place.after, place.outermost) for place in found.places],
    }


def _no_meeting() -> Mapping[Section, Sequence[Any]]:
    """The same without any points: a junction, the ground, and nothing else."""
    walked = PATHS, STATIONS, POINTS, PLACES
    empty: dict[Section, Sequence[Any]] = dict.fromkeys((JUNCTIONS, FRAME_JUNCTIONS, ANCESTORS, *walked), ())
    return empty | {JUNCTIONS: [(0, 0)]}


class _Steps:
    """The sections of loops, row by row."""

    def __init__(self, found: Loops) -> None:
        self.couplings: dict[tuple[int, int], int] = {}
        self.pairs: list[int] = []
        self.crossings: list[tuple[int, ...]] = [(0,) * len(CROSSINGS.columns)]
        self.ends: list[tuple[int, ...]] = [(0,) * len(LOOP_ENDS.columns)]
        self.joinings: list[tuple[int, ...]] = []
        for step in found.steps:
            stretches = [self._ends(each) for each in (step.attached, step.closed, step.closed_behind)]
            self.joinings.append((*(end for stretch in stretches for end in stretch), *self._step(step.crossings)))
        self.ends.append((*(0,) * (len(LOOP_ENDS.columns) - 1), len(self.ends) - 1))  # for walks back from the last

    def _ends(self, steps: Sequence[Attached | Closed]) -> tuple[int, int]:
        start = len(self.ends)
        for step in steps:
            place, begin = len(step.others), len(self.pairs)
            stretch = self._step(step.others, step.loop)
            row, hold = len(self.ends), step.hold if isinstance(step, Attached) else 0
            own = begin + place * (place + 1)
            self.ends.append((step.loop, step.body, step.strand, hold, *stretch, own, place, row + 1, row - 1))
        return start, len(self.ends)

    def _step(self, crossings: Sequence[Crossing], *more: int) -> tuple[int, int]:
        """The loops of a step, and one more that is attached or closed."""
        start, begin = len(self.crossings), len(self.pairs)
        loops = [*(each.loop for each in crossings), *more]
        stop = start + len(crossings)
        for place, each in enumerate(crossings):
            row = (each.loop, each.strand, each.onward, stop, begin + place * len(loops), place, start + place + 1)
            self.crossings.append(row)
        pairs = [(one, other) for one in loops for other in loops]
        self.pairs += [self.couplings.setdefault(pair, len(self.couplings)) for pair in pairs]
        return start, stop


def _families(parents: Sequence[int]) -> list[list[int]]:
    """The rows of ``FAMILIES``."""
    rows = [[0, 0] for _ in parents]
    for body, parent in enumerate(parents[1:], 1):
        rows[body][1], rows[parent][0] = rows[parent][0], body
    return rows


def _runs(order: Sequence[DepthFirst], kind: Sequence[int], kinds: Sequence[Kind]) -> list[tuple[int, int]]:
    """The rows of ``RUNS``."""
    rows = [(0, 0)] * len(order)
    last, body = 0, order[0].after
    while body:
        run = [body]
        while len(run) < RUN and order[run[-1]].after:
            run.append(order[run[-1]].after)
        whole = len(run) == RUN and all(kinds[kind[each]].joint.nv == 1 for each in run)
        rows[body] = (len(kinds) if whole else kind[body], last)
        last, body = body, order[run[-1] if whole else body].after
    rows[0] = (0, last)
    return rows


def tables_of(
    model: Model, frames: Sequence[Frame] = (), pairs: bool = False, loops: bool = False, families: bool = False
) -> Tables:
    """The tables of a model and the requested frames; ``pairs`` adds where the paths of these meet, ``loops`` the steps
    of loops whose holds they are.
    """
    kinds, data, bodies = body_tables(model, families)
    points = [frame.body for frame in frames]
    parents = [0, *(body.parent for body in model.bodies)]
    meeting = _meeting(parents, points, bodies) if pairs else _no_meeting()
    order = depth_first(parents)
    looped = loops_of(parents, groups_of(frames) if loops else ())
    steps, ends = _Steps(looped), pairs_of(frames) if loops else []
    sections: list[tuple[Section, Sequence[Any] | NDArray[np.int64]]] = [
        (BODIES, bodies),
        (FRAMES, points),
        *meeting.items(),
        (FAMILIES, _families(parents)),
        (DEPTH_FIRST, order),
        (RUNS, _runs(order, bodies[:, 0].tolist(), kinds)),
        (JOININGS, steps.joinings if loops else []),
        (LOOP_ENDS, steps.ends),
        (CROSSINGS, steps.crossings),
        (PAIRS, steps.pairs),
        (ENDS, ends),
    ]
    ints, begins = packed(sections)
    placements = [x for frame in frames for x in frame.placement.numbers()]
    counts = (
        *(len(frames), *(len(meeting[section]) for section in (JUNCTIONS, PATHS, STATIONS))),
        *(looped.loops, looped.strands + 1, len(steps.couplings), len(ends)),
    )
    lasts = {f"last_{row}": count - 1 for row, count in zip(LASTS, counts, strict=True)}
    sizes = {**begins, "frame_data": data.size, **lasts}
    rows = max(len(steps.crossings), looped.strands + 1, len(steps.couplings)) if loops else 0
    whole = np.concatenate([data.ravel(), np.array(placements, dtype=np.float64)])
    longest = max(len(table) for section, table in sections if section not in (ANCESTORS, PAIRS))
    return Tables(kinds, data.shape[1], whole, ints, sizes, rows, longest)
