"""``lw.draw`` and ``lw.motion_sequence``: one state, and several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite, finite_array, integer, is_integer, is_listed, several, switch
from linkwork.dynamics.arguments import Array, Frames, as_array, as_frames, check_finite, check_model
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.pictures import figure, write
from linkwork.simulation.trajectory import Trajectory
from linkwork.viewer.camera import VIEW, Camera
from linkwork.viewer.scene import Ground, Scene
from linkwork.viewer.skeleton import Skeleton

Boxes = Mapping[str, Sequence[float]]
Trails = Mapping[str, ArrayLike] | Sequence[ArrayLike]
MOST_PICTURES = 1000
"""The largest number of images in a figure."""


@dataclass
class Stage:
    """A model with all drawing options that its images share."""

    model: Model
    frames: Frames = ()
    boxes: Boxes | None = None
    joints: bool = True
    view: tuple[float, float] = VIEW
    ground: float | bool = True
    skeleton: Skeleton = field(init=False)

    def __post_init__(self) -> None:
        check_model(self.model)
        self.joints = switch("joints", self.joints)
        if not isinstance(self.ground, bool | np.bool_):
            self.ground = finite("ground", self.ground)
        self.skeleton = Skeleton(self.model)
        self._points = as_frames(self.model, self.frames).points
        self._boxes = sizes_of(self.model, self.boxes)
        self.camera = Camera(*several("view must be azimuth and elevation (degrees), which", self.view, 2))

    def scene(self, q: Sequence[Array] | Array, trails: Sequence[Array] = ()) -> Scene:
        """The mechanism in one state, or in several, of which the earlier ones are paler."""
        scene = Scene(self.camera)
        for i, state in enumerate(q):
            alpha = 0.25 + 0.75 * ((i + 1) / len(q)) ** 2
            scene.add(self.skeleton, self.skeleton.placements(state), self._boxes, self.joints, alpha)
        for point in self._points:
            pose = forward_kinematics(self.model, q[-1], [point])[0]
            scene.triad(pose, 0.07 * self.skeleton.length, point.frame)
        for points in trails:
            scene.trail(points)
        return scene

    def frame(self, states: Sequence[Array], trails: Sequence[Array]) -> tuple[Ground | None, Array]:
        """The ground under all states of a motion, and the part of the image plane that they need."""
        scene = self.scene(states, trails)
        ground = self.under(scene)
        return ground, scene.limits(ground)

    def under(self, scene: Scene) -> Ground | None:
        """The requested ground; None for none."""
        if isinstance(self.ground, bool | np.bool_):
            return scene.ground(None) if self.ground else None
        return scene.ground(self.ground)


_MOST_STATES = 2000
"""The largest number of configurations in one image: with more, none can be distinguished."""


def draw(
    model: Model,
    q: ArrayLike,
    *,
    ax: Any = None,
    frames: Frames = (),
    trails: Trails | None = None,
    boxes: Boxes | None = None,
    joints: bool = True,
    view: tuple[float, float] = VIEW,
    ground: float | bool = True,
    path: str | Path | None = None,
) -> Any:
    """Draw a mechanism: bodies with a thickness according to their inertia, joints as dots, on a ground with a grid.

    Args:
        model: the mechanism.
        q: configuration (nq,); several, (n, nq), are drawn over each other, the earlier ones paler.
        ax: matplotlib axes to draw on; a new figure if omitted.
        frames: names of ``model.frame_names`` or ``lw.Point`` objects, drawn as red, green and blue axes.
        trails: paths in the world, each (n, 3), m.
        boxes: edge lengths (lx, ly, lz), m, of bodies that are boxes centred on their own frame, by name.
        joints: draw the dots.
        view: azimuth and elevation (degrees) of the camera.
        ground: draw the ground at z = 0 or below everything; a number draws it at that height (m), False not at all.
        path: image file to write (.png, .svg, .pdf).

    Returns:
        The axes; ``axes.figure`` is the figure, which needs no display.

    Raises:
        MissingExtraError: if matplotlib is not installed.
        FileError: if the file cannot be written.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> axes = lw.draw(person, lw.neutral(person), frames=["left_hand"])
        >>> axes.figure.savefig("person.png") # doctest: +SKIP
    """
    if ax is not None and not (hasattr(ax, "add_collection") and getattr(ax, "name", None) != "3d"):
        raise ArgumentError(
            f"ax must be plain axes, as from figure.add_subplot(); the projection is done here; not {shown(ax)}"
        )
    stage = Stage(model, frames, boxes, joints, view, ground)
    states = check_finite(model, "q", "configuration", as_array(model, "q", "configuration", q))
    if states.ndim > 2 or not len(np.atleast_2d(states)):
        raise ArgumentError(f"q must have shape ({model.nq},), or (n, {model.nq}) for several, not {states.shape}")
    if len(np.atleast_2d(states)) > _MOST_STATES:
        raise ArgumentError(f"a picture shows up to {_MOST_STATES} configurations, not {len(states)}; draw a few")
    scene = stage.scene(np.atleast_2d(states), _trails(trails))
    floor = stage.under(scene)
    limits = scene.limits(floor)
    if ax is None:
        width, height = np.maximum(6.0 * np.ptp(limits, axis=0) / np.ptp(limits, axis=0).max(), 2.5)
        ax = figure(float(width), float(height)).add_subplot()
    scene.paint(ax, floor, limits)
    if path is not None:
        write(ax.figure, path)
    return ax


def motion_sequence(
    trajectory: Trajectory,
    times: int | ArrayLike = 6,
    path: str | Path | None = None,
    *,
    trails: Frames = (),
    frames: Frames = (),
    boxes: Boxes | None = None,
    joints: bool = True,
    view: tuple[float, float] = VIEW,
    ground: float | bool = True,
) -> Any:
    """Draw states of a motion side by side in one figure, all from the same camera.

    Args:
        trajectory: the motion.
        times: times (s), or their number, at equal intervals, the first and last included.
        path: image file to write (.png, .svg, .pdf).
        trails: frames whose paths up to each time are drawn.
        frames: see ``lw.draw``; ``boxes``, ``joints``, ``view`` and ``ground`` likewise.
        boxes: see ``lw.draw``.
        joints: see ``lw.draw``.
        view: see ``lw.draw``.
        ground: see ``lw.draw``.

    Returns:
        A matplotlib Figure.

    Raises:
        MissingExtraError: if matplotlib is not installed.
        FileError: if the file cannot be written.

    Example:
        >>> import linkwork as lw
        >>> swing = lw.simulate(lw.mechanisms.double_pendulum(), [1.5, 0.5], [0.0, 0.0], 1.0, 0.01)
        >>> picture = lw.motion_sequence(swing, times=[0.0, 0.5, 1.0], trails=["tip"])
        >>> len(picture.axes)
        3
    """
    check_trajectory(trajectory)
    stage = Stage(trajectory.model, frames, boxes, joints, view, ground)
    ways = ways_of(trajectory, trails)
    if is_integer(times):
        times = integer("times, if it is how many pictures,", times, 1, MOST_PICTURES)
        times = np.linspace(trajectory.t[0], trajectory.t[-1], times) if times > 1 else trajectory.t[-1:]
    moments = np.atleast_1d(finite_array("times", times))
    if not 0 < moments.size <= MOST_PICTURES:
        raise ArgumentError(f"times must be 1 to {MOST_PICTURES} times (s), not {moments.size}")
    states = trajectory.resample(moments)
    scenes = [
        stage.scene([q], [way[: int(np.searchsorted(trajectory.t, t, side="right"))] for way in ways])
        for t, q in zip(states.t, states.q, strict=True)
    ]
    floor, limits = stage.frame(list(states.q), ways)
    width, height = np.ptp(limits, axis=0)
    rows = _rows(len(scenes), float(width / height))
    columns = -(-len(scenes) // rows)
    one = min(3.2, 14.0 / columns)
    picture = figure(one * columns, (one * float(height / width) + 0.25) * rows)
    for i, (scene, t) in enumerate(zip(scenes, states.t, strict=True)):
        axes = picture.add_subplot(rows, columns, i + 1)
        scene.paint(axes, floor, limits)
        axes.set_title(f"{t:.2f} s", fontsize=9)
    if path is not None:
        write(picture, path)
    return picture


def check_trajectory(trajectory: object) -> None:
    if not isinstance(trajectory, Trajectory):
        raise ArgumentError(f"trajectory must be an lw.Trajectory, as from lw.simulate, not {shown(trajectory)}")


def ways_of(trajectory: Trajectory, trails: Frames) -> list[Array]:
    """The paths (K, 3) of frames in the world."""
    if not len(trajectory):
        raise ArgumentError("a trajectory without states cannot be drawn")
    points = as_frames(trajectory.model, trails).points
    if not points:
        return []
    return list(np.swapaxes(forward_kinematics(trajectory.model, trajectory.q, points)[..., :3, 3], 0, 1))


def _rows(count: int, shape: float) -> int:
    """The number of rows of images for a figure about four times as wide as high."""
    return max(1, round((count * shape / 4.5) ** 0.5))


def _trails(trails: Trails | None) -> list[Array]:
    ways = () if trails is None else tuple(trails.values()) if isinstance(trails, Mapping) else trails
    if not (ways.ndim > 0 if isinstance(ways, np.ndarray) else is_listed(ways)):
        raise ArgumentError(f"trails must be a list or a dict of ways (n, 3), m, not {shown(trails)}")
    checked = []
    for way in ways:
        points = finite_array("a trail", way)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ArgumentError(f"a trail must hold points (n, 3), m, but has shape {points.shape}")
        checked.append(points)
    return checked


def sizes_of(model: Model, boxes: Boxes | None) -> dict[int, Array]:
    """The edge lengths (3,) of boxes that a caller names, by the numbers of their bodies, from 1."""
    sizes = {} if boxes is None else boxes
    if not isinstance(sizes, Mapping):
        raise ArgumentError(f"boxes must be a dict from bodies' names to edges (m), not {shown(sizes)}")
    return {model.body_index(name) + 1: _size(name, size) for name, size in sizes.items()}


def _size(name: str, size: Sequence[float]) -> Array:
    try:
        edges = several("", size, 3)
    except ArgumentError:
        edges = []
    if not edges or min(edges) <= 0.0:
        raise ArgumentError(f"the box of {name!r} must be three edges above zero (m), not {shown(size)}")
    return np.array(edges)
