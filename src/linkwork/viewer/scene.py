"""An image of mechanisms: polygons in order of their distance, over a ground with a grid and shadows."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.pictures import put
from linkwork.viewer.camera import Camera
from linkwork.viewer.shapes import CIRCLE, box_faces, hull, rounded
from linkwork.viewer.skeleton import Part, Skeleton

_LIGHT = np.array([0.35, -0.55, 0.76])  # towards the light, in the world
_EDGE, _HAZE = np.array([0.13, 0.15, 0.18]), np.array([0.90, 0.92, 0.95])
JOINT, CARRIED, TRAIL, _GRID, _SHADOW = "#23272e", "#c49a6c", "#e4572e", "#d4d8de", "#596069"
AXES = ("#d62728", "#2ca02c", "#1f77b4")
"""Colours of a frame's axes: x, y, z."""


class Shape(NamedTuple):
    """An outline (n, 2) in the image, its nearness (m), and its style."""

    near: float
    outline: Array
    colour: str
    light: float = 1.0
    alpha: float = 1.0
    edged: bool = True


class Line(NamedTuple):
    """A path (n, 3) in the world, and its style."""

    points: Array
    colour: str
    width: float
    alpha: float


class Rope(NamedTuple):
    """A chain of very many bodies: the line (n, 3) along it, its thickness (m), and its style."""

    points: Array
    radius: float
    colour: str
    alpha: float


class Ground(NamedTuple):
    """The height (m) of the ground, the least and largest x and y (2,) of the scene, and its squares' edge (m)."""

    height: float
    low: Array
    high: Array
    square: float


def below(lowest: float, size: float) -> float:
    """The ground's height (m) under a scene with this lowest point and size: zero where that is about right."""
    return 0.0 if lowest > -0.04 * size else lowest - 0.03 * size


def squares(size: float) -> float:
    """The edge length (m), a round number, of the ground's squares under a scene of this size."""
    power = 10.0 ** np.floor(np.log10(size / 10.0))
    return float(next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= size / 10.0))


