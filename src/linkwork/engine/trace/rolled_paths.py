"""Walks over the paths of frames as loops in the code, by tables of ``model.paths``: row by row, to a stop; and walks
over the children of a body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from linkwork.engine.ir.address import Address
from linkwork.engine.trace.tables import BODIES, FAMILIES, PATHS, PLACES, POINTS, STATIONS, Kind, Section
from linkwork.engine.trace.tracer import Tracer


class Station:
    """A body with points on it, or at which their paths meet: a row of ``STATIONS``."""

    kind = None

    def __init__(self, tree: PathWalks, index: int) -> None:
        self.tree, self.index = tree, index

    def integer(self, column: str) -> int:
        """The value in a column of its row."""
        return self.tree.integer(STATIONS, column, self.index)

    @property
    def body(self) -> Any:
        return self.tree.node(self.integer("body"), None)


class PathWalks:
    """The parts of ``PointedTree`` for paths and stations, and of ``FamilyTree``, for a tree whose walks are loops."""

    tracer: Tracer
    kinds: Sequence[Kind]
    _loop: Callable[..., Iterator[tuple[int, int]]]
    node: Callable[[int, int | None], Any]
    frame: Callable[[int], Any]

    def integer(self, section: Section, column: str, row: int | None) -> int:
        return self.tracer.emit("index", (), section.address(column, row))

    def paths(self) -> Iterator[Any]:
        return self._rows(self._loop("up", 1, "last_path", *self._by_kind()))

    def behind(self, station: Station) -> Iterator[Any]:
        return self._walk(station, "behind", "after")

    def after(self, station: Station) -> Iterator[Any]:
        return self._walk(station, "after", "after_stop")

    def stations(self) -> Iterator[Station]:
        for counter, _ in self._loop("up", 1, "last_station"):
            yield Station(self, counter)

    def stations_above(self, station: Station) -> Iterator[Station]:
        start = station.integer("above")
        for counter, _ in self._loop("climb", 1, 1, start=start, successor=lambda n: STATIONS.address("above", n)):
            yield Station(self, counter)

    def stations_behind(self, station: Station) -> Iterator[Station]:
        ends = {"start": station.integer("stations"), "stop": station.integer("stations_stop")}
        for counter, _ in self._loop("climb", 1, 1, **ends, successor=_next(STATIONS)):
            yield Station(self, counter)

    def points_on(self, station: Station) -> Iterator[Any]:
        return self._points(station.integer("points"), station.integer("points_stop"))

    def points_behind(self, point: Any) -> Iterator[Any]:
        return self._points(self.integer(PLACES, "behind", point.index), self.integer(PLACES, "after", point.index))

    def points_after(self, point: Any) -> Iterator[Any]:
        return self._points(self.integer(PLACES, "after", point.index), self.integer(PLACES, "after_stop", point.index))

    def outermost(self, point: Any) -> Any:
        return self.node(self.integer(PLACES, "outermost", point.index), None)

    def joint_before(self, body: Any) -> Iterator[Any]:
        parent = body.integer("parent")
        ends = parent, self.integer(BODIES, "parent", parent)
        for counter, kind in self._loop("climb", 1, 1, *self._by_own_kind(), *ends):
            yield self.node(counter, kind)

    def children_inward(self, body: Any) -> Iterator[Any]:
        return self._family(body, None)

    def siblings_behind(self, body: Any) -> Iterator[Any]:
        return self._family(body.parent, body.number)

    def _family(self, parent: Any, stop: int | None) -> Iterator[Any]:
        """A body's children, the last first, up to but without ``stop``."""
        ends = self.integer(FAMILIES, "newest", parent.index), stop
        older = partial(FAMILIES.address, "older")
        for counter, kind in self._loop("climb", 1, 1, *self._by_own_kind(), *ends, successor=older):
            yield self.node(counter, kind)

    def _walk(self, station: Station, start: str, stop: str) -> Iterator[Any]:
        ends = station.integer(start), station.integer(stop)
        return self._rows(self._loop("climb", 1, 1, *self._by_kind(), *ends, successor=_next(PATHS)))

    def _points(self, start: int, stop: int) -> Iterator[Any]:
        for counter, _ in self._loop("climb", 1, 1, start=start, stop=stop, successor=_next(POINTS)):
            yield self.frame(self.integer(POINTS, "frame", counter))

    def _by_own_kind(self) -> tuple[Sequence[int], Callable[[int], Address]]:
        return range(len(self.kinds)), partial(BODIES.address, "kind")

    def _by_kind(self) -> tuple[Sequence[int], Callable[[int], Address]]:
        return range(len(self.kinds)), lambda counter: PATHS.address("kind", counter)

    def _rows(self, rows: Iterator[tuple[int, int]]) -> Iterator[Any]:
        for counter, kind in rows:
            yield self.node(self.integer(PATHS, "body", counter), kind)


def _next(section: Section) -> Callable[[int], Address]:
    return lambda counter: section.address("next", counter)
