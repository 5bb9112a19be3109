"""``lw.save_html``: a motion as one file that plays in a browser, without a server or a network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import file_path, finite, positive, several, switch, text
from linkwork.dynamics.arguments import Array, Frames, as_frames
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.errors import ArgumentError
from linkwork.files import write_text
from linkwork.memory import check_memory
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Contact
from linkwork.plain import as_html, as_script, one_line
from linkwork.viewer.camera import VIEW, Camera
from linkwork.viewer.draw import Boxes, sizes_of
from linkwork.viewer.forces import FORCES, Forces, forces_of, newton_length
from linkwork.viewer.looks import Looks, Roots, checked_roots, checked_shapes
from linkwork.viewer.mesh import arrow, rgba
from linkwork.viewer.motions import Motion, motions_of
from linkwork.viewer.page.numbers import Numbers
from linkwork.viewer.rotations import quaternions
from linkwork.viewer.scene import AXES, TRAIL, below, squares

_SCRIPTS = ("data.js", "camera.js", "draw.js", "player.js")
_MOST_NUMBERS = 3e8
_MOST_EVENTS = 1000
_MOST_TRIANGLES = 120_000
"""Triangles of all mesh files of a model together; they take some 2 MB."""


def save_html(
    trajectory: Any,
    path: str | Path,
    fps: float = 30.0,
    *,
    trails: Frames = (),
    frames: Frames = (),
    boxes: Boxes | None = None,
    joints: bool = True,
    view: tuple[float, float] = VIEW,
    ground: float | bool = True,
    spacing: float | None = None,
    shapes: str = "visual",
    roots: Roots = (),
    title: str | None = None,
    contacts: Sequence[Contact] | None = None,
    constraints: Sequence[Constraint] = (),
    f_ext: ArrayLike | None = None,
    reactions: bool = False,
    metres_per_newton: float | None = None,
) -> Path:
    """Write a motion as one page that plays in a browser: it needs no server, no network and no other file.

    The page has a timeline with play, pause, single steps and speed, on which events of the motion are marked; the last
    one is said in words. Dragging rotates the view, with shift it pans, the
    wheel zooms; the name of the body under the mouse is shown. Ten seconds of a humanoid take some 100 kB.

    Args:
        trajectory: the motion: an ``lw.Trajectory``, a result of ``lw.rollout``, an ``lw.Model`` at rest, or a list of
            these, which are shown side by side.
        path: file to write, .html.
        fps: stored states per second; the page interpolates between them.
        trails: frames whose paths are drawn, in every mechanism shown.
        frames: frames drawn as red, green and blue axes.
        boxes: edge lengths (lx, ly, lz), m, of bodies that are boxes centred on their own frame, by name.
        joints: draw the joints.
        view: initial azimuth and elevation (degrees) of the camera.
        ground: draw the ground at z = 0 or below everything; a number draws it at that height (m), False not at all.
        spacing: distance (m) between several motions, side by side along y; 0 shows them over each other; by default
            their width.
        shapes: "visual" or "collision" geometry of the model file, with its meshes (.stl, .obj, .dae), or "skeleton",
            shapes from the joints and masses. The skeleton also replaces geometry that a file does not have, and, with
            a warning, bodies whose meshes cannot be read.
        roots: folders from which meshes may be read, besides the model's own folder and package; they contain the
            packages of ``package://`` references.
        title: of the page; the model's name if omitted.
        contacts: those of a simulation with ``contact_forces=True``, for arrows of their forces.
        constraints: those of a simulation, for arrows of their forces.
        f_ext: wrenches (nbodies, 6) on the bodies, N and N m, each in its own frame, for arrows of their forces.
        reactions: draw the force of each joint on the body that it carries, for trajectories of ``lw.simulate``.
        metres_per_newton: length of the force arrows; by default the mechanism's weight is half of its length.

    Returns:
        The path.

    Raises:
        ArgumentError: if the name does not end in .html.
        FileError: if the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> import linkwork as lw
        >>> swing = lw.simulate(lw.mechanisms.pendulum(), [1.5], [0.0], 1.0, 0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = lw.save_html(swing, pathlib.Path(folder, "swing.html"), trails=["tip"])
        ...     page.stat().st_size < 100_000
        True
    """
    to = file_path("path", path)
    if to.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"a page's name must end in .html; {path} does not")
    motions = motions_of(trajectory)
    rate = positive("fps", fps, most=1000.0)
    if not isinstance(ground, bool | np.bool_):
        ground = finite("ground", ground)
    azimuth, elevation = several("view must be azimuth and elevation (degrees), which", view, 2)
    apart = None if spacing is None else finite("spacing", spacing)
    heading = motions[0].model.name if title is None else text("title", title)
    long = None if metres_per_newton is None else positive("metres_per_newton", metres_per_newton)
    page = Scene(motions, rate, switch("joints", joints), boxes, checked_shapes(shapes), checked_roots(roots))
    acting = forces_of(motions, [looks.skeleton for looks in page.looks], constraints, contacts, f_ext)
    drawn = {"contact forces", "external forces"}
    drawn |= {"reaction forces"} if switch("reactions", reactions) else set()
    drawn |= {"constraint forces"} if constraints else set()
    for index, forces in enumerate(acting):
        page.add(index, trails, frames)
        page.arrows(index, forces, [kind for kind in forces.kinds if kind in drawn], long)
    scene = page.scene(apart, (azimuth, elevation), ground)
    write_text(to, _written(heading, scene, page.numbers.text()))
    return to


class Scene:
    """Collects motions: the poses of their bodies over time, and their appearance."""

    def __init__(
        self, motions: list[Motion], rate: float, joints: bool, boxes: Boxes | None, shapes: str, roots: list[str],
        most: int = _MOST_TRIANGLES,
    ) -> None:  # fmt: skip
        self.motions, self.numbers, self._shapes = motions, Numbers(), shapes
        by_model: dict[int, Looks] = {}  # several motions of one model look the same
        for motion in motions:
            if id(motion.model) not in by_model:
                sizes = sizes_of(motion.model, boxes)
                by_model[id(motion.model)] = Looks(motion.model, sizes, joints, roots, most)
        self.looks = [by_model[id(motion.model)] for motion in motions]
        self._pieces = {id(looks): looks.pieces(shapes) for looks in by_model.values()}
        self.start = min(motion.span[0] for motion in motions)
        end = max(motion.span[1] for motion in motions)
        count = int(np.ceil((end - self.start) * rate - 1e-9)) + 1 if end > self.start else 1
        largest = sum(12.0 * len(looks.names) for looks in self.looks) * count
        check_memory(f"{count:,} pictures of {len(motions)} motion(s)", 16.0 * largest, "take a smaller fps")
        if largest > _MOST_NUMBERS:
            raise ArgumentError(f"{count:,} pictures make a page of more than a browser takes; take a smaller fps")
        self.times = np.linspace(self.start, end, count)
        self._moving: list[list[tuple[dict[str, Any], Array, Array | None]]] = []
        self._meshes: list[list[tuple[int, dict[str, Any]]]] = []
        self._tubes: list[list[tuple[int, dict[str, Any]]]] = []
        self._corners: list[Array] = []

    def add(self, index: int, trails: Frames, frames: Frames) -> None:
        """Add one of the motions."""
        motion, looks = self.motions[index], self.looks[index]
        q = motion.at(self.times)
        placements = looks.skeleton.placements(q)
        pieces, length = self._pieces[id(looks)], looks.skeleton.length
        moving: list[tuple[dict[str, Any], Array, Array | None]] = []
        meshes, tubes, corners = [], [], []
        which = f" ({index + 1})" if len(self.motions) > 1 else ""
        parts = {body: i for i, body in enumerate(dict.fromkeys(piece.body for piece in pieces))}
        for body in parts:
            pose = placements[:, body]
            moving.append(
                ({"name": looks.names[body] + which, "body": body}, pose[:, :3, 3], quaternions(pose[:, :3, :3]))
            )
        some = slice(None, None, max(1, len(q) // 40))
        for piece in pieces:
            meshes.append((parts[piece.body], {**self.numbers.mesh(piece.mesh), "colour": piece.mesh.colour}))
            pose = placements[some, piece.body]
            low, high = piece.mesh.vertices.min(axis=0), piece.mesh.vertices.max(axis=0)
            eight = np.array(
                [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
            )
            corners.append((eight @ pose[:, :3, :3].swapaxes(1, 2) + pose[:, None, :3, 3]).reshape(-1, 3))
        for chain in looks.chains(self._shapes):
            points = chain.points(placements)
            tubes.append(
                (len(moving), {"points": points.shape[1], "radius": chain.radius, "colour": rgba(chain.colour)})
            )
            name = f"{looks.names[chain.bodies[0]]} to {looks.names[chain.bodies[-1]]}"
            moving.append(({"name": name, "bodies": chain.bodies, "tip": chain.tip.tolist()}, points, None))
            corners.append(points[some].reshape(-1, 3))
        for point in as_frames(motion.model, frames).points:
            pose = forward_kinematics(motion.model, q, [point])[:, 0]
            for axis, colour in enumerate(AXES):
                mesh = arrow(np.zeros(3), 0.09 * length * np.eye(3)[axis], 0.004 * length).coloured(rgba(colour))
                meshes.append((len(moving), {**self.numbers.mesh(mesh), "colour": mesh.colour}))
            moving.append(({"name": one_line(point.frame) + which}, pose[:, :3, 3], quaternions(pose[:, :3, :3])))
        for point in as_frames(motion.model, trails).points:
            way = forward_kinematics(motion.model, q, [point])[:, :, :3, 3]
            tube = {"points": len(q), "radius": 0.004 * length, "colour": rgba(TRAIL), "trail": True}
            tubes.append((len(moving), tube))
            moving.append(({"name": one_line(point.frame) + which}, way, None))
            corners.append(way[:, 0])
        self._moving.append(moving)
        self._meshes.append(meshes)
        self._tubes.append(tubes)
        self._corners.append(np.concatenate(corners) if corners else np.zeros((1, 3)))

    def arrows(self, index: int, forces: Forces, kinds: list[str], long: float | None) -> None:
        """Forces of one of the motions: each is three points, where it acts, the base of its head, and its tip."""
        motion, length = self.motions[index], self.looks[index].skeleton.length
        long = newton_length(motion.model, length) if long is None else long
        states, moving, tubes = motion.states(self.times), self._moving[index], self._tubes[index]
        for kind in kinds:
            places, vectors = forces.at(kind, motion.at(self.times), states)
            with np.errstate(over="ignore"):
                ways = np.clip(long * vectors, -1e3 * length, 1e3 * length)  # beyond anything visible
            visible = (np.linalg.norm(ways, axis=-1) > 0.01 * length).any(axis=0)
            places, ways = (np.broadcast_to(array, places.shape)[:, visible] for array in (places, ways))
            if not places.size:
                continue
            size = np.linalg.norm(ways, axis=-1, keepdims=True)
            head = np.minimum(0.04 * length, 0.5 * size) / np.maximum(size, 1e-12)
            points = np.stack([places, places + (1.0 - head) * ways, places + ways], axis=2)
            part, colour = len(moving), rgba(FORCES[kind])
            shape = {"points": 3 * points.shape[1], "every": 3, "colour": colour}
            tubes.append((part, {**shape, "radius": 0.006 * length}))
            tubes.append((part, {**shape, "radius": 0.016 * length, "first": 1, "taper": True}))
            moving.append(({"name": kind}, points.reshape(len(points), -1, 3), None))

    def _events(self) -> list[tuple[float, str]]:
        """The events of all motions in order of time, and what the page says of each."""
        several = len(self.motions) > 1
        found = [
            (one.t - self.start, f"{one.t:.3f} s: {one_line(one.name)}" + f" ({index + 1})" * several)
            for index, motion in enumerate(self.motions)
            for one in motion.events
        ]
        return sorted(found)[:_MOST_EVENTS]

    def scene(self, apart: float | None, view: tuple[float, float], ground: float | bool) -> dict[str, Any]:
        """The whole scene, as data for the page."""
        wide = max(float(np.ptp(corners[:, 1])) for corners in self._corners)
        deep = max(float(np.ptp(corners[:, :2], axis=0).max()) for corners in self._corners)
        step = max(1.25 * wide, 0.5 * deep) if apart is None else apart
        moving: list[dict[str, Any]] = []
        meshes, tubes, everywhere = [], [], []
        for i, corners in enumerate(self._corners):
            aside = np.array([0.0, step * (i - 0.5 * (len(self._corners) - 1)), 0.0])
            everywhere.append(corners + aside)
            meshes += [{**mesh, "part": len(moving) + part} for part, mesh in self._meshes[i]]
            tubes += [{**tube, "part": len(moving) + part} for part, tube in self._tubes[i]]
            for part, places, turns in self._moving[i]:
                at = places + aside
                stored = self.numbers.places(at) if turns is None else self.numbers.poses(at, turns)
                moving.append({**part, **stored})
        points = np.concatenate(everywhere)
        low, high = points.min(axis=0), points.max(axis=0)
        size = max(float((high - low).max()), 1e-6)
        centre = 0.5 * (low + high)
        centre[2] -= 0.04 * size  # room for the timeline below
        fitting = below(float(low[2]), size) if ground else None
        return {
            "frames": len(self.times), "start": self.start,
            "dt": float(self.times[1] - self.times[0]) if len(self.times) > 1 else 0.0,
            "view": view, "centre": centre.tolist(), "size": size, "square": squares(size),
            "distance": _distance(points - centre, view, size),
            "ground": fitting if isinstance(ground, bool | np.bool_) else ground,
            "moving": moving, "meshes": meshes, "tubes": tubes, "events": self._events(),
        }  # fmt: skip


def _distance(points: Array, view: tuple[float, float], size: float) -> float:
    """The distance (m) from which a camera of 32° sees all points (n, 3), about the origin, in an image of 4 to 3."""
    right, up, near = Camera(*view).see(points).T
    needed = near + np.maximum(0.75 * abs(right), abs(up)) / np.tan(np.radians(16.0))
    return max(1.12 * float(needed.max()), 0.1 * size)


def _written(title: str, scene: dict[str, Any], numbers: str) -> str:
    """The page's text."""
    folder = resources.files("linkwork.viewer.page")
    page = (folder / "page.html").read_text(encoding="utf-8")
    return filled(page, title, scene, numbers, script_of(_SCRIPTS))


def script_of(names: Sequence[str]) -> str:
    """Scripts of this package, one after the other."""
    folder = resources.files("linkwork.viewer.page")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def filled(page: str, title: str, scene: dict[str, Any], numbers: str, script: str, **more: str) -> str:
    """A page with its parts; names of the model are escaped so that they cannot end the element that contains them."""
    folder = resources.files("linkwork.viewer.page")
    parts = {
        "title": as_html(title),
        "style": (folder / "style.css").read_text(encoding="utf-8"),
        "scene": as_script(scene, allow_nan=False, separators=(",", ":"), default=list),
        "numbers": numbers,
        "script": script,
        **more,
    }
    first, *rest = page.split("{{")
    return first + "".join(parts[name] + after for name, _, after in (part.partition("}}") for part in rest))
