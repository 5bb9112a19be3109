"""The paths of several points to the world in depth-first order, in which the bodies behind a body are contiguous.

A station is a body with points on it, or at which their paths meet. The tree is given by its parents; the world is
body 0 and no station.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

Stretch = tuple[int, int]
"""A half-open range of numbers; the walk, the stations and the points on them are numbered from 1."""


@dataclass(frozen=True)
class Station:
    """A station, and its ranges of the walk, the stations and the points."""

    body: int
    above: int
    """The next station on its path that has a branch after this one, or 0."""
    behind: Stretch
    """Bodies of the walk behind it; without the last branch, if it has no points."""
    after: Stretch
    """Bodies of the walk after these that share a body with its path; none, if it has no points."""
    stations_behind: Stretch
    """The stations among the bodies behind it."""
    points: Stretch
    """The points on it."""


@dataclass(frozen=True)
class Place:
    """The place of a point: the range of it and the points behind its body; that of the points after these that share a
    body with its path; and the body nearest to the world at which its path meets that of another point, or its own.
    """

    behind: Stretch
    after: Stretch
    outermost: int


@dataclass(frozen=True)
class Paths:
    """``bodies`` on the paths, ``stations`` and ``points`` in the order of the walk; the place of each point."""

    bodies: list[int]
    stations: list[Station]
    points: list[int]
    places: list[Place]


def paths_of(parents: Sequence[int], points: Sequence[int]) -> Paths:
    """The paths of points on bodies. O(bodies + points log points)."""
    counts = [0] * len(parents)  # number of points on each body
    for body in points:
        counts[body] += 1
    walk, branches = _walk(parents, counts)
    position = {body: number for number, body in enumerate(walk, 1)}
    stop: dict[int, int] = {}  # end of the range behind each body, in the walk
    for body in reversed(walk):
        stop[body] = stop[branches[body][0]] if branches[body] else position[body] + 1
    stations = [body for body in walk if counts[body] or len(branches[body]) > 1]
    fork, common, root = _above(parents, walk, branches, stations, counts)
    order = sorted(filter(points.__getitem__, range(len(points))), key=lambda k: position[points[k]])
    stations_at, points_at = [position[body] for body in stations], [position[points[k]] for k in order]

    def station(body: int) -> Station:
        first, end = position[body] + 1, stop[body] if counts[body] else position[branches[body][0]]
        after = end, stop[root[body]] if counts[body] else end
        on = _stretch(points_at, first - 1, first)
        return Station(body, fork[body], (first, end), after, _stretch(stations_at, first, end), on)

    places = [Place((1, 1), (1, 1), 0)] * len(points)  # points on the world share no body with others
    for number_of_point, index in enumerate(order, 1):
        body = points[index]
        behind, after = _stretch(points_at, stop[body], stop[root[body]])
        places[index] = Place((number_of_point, behind), (behind, after), common[body] or body)
    return Paths(walk, [station(body) for body in stations], order, places)


def _walk(parents: Sequence[int], counts: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The bodies on the paths of points, depth first, and the branches of each, the last first."""
    behind = list(counts)
    branches: list[list[int]] = [[] for _ in parents]
    for body in reversed(range(1, len(parents))):
        if behind[body]:
            behind[parents[body]] += behind[body]
            branches[parents[body]].append(body)
    walk: list[int] = []
    ahead = branches[0].copy()
    while ahead:
        walk.append(ahead.pop())
        ahead += branches[walk[-1]]
    return walk, branches


def _above(
    parents: Sequence[int],
    walk: list[int],
    branches: list[list[int]],
    stations: list[int],
    counts: Sequence[int],
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """For each body: the number of the station where a later branch leaves its path, the outermost body at which paths
    meet, and the path's first body.
    """
    number = {body: k for k, body in enumerate(stations, 1)}
    fork, common, root = {0: 0}, {0: 0}, {0: 0}
    for body in walk:
        above = parents[body]
        fork[body] = fork[above] if body == branches[above][0] else number.get(above, 0)
        root[body] = root[above] or body
        common[body] = common[above] or (body if counts[body] + len(branches[body]) > 1 else 0)
    return fork, common, root


def _stretch(places: list[int], start: int, stop: int) -> Stretch:
    """The range of numbers whose places in the walk are in a half-open range."""
    return 1 + bisect_left(places, start), 1 + bisect_left(places, stop)
