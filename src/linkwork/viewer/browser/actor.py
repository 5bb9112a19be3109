"""One mechanism in a view: its bodies, and the optional layers shown with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.dynamics import centre_of_mass
from linkwork.dynamics.operational_inertia import operational_inertia_inverse
from linkwork.joints import Planar
from linkwork.model.model import Model, Point
from linkwork.plain import one_line
from linkwork.viewer.forces import FORCES
from linkwork.viewer.looks import Looks
from linkwork.viewer.mesh import Mesh, arrow, ellipsoid, rgba, sphere
from linkwork.viewer.rotations import quaternions
from linkwork.viewer.scene import JOINT, TRAIL
from linkwork.viewer.skeleton import matrix
from linkwork.viewer.solids import solid

LAYERS = ("axes", "names", "joint axes", "inertia ellipsoids", "centre of mass")
_NOTHING = np.zeros((0, 2, 3), dtype=np.float32)


class Actor:
    """A mechanism; ``aside`` (3,) is the offset at which it is shown."""

    def __init__(self, server: Any, name: str, looks: Looks, aside: Array) -> None:
        self.scene, self.looks, self.model, self.aside = server.scene, looks, looks.model, aside
        self.root, self.length = name, looks.skeleton.length
        self.q: Array = np.zeros(0)
        self.placements: Array = np.zeros(0)
        self.meshes: list[tuple[int, Any]] = []
        self._shapes = ""
        self._layers: dict[str, list[Any]] = {layer: [] for layer in LAYERS}
        self.frames = [
            server.scene.add_frame(f"{name}/{body}", show_axes=False, axes_length=0.1 * self.length,
                                   axes_radius=0.004 * self.length)
            for body in range(len(looks.names))
        ]  # fmt: skip
        self._chains: list[tuple[Any, Any]] = []
        self._forces = {
            kind: server.scene.add_arrows(
                f"{name}/{kind}", _NOTHING, _ink(colour), shaft_radius=0.006 * self.length,
                head_radius=0.015 * self.length, head_length=0.04 * self.length, visible=False,
            )
            for kind, colour in FORCES.items()
        }  # fmt: skip
        self._labels: dict[int, Any] = {}
        self._opacity: float | None = None
        self._ellipsoid: Any = None
        self.point: str | None = None
        """The frame whose operational inertia is shown."""
        self.shown: set[str] = set()

    def wear(self, shapes: str) -> None:
        """Show bodies with one kind of ``SHAPES``."""
        for _, handle in self.meshes:
            handle.remove()
        for _, handle in self._chains:
            handle.remove()
        self._shapes = shapes
        self.meshes = [
            (piece.body, self._mesh(f"{self.root}/{piece.body}/body{i}", piece.mesh))
            for i, piece in enumerate(self.looks.pieces(shapes))
        ]
        self.see_through(self._opacity is not None)
        self._chains = [
            (chain, self.scene.add_line_segments(f"{self.root}/chain{i}", np.zeros((len(chain.bodies), 2, 3)),
                                                 _ink(chain.colour), thickness=2.0 * chain.radius))
            for i, chain in enumerate(self.looks.chains(shapes))
        ]  # fmt: skip
        if len(self.q):
            self.move(self.q)

    def move(self, q: Array) -> None:
        """Place all bodies according to a configuration."""
        self.q = np.array(q, dtype=np.float64)
        self.placements = self.looks.skeleton.placements(self.q)
        turns = quaternions(self.placements[:, :3, :3])[:, [3, 0, 1, 2]]
        for frame, turn, place in zip(self.frames, turns, self.placements[:, :3, 3] + self.aside, strict=True):
            frame.wxyz, frame.position = turn, place
        for chain, handle in self._chains:
            points = chain.points(self.placements) + self.aside
            handle.points = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        if self._layers["centre of mass"]:
            self._layers["centre of mass"][0].position = centre_of_mass(self.model, self.q) + self.aside
        if self.point is not None:
            self.show_inertia(self.point)

    def see_through(self, on: bool) -> None:
        """Make bodies transparent or not, so that arrows, axes and ellipsoids inside them can be seen."""
        before, self._opacity = self._opacity, 0.35 if on else None
        if on or before is not None:
            for _, handle in self.meshes:
                handle.opacity = self._opacity

    def name(self, body: int) -> None:
        """Show a body's name, or hide it."""
        label = self._labels.pop(body, None)
        if label is None:
            self._labels[body] = self.scene.add_label(f"{self.root}/{body}/name", self.looks.names[body])
        else:
            label.remove()

    def corners(self) -> Array:
        """The corners (n, 3) of bounding boxes of all visible parts, in the world."""
        groups = [self.placements[:, :3, 3], *(chain.points(self.placements) for chain, _ in self._chains)]
        for body, handle in self.meshes:
            low, high = handle.vertices.min(axis=0), handle.vertices.max(axis=0)
            ends = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
            groups.append(ends @ self.placements[body, :3, :3].T + self.placements[body, :3, 3])
        return np.concatenate(groups) + self.aside

    def layer(self, name: str, visible: bool) -> None:
        """Show a layer of every body, or hide it; created when it is first needed."""
        (self.shown.add if visible else self.shown.discard)(name)
        if name in self._forces:
            self._forces[name].visible = visible
            return
        if name == "axes":
            for frame in self.frames:
                frame.show_axes = visible
            return
        if visible and not self._layers[name]:
            self._layers[name] = self._handles_of(name)
            self.move(self.q)
        for handle in self._layers[name]:
            handle.visible = visible

    def _handles_of(self, name: str) -> list[Any]:
        if name == "centre of mass":
            return [self._mesh(f"{self.root}/com", sphere(0.025 * self.length).coloured(rgba(TRAIL)))]
        handles = []
        for index, body in enumerate(self.model.bodies, 1):
            at = f"{self.root}/{index}/{name}"
            mass = solid(body)
            if name == "names":
                handles.append(self.scene.add_label(at, self.looks.names[index]))
            elif name == "inertia ellipsoids" and mass is not None:
                mesh = ellipsoid((5.0 / 12.0) ** 0.5 * mass.edges).moved(mass.placement)
                handles.append(self._mesh(at, mesh.coloured(rgba("#8e44ad", 0.45))))
            elif name == "joint axes" and body.joint.nv == 1 and hasattr(body.joint, "axis"):
                along = 0.12 * self.length * np.array([float(x) for x in body.joint.axis.direction.numbers()])
                handles.append(self._mesh(at, arrow(-0.5 * along, along, 0.005 * self.length).coloured(rgba(JOINT))))
        return handles

    def show_inertia(self, frame: str | None) -> None:
        """The operational inertia at a frame as an ellipsoid: long in directions in which the effective mass is large;
        the mechanism's total mass corresponds to a quarter of its length.
        """
        self.point = frame
        if self._ellipsoid is not None:
            self._ellipsoid.visible = frame is not None
        if frame is None:
            return
        inverse = operational_inertia_inverse(self.model, self.q, [Point(frame, axes="position")])
        mobility, axes = np.linalg.eigh(0.5 * (inverse + inverse.T))
        masses = 1.0 / np.maximum(mobility, 1e-9 / max(self.model.mass, 1e-9))
        radii = 0.25 * self.length * np.sqrt(masses / max(self.model.mass, 1e-9))
        mesh = ellipsoid(np.minimum(radii, 0.5 * self.length))
        base = self.model.frame(frame)
        pose = np.eye(4)
        pose[:3, :3] = axes * np.sign(np.linalg.det(axes))
        mesh = mesh.moved(matrix(base.placement) @ pose).coloured(rgba("#e67e22", 0.4))
        if self._ellipsoid is not None:
            self._ellipsoid.remove()
        self._ellipsoid = self._mesh(f"{self.root}/{base.body}/operational inertia", mesh)

    def arrows(self, kind: str, places: Array, forces: Array, scale: float) -> None:
        """Draw forces (n, 3), N, at points (n, 3) of the world, with ``scale`` metres per newton."""
        ends = places + self.aside + scale * forces
        long = np.linalg.norm(forces, axis=1) * scale > 0.01 * self.length
        self._forces[kind].points = np.stack([places + self.aside, ends], axis=1)[long].astype(np.float32)

    def no_arrows(self, kind: str) -> None:
        """Remove the arrows of a kind."""
        if kind in self._forces and len(self._forces[kind].points):
            self._forces[kind].points = _NOTHING

    def _mesh(self, name: str, mesh: Mesh) -> Any:
        red, green, blue, opacity = mesh.colour or (0.7, 0.7, 0.7, 1.0)
        return self.scene.add_mesh_simple(
            name, mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32), side="double",
            color=(round(255 * red), round(255 * green), round(255 * blue)),
            opacity=None if opacity >= 1.0 else opacity, cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    @property
    def kinds(self) -> list[str]:
        return self.looks.kinds()


def _ink(colour: str) -> tuple[int, int, int]:
    red, green, blue, _ = rgba(colour)
    return round(255 * red), round(255 * green), round(255 * blue)


def sliders_of(model: Model, length: float) -> list[tuple[str, float, float]]:
    """For each degree of freedom its name and range, relative to the neutral configuration."""
    sliders = []
    for body in model.bodies:
        joint, limits = body.joint, body.limits
        for k in range(joint.nv):
            name = one_line(body.joint_name) + ("" if joint.nv == 1 else f" {k + 1}")
            turning = (
                k >= 3 if joint.nv == 6 else k == 2 if isinstance(joint, Planar) else joint.nv == 3 or k in joint.angles
            )
            low, high = (-np.pi, np.pi) if turning else (-length, length)
            if joint.nv == joint.nq == 1:
                low = limits.lower[0] if np.isfinite(limits.lower[0]) else low
                high = limits.upper[0] if np.isfinite(limits.upper[0]) else high
            sliders.append((name, round(float(min(low, high)), 4), round(float(max(low, high)), 4)))
    return sliders
