"""The appearance of a mechanism in 3D: coloured meshes on its bodies, and tubes along chains of very many."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arguments import choice, file_path, is_listed
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, FormatError, LinkworkWarning, shown
from linkwork.joints import Joint
from linkwork.model.geometry import Geometry
from linkwork.model.model import WORLD, Model
from linkwork.plain import one_line
from linkwork.viewer.mesh import (
    Mesh,
    box,
    capsule,
    creased,
    cylinder,
    ellipsoid,
    rgba,
    rod,
    rounded_hull,
    simplified,
    sphere,
)
from linkwork.viewer.meshes import Triangles, find, read
from linkwork.viewer.meshes.bounds import MAX_SHAPES_OF_MODEL, MAX_TRIANGLES_OF_MODEL
from linkwork.viewer.scene import CARRIED
from linkwork.viewer.skeleton import Chain, Skeleton, matrix

SHAPES = ("visual", "collision", "skeleton")
"""How a body can be shown: by the file's visual or collision geometry, or by a shape from its joints and mass."""
_PLAIN, _TOUCHING, _PIN = rgba("#b9bec7"), rgba("#d1765a", 0.55), rgba("#565e69")
_TOO_MANY = f"the model has more than {MAX_SHAPES_OF_MODEL:,} shapes"
_FEWEST = 200  # triangles that a mesh keeps, however small its share

Roots = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, eq=False)
class Piece:
    """A coloured mesh on a body (0 is the world), in the body's frame."""

    body: int
    mesh: Mesh


