"""Seams of a chain that is cut into segments: unknowns of a reduction are lanes of parallel loops.

A seam has a row by itself in ``square``. The lanes of one iteration gather their rows: each reads from a table which
row it has, and which its neighbours have. The row behind the last seam's is of zeros: it stands for the missing
neighbours of the first and the last. In each step of the reduction the eliminated unknowns are in groups of as many as
there are lanes, and so are the remaining ones; the last one fills up the last group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from linkwork.engine.ir.address import ONE, Address
from linkwork.engine.ir.program import Block, Program
from linkwork.engine.trace.tables import Section
from linkwork.model.reductions import Unknown, reduction

STEPS_OF_REDUCTION = Section(("first", "staying", "stop"), "reduction_ints")
"""A row for each step: its first group, the first of those that remain, and the first that comes after it."""
CASES = Section(("case",), "reduction_case_ints")
"""A row for each group: what it does, a number in ``_CASES``."""
UNKNOWNS = Section(("place", "before", "after", "lower", "upper"), "unknown_ints")
"""A row for each lane of each group: the rows of its seam and of others."""
SEAM_ROWS = Section(("seam",), "seam_row_ints")
"""The numbers of the seams, with the last repeated for each lane left over."""
SEAM_SECTIONS = (STEPS_OF_REDUCTION, CASES, UNKNOWNS, SEAM_ROWS)
SEAM_SIZES = ("last_reduction", "last_seam_group", "lanes", "next_seam", "next_unknown", "unknowns_in_group")
"""Last step of the reduction, last group of seams; lanes; the strides between lanes in tables of seams and unknowns,
and between groups in that of unknowns.
"""

FEWEST = 16
"""Groups of seams from which on threads share their work."""

_CASES = ((True, True), (False, True), (False, False))
"""Whether it is the first step, and whether unknowns are eliminated."""


class Seam:
    """A seam, by the instruction that is its number."""

    kind = "seam"

    def __init__(self, index: int) -> None:
        self.index = index

    def address(self, field: str, slot: int) -> Address:
        return Address(field, slot, ((ONE, "seams"), (self.index, "seam")), grouped=False)


class _Unknown:
    """An unknown in a step, and others by their seams."""

    def __init__(self, tree: Any, counter: int, case: int) -> None:
        self.first, self.goes = _CASES[case]

        def seam(column: str) -> Seam:
            terms = ((ONE, str(UNKNOWNS.begin)), (counter, "unknowns_in_group"))
            address = Address("ints", UNKNOWNS.columns.index(column), terms, None, "next_unknown")
            return Seam(tree.tracer.emit("index", (), address))

        self.place, self.lower, self.upper = seam("place"), seam("lower"), seam("upper")
        self.before, self.after = (None if self.first else seam(column) for column in ("before", "after"))


class _Step(NamedTuple):
    """Groups from a first up to but without a last, and their cases."""

    first: int
    stop: int
    cases: tuple[int, ...]


class SeamWalks:
    """Walks over seams."""

    tracer: Any
    _loop: Any

    seams = "seams"

    @property
    def first_seam(self) -> Seam:
        return Seam(self.affine((), 0))

    @property
    def last_seam(self) -> Seam:
        return Seam(self.affine(((ONE, "last_segment"),), 1))

    def affine(self, terms: Any, offset: int = 0) -> int:
        """An integer that is an address itself."""
        found: int = self.tracer.emit("affine", (), Address("", offset, terms))
        return found

    def all_seams(self) -> Iterator[Seam]:
        for counter, _ in self._loop("parallel", 0, "last_seam_group", fewest=FEWEST):
            yield self.seam_on_lanes(counter)

    def seam_on_lanes(self, group: int) -> Seam:
        """The seam of each lane of a group; for a group of segments, the one before the lane's segment."""
        terms = ((ONE, str(SEAM_ROWS.begin)), (group, "lanes"))
        return Seam(self.tracer.emit("index", (), Address("ints", 0, terms, None, "next_seam")))

    def reduction(self, places: Any) -> Iterator[_Step]:
        return self._reduction("up", "stop", range(len(_CASES)))

    def reduction_back(self, places: Any) -> Iterator[_Step]:
        return self._reduction("down", "staying", [0])

    def _reduction(self, walk: str, stop: str, cases: Any) -> Iterator[_Step]:
        for counter, _ in self._loop(walk, 0, "last_reduction"):
            first, end = (
                self.tracer.emit("index", (), STEPS_OF_REDUCTION.address(name, counter)) for name in ("first", stop)
            )
            yield _Step(first, end, tuple(cases))

    def parallel(self, step: Any) -> Iterator[_Unknown]:
        def case(counter: int) -> Address:
            return CASES.address("case", counter)

        for counter, number in self._loop("parallel", 0, 0, step.cases, case, step.first, step.stop, fewest=FEWEST):
            yield _Unknown(self, counter, number)


class SeamTables(NamedTuple):
    """Sections of ``ints``, and sizes."""

    sections: list[tuple[Section, ArrayLike]]
    sizes: dict[str, int]


def steps_of_reduction(segments: int) -> int:
    """How many steps a reduction of the seams of so many segments has."""
    return (segments + 1).bit_length()


def zero_beyond_seams(program: Program, width: int) -> None:
    """Have a program start by zeroing the row after the last seam's, where rows are so wide."""
    beyond = program.instruction(Block(), "affine", (), Address("", 2, ((ONE, "last_segment"),)))
    terms = ((ONE, "seams"), (beyond, width))
    places = (Address("square", k, terms, grouped=False) for k in range(width))
    program.root.order[:0] = [beyond, *(program.instruction(Block(), "store", (0.0,), place) for place in places)]


def seam_tables(segments: int, lanes: int) -> SeamTables:
    """The tables of the seams of so many segments, for groups of so many lanes."""
    seams, zeros = range(segments + 1), segments + 1
    levels, cases, unknowns = [], [], []

    def enter(ones: list[Unknown]) -> None:
        for start in range(0, len(ones), lanes):
            group = ones[start : start + lanes]
            cases.append(_CASES.index((group[0].first, group[0].goes)))
            for one in [*group, *group[-1:] * (lanes - len(group))]:
                unknowns.append([zeros if place is None else place for place in one[: len(UNKNOWNS.columns)]])

    for step in reduction(seams):
        first = len(cases)
        enter([one for one in step if one.goes])
        staying = len(cases)
        enter([one for one in step if not one.goes])
        levels.append((first, staying, len(cases)))
    groups = -(-len(seams) // lanes)
    rows = [*seams, *[segments] * (groups * lanes - len(seams))]
    sizes = {
        "last_reduction": len(levels) - 1,
        "last_seam_group": groups - 1,
        "lanes": lanes,
        "next_seam": 1,
        "next_unknown": len(UNKNOWNS.columns),
        "unknowns_in_group": len(UNKNOWNS.columns) * lanes,
    }
    sections: list[tuple[Section, ArrayLike]] = [(STEPS_OF_REDUCTION, levels), (CASES, cases), (UNKNOWNS, unknowns)]
    return SeamTables([*sections, (SEAM_ROWS, rows)], sizes)