class Scene:
    """Collects the parts of an image, and paints them on axes at the end."""

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        self._shapes: list[Shape] = []
        self._lines: list[Line] = []
        self._ropes: list[Rope] = []
        self._labels: list[tuple[Array, str]] = []
        self._standing: list[tuple[Array, float]] = []
        """Points of the world (n, 3) and the radius about them: the bodies that cast shadows."""

    def add(
        self, skeleton: Skeleton, placements: Array, boxes: Mapping[int, Array], joints: bool, alpha: float = 1.0
    ) -> None:
        """Add a mechanism; ``boxes`` are the edge lengths (3,) of bodies that are boxes, by number from 1."""
        chains = [chain for chain in skeleton.chains if boxes.keys().isdisjoint(chain.bodies)]
        self._ropes += [Rope(chain.points(placements), chain.radius, chain.colour, alpha) for chain in chains]
        elsewhere = boxes.keys() | {body for chain in chains for body in chain.bodies}
        near = {
            part.body: self._part(part, placements[part.body], alpha)
            for part in skeleton.parts
            if part.body not in elsewhere
        }
        for body, size in boxes.items():
            self._box(placements[body], size, CARRIED, alpha)
        for body, radius in skeleton.joints if joints else ():
            if body not in boxes:
                place = self.camera.see(placements[body][:3, 3])[:2]
                meeting = (body, skeleton.model.bodies[body - 1].parent)
                front = max(near[one] for one in meeting if one in near)
                self._shapes.append(Shape(front, place + radius * CIRCLE, JOINT, alpha=alpha))
                self._shapes.append(Shape(front, place + 0.5 * radius * CIRCLE, "#ffffff", alpha=alpha))

    def triad(self, placement: Array, length: float, label: str) -> None:
        """Add the axes of a frame: x red, y green, z blue."""
        origin = placement[:3, 3]
        for k, colour in enumerate(AXES):
            self._lines.append(Line(np.stack([origin, origin + length * placement[:3, k]]), colour, 1.8, 1.0))
        self._labels.append((origin, label))

    def trail(self, points: Array) -> None:
        """Add a path (n, 3) in the world."""
        self._lines.append(Line(points, TRAIL, 1.4, 0.9))

    def ground(self, height: float | None = None) -> Ground:
        """The ground under everything; without a height, at zero or below the lowest point."""
        solid = [*self._standing, *((rope.points, rope.radius) for rope in self._ropes)]
        points = np.concatenate([points for points, _ in solid] or [np.zeros((1, 3))])
        size = max(float(np.ptp(self.extent(), axis=0).max()), 1e-6)
        if height is None:
            lowest = min((float(points[:, 2].min()) - radius for points, radius in solid), default=0.0)
            height = below(lowest, size)
        square = squares(size)
        low, high = points[:, :2].min(axis=0) - 0.06 * size, points[:, :2].max(axis=0) + 0.06 * size
        return Ground(height, np.floor(low / square) * square, np.ceil(high / square) * square, square)

    def extent(self) -> Array:
        """The least and largest right and up coordinates (2, 2) of everything."""
        outlines = [shape.outline for shape in self._shapes]
        outlines += [self.camera.see(line.points)[:, :2] for line in self._lines]
        for rope in self._ropes:
            image = self.camera.see(rope.points)[:, :2]
            outlines += [image - rope.radius, image + rope.radius]
        if not outlines:
            return np.array([[-1.0, -1.0], [1.0, 1.0]])
        every = np.concatenate(outlines)
        return np.stack([every.min(axis=0), every.max(axis=0)])

    def paint(self, axes: Any, ground: Ground | None, limits: Array) -> None:
        """Paint everything on matplotlib axes."""
        axes.set_axis_off()
        axes.set_aspect("equal")
        (left, bottom), (right, top) = limits
        wide, high = axes.figure.get_size_inches() * axes.get_position().size
        dots = 72.0 * min(wide / (right - left), high / (top - bottom))  # typographic points per metre
        if ground is not None:
            self._paint_ground(axes, ground)
            self._paint_ropes(axes, dots, ground.height)
        self._paint_ropes(axes, dots)
        self._paint_shapes(axes)
        collections, colors = import_module("matplotlib.collections"), import_module("matplotlib.colors")
        if self._lines:
            ways = [self.camera.see(line.points)[:, :2] for line in self._lines]
            inks = [colors.to_rgba(line.colour, line.alpha) for line in self._lines]
            style = {"colors": inks, "linewidths": [line.width for line in self._lines], "capstyle": "round"}
            axes.add_collection(collections.LineCollection(ways, zorder=4, **style))
        for place, label in self._labels:
            x, y, _ = self.camera.see(place)
            put(axes.annotate("", (x, y), (5, 5), textcoords="offset points", fontsize=7, zorder=5), label)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)

    def limits(self, ground: Ground | None) -> Array:
        """The part of the image plane to show: all shapes, and the ground below them."""
        low, high = self.extent()
        if ground is not None:
            (x0, y0), (x1, y1), z = ground.low, ground.high, ground.height
            corners = self.camera.see(np.array([[x, y, z] for x in (x0, x1) for y in (y0, y1)]))[:, :2]
            low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
        margin = 0.02 * max(high - low)
        return np.stack([low - margin, high + margin])

    def _part(self, part: Part, placement: Array, alpha: float) -> float:
        """Add a body; returns its nearness."""
        if part.box is not None:
            self._box(placement @ part.box.placement, part.box.edges, part.colour, alpha)
            return float(self.camera.see(placement[:3, 3])[2])
        points = part.points @ placement[:3, :3].T + placement[:3, 3]
        image = self.camera.see(points)
        flat, near = image[:, :2], float(image[:, 2].mean())
        self._shapes.append(Shape(near, rounded(flat, part.radius), part.colour, alpha=alpha))
        toward = 0.3 * part.radius * self.camera.see(_LIGHT)[:2]  # a lighter middle there makes it look round
        middle = rounded(flat + toward, 0.45 * part.radius)
        self._shapes.append(Shape(near, middle, part.colour, 1.22, alpha, edged=False))
        self._standing.append((points, part.radius))
        return near

    def _box(self, placement: Array, size: Array, colour: str, alpha: float) -> None:
        for corners, normal in box_faces(placement, size):
            if self.camera.axes[2] @ normal > 1e-9:
                image = self.camera.see(corners)
                light = 0.72 + 0.4 * max(float(normal @ _LIGHT), 0.0)
                self._shapes.append(Shape(float(image[:, 2].mean()), image[:, :2], colour, light, alpha))
        corners = np.concatenate([corners for corners, _ in box_faces(placement, size)])
        self._standing.append((corners, 0.0))

    def _paint_ropes(self, axes: Any, dots: float, ground: float | None = None) -> None:
        """Lines as thick as their bodies, dark at the edge and light in the middle; or their shadows on the ground."""
        collections, colors = import_module("matplotlib.collections"), import_module("matplotlib.colors")
        ways, inks, widths = [], [], []
        for points, radius, colour, alpha in self._ropes:
            width = max(2.0 * radius * dots, 0.8)
            if ground is not None:
                ways.append(self.camera.see(points * [1.0, 1.0, 0.0] + [0.0, 0.0, ground])[:, :2])
                inks.append(colors.to_rgba(_SHADOW, 0.13))
                widths.append(width)
                continue
            image, plain = self.camera.see(points)[:, :2], np.array(colors.to_rgb(colour))
            toward = 0.3 * radius * self.camera.see(_LIGHT)[:2]
            ways += [image, image, image + toward]
            inks += [(*_EDGE, alpha), (*plain, alpha), (*np.clip(1.22 * plain, 0.0, 1.0), alpha)]
            widths += [width + 0.6, width, 0.45 * width]
        if ways:
            lines = collections.LineCollection(
                ways, colors=inks, linewidths=widths, capstyle="round", joinstyle="round",
                zorder=2 if ground is not None else 3,
            )  # fmt: skip
            axes.add_collection(lines)

    def _paint_shapes(self, axes: Any) -> None:
        collections, colors = import_module("matplotlib.collections"), import_module("matplotlib.colors")
        shapes = sorted(self._shapes, key=lambda shape: shape.near)  # a stable sort: later shapes cover earlier ones
        if not shapes:
            return
        near = np.array([shape.near for shape in shapes])
        # Distant shapes fade into the haze, by no more than a quarter, and less in a flat mechanism.
        depth = max(float(np.ptp(near)), 0.5 * float(np.ptp(self.extent(), axis=0).max()))
        haze = (0.25 * (near.max() - near) / depth)[:, None]
        plain = np.array([colors.to_rgb(shape.colour) for shape in shapes])
        light = np.array([[shape.light] for shape in shapes])
        faces = np.clip(plain * light, 0.0, 1.0) * (1.0 - haze) + _HAZE * haze
        edged = np.array([[shape.edged] for shape in shapes])
        edges = np.where(edged, _EDGE * (1.0 - haze) + _HAZE * haze, faces)
        alphas = np.array([[shape.alpha] for shape in shapes])
        paint = {
            name: np.concatenate([colours, alphas], axis=1) for name, colours in (("face", faces), ("edge", edges))
        }
        style = {f"{name}colors": colour for name, colour in paint.items()}
        wide = 0.6 if len(shapes) < 400 else 0.1
        outlines = [shape.outline for shape in shapes]
        axes.add_collection(collections.PolyCollection(outlines, linewidths=wide, zorder=3, **style))

    def _paint_ground(self, axes: Any, ground: Ground) -> None:
        """The squares of the ground, and the shadows on it."""
        collections = import_module("matplotlib.collections")
        (x0, y0), (x1, y1), height, square = ground.low, ground.high, ground.height, ground.square
        lines = [[(x, y0, height), (x, y1, height)] for x in np.arange(x0, x1 + square / 2, square)]
        lines += [[(x0, y, height), (x1, y, height)] for y in np.arange(y0, y1 + square / 2, square)]
        image = [self.camera.see(np.array(line))[:, :2] for line in lines]
        axes.add_collection(collections.LineCollection(image, colors=_GRID, linewidths=0.7, zorder=1))
        circle = self.camera.see(np.concatenate([CIRCLE, np.zeros((len(CIRCLE), 1))], axis=1))[:, :2]
        shadows = []
        for points, radius in self._standing:
            below = points.copy()
            below[:, 2] = height
            flat = self.camera.see(below)[:, :2]
            shadows.append(rounded(flat, radius, circle) if radius else hull(flat))
        axes.add_collection(
            collections.PolyCollection(shadows, facecolors=_SHADOW, alpha=0.13, edgecolors="none", zorder=2)
        )
        x, y = self.camera.see(np.array([x1, y0, height]))[:2]
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6, "color": "#8a9099", "ha": "right"}
        axes.annotate(f"{square:g} m squares", (x, y), (0, -8), **style)