class Looks:
    """The meshes and chains of a model.

    ``boxes`` are the edge lengths (3,) of bodies that are boxes, by number from 1; ``roots`` folders from which meshes
    may be read; ``most`` the approximate limit on the triangles of all mesh files together.
    """

    def __init__(
        self, model: Model, boxes: Mapping[int, Array], joints: bool = True, roots: Roots = (), most: int = 1_000_000
    ) -> None:
        self.model, self.skeleton = model, Skeleton(model)
        self.names = tuple(map(one_line, (WORLD, *model.body_names)))
        """Of the bodies, the world first, as they are shown."""
        self._boxes, self._joints, self._most = boxes, joints, most
        self._roots = [os.fspath(root) for root in roots]
        self._paths: dict[tuple[str, str], str | None] = {}
        self._read: dict[str, list[Triangles] | str] = {}
        self._simpler: dict[tuple[int, tuple[float, ...], float], list[Mesh]] = {}

    def kinds(self) -> list[str]:
        """Those of ``SHAPES`` that the model has."""
        shapes = [kind for kind in SHAPES[:2] if any(getattr(shape, kind) for shape in self.model.geometry)]
        return [*shapes, "skeleton"]

    def chains(self, kind: str = "visual") -> tuple[Chain, ...]:
        """Chains of very many bodies, where their file has no geometry for them."""
        if self._kind(kind) != "skeleton":
            return ()
        return tuple(chain for chain in self.skeleton.chains if not set(chain.bodies) & set(self._boxes))

    def pieces(self, kind: str = "visual") -> list[Piece]:
        """Every body, as one of ``SHAPES``; the skeleton if the file has no shapes of that kind at all."""
        kind = self._kind(kind)
        rows = self._skeleton() if kind == "skeleton" else self._geometry(kind)
        return [*rows, *(Piece(body, box(edges).coloured(rgba(CARRIED))) for body, edges in self._boxes.items())]

    def _kind(self, kind: str) -> str:
        return kind if kind in self.kinds() else "skeleton"

    def _skeleton(self, only: set[int] | None = None) -> list[Piece]:
        """All bodies, or some of them, by shapes from their joints and mass."""
        skeleton, pieces = self.skeleton, []
        left_out = set(self._boxes)
        if only is None:
            left_out |= {body for chain in self.chains("skeleton") for body in chain.bodies}
        for part in skeleton.parts:
            if part.body in left_out or (only is not None and part.body not in only):
                continue
            if part.box is not None:
                mesh = box(part.box.edges).moved(part.box.placement)
            else:
                mesh = rounded_hull(part.points, part.radius)
            pieces.append(Piece(part.body, mesh.coloured(rgba(part.colour))))
        thick = {part.body: part.radius for part in skeleton.parts}
        for body, _ in skeleton.joints if self._joints and only is None else ():
            if body not in self._boxes:
                radius = min(max(thick[body], thick.get(self.model.bodies[body - 1].parent, 0.0)), 1.5 * thick[body])
                pieces.append(Piece(body, _joint(self.model.bodies[body - 1].joint, radius).coloured(_PIN)))
        return pieces

    def _geometry(self, kind: str) -> list[Piece]:
        """The shapes of the file; a body whose meshes cannot be read is drawn as part of the skeleton."""
        shapes = [s for s in self.model.geometry if getattr(s, kind) and s.body not in self._boxes]
        missing, total = dict[int, str](), 0
        readable: list[tuple[Geometry, list[Triangles]]] = []
        for number, shape in enumerate(shapes):
            parts = self._triangles(shape, total) if number < MAX_SHAPES_OF_MODEL else _TOO_MANY
            if isinstance(parts, str):
                missing.setdefault(shape.body, f"{shape.mesh[:200] or shape.kind!r}: {parts}")
            else:
                readable.append((shape, parts))
                total += sum(len(part.corners) for part in parts)
        share, pieces = min(1.0, self._most / max(total, 1)), list[Piece]()
        for shape, parts in readable:
            meshes = self._meshes(shape, parts, share)
            pieces += [Piece(shape.body, mesh.coloured(_TOUCHING) if kind == "collision" else mesh) for mesh in meshes]
            if not meshes:
                missing.setdefault(shape.body, f"{shape.mesh[:200]!r}: all its triangles are flat")
        if missing:
            body, why = next(iter(missing.items()))
            warnings.warn(
                f"{len(missing)} bodies of {self.model.name!r} have meshes that cannot be shown and are drawn as what "
                f"their mass tells, {self.names[body]!r} among them: {why}",
                LinkworkWarning,
                stacklevel=4,
            )
        return pieces + self._skeleton(set(missing) - {piece.body for piece in pieces} - {0})

    def _meshes(self, shape: Geometry, parts: list[Triangles], share: float) -> list[Mesh]:
        """A shape in its body's frame, a mesh by some of the triangles of its file; empty if these are flat."""
        size, place = shape.size, matrix(shape.placement)
        colour = shape.colour
        if shape.kind == "mesh":
            key = id(parts), size, share  # the lists are kept in self._read
            if key not in self._simpler:
                self._simpler[key] = [_simpler(part, np.array(size), share) for part in parts]
            meshes = [mesh for mesh in self._simpler[key] if len(mesh.faces)]
            return [mesh.moved(place).coloured(colour or mesh.colour or _PLAIN) for mesh in meshes]
        up = np.array([0.0, 0.0, 0.5 * size[-1]])
        mesh = {
            "box": lambda: box(np.array(size)),
            "sphere": lambda: sphere(size[0]),
            "cylinder": lambda: cylinder(*size),
            "capsule": lambda: capsule(-up, up, size[0]),
            "ellipsoid": lambda: ellipsoid(np.array(size)),
        }[shape.kind]()
        return [mesh.moved(place).coloured(colour or _PLAIN)]

    def _triangles(self, shape: Geometry, before: int) -> list[Triangles] | str:
        """The triangles of a mesh, whose file is read once, or the reason why there are none; ``before`` are those of
        the shapes before it.
        """
        if shape.kind != "mesh":
            return []
        if before > MAX_TRIANGLES_OF_MODEL:
            return f"the model's meshes have more than {MAX_TRIANGLES_OF_MODEL:,} triangles"
        key = shape.folder, shape.mesh
        if key not in self._paths:
            self._paths[key] = find(shape.mesh, shape.folder, self._roots)
        path = self._paths[key]
        if path is None:
            return (
                f"there is no such file in the model's folder {shape.folder} or its package; name the folder that "
                "holds it, or its package, in roots"
            )
        if path not in self._read:
            try:
                self._read[path] = read(path)
            except FormatError as error:
                self._read[path] = str(error)
        return self._read[path]


def checked_shapes(shapes: Any) -> str:
    """One of ``SHAPES``."""
    return choice("shapes", shapes, SHAPES)


def checked_roots(roots: Any) -> list[str]:
    """The folders, checked."""
    if not is_listed(roots):
        raise ArgumentError(f"roots must be a list of folders, not {shown(roots)}")
    return [os.path.abspath(file_path("a root", root)) for root in roots]


def _simpler(part: Triangles, size: Array, share: float) -> Mesh:
    """A mesh of a share of the triangles of a file, scaled."""
    corners = simplified(part.corners * size, max(_FEWEST, int(share * len(part.corners))))
    mesh = creased(corners[:, ::-1] if np.prod(size) < 0.0 else corners)
    return mesh if part.colour is None else mesh.coloured(part.colour)


def _joint(joint: Joint, radius: float) -> Mesh:
    """A pin along the axis of a hinge, a ball for other joints, on bodies of this radius."""
    axis = getattr(joint, "axis", None)
    if axis is None or joint.nv != 1:
        return sphere(1.05 * radius)
    along = 1.2 * radius * np.array([float(x) for x in axis.direction.numbers()])
    return rod(-along, along, 0.5 * radius)
