"""Traversals of the paths of frames to the world, as ordinary loops: ``PointedTree`` of ``algorithms.tree``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.model.paths import Paths, paths_of
from linkwork.properties import cached_property


class Station:
    """A body with points on it, or at which their paths meet."""

    __slots__ = ("body", "index")

    def __init__(self, index: int, body: Any) -> None:
        self.index, self.body = index, body


class PathWalks:
    """The paths of a tree's frames; the tree has nodes and frames by number."""

    _nodes: list[Any]
    _frames: list[Any]

    def paths(self) -> Iterator[Any]:
        """The bodies on the frames' paths to the world, depth first: every body after its parent."""
        return self._walk(1, len(self._paths.bodies) + 1)

    def stations(self) -> Iterator[Station]:
        """The stations in the order of that walk."""
        return self._stations(1, len(self._paths.stations) + 1)

    def stations_above(self, station: Station) -> Iterator[Station]:
        """Stations on a station's path that have a branch after it, nearest first."""
        number = self._paths.stations[station.index - 1].above
        while number:
            yield from self._stations(number, number + 1)
            number = self._paths.stations[number - 1].above

    def behind(self, station: Station) -> Iterator[Any]:
        """Bodies of the walk behind a station; without the last branch, if the station has no points."""
        return self._walk(*self._paths.stations[station.index - 1].behind)

    def after(self, station: Station) -> Iterator[Any]:
        """Bodies of the walk after these that share a body with the station's path; none, if it has no points."""
        return self._walk(*self._paths.stations[station.index - 1].after)

    def stations_behind(self, station: Station) -> Iterator[Station]:
        """The stations among the bodies behind a station."""
        return self._stations(*self._paths.stations[station.index - 1].stations_behind)

    def points_on(self, station: Station) -> Iterator[Any]:
        """The frames on a station's body."""
        return self._points(*self._paths.stations[station.index - 1].points)

    def points_behind(self, frame: Any) -> Iterator[Any]:
        """A frame, those after it on its body, and those behind its body."""
        return self._points(*self._paths.places[frame.index].behind)

    def points_after(self, frame: Any) -> Iterator[Any]:
        """Frames after these in the walk that share a body with its path."""
        return self._points(*self._paths.places[frame.index].after)

    def outermost(self, frame: Any) -> Any:
        """The body nearest to the world at which a frame's path meets another's; its own if there is none."""
        return self._nodes[self._paths.places[frame.index].outermost]

    def _walk(self, start: int, stop: int) -> Iterator[Any]:
        return (self._nodes[body] for body in self._paths.bodies[start - 1 : stop - 1])

    def _stations(self, start: int, stop: int) -> Iterator[Station]:
        stations = self._paths.stations
        return (Station(number, self._nodes[stations[number - 1].body]) for number in range(start, stop))

    def _points(self, start: int, stop: int) -> Iterator[Any]:
        return (self._frames[index] for index in self._paths.points[start - 1 : stop - 1])

    @cached_property
    def _paths(self) -> Paths:
        parents = [0, *(node.parent.index for node in self._nodes[1:])]
        return paths_of(parents, [frame.body.index for frame in self._frames])
